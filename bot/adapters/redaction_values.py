"""Where a value ends: at its quote, its bracket, its line, or the first sign that it cannot contain.

Every look ahead or behind is bounded, so that the time for a hostile text stays in proportion to its length.
"""

import re
from typing import NamedTuple

LOOK_AHEAD = 65_536
"""Characters in which a closing quote or bracket is looked for, beyond the line."""

CLOSING_OF = {"\u201c": "\u201d", "\u2018": "\u2019", "「": "」", "『": "』", "«": "»"}
_QUOTE = re.compile(r"(\\*+)([\"'`])")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_BRACKET_OR_QUOTE = re.compile(r"(\\*+)([\"'`])|[()\[\]{}]")
_OPENING = "([{\uff08【「『《<"
_CLOSING = ")]}\uff09】」』》>"
_ENDS = ",;\uff0c\uff1b。"  # ASCII and full-width comma and semicolon
_ENDS_IN_URL = "&#|\"'`"
_ENCODED_END = re.compile(r"%(?:26|23|20|22|2[cC]|7[dD]|5[dD])")
_FLOW_END = re.compile(r"[,}\]]")
_LINE_BREAK = re.compile(r"[\r\n]")
_BREAK = re.compile(r"\r\n?|\n")
_ESCAPED_BREAK = re.compile(r"\r\n?|\n|(?:\\++r)?\\++n|\\++r")
_ESCAPED_BREAK_OR_QUOTE = re.compile(r"(\\*+)([\"'`])|(\\++)[nr]|[\r\n]")
_ESCAPE = re.compile(r"(\\++)(u0026|.|$)", re.DOTALL)
_CHARACTER_BEFORE_OPENING = re.compile(r"[A-Za-z0-9]")


class Quote(NamedTuple):
    """A quotation mark and the backslashes before it: 0, or for JSON inside JSON 1, then 3, then 7."""

    mark: str
    backslashes: int = 0

    def closes_with(self, backslashes: int) -> bool:
        """Whether the same mark behind so many backslashes ends the quotation (or one around it)."""
        return self.own(backslashes) <= self.backslashes

    def breaks_with(self, backslashes: int) -> bool:
        """Whether n or r behind so many backslashes is a line end inside the quotation."""
        return self.own(backslashes) == self.backslashes + 1

    def own(self, backslashes: int) -> int:
        """How many of the backslashes are no backslashes of the content, each of which is written doubled."""
        return backslashes % (2 * (self.backslashes + 1))


class Values:
    """Finds the ends of the values in one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._open: list[Quote] = []
        self._read_to = 0
        self._budget = 16 * LOOK_AHEAD + 4 * len(text)

    def open_quotes(self, position: int) -> tuple[Quote, ...]:
        """The quotations on this line that a value at ``position`` stands in, outermost first.

        Ask for one place after the other: what was read of a line is not read again.
        """
        text = self.text
        line = text.rfind("\n", self._read_to, position) + 1
        if line:
            self._open.clear()
            self._read_to = line
        for match in _QUOTE.finditer(text, self._read_to, position):
            mark, backslashes = match[2], len(match[1])
            closed = next(
                (at for at, quote in enumerate(self._open) if _closes(quote, mark, backslashes)), None
            )
            if closed is not None:
                del self._open[closed:]
            elif not self._is_apostrophe(match):
                self._open.append(Quote(mark, backslashes))
        self._read_to = max(self._read_to, position)
        return tuple(self._open)

    def quoted_end(self, position: int, quote: Quote) -> tuple[int, int] | None:
        """For the text behind an opening quote: where its content ends and where its closing quote ends."""
        text = self.text
        if quote.mark in CLOSING_OF:
            at = text.find(CLOSING_OF[quote.mark], position, position + LOOK_AHEAD)
            return None if at < 0 else (at, at + 1)
        for match in _QUOTE.finditer(text, position, position + min(LOOK_AHEAD, max(self._budget, 0))):
            if match[2] == quote.mark and quote.closes_with(len(match[1])):
                self._budget -= match.end() - position
                return match.end() - 1 - quote.own(len(match[1])), match.end()
        self._budget -= LOOK_AHEAD
        return None

    def bracket_end(self, position: int) -> int | None:
        """Behind the bracket that closes the one at ``position``; None when it stays open."""
        text = self.text
        depth = 0
        limit = position + min(LOOK_AHEAD, max(self._budget, 0))
        at = position
        while match := _BRACKET_OR_QUOTE.search(text, at, limit):
            at = match.end()
            if match[2]:
                closed = (
                    None
                    if self._is_apostrophe(match)
                    else self.quoted_end(at, Quote(match[2], len(match[1])))
                )
                at = closed[1] if closed else at
            elif match[0] in _BRACKETS:
                depth += 1
            else:
                depth -= 1
                if not depth:
                    self._budget -= at - position
                    return at
        self._budget -= LOOK_AHEAD
        return None

    def line_end(self, position: int, within: tuple[Quote, ...], limit: int | None = None) -> int:
        """The end of the line, or of the quotation that the line stands in, or ``limit``."""
        text = self.text
        limit = len(text) if limit is None else limit
        if not within:
            match = _LINE_BREAK.search(text, position, limit)
            return match.start() if match else limit
        for match in _ESCAPED_BREAK_OR_QUOTE.finditer(text, position, limit):
            backslashes = len(match[1] or "")
            if match[2]:
                closing = [
                    quote.own(backslashes) for quote in within if _closes(quote, match[2], backslashes)
                ]
                if closing:
                    return match.end() - 1 - min(closing)
            elif not match[3] or any(quote.breaks_with(len(match[3])) for quote in within):
                return match.start()
        return limit

    def at_break(self, position: int, within: tuple[Quote, ...]) -> int | None:
        """Behind the line end at ``position``; None when there is none."""
        match = (_ESCAPED_BREAK if within else _BREAK).match(self.text, position)
        return match.end() if match else None

    def deeper_end(
        self,
        position: int,
        indent: int,
        within: tuple[Quote, ...],
        *,
        items: bool = False,
        words_only: bool = False,
    ) -> int:
        """The end of the lines after the line end at ``position`` that are indented by more than ``indent``.

        ``items``: list items at the same indentation belong to them too, as YAML allows. ``words_only``: a
        line that reads ``name: value`` does not belong to them.
        """
        end = position
        while (start := self.at_break(end, within)) is not None:
            end = self.line_end(start, within)
            line = self.text[start:end]
            content = line.lstrip(" \t")
            if not content:
                continue
            depth = len(line) - len(content)
            deeper = depth > indent or (items and depth == indent and content.startswith("- "))
            if not deeper or (words_only and (": " in content or content.endswith(":"))):
                break
            position = end
        return position

    def flow_end(self, position: int, within: tuple[Quote, ...]) -> int:
        """The end of an unquoted value in a YAML flow mapping, which may contain blanks."""
        match = _FLOW_END.search(self.text, position)
        end = match.start() if match else len(self.text)
        return self.line_end(position, within, end)

    def unquoted_end(self, position: int, within: tuple[Quote, ...], *, in_url: bool, encoded: bool) -> int:
        """The end of an unquoted value: a blank, comma, semicolon, 。 or closing bracket; in a URL & or #."""
        text, at, depth = self.text, position, 0
        while at < len(text):
            character = text[at]
            if character.isspace() or character in _ENDS or (in_url and character in _ENDS_IN_URL):
                return at
            if encoded and (character == "&" or _ENCODED_END.match(text, at)):
                return at
            if character in _CLOSING:
                if not depth:
                    return at
                depth -= 1
            elif character in _OPENING:
                depth += 1
            elif character in "\\\"'`":
                step = self._past_mark(at, position, within, in_url=in_url)
                if step is None:
                    return at
                at = step
                continue
            at += 1
        return at

    def _past_mark(self, at: int, first: int, within: tuple[Quote, ...], *, in_url: bool) -> int | None:
        """Behind a quote or escape that belongs to the unquoted value; None when the value ends before it."""
        text = self.text
        match = _QUOTE.match(text, at)
        if match:
            if in_url or any(_closes(quote, match[2], len(match[1])) for quote in within):
                return None
            if match[1] or within or (match[2] == "'" and at > first and text[at - 1].isalnum()):
                return match.end()
            closed = self.quoted_end(match.end(), Quote(match[2]))  # a shell word may be quoted in parts
            broken = closed and _LINE_BREAK.search(text, at, closed[1])
            return closed[1] if closed and not broken else match.end()
        escape = _ESCAPE.match(text, at)
        if not escape:
            return at + 1
        if in_url and escape[2] == "u0026":
            return None
        if escape[2] in ("n", "r") and any(quote.breaks_with(len(escape[1])) for quote in within):
            return None
        return escape.end()

    def _is_apostrophe(self, match: re.Match[str]) -> bool:
        before = match.start() - 1
        return match[2] == "'" and before >= 0 and bool(_CHARACTER_BEFORE_OPENING.match(self.text, before))


def _closes(quote: Quote, mark: str, backslashes: int) -> bool:
    return quote.mark == mark and quote.closes_with(backslashes)
