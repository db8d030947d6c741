"""What a thread is told when the bot was restarted in the middle of a pause, a resume or a new idle time."""

from bot.domain.actors import Action
from bot.ports import Message
from bot.usecases.recovery import Interrupted
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.leaving import ask_again
from handlers.render.mrkdwn import code
from handlers.render.sleep import subject_of

CHANGES = frozenset({Action.PAUSE, Action.RESUME, Action.KEEP})

_MAY_BE = {
    Action.PAUSE: "It may sleep by now, or go to sleep yet.",
    Action.RESUME: "It may be awake; whether all in it is well was not examined.",
    Action.KEEP: "Its new idle time may hold, or the one from before.",
}


def interrupted_change_message(found: Interrupted) -> Message:
    """What cannot be told, what is safe, and how to find out."""
    subject = subject_of(found.home, found.recorded_sandbox)
    why = ", because the bot was restarted" if found.restarted else ""
    gone = found.sandbox_known and found.sandbox_id is None
    known = "It does not exist any more." if gone else _MAY_BE[found.action]
    happened = f"The {found.action.value} was interrupted{why}. {subject}: {known}"
    target = found.home or found.recorded_sandbox
    todo = (
        f"come back with {code(f'/hermes create home={found.home}')} when you need it."
        if gone
        else f"ask again: {code(ask_again(found.action, target))}. It looks first, and does nothing twice."
    )
    buttons = [] if gone else _buttons(found)
    return limits.message(
        happened,
        [
            blocks.section(f":warning: *What happened:* {happened}"),
            blocks.section(":shield: *What is safe:* The home and workspace are safe on the node."),
            blocks.section(f":arrow_right: *What to do:* {todo}"),
            *([blocks.actions(*buttons)] if buttons else []),
            blocks.context(f"Request {code(found.request_id)}"),
        ],
    )


def _buttons(found: Interrupted) -> list[dict[str, object]]:
    again = {Action.PAUSE: ("Pause", Press.PAUSE), Action.RESUME: ("Resume", Press.RESUME)}
    if found.action not in again or not found.sandbox_id:
        return []
    label, press = again[found.action]
    return [blocks.button(label, press, found.sandbox_id)]
