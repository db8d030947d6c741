"""Other readings of a text: percent-decoded, JSON-unescaped, Slack-unescaped, with its lines joined.

A secret is looked for in every reading, so no encoder has to be imitated; whatever is found is mapped back to
the place in the original text that it was decoded from.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

MAX_DEPTH = 3
"""How many encodings may lie on top of each other, e.g. JSON inside a URL inside JSON."""

MAX_READINGS = 32
"""Per text; keeps the work for a hostile text in proportion to its length."""

_JSON_CHARACTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SLACK_CHARACTERS = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'"}

Decoded = list[tuple[str, int]]
"""What a token stands for: characters, each with the number of source characters that it was written with."""


class Encoding(NamedTuple):
    """A way of writing: a text without any of ``signs`` does not use it."""

    signs: tuple[str, ...]
    token: re.Pattern[str]
    decode: Callable[[str], Decoded]


class Reading:
    """A decoded text that knows where in the original text each stretch of it came from."""

    def __init__(self, text: str, before: "Reading | None" = None) -> None:
        self.text = text
        self._before = before
        self._starts: list[int] = []
        self._sources: list[tuple[int, int]] = []

    def decoded(self, encoding: Encoding) -> "Reading | None":
        """The reading in which every token of the encoding is decoded; None when there is no token."""
        reading = Reading("", self)
        pieces: list[str] = []
        length = position = 0
        for match in encoding.token.finditer(self.text):
            stretches: Decoded = [(self.text[position : match.start()], match.start() - position)]
            for piece, width in [*stretches, *encoding.decode(match[0])]:
                if piece:
                    reading._starts.append(length)
                    reading._sources.append((position, position + width))
                    pieces.append(piece)
                    length += len(piece)
                position += width
            position = match.end()
        if not position:
            return None
        reading._starts.append(length)
        reading._sources.append((position, len(self.text)))
        reading.text = "".join([*pieces, self.text[position:]])
        return reading

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the original text that characters ``start`` to ``end`` (exclusive) came from."""
        if self._before is None:
            return start, end
        return self._before.origin(self._place(start, last=False), self._place(end - 1, last=True))

    def _place(self, position: int, *, last: bool) -> int:
        index = bisect_right(self._starts, position) - 1
        start, end = self._sources[index]
        following = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.text)
        if end - start == following - self._starts[index]:  # one to one
            return start + position - self._starts[index] + last
        return end if last else start


def join_lines(text: str) -> str:
    """The text without its line ends, the indentation behind them, and all backslashes."""
    return _JOINED.token.sub("", text)


def fold_blanks(text: str) -> str:
    """The text with one blank for every run of blanks and line ends, and without backslashes."""
    return _FOLDED.token.sub(lambda match: " " if match[0].strip("\\") else "", text)


def blanks_for_plus(text: str) -> str:
    """A ``+`` may stand for a blank in a URL; both are read as a blank where one is looked for."""
    return text.replace("+", " ")


def readings(text: str, *, blanks: bool) -> Iterator[Reading]:
    """Every reading of the text, itself first, fewer encodings before more. Plain text has only that one.

    ``blanks``: what is looked for may contain a blank, for which a line end or a lone ``+`` may stand.
    """
    first = Reading(text)
    yield first
    seen = {text}
    layer = [first]
    for _ in range(MAX_DEPTH):
        following: list[Reading] = []
        for reading in layer:
            for encoding in (*_ENCODINGS, *_OF_BLANKS) if blanks else _ENCODINGS:
                if not any(sign in reading.text for sign in encoding.signs):
                    continue
                other = reading.decoded(encoding)
                if other is None or other.text in seen:
                    continue
                yield other
                seen.add(other.text)
                if len(seen) >= MAX_READINGS:
                    return
                following.append(other)
        layer = following


def _from_json(written: str) -> Decoded:
    kind = written[1]
    if kind == "x":
        return [(chr(bytes.fromhex(written[2:])[0]), len(written))]
    if kind != "u":
        return [(_JSON_CHARACTERS.get(kind, kind), len(written))]
    codes = [
        int(written[at : at + 4], 16) for at in range(2, len(written), 6)
    ]  # two of them: a surrogate pair
    units = b"".join(code.to_bytes(2, "big") for code in codes)
    return [(units.decode("utf-16-be", "surrogatepass"), len(written))]


def _from_percent(written: str) -> Decoded:
    if written == "+":
        return [(" ", 1)]
    characters = bytes.fromhex(written.replace("%", "")).decode("utf-8", "surrogateescape")
    return [
        (blanks_for_plus(character), 3 * len(character.encode("utf-8", "surrogateescape")))
        for character in characters
    ]


# A backslash before a line end may be the shell's or the secret's own, so both readings go without any.
_JOINED = Encoding(("\n", "\r"), re.compile(r"\\++|(?:\r\n?|\n)[ \t]*+"), lambda _written: [])
_FOLDED = Encoding(
    ("\n", "\r"),
    re.compile(r"[ \t\r\n\\]++"),
    lambda written: [(" ", len(written))] if written.strip("\\") else [],
)
_JSON = Encoding(
    ("\\",),
    re.compile(
        r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}"
        r"|[\"'\\/bfnrt])"
    ),
    _from_json,
)
_SLACK = Encoding(
    ("&",), re.compile("|".join(_SLACK_CHARACTERS)), lambda token: [(_SLACK_CHARACTERS[token], len(token))]
)
_PERCENT = Encoding(("%",), re.compile(r"(?:%[0-9A-Fa-f]{2})++|\+"), _from_percent)
_PLUS = Encoding(("+",), re.compile(r"\+"), _from_percent)

_ENCODINGS = (_JOINED, _JSON, _SLACK, _PERCENT)
_OF_BLANKS = (_FOLDED, _PLUS)
