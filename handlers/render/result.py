"""What a thread and its first message say about a create that went well, or is on its way."""

from bot.domain.outcome import NotDone
from bot.domain.provisioning import (
    STEP_TITLES,
    AgentFacts,
    CreateRequest,
    Generation,
    PortHealth,
    Provisioned,
    Seeding,
    SignIn,
    Step,
)
from bot.domain.skills import OverlayPlan
from bot.ports import Message
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.limits import Block
from handlers.render.mrkdwn import bold, code, listed, person, prose, seconds

_SEEDING = {
    Seeding.SEEDED: "new, filled from the team's default home",
    Seeding.ALREADY: "already initialised, its files were kept",
    Seeding.COMPLETED: "an interrupted filling was completed",
}

NOTICEABLE = 0.05
"""Seconds."""


def announcement(request: CreateRequest) -> Message:
    """The first message in the channel; its thread tells the rest."""
    continued = "continuing" if request.continues else "creating"
    return _line(
        f"{person(request.actor.id)} is {continued} a Studio for home {bold(request.home)}."
        " This thread tells how it goes."
    )


def announcement_done(result: Provisioned) -> Message:
    """The first message once Studio works."""
    took = seconds(sum(result.durations.values()))
    return _line(
        f":white_check_mark: Studio for home {bold(result.home)} is ready for {person(result.owner)}"
        f" ({took}). The thread has the details."
    )


def announcement_failed(request: CreateRequest, outcome: NotDone) -> Message:
    """The first message once it is known that there is no working Studio."""
    return _line(
        f":x: No working Studio for home {bold(request.home)}: {prose(outcome.what)}"
        f" {person(request.actor.id)}, the thread says what to do."
    )


def _line(text: str) -> Message:
    return limits.message(text, [blocks.section(text)])


def result_message(result: Provisioned) -> Message:
    """The thread's last word: everything that was done and checked, and the two buttons that come next."""
    total = seconds(sum(result.durations.values()))
    headline = f"Studio for home {result.home} is ready"
    text = f"{headline}: sandbox {result.sandbox_id}, {total}. Press Open Studio for your private link."
    notes = _notes(result)
    return limits.message(
        prose(text),
        [
            blocks.header(headline),
            *blocks.facts(_facts(result, total)),
            blocks.section(f"*Skills*\n{_skills(result.overlay)}"),
            blocks.section("*Health*\n" + "\n".join(_health(port) for port in result.ports)),
            *(
                [blocks.section("*Good to know*\n" + "\n".join(f"• {note}" for note in notes))]
                if notes
                else []
            ),
            blocks.context(*filter(None, [_durations(result)]), f"Request {code(result.request_id)}"),
            _buttons(result.sandbox_id),
        ],
    )


def _facts(result: Provisioned, total: str) -> list[tuple[str, str]]:
    return [
        ("Home", f"{code(result.home)} ({_SEEDING[result.seeding]})"),
        ("Workspace", code(result.workspace)),
        ("Sandbox", code(result.sandbox_id)),
        ("Template", code(result.template)),
        ("Node", code(result.node)),
        ("Owner", person(result.owner)),
        ("Took", total),
        ("Address", _address(result)),
    ]


def _address(result: Provisioned) -> str:
    """The address without its secret part: who holds the token holds the Studio."""
    if result.generation is Generation.TOKEN:
        return f"{code(result.url + '/#/?token=…')} (the secret part is left out; press *Open Studio*)"
    if result.sign_in is SignIn.CHANGED:
        return f"{code(result.url + '/')} (its password is the one that was set in Studio)"
    return f"{code(result.url + '/')} (press *Open Studio* for the sign-in)"


def _skills(overlay: OverlayPlan) -> str:
    linked = tuple(sorted({*overlay.link, *overlay.already}))
    lines = [f"Linked from the team: {listed(linked)}", f"Kept private: {listed(overlay.keep_private)}"]
    if overlay.remove_dangling:
        lines.append(f"Withdrawn by the team, link removed: {listed(overlay.remove_dangling)}")
    if overlay.conflict:
        lines.append(f"Not linked, because Hermes does not accept the name: {listed(overlay.conflict)}")
    return "\n".join(lines)


def _health(port: PortHealth) -> str:
    sign, word = {
        True: (":white_check_mark:", "answers"),
        False: (":x:", "does not work"),
        None: (":grey_question:", "could not be told"),
    }[port.ok]
    note = f" ({prose(port.note)})" if port.note else ""
    return f"{sign} {prose(port.name)}, port {port.port}: {word}{note}"


def _notes(result: Provisioned) -> list[str]:
    notes = [prose(note) for note in result.notes]
    if result.adopted:
        notes.append(
            "Cube's answer to the create call was lost; I found the sandbox it had made and used that one."
        )
    if result.agent.lacks_wal_guard:
        notes.append(_wal_line(result.agent))
    return notes


def _wal_line(agent: AgentFacts) -> str:
    if not agent.version:
        return (
            "The agent does not tell its version, so its database (perhaps in WAL mode) is only safe while"
            " one sandbox at a time uses the home. The bot sees to that."
        )
    return (
        f"The database of agent {code(agent.version)} (in WAL mode) is only safe while one sandbox at a time"
        " uses the home. The bot sees to that."
    )


def _durations(result: Provisioned) -> str:
    """The steps that took a noticeable time; the progress message above has them all."""
    took = [step for step in Step if result.durations.get(step, 0.0) >= NOTICEABLE]
    return " · ".join(f"{STEP_TITLES[step]} {seconds(result.durations[step])}" for step in took)


def _buttons(sandbox_id: str) -> Block:
    return blocks.actions(
        blocks.button("Open Studio", Press.OPEN, sandbox_id, style="primary"),
        blocks.button("Stop", Press.STOP_ASK, sandbox_id),
    )
