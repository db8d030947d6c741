"""Block Kit as HTML for the console. Everything that a message says is escaped."""

import html
import re
from collections.abc import Callable, Mapping
from typing import Any

Block = dict[str, Any]

_LINK = re.compile(r"<([^<>]+)>")
_STYLES = (
    (re.compile(r"```(.+?)```", re.DOTALL), r"<pre>\1</pre>"),
    (re.compile(r"`([^`\n]+)`"), r"<code>\1</code>"),
    (re.compile(r"(?<!\w)\*([^*\n]+)\*(?!\w)"), r"<b>\1</b>"),
    (re.compile(r"(?<!\w)_([^_\n]+)_(?!\w)"), r"<i>\1</i>"),
)
# The emoji of a workspace that has none of its own; the names that the bot writes.
_EMOJI = {
    "arrow_forward": "▶️",
    "arrow_right": "➡️",
    "grey_question": "❔",
    "hourglass_flowing_sand": "⏳",
    "no_entry_sign": "🚫",
    "shield": "🛡️",
    "warning": "⚠️",
    "wastebasket": "🗑️",
    "white_check_mark": "✅",
    "white_circle": "⚪",
    "x": "❌",
}
_EMOJI_NAME = re.compile(r":([a-z0-9_+-]+):")
_MARKS = {"pending": "○", "in_progress": "◐", "complete": "●", "error": "✕"}


def mrkdwn(text: str) -> str:
    """Slack's markup as HTML. Only http and https links become links."""
    parts = _LINK.split(text)
    return "".join(
        _styled(part) if number % 2 == 0 else _reference(part) for number, part in enumerate(parts)
    )


def blocks(listed: list[Block], press: str) -> str:
    """Blocks as HTML. ``press`` are the hidden fields that say where a button stands."""
    return "".join(_block(block, press) for block in listed)


def hidden(**values: str) -> str:
    """Hidden form fields."""
    return "".join(
        f'<input type="hidden" name="{name}" value="{html.escape(value)}">' for name, value in values.items()
    )


def form(deed: str, fields: str, label: str, style: str = "", confirm: str = "") -> str:
    """A form with one button that does a deed of the console, after a question if there is one."""
    button = f'<button class="{html.escape(style)}">{html.escape(label)}</button>'
    start = f'<form method=post action=/console/{deed} data-confirm="{html.escape(confirm)}">'
    return f"{start}{fields}{button}</form>"


def _styled(text: str) -> str:
    shown = _with_emoji(html.escape(html.unescape(text)))
    for pattern, replacement in _STYLES:
        shown = pattern.sub(replacement, shown)
    return shown


def _with_emoji(text: str) -> str:
    return _EMOJI_NAME.sub(lambda found: _EMOJI.get(found[1], found[0]), text)


def _reference(inside: str) -> str:
    target, _, label = inside.partition("|")
    if target.startswith("!date^"):
        return html.escape(label or target)
    if target[:1] in "@#!":
        return (
            f"<b>{html.escape(target[0] if target[0] != '!' else '@')}{html.escape(label or target[1:])}</b>"
        )
    return _link(html.unescape(target), html.unescape(label or target))


def _link(url: str, label: str) -> str:
    if not url.startswith(("http://", "https://")):
        return html.escape(label)
    return f'<a href="{html.escape(url)}" target="_blank" rel="noreferrer noopener">{html.escape(label)}</a>'


def _text(thing: Any) -> str:
    if not isinstance(thing, dict):
        return html.escape(str(thing or ""))
    text = str(thing.get("text", ""))
    return mrkdwn(text) if thing.get("type") == "mrkdwn" else _with_emoji(html.escape(text))


def _block(block: Block, press: str) -> str:
    own = press + hidden(block_id=block["block_id"])
    render = _RENDERERS.get(block["type"])
    if render is None:
        return f"<div><i>{html.escape(block['type'])}</i> {html.escape(_plain(block))}</div>"
    return render(block, own)


def _section(block: Block, press: str) -> str:
    texts = [block.get("text"), *block.get("fields", [])]
    body = "".join(f"<div class=text>{_text(text)}</div>" for text in texts if text)
    return f"<div>{body}{_element(block.get('accessory'), press)}</div>"


def _table(block: Block, _press: str) -> str:
    rows = ("".join(f"<td>{html.escape(_plain(cell))}</td>" for cell in row) for row in block["rows"])
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _task(task: Block) -> str:
    detail = html.escape(_plain([task.get("details"), task.get("output")]))
    return f"<li>{_MARKS[task['status']]} {_text(task['title'])} <small>{detail}</small></li>"


def _plain(thing: Any) -> str:
    """Every text below a block, in order."""
    if isinstance(thing, list):
        return " ".join(filter(None, map(_plain, thing)))
    if isinstance(thing, dict):
        listed = (thing.get(key) for key in ("text", "value", "url", "user_id", "elements", "title", "body"))
        return _plain([item for item in listed if item is not None])
    return "" if thing is None else str(thing)


def _element(element: Any, press: str) -> str:
    if not element:
        return ""
    if element["type"] == "image":
        return html.escape(f"[{element['alt_text']}]")
    fields = press + hidden(action_id=element["action_id"])
    if element["type"] != "button":
        return form("click", fields + _choice(element, "selected"), "Choose")
    value = hidden(value=element["value"]) if "value" in element else ""
    link = " " + _link(element["url"], element["url"]) if "url" in element else ""
    asked = _plain([element.get("confirm", {}).get(part) for part in ("title", "text")])
    return form("click", fields + value, element["text"]["text"], element.get("style", ""), asked) + link


def _field(block: Block) -> str:
    element = block["element"]
    name = html.escape(f"field {block['block_id']} {element['action_id']}")
    if "options" in element:
        return _choice(element, name)
    value = html.escape(str(element.get("initial_value", "")))
    return f'<input name="{name}" value="{value}">'


def _choice(element: Block, name: str) -> str:
    if "options" not in element:
        return f'<input name="{name}">'
    listed = ((html.escape(option["value"]), _text(option["text"])) for option in element["options"])
    options = "".join(f'<option value="{value}">{text}</option>' for value, text in listed)
    return f'<select name="{name}"><option value=""></option>{options}</select>'


_RENDERERS: Mapping[str, Callable[[Block, str], str]] = {
    "header": lambda block, _: f"<h3>{_text(block['text'])}</h3>",
    "divider": lambda _block, _: "<hr>",
    "section": _section,
    "actions": lambda block, press: (
        f"<div>{' '.join(_element(element, press) for element in block['elements'])}</div>"
    ),
    "context": lambda block, _: (
        f"<div class=text><small>{' · '.join(map(_text, block['elements']))}</small></div>"
    ),
    "plan": lambda block, _: (
        f"<b>{_text(block['title'])}</b><ul>{''.join(map(_task, block.get('tasks', [])))}</ul>"
    ),
    "task_card": lambda block, _: f"<ul>{_task(block)}</ul>",
    "table": _table,
    "input": lambda block, _: f"<label>{_text(block['label'])} {_field(block)}</label><br>",
    "rich_text": lambda block, _: f"<pre>{html.escape(_plain(block))}</pre>",
}
