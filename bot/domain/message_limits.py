"""What Slack takes in one message, and how a longer one is cut: once for whoever composes and whoever sends.

Numbers: Slack's Block Kit reference and messages API.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

Block = Mapping[str, Any]

TEXT: Final = 4_000
"""Characters of a message's own text; a new message may be longer, an edited one may not."""
SECTION: Final = 3_000
FIELD: Final = 2_000
FIELDS: Final = 10
MESSAGE_BLOCKS: Final = 50
TABLE_ROWS: Final = 100

MARKER: Final = "… (cut)"
FENCE: Final = "```"
MORE: Final = "hermes.more"
"""The ``block_id`` of the last block where blocks were left out."""

_WORD: Final = 80
"""Characters; a cut goes before a word of up to this length, so that no half of a name or key is left."""


def cut(text: str, limit: int, *, marker: str = MARKER) -> str:
    """The text within ``limit`` characters, the marker included; never an empty text, which Slack refuses."""
    if not text.strip():
        return "-"
    if len(text) <= limit:
        return text
    if len(marker) + 4 >= limit:
        return text[:limit]
    kept = _before_broken_word(_before_broken_entity(text[: limit - len(marker)]))
    if kept.count(FENCE) % 2:
        kept = kept[: limit - len(marker) - len(FENCE)] + FENCE
    return kept + marker


def fit(blocks: Sequence[Block], most: int) -> tuple[Block, ...]:
    """At most ``most`` blocks, none longer than Slack takes it; a block that fits is given back as it is.

    Buttons stay, because nothing works without them; what else is left out is counted in the last block.
    """
    within = tuple(_within(block) for block in blocks)
    if len(within) <= most:
        return within
    buttons = sum(block.get("type") == "actions" for block in within)
    room = max(0, most - 1 - buttons)
    kept: list[Block] = []
    for block in within:
        if block.get("type") == "actions":
            kept.append(block)
        elif room > 0:
            kept.append(block)
            room -= 1
    kept = kept[: most - 1]
    more = f"… and {len(within) - len(kept)} more that do not fit here."
    return (*kept, {**small_print(more), "block_id": MORE})


def fits(text: str, blocks: Sequence[Block]) -> bool:
    """Whether Slack takes all of it."""
    return (
        len(text) <= TEXT
        and len(blocks) <= MESSAGE_BLOCKS
        and all(_within(block) is block for block in blocks)
    )


def small_print(text: str) -> dict[str, Any]:
    """A context block with one line of markup."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text, "verbatim": True}]}


def _within(block: Block) -> Block:
    """A section or table within its limits. Other kinds are short by the way they are made."""
    rows = block.get("rows", ())
    if block.get("type") == "table" and len(rows) > TABLE_ROWS:
        return {**block, "rows": rows[:TABLE_ROWS]}
    if block.get("type") != "section":
        return block
    changed: dict[str, Any] = {}
    text = block.get("text")
    if isinstance(text, Mapping) and _length(text) > SECTION:
        changed["text"] = _shortened(text, SECTION)
    fields = block.get("fields")
    if fields and (len(fields) > FIELDS or any(_length(one) > FIELD for one in fields)):
        changed["fields"] = [_shortened(one, FIELD) for one in fields[:FIELDS]]
    return {**block, **changed} if changed else block


def _length(text: Mapping[str, Any]) -> int:
    return len(str(text.get("text", "")))


def _shortened(text: Mapping[str, Any], limit: int) -> dict[str, Any]:
    return {**text, "text": cut(str(text.get("text", "")), limit)}


def _before_broken_word(text: str) -> str:
    start = max(text.rfind(gap) for gap in " \n\t")
    return text[: start + 1] if start >= max(1, len(text) - _WORD) else text


def _before_broken_entity(text: str) -> str:
    """Drop a ``&lt;`` or ``<@U1>`` that the cut went through: half of one would show as noise."""
    for opening, closing, reach in (("&", ";", 6), ("<", ">", 60)):
        start = text.rfind(opening, max(0, len(text) - reach))
        if start >= 0 and closing not in text[start:]:
            text = text[:start]
    return text
