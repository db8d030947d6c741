"""Told to an owner before a sandbox goes to sleep by itself."""

from datetime import datetime

from bot.ports import Message
from bot.usecases.warnings import PauseWarning
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.mrkdwn import code, moment, seconds
from handlers.render.sleep import subject_of

TWO_HOURS = 7200


def warning_message(warning: PauseWarning, now: datetime) -> Message:
    """When, what that means, and how to put it off."""
    left = seconds(max(0.0, (warning.deadline - now).total_seconds()))
    text = (
        f":information_source: {subject_of(warning.home, warning.sandbox_id)} goes to sleep in about {left}"
        f" ({moment(warning.deadline)}), because nobody uses it."
    )
    meaning = "Nothing is lost: its memory and its programs are kept, and opening its Studio wakes it again."
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
