"""Block Kit as plain text: where Slack accepts none of our blocks, or not all, so that nothing is lost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_TASK = {"pending": "○", "in_progress": "…", "complete": "✓", "error": "✗"}


def as_text(text: str, blocks: Sequence[Mapping[str, Any]]) -> str:
    """The message's own text, then what its blocks say, however long that is."""
    return "\n".join([text, *(line for block in blocks for line in _lines(block) if line and line != text)])


def _lines(block: Mapping[str, Any]) -> Iterator[str]:
    match block.get("type"):
        case "header":
            yield f"*{_text(block.get('text'))}*"
        case "section":
            if "text" in block:
                yield _text(block["text"])
            yield from (_text(field) for field in block.get("fields", ()))
        case "context":
            yield " · ".join(_text(element) for element in block.get("elements", ()))
        case "rich_text":
            yield _rich(block)
        case "table":
            yield from (" | ".join(_cell(cell) for cell in row) for row in block.get("rows", ()))
        case "plan":
            yield _escaped(str(block.get("title", "")))
            for task in block.get("tasks", ()):
                details = _rich(task["details"]) if "details" in task else ""
                sign = _TASK.get(task.get("status"), "·")
                title = _escaped(str(task.get("title", "")))
                yield f"{sign} {title}" + (f" · {details}" if details else "")
        case "actions":
            yield " ".join(_button(element) for element in block.get("elements", ()))


def _button(element: Mapping[str, Any]) -> str:
    return f"[{_text(element.get('text'))}]"


def _cell(cell: Any) -> str:
    """A cell of any kind; a column that Slack is told nothing of is empty."""
    if not isinstance(cell, Mapping):
        return ""
    return _rich(cell) if cell.get("type") == "rich_text" else _escaped(str(cell.get("text", "")))


def _rich(block: Mapping[str, Any]) -> str:
    """Text of a rich_text block, escaped, since it was exact there and would be markup here."""
    found: list[str] = []
    for part in block.get("elements", ()):
        found += [_leaf(element) for element in part.get("elements", ())]
    return "".join(found)


def _leaf(element: Mapping[str, Any]) -> str:
    """A person stays one that Slack shows by name."""
    if element.get("type") == "user":
        return f"<@{element.get('user_id', '')}>"
    return _escaped(str(element.get("text", "")))


def _text(value: Any) -> str:
    """A text object as markup. What was plain there would come alive here, so it is escaped."""
    if not isinstance(value, Mapping):
        return ""
    text = str(value.get("text", ""))
    return _escaped(text) if value.get("type") == "plain_text" else text


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
