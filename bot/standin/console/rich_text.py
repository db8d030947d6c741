"""Rich text: exact text with its styles, which knows no markup and needs no escaping by its author."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.standin.console.dates import shown_moment
from bot.standin.console.emoji import emoji_of
from bot.standin.console.frame import Block, Frame, note
from bot.standin.console.markup import escape, is_safe, lines, link, tag
from bot.standin.console.references import BROADCASTS, broadcast, channel, group, person

_STYLES = {"bold": "b", "italic": "i", "strike": "s", "underline": "u", "highlight": "mark", "code": "code"}
_DEEPEST = 8


def render_rich_text(block: Block, frame: Frame) -> str:
    """The sections, lists, quotes and code of a rich text block."""
    return "".join(_part(part, frame) for part in block.get("elements") or [])


def _part(part: Block, frame: Frame) -> str:
    kind = str(part.get("type"))
    bordered = " bordered" if part.get("border") else ""
    if kind == "rich_text_section":
        return tag("div", _leaves(part, frame), class_="rt-section")
    if kind == "rich_text_quote":
        return tag("blockquote", _leaves(part, frame))
    if kind == "rich_text_preformatted":
        return tag("pre", _leaves(part, frame), class_=f"rt-pre{bordered}")
    if kind == "rich_text_list":
        return _list(part, frame, bordered)
    return note(f"unsupported rich text {kind}")


def _list(part: Block, frame: Frame, bordered: str) -> str:
    """One list. Slack sends the items of a deeper level as a list of their own, with an indent."""
    items = "".join(tag("li", _leaves(item, frame)) for item in part.get("elements") or [])
    indent = min(max(int(part.get("indent", 0)), 0), _DEEPEST)
    shape = f"rt-list indent-{indent}{bordered}"
    if part.get("style") == "ordered":
        offset = int(part.get("offset", 0))
        return tag("ol", items, class_=shape, start=offset + 1 if offset else None)
    return tag("ul", items, class_=shape)


def _leaves(part: Block, frame: Frame) -> str:
    return "".join(_leaf(leaf, frame) for leaf in part.get("elements") or [])


def _leaf(leaf: Block, frame: Frame) -> str:
    kind = str(leaf.get("type"))
    render = _LEAVES.get(kind)
    if render is None:
        return note(f"unsupported rich text {kind}")
    shown = render(leaf, frame)
    style: Any = leaf.get("style")
    if isinstance(style, Mapping):
        for name, wrapped in reversed(_STYLES.items()):
            if style.get(name):
                shown = tag(wrapped, shown)
    return shown


def _link(leaf: Block, _frame: Frame) -> str:
    url = str(leaf.get("url", ""))
    text = lines(str(leaf.get("text") or url))
    return link(url, text) if is_safe(url) else text


def _date(leaf: Block, frame: Frame) -> str:
    stamp, pattern = str(leaf.get("timestamp", "")), str(leaf.get("format", ""))
    url, fallback = str(leaf.get("url", "")), str(leaf.get("fallback", ""))
    return shown_moment(stamp, pattern, frame.viewer, url=url, fallback=fallback) or escape(stamp)


def _broadcast(leaf: Block, _frame: Frame) -> str:
    reach = str(leaf.get("range"))
    return broadcast(reach) if reach in BROADCASTS else escape(f"@{reach}")


_LEAVES: Mapping[str, Callable[[Block, Frame], str]] = {
    "text": lambda leaf, _frame: lines(str(leaf.get("text", ""))),
    "link": _link,
    "emoji": lambda leaf, _frame: emoji_of(str(leaf.get("name", "")), str(leaf.get("unicode", ""))),
    "user": lambda leaf, frame: person(str(leaf.get("user_id")), frame.viewer),
    "usergroup": lambda leaf, frame: group(str(leaf.get("usergroup_id")), frame.viewer),
    "channel": lambda leaf, frame: channel(str(leaf.get("channel_id")), frame.viewer),
    "broadcast": _broadcast,
    "date": _date,
    "color": lambda leaf, _frame: tag("code", escape(leaf.get("value", "")), class_="color"),
    "team": lambda leaf, frame: tag(
        "span", escape(frame.viewer.name(str(leaf.get("team_id")))), class_="mention"
    ),
}
