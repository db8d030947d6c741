"""Pausing and waking as people read it: while it goes on, and how it ended."""

from bot.domain.actors import Action
from bot.ports import Message
from bot.usecases.pausing import Paused
from bot.usecases.resuming import Resumed, StudioNow
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.mrkdwn import bold, code, person, prose, seconds

_GOING_ON = {
    Action.PAUSE: ":hourglass_flowing_sand: {who} puts {what} to sleep …",
    Action.RESUME: ":hourglass_flowing_sand: {who} wakes {what} …",
}
_STUDIO = {
    StudioNow.WELL: "Its home and workspace are mounted, and its Studio is well.",
    StudioNow.RESTARTED: "Its home and workspace are mounted. Only its Studio had died: I started it again.",
    StudioNow.UNTOLD: "",
}
_ALREADY = {
    StudioNow.WELL: ", and its Studio works; nothing was changed.",
    StudioNow.RESTARTED: f". {_STUDIO[StudioNow.RESTARTED]}",
    StudioNow.UNTOLD: "; nothing was changed.",
}


def going_on(action: Action, actor_id: str, target: str) -> Message:
    """Said while a pause or a resume is on its way."""
    text = _GOING_ON[action].format(who=person(actor_id), what=code(target))
    return limits.message(text, [blocks.section(text)])


def asked_for(action: Action, actor_id: str, target: str) -> Message:
    """Stands before the sentences of what did not end well."""
    what = {Action.PAUSE: "to pause", Action.RESUME: "to resume"}.get(action, "for another idle time of")
    text = f"{person(actor_id)} asked {what} {code(target)}."
    return limits.message(text, [blocks.section(text)])


def paused_message(paused: Paused, actor_id: str, request_id: str) -> Message:
    """It sleeps."""
    subject = subject_of(paused.home, paused.sandbox_id)
    how = "Opening its Studio wakes it." if paused.wakes_on_use else "Press Resume to wake it."
    if paused.already:
        text = f":double_vertical_bar: {subject} sleeps already; nothing was changed. {how}"
    else:
        text = (
            f":double_vertical_bar: {subject} sleeps ({seconds(paused.seconds)}), put to sleep by"
            f" {person(actor_id)}. Its memory and its programs are kept. {how}"
        )
    parts = [blocks.section(text)]
    if paused.kept_for_ever:
        note = (
            "I did not make this sandbox, and the end of its idle time could have destroyed it while it"
            " sleeps; so its idle time was set to never first."
        )
        parts.append(blocks.section(f":shield: {note}"))
    parts += [
        blocks.actions(
            blocks.button("Resume", Press.RESUME, paused.sandbox_id),
            blocks.button("Open Studio", Press.OPEN, paused.sandbox_id),
        ),
        _reference(paused.sandbox_id, "" if paused.already else request_id),
    ]
    return limits.message(text, parts)


def resumed_message(resumed: Resumed, actor_id: str, request_id: str) -> Message:
    """It is awake and well."""
    subject = subject_of(resumed.home, resumed.sandbox_id)
    changed = not resumed.already or resumed.studio is StudioNow.RESTARTED
    if resumed.already:
        text = f":arrow_forward: {subject} is awake already{_ALREADY[resumed.studio]}"
    else:
        text = (
            f":arrow_forward: {subject} is awake ({seconds(resumed.seconds)}), woken by {person(actor_id)}."
            f" {_STUDIO[resumed.studio]}"
        ).rstrip()
    return limits.message(
        text,
        [
            blocks.section(text),
            *(blocks.section(f":information_source: {prose(note)}") for note in resumed.notes),
            blocks.actions(
                blocks.button("Open Studio", Press.OPEN, resumed.sandbox_id, style="primary"),
                blocks.button("Pause", Press.PAUSE, resumed.sandbox_id),
            ),
            _reference(resumed.sandbox_id, request_id if changed else ""),
        ],
    )


def subject_of(home: str, sandbox_id: str) -> str:
    """What a sentence is about: its home where that is known."""
    return f"The sandbox of home {bold(home)}" if home else f"Sandbox {code(sandbox_id)}"


def _reference(sandbox_id: str, request_id: str) -> limits.Block:
    return blocks.context(
        f"Sandbox {code(sandbox_id)}" + (f" · request {code(request_id)}" if request_id else "")
    )
