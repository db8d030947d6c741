"""How a thread reads: Block Kit as the plain text that a person takes in."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

MARKS = {"pending": "·", "in_progress": "…", "complete": "✓", "error": "✗"}


def thread_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Messages of one channel or thread, oldest first; replies are indented."""
    return "\n".join(_message(message) for message in messages)


def buttons(message: Mapping[str, Any]) -> dict[str, str]:
    """action_id → label of the buttons on a message."""
    return {
        element["action_id"]: element["text"]["text"]
        for block in message.get("blocks") or ()
        for element in _elements(block)
        if element.get("type") == "button" and "action_id" in element
    }


def view_text(view: Mapping[str, Any]) -> str:
    """A modal as text."""
    title = view.get("title", {}).get("text", "")
    return "\n".join([f"[{title}]", *_blocks(view.get("blocks") or ())])


def plain(mrkdwn: str) -> str:
    """Text with dates, links and mentions spelled out and entities undone."""
    text = re.sub(r"<!date\^(\d+)\^[^|>]*\|([^>]*)>", lambda m: _clock(int(m[1])), mrkdwn)
    text = re.sub(r"<(https?://[^|>]+)\|([^>]+)>", r"\2 (\1)", text)
    text = re.sub(r"<(https?://[^>]+)>", r"\1", text)
    text = re.sub(r"<@([A-Z0-9_]+)(?:\|[^>]*)?>", r"@\1", text)
    text = re.sub(r"<#([A-Z0-9_]+)(?:\|[^>]*)?>", r"#\1", text)
    text = text.replace("*", "").replace("`", "")
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _clock(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%H:%M UTC")


def _message(message: Mapping[str, Any]) -> str:
    reply = bool(message.get("thread_ts")) and message["thread_ts"] != message["ts"]
    who = (
        "only you"
        if message.get("ephemeral_for")
        else "bot"
        if message.get("blocks")
        else message.get("user", "")
    )
    lines = list(_blocks(message.get("blocks") or ())) or [plain(message.get("text", ""))]
    margin = "    │ " if reply else "  "
    return "\n".join(
        [f"{margin}[{who}]", *(f"{margin}{line}" for text in lines for line in text.splitlines())]
    )


def _blocks(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for block in blocks:
        yield from _block(block)


def _block(block: Mapping[str, Any]) -> Iterator[str]:
    read = _READERS.get(str(block.get("type")))
    return read(block) if read else iter(())


def _section(block: Mapping[str, Any]) -> Iterator[str]:
    if "text" in block:
        yield plain(block["text"]["text"])
    for field in block.get("fields") or ():
        yield "  " + plain(field["text"]).replace("\n", ": ", 1)
    if "accessory" in block:
        yield from _actions(block)


def _context(block: Mapping[str, Any]) -> Iterator[str]:
    yield "  ".join(plain(element.get("text", "")) for element in block.get("elements") or ())


def _actions(block: Mapping[str, Any]) -> Iterator[str]:
    labels = [element["text"]["text"] for element in _elements(block) if "text" in element]
    yield " ".join(f"[ {label} ]" for label in labels)


def _plan(block: Mapping[str, Any]) -> Iterator[str]:
    yield plain(block.get("title", ""))
    for task in block.get("tasks") or ():
        yield from _task(task)


def _table(block: Mapping[str, Any]) -> Iterator[str]:
    for row in block.get("rows") or ():
        yield " | ".join(_rich(cell) for cell in row)


_READERS: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "header": lambda block: iter([block["text"]["text"].upper()]),
    "section": _section,
    "context": _context,
    "actions": _actions,
    "divider": lambda _: iter(["─" * 40]),
    "plan": _plan,
    "table": _table,
    "input": lambda block: iter([f"{block['label']['text']}: ____"]),
    "rich_text": lambda block: iter([_rich(block)]),
    "alert": lambda block: iter([plain(block["text"]["text"])]),
}


def _task(task: Mapping[str, Any]) -> Iterator[str]:
    notes = " — ".join(filter(None, (_rich(task[part]) for part in ("details", "output") if part in task)))
    line = f"{MARKS.get(task.get('status', ''), ' ')} {task.get('title', '')}"
    yield f"{line:<44} {notes}".rstrip()


def _rich(block: Mapping[str, Any]) -> str:
    if "text" in block and isinstance(block["text"], str):
        return block["text"]
    if block.get("type") == "user":
        return f"@{block.get('user_id', '')}"
    return "".join(_rich(element) for element in block.get("elements") or ())


def _elements(block: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = list(block.get("elements") or ())
    accessory = block.get("accessory")
    return [*found, accessory] if accessory else found
