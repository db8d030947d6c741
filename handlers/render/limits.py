"""Slack's size limits for whoever composes a message, so that none is ever refused for its length.

Those that the way out has to know too stand in ``bot.domain.message_limits``; the others are here.
Numbers: Slack's Block Kit reference and messages API.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.domain.block_text import as_text
from bot.domain.message_limits import FIELD, FIELDS, MESSAGE_BLOCKS, SECTION, TEXT, cut, fit, fits
from bot.ports import Message

__all__ = ["FIELD", "FIELDS", "MESSAGE_BLOCKS", "SECTION", "TEXT", "cut", "fit"]

Block = dict[str, Any]

HEADER = 150
CONTEXT_ELEMENTS = 10
ACTIONS = 25
BUTTON_TEXT = 75
BUTTON_VALUE = 2_000
BUTTON_URL = 3_000
IDENTIFIER = 255
"""Action, block and callback ids."""
CONFIRM_TITLE = 100
CONFIRM_TEXT = 300
CONFIRM_BUTTON = 30
MODAL_TITLE = 24
PRIVATE_METADATA = 3_000
PLACEHOLDER = 150
LABEL = 2_000
"""Of an input, and of the hint below it."""
OPTION_TEXT = 75
"""Also of the description below it."""
OPTIONS = 100
TYPED_TEXT = 3_000
"""Characters that a person can type into one field."""
VIEW_BLOCKS = 100
PLAN_TASKS = 50
PLAN_TITLE = 150
TASK_TITLE = 150
RICH_TEXT = 3_000


def message(
    text: str, blocks: Sequence[Mapping[str, Any]] = (), *, classic: Sequence[Mapping[str, Any]] | None = None
) -> Message:
    """A message within the limits; what had to be left out travels as a whole, for a file."""
    parts = (blocks,) if classic is None else (blocks, classic)
    return Message(
        cut(text, TEXT),
        fit(blocks, MESSAGE_BLOCKS),
        None if classic is None else fit(classic, MESSAGE_BLOCKS),
        "" if all(fits(text, part) for part in parts) else as_text(text, parts[-1]),
    )
