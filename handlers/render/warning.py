"""Told to an owner before a sandbox goes to sleep by itself."""

from datetime import datetime

from bot.domain.idle import TWO_HOURS
from bot.ports import Message
from bot.usecases.warnings import PauseWarning
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.mrkdwn import code, moment, seconds
from handlers.render.sleep import subject_of

_SLEEPS = {
    True: "Nothing is lost: its memory and its programs are kept, and opening its Studio wakes it again.",
    False: "Nothing is lost: its memory and its programs are kept, and `/hermes resume` wakes it again.",
}
_DIES = (
    "I did not make it, and Cube does not tell which of the two it does then. Home and workspace would stay;"
    " what only lives in the VM may not. A longer idle time puts it off."
)


def warning_message(warning: PauseWarning, now: datetime) -> Message:
    """When, what that means, and how to put it off."""
    left = seconds(max(0.0, (warning.deadline - now).total_seconds()))
    what = "goes to sleep or is destroyed" if warning.dies else "goes to sleep"
    text = (
        f":{'warning' if warning.dies else 'information_source'}:"
        f" {subject_of(warning.home, warning.sandbox_id)} {what} in about {left}"
        f" ({moment(warning.deadline)}), because nobody uses it."
    )
    meaning = _DIES if warning.dies else _SLEEPS[warning.wakes_on_use]
    keep = blocks.button("Keep 2 h", Press.KEEP, f"{warning.sandbox_id}.{TWO_HOURS}", style="primary")
    return limits.message(
        text,
        [
            blocks.section(text),
            blocks.section(meaning),
            blocks.actions(keep, blocks.button("Open Studio", Press.OPEN, warning.sandbox_id)),
            blocks.context(f"Sandbox {code(warning.sandbox_id)}"),
        ],
    )
