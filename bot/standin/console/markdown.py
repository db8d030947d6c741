"""The markdown block: the part of standard Markdown that Slack shows, and nothing of its raw HTML."""

import re

from bot.standin.console.emoji import with_emoji
from bot.standin.console.markup import escape, link, tag

_FENCE = re.compile(r"\s{0,3}```+\s*[\w+#.-]*\s*")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*")
_RULE = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*")
_ITEM = re.compile(r"(\s*)(?:([-*+])|(\d{1,9})[.)])\s+(.*)")
_QUOTE = re.compile(r"\s{0,3}>\s?(.*)")
_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|\[(?P<label>[^\[\]\n]{1,500})\]\((?P<url>[^\s()<>]{1,3000})\)"
    r"|<(?P<bare>https?://[^\s<>]+)>"
    r"|(?<![\w*])\*\*(?P<bold>[^\s*](?:[^*\n]*[^\s*])?)\*\*(?![\w*])"
    r"|~~(?P<strike>[^\s~](?:[^~\n]*[^\s~])?)~~"
    r"|(?<![\w*])\*(?P<star>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
    r"|(?<!\w)_(?P<low>[^\s_](?:[^_\n]*[^\s_])?)_(?!\w)"
    r"|\\(?P<plain>[\\`*_{}\[\]()#+.!~>-])"
)
_TAGS = {"bold": "b", "strike": "s", "star": "i", "low": "i"}
_DEEPEST = 8
_INDENT = 2  # spaces that make a list item belong to the one above


def render_markdown(text: str) -> str:
    """Headings, lists, quotes, code, rules and paragraphs."""
    lines = text.split("\n")
    written, at = [], 0
    while at < len(lines):
        shown, at = _next(lines, at)
        written.append(shown)
    return "".join(written)


def _next(lines: list[str], at: int) -> tuple[str, int]:
    """One piece, and the line after it."""
    line = lines[at]
    if not line.strip():
        return "", at + 1
    if _FENCE.fullmatch(line):
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip().startswith("```")), len(lines))
        return tag("pre", escape("\n".join(lines[at + 1 : end])).replace("\n", "<br>")), end + 1
    if found := _HEADING.fullmatch(line):
        return tag("h3", _inline(found[2]), class_=f"md-heading md-{len(found[1])}"), at + 1
    if _RULE.fullmatch(line):
        return tag("hr"), at + 1
    if _QUOTE.fullmatch(line):
        end = _end(lines, at, _QUOTE)
        inside = [found[1] for one in lines[at:end] if (found := _QUOTE.fullmatch(one))]
        return tag("blockquote", "<br>".join(map(_inline, inside))), end
    if _ITEM.fullmatch(line):
        end = _end(lines, at, _ITEM)
        return "".join(_item(one) for one in lines[at:end]), end
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _starts(lines[end]):
        end += 1
    return tag("p", "<br>".join(map(_inline, lines[at:end]))), end


def _end(lines: list[str], at: int, pattern: re.Pattern[str]) -> int:
    while at < len(lines) and pattern.fullmatch(lines[at]):
        at += 1
    return at


def _starts(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in (_FENCE, _HEADING, _RULE, _QUOTE, _ITEM))


def _item(line: str) -> str:
    """One item as a list of its own, like those that rich text sends for each level."""
    found = _ITEM.fullmatch(line)
    if found is None:
        return ""
    shape = f"rt-list indent-{min(len(found[1].expandtabs(4)) // _INDENT, _DEEPEST)}"
    item = tag("li", _inline(found[4]))
    return tag("ol", item, class_=shape, start=int(found[3])) if found[3] else tag("ul", item, class_=shape)


def _inline(text: str) -> str:
    written, end = [], 0
    for found in _INLINE.finditer(text):
        written += [with_emoji(text[end : found.start()]), _styled(found)]
        end = found.end()
    return "".join([*written, with_emoji(text[end:])])


def _styled(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    if kind == "code":
        return tag("code", escape(found["code"]))
    if kind == "url":
        return link(found["url"], _inline(found["label"]))
    if kind == "bare":
        return link(found["bare"], escape(found["bare"]))
    return tag(_TAGS[kind], _inline(found[kind])) if kind in _TAGS else escape(found["plain"])
