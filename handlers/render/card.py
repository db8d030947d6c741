"""The card of one sandbox: the word for it first, then all that is known, then what can be done now."""

from collections.abc import Sequence
from typing import Any

from bot.domain.actors import Action
from bot.domain.condition import ago
from bot.domain.condition import moment as cube_moment
from bot.domain.heartbeat import Heartbeat
from bot.domain.idle import TWO_HOURS, IdleKind
from bot.domain.sandbox import SandboxState
from bot.ports import Message
from bot.usecases.card import Card
from bot.usecases.sightings import Seen
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.events import event_line
from handlers.render.limits import Block, cut
from handlers.render.mrkdwn import bold, code, escape, is_person, moment, person, prose
from handlers.render.states import LABEL, SIGNS, idle, name, own_heartbeat, studio

NEVER = -1

COUNTS_AS_USE = (
    "I send a request into the sandbox. To Cube that is a use: its idle time starts anew."
    " A sleeping sandbox is not woken."
)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def card_message(made: Card) -> Message:
    """All of it, for one person."""
    seen = made.seen
    view, judged = seen.view, seen.judged
    called = name(view)
    headline = f"{called}: {judged.condition.value}"
    told = f"{bold(called)} is {judged.condition.value}. {prose(judged.sentence)}"
    text = told if seen.idle.kind is IdleKind.NONE else f"{told} Idle time left: {idle(seen.idle)}."
    return limits.message(
        text,
        [
            blocks.header(headline),
            blocks.section(f"{SIGNS[judged.condition]} *{judged.condition.value}*: {prose(judged.sentence)}"),
            *_warning(made),
            *blocks.facts(_facts(made)),
            blocks.section(f"*Last events*\n{_events(made)}"),
            blocks.context(*_notes(made)),
            blocks.actions(*card_buttons(made)),
        ],
    )


def state_buttons(seen: Seen, acts: Sequence[Action]) -> list[dict[str, Any]]:
    """The buttons for acts on a sandbox, in their order."""
    sandbox = seen.view.sandbox_id
    runs = seen.view.state is SandboxState.RUNNING
    made = {
        Action.RESUME: lambda: blocks.button(
            "Restart Studio" if runs else "Resume", Press.RESUME, sandbox, style="primary"
        ),
        Action.REVEAL: lambda: blocks.button(
            "Open Studio", Press.OPEN, sandbox, style="" if Action.RESUME in acts else "primary"
        ),
        Action.CHECK: lambda: blocks.button("Check now", Press.CHECK, sandbox, confirm=_check_first()),
        Action.KEEP: lambda: blocks.button("Keep 2 h", Press.KEEP, f"{sandbox}.{TWO_HOURS}"),
        Action.PAUSE: lambda: blocks.button("Pause", Press.PAUSE, sandbox),
        Action.STOP: lambda: blocks.button("Stop", Press.STOP_ASK, sandbox),
        Action.DIAGNOSE: lambda: blocks.button("Diagnose", Press.DIAGNOSE, sandbox),
    }
    return [made[action]() for action in acts if action in made]


def card_buttons(made: Card) -> list[dict[str, Any]]:
    """What makes sense now and this person may, and the same card again."""
    sandbox = made.seen.view.sandbox_id
    return [*state_buttons(made.seen, made.acts), blocks.button("Refresh", Press.STATUS, sandbox)]


def _check_first() -> dict[str, Any]:
    return blocks.confirmation("Ask it now?", COUNTS_AS_USE, yes="Check now", no="Go back", style="primary")


def _warning(made: Card) -> list[Block]:
    if not made.may_be_destroyed:
        return []
    sandbox = made.seen.view.sandbox_id
    text = (
        ":warning: *Cube may destroy it when it is idle.* I did not make it, and Cube does not tell whether"
        " it pauses or destroys it then. Home and workspace would stay; what only lives in the VM would not."
    )
    if not made.may_keep:
        return [blocks.section(text)]
    cure = blocks.button(
        "Let it never time out", Press.KEEP, f"{sandbox}.{NEVER}", which="never", style="primary"
    )
    return [blocks.section(text), blocks.actions(cure)]


def _facts(made: Card) -> list[tuple[str, str]]:
    seen = made.seen
    view = seen.view
    free = f", {size(seen.free_bytes)} free" if seen.free_bytes is not None else ""
    sizes = made.sizes
    return [
        ("Home", f"{_label(view.home)} ({size(sizes.home if sizes else None)})"),
        ("Workspace", f"{_label(view.workspace)} ({size(sizes.workspace if sizes else None)})"),
        ("Owner", person(view.owner) if is_person(view.owner) else _label(view.owner, none="unknown")),
        ("Sandbox", code(view.sandbox_id)),
        ("Idle time left", idle(seen.idle)),
        ("Studio", escape(studio(seen))),
        ("Node", f"{_label(view.node)}{free}"),
        ("Template", code(made.template)),
        ("Public Skills", code(seen.skills_revision) if seen.skills_revision else "unknown"),
        ("Mounts", _mounts(made)),
        *_inside(own_heartbeat(seen)),
    ]


def _label(text: str, *, none: str = "-") -> str:
    """A label as Cube tells it: whoever has Cube's key can write anything there, of any length."""
    return code(cut(text, LABEL)) if text.strip() else none


def _mounts(made: Card) -> str:
    if not made.mounts:
        return "unknown"
    lines = [
        f"{_label(path)} {'read-only' if read_only else 'read and write'}" for path, read_only in made.mounts
    ]
    return "\n".join(lines if made.mounts_told else [*lines, "(as asked for; Cube does not tell)"])


def _inside(beat: Heartbeat | None) -> list[tuple[str, str]]:
    """What the last heartbeat told of the machine itself."""
    if beat is None:
        return []
    told = []
    if beat.load is not None:
        told.append(f"load {beat.load:.1f}")
    if beat.memory_free is not None and beat.memory_total is not None:
        told.append(f"{size(beat.memory_free)} of {size(beat.memory_total)} memory free")
    return [("Inside", f"{', '.join(told)} ({ago(max(0.0, beat.age))} ago)")] if told else []


def _events(made: Card) -> str:
    if made.events is None:
        return "The audit log does not answer just now."
    return "\n".join(f"• {event_line(row)}" for row in made.events) or "none that the audit log knows of"


def _notes(made: Card) -> list[str]:
    view, lines = made.seen.view, []
    if made.asked_inside:
        lines.append("It was asked just now, which counts as a use.")
    else:
        lines.append("Read live. Looking has woken nothing and prolonged nothing.")
    if view.labels_from_log:
        lines.append("Cube has lost its labels; home, owner and node are as the audit log has them.")
    if not made.seen.node_answered:
        lines.append("Its node did not answer, so health, sizes and Skills are unknown.")
    if view.started_at:
        lines.append(_started(view.started_at))
    return lines


def _started(started_at: str) -> str:
    at = cube_moment(started_at)
    return f"Made {moment(at)}." if at else f"Made {escape(started_at)}."


def size(number: int | None) -> str:
    """Bytes in the largest unit that leaves a whole number: ``12 MiB``; unknown when nobody counted them."""
    if number is None:
        return "unknown"
    value, unit = float(number), 0
    while value >= 10 * _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    if value >= _STEP and unit < len(_UNITS) - 1:
        return f"{value / _STEP:.1f} {_UNITS[unit + 1]}"
    return f"{value:.0f} {_UNITS[unit]}"
