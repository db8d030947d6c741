"""The forms of one message, from the richest that Slack may take to the text that it always takes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.domain.block_text import as_text
from bot.domain.message_limits import MESSAGE_BLOCKS, MORE, TEXT, cut, fit, fits, small_print
from bot.ports import Message

Body = dict[str, Any]

REFUSED = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "invalid_attachments",
        "msg_blocks_too_long",
        "msg_too_long",
        "block_mismatch",
    }
)
"""Slack's words for a message whose blocks or length it does not take. Nothing of it was posted."""


def forms_of(message: Message, *, plans: bool) -> Iterator[Body]:
    """Each form once. Without ``plans`` a message with a plan begins with its classic blocks."""
    rich, classic = plain(message.blocks), plain(message.classic or ())
    if rich and not (classic and not plans and has_plan(rich)):
        yield {"text": message.text, "blocks": rich}
    if classic and classic != rich:
        yield {"text": message.text, "blocks": classic}
    yield {"text": as_text(message.text, classic or rich)}


def has_plan(blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether it shows steps in a way that not every workspace knows."""
    return any(block.get("type") == "plan" for block in blocks)


def is_short(form: Body) -> bool:
    """Whether Slack takes the form as it is."""
    return fits(form["text"], form.get("blocks", ()))


def shortened(form: Body, line: str = "") -> Body:
    """The form within Slack's limits; the last thing it says is ``line``."""
    if "blocks" in form:
        blocks = _ending_with(line, fit(form["blocks"], MESSAGE_BLOCKS))
        return {"text": cut(form["text"], TEXT), "blocks": plain(blocks)}
    end = f"\n{line}" if line else ""
    return {"text": cut(form["text"], TEXT - len(end)) + end}


def _ending_with(line: str, blocks: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if not line:
        return blocks
    if len(blocks) == MESSAGE_BLOCKS and blocks[-1].get("block_id") != MORE:
        blocks = fit(blocks, MESSAGE_BLOCKS - 1)
    last = blocks[-1] if blocks else {}
    if last.get("block_id") == MORE:
        told = [*last["elements"], *small_print(line)["elements"]]
        return [*blocks[:-1], {**last, "elements": told}]
    return [*blocks, small_print(line)]


def plain(value: Any) -> Any:
    """Dicts and lists all the way down, as JSON and the redactor want them."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value
