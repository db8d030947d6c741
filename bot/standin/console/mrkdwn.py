"""Slack's markup as HTML, read as Slack reads it.

A text is a row of marks: single characters, and pieces that are HTML already (a link, a mention, code, an
emoji). Pieces are made from the outside in: references first, then code, then lines and quotes, then bold,
italic and strike within one line. Every character is escaped once, where its mark is written out.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from bot.standin.console.emoji import NAME, emoji
from bot.standin.console.markup import escape, is_safe, link, tag
from bot.standin.console.references import ENTITIES, REFERENCE, decoded, reference
from bot.standin.console.viewer import Viewer

_PIECE = "\N{OBJECT REPLACEMENT CHARACTER}"
_FENCE = "```"
_RAW = re.compile(rf"{REFERENCE.pattern}|{'|'.join(ENTITIES)}")
_CODE = re.compile(r"(?<![^\W_])(?<!`)`(?=[^`\n]*[^`\s])([^`\n]+)`(?!`)(?![^\W_])")
_BARE_URL = re.compile(rf"(?<![^\W_])(https?://[^\s<>|\"`{_PIECE}]*[^\s<>|\"`{_PIECE}.,;:!?'()*_~\]}}])")
_STYLES = {"*": "b", "_": "i", "~": "s"}


@dataclass(frozen=True, slots=True)
class _Piece:
    html: str
    block: bool = False
    """It stands on lines of its own."""


_Mark = str | _Piece
_Marks = Sequence[_Mark]
_Maker = Callable[[re.Match[str], _Marks], _Piece | None]


def render_mrkdwn(text: str, viewer: Viewer, *, verbatim: bool = False) -> str:
    """A text in Slack's markup as HTML.

    Args:
        text: As it was sent: ``&``, ``<`` and ``>`` stand for themselves only as entities.
        viewer: Who looks at it.
        verbatim: Bare web addresses stay text, as in a text object with ``verbatim``.
    """
    marks = _cut_out(_fenced(_referenced(text, viewer)), _CODE, _code)
    if not verbatim:
        marks = _cut_out(marks, _BARE_URL, _bare_link)
    return _paragraphs(_cut_out(marks, NAME, _emoji))


def _referenced(text: str, viewer: Viewer) -> list[_Mark]:
    marks: list[_Mark] = []
    end = 0
    for found in _RAW.finditer(text):
        marks += text[end : found.start()]
        end = found.end()
        if found[1] is None:
            marks.append(ENTITIES[found[0]])
        elif (shown := reference(found[1], viewer)) is not None:
            marks.append(_Piece(shown))
        else:  # What is no reference stands there as it was typed; its entities are read like all others.
            marks += ["<", *decoded(found[1]), ">"]
    return [*marks, *text[end:]]


def _fenced(marks: _Marks) -> _Marks:
    """Blocks of code; nothing in them is formatted."""
    shadow, made, end = _shadow(marks), list[_Mark](), 0
    start = shadow.find(_FENCE)
    while start >= 0 and (stop := shadow.find(_FENCE, start + 3)) >= 0:
        first = start + 3 + shadow.startswith("\n", start + 3)
        last = stop - (stop > first and shadow[stop - 1] == "\n")
        if shadow[first:last].strip():
            made += [*marks[end:start], _Piece(tag("pre", _written(marks[first:last])), block=True)]
            end = start = stop + 3
        else:
            start = stop
        start = shadow.find(_FENCE, start)
    return [*made, *marks[end:]]


def _cut_out(marks: _Marks, pattern: re.Pattern[str], make: _Maker) -> _Marks:
    """The marks with every stretch that a pattern finds made into a piece, if it makes one.

    The maker is given the match and the marks of its first group.
    """
    made: list[_Mark] = []
    end = 0
    for found in pattern.finditer(_shadow(marks)):
        piece = make(found, marks[found.start(1) : found.end(1)])
        if piece is not None:
            made += [*marks[end : found.start()], piece]
            end = found.end()
    return [*made, *marks[end:]]


def _shadow(marks: _Marks) -> str:
    """The marks as a text of the same length to search in; a block ends a line."""
    return "".join(mark if isinstance(mark, str) else "\n" if mark.block else _PIECE for mark in marks)


def _written(marks: _Marks) -> str:
    return "".join(
        ("<br>" if mark == "\n" else escape(mark)) if isinstance(mark, str) else mark.html for mark in marks
    )


def _code(_found: re.Match[str], inside: _Marks) -> _Piece:
    return _Piece(tag("code", _written(inside)))


def _bare_link(found: re.Match[str], _inside: _Marks) -> _Piece | None:
    return _Piece(link(found[1], escape(found[1]))) if is_safe(found[1]) else None


def _emoji(found: re.Match[str], _inside: _Marks) -> _Piece | None:
    shown = emoji(found[1], found[2] or "")
    return None if shown is None else _Piece(shown)


def _paragraphs(marks: _Marks) -> str:
    """Lines and quotes. ``>>>`` quotes all that follows."""
    lines = _lines(marks)
    rest: list[_Marks] = []
    for number, line in enumerate(lines):
        if _shadow(line[:3]) == ">>>":
            lines, rest = lines[:number], [line[3:], *lines[number + 1 :]]
            break
    parts = [
        _quote([line[1:] for line in run]) if quoted else _joined(list(run))
        for quoted, run in groupby(lines, key=lambda line: line[:1] == [">"])
    ]
    return "".join([*parts, _quote(rest)] if rest else parts)


def _lines(marks: _Marks) -> list[_Marks]:
    lines: list[list[_Mark]] = [[]]
    for mark in marks:
        if mark == "\n":
            lines.append([])
        else:
            lines[-1].append(mark)
    return [*lines]


def _quote(lines: Iterable[_Marks]) -> str:
    return tag("blockquote", _joined([line[1:] if line[:1] == [" "] else line for line in lines]))


def _joined(lines: list[_Marks]) -> str:
    """Lines below each other; beside a block the line break is the block's own."""
    written = "".join(_styled(lines[0]))
    for above, line in pairwise(lines):
        edges = (*above[-1:], *line[:1])
        beside = any(isinstance(mark, _Piece) and mark.block for mark in edges)
        written += ("" if beside else "<br>") + _styled(line)
    return written


def _styled(marks: _Marks, used: str = "") -> str:
    """One line with its bold, italic and strike, each at most once inside the other."""
    shadow = _shadow(marks)
    closers = {sign: [at for at in range(len(shadow)) if _closes(shadow, at, sign)] for sign in _STYLES}
    written, end = "", 0
    for at, sign in enumerate(shadow):
        if at < end or sign not in _STYLES or sign in used or not _opens(shadow, at, sign):
            continue
        after = bisect_right(closers[sign], at + 1)
        if after < len(closers[sign]):
            stop = closers[sign][after]
            inside = _styled(marks[at + 1 : stop], used + sign)
            written += _written(marks[end:at]) + tag(_STYLES[sign], inside)
            end = stop + 1
    return written + _written(marks[end:])


def _opens(shadow: str, at: int, sign: str) -> bool:
    before, after = shadow[at - 1 : at] if at else "", shadow[at + 1 : at + 2]
    return not before.isalnum() and sign not in (before, after) and bool(after.strip())


def _closes(shadow: str, at: int, sign: str) -> bool:
    before, after = shadow[at - 1 : at] if at else "", shadow[at + 1 : at + 2]
    return shadow[at] == sign and not after.isalnum() and sign not in (before, after) and bool(before.strip())
