"""Slack's size limits, enforced here and nowhere else, so that no message is ever refused for its length.

Numbers: Slack's Block Kit reference and messages API; ``TEXT`` is what an edit accepts, the smallest of all.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.ports import Message

Block = dict[str, Any]

TEXT = 4_000
"""Characters of a message's own text; a new message may be longer, an edited one may not."""
SECTION = 3_000
FIELD = 2_000
FIELDS = 10
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
MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
PLAN_TASKS = 50
PLAN_TITLE = 150
TASK_TITLE = 150
RICH_TEXT = 3_000

MARKER = "… (cut)"
FENCE = "```"


def cut(text: str, limit: int, *, marker: str = MARKER) -> str:
    """The text within ``limit`` characters, the marker included; never an empty text, which Slack refuses."""
    if not text.strip():
        return "-"
    if len(text) <= limit:
        return text
    kept = _before_broken_entity(text[: limit - len(marker)])
    if len(marker) + 4 >= limit:
        return text[:limit]
    if kept.count(FENCE) % 2:
        kept = kept[: limit - len(marker) - len(FENCE)] + FENCE
    return kept + marker


def _before_broken_entity(text: str) -> str:
    """Drop a ``&lt;`` or ``<@U1>`` that the cut went through: half of one would show as noise."""
    for opening, closing, reach in (("&", ";", 6), ("<", ">", 60)):
        start = text.rfind(opening, max(0, len(text) - reach))
        if start >= 0 and closing not in text[start:]:
            text = text[:start]
    return text


def message(
    text: str, blocks: Sequence[Mapping[str, Any]] = (), *, classic: Sequence[Mapping[str, Any]] | None = None
) -> Message:
    """A message within the limits of text and number of blocks."""
    return Message(
        cut(text, TEXT),
        fit(blocks, MESSAGE_BLOCKS),
        None if classic is None else fit(classic, MESSAGE_BLOCKS),
    )


def fit(blocks: Sequence[Mapping[str, Any]], most: int) -> tuple[Mapping[str, Any], ...]:
    """At most ``most`` blocks. What is left out is counted; buttons stay: nothing works without."""
    if len(blocks) <= most:
        return tuple(blocks)
    buttons = [b for b in blocks if b["type"] == "actions"][: most // 2]
    rest = [b for b in blocks if b["type"] != "actions"]
    room = most - len(buttons) - 1
    note = {
        "type": "context",
        "elements": [
            {"type": "mrkdwn", "text": f"… and {len(rest) - room} more parts that do not fit here."}
        ],
    }
    return (*rest[:room], note, *buttons)
