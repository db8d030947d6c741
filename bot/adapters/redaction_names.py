"""Hides the values under secret names: ``K=V``, ``k: v``, JSON, Python reprs, YAML, flags, headers, URLs."""

import re
from typing import NamedTuple

from bot.adapters.redaction_marks import MARKER, nothing_to_hide
from bot.adapters.redaction_values import Quote, Values
from bot.domain.secret_names import is_secret_name, is_secret_parameter

HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
"""Hidden as a whole, whatever they consist of."""

# In lower case; a text without any of them has no secret name.
_DASHES = ("--", "\u2014", "\u2013")  # phones make one long dash of two
_HINTS = ("key", "token", "secret", "pass", "pwd", "credential", "authorization", "cookie", "sig", "ticket")

_NAME = r"(?<![A-Za-z0-9_.\-])(?P<name>[A-Za-z0-9_.\-]++)"
_CLOSE = r"(?P<close>(?:\\*+[\"'`]|[\u201d\u2019」』»]|[*_~]{1,3}|%22)?+\]?+)"
_SEPARATOR = r"(?P<sep>:=|=>|[=!+?]?=|:(?!:|(?:\\*+/){2})|[\uff1a\uff1d]|%3[aAdD]|,)"
_NAMED = re.compile(_NAME + _CLOSE + r"(?:(?<=[\"'`\u201d\u2019」』»\]])\s*+|[ \t]*+)" + _SEPARATOR)
_FLAG = re.compile(
    r"(?<![A-Za-z0-9_.\-])"
    r"(?P<name>(?:--|[\u2014\u2013])[A-Za-z][A-Za-z0-9_.\-]*+)(?P<close>)(?P<sep>[ \t])[ \t]*+"
    r"(?:\\\r?\n[ \t]*+)?"
)
_ESCAPE_BEFORE = re.compile(r"u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[abfnrtv]")
_BLANKS = re.compile(r"[ \t\u00a0\u3000]*+")
_ANY_BLANKS = re.compile(r"\s*+")
_OPENER = re.compile(r"(?P<prefix>[bBrRuUfF]{0,2})(?P<slashes>\\*+)(?P<mark>[\"'`\u201c\u2018「『«])")
_ENCODED_QUOTE = re.compile(r"%22(?P<value>.*?)%22", re.DOTALL)
_NUMBER_OR_WORD = re.compile(r"(?:-?\d[\d.eE+-]*+|true|false|null|None|True|False)(?=\s*+(?:[,}\])]|$))")
_SCHEME = re.compile(r"(?:bearer|basic|digest|token|apikey|negotiate)[ \t]++(?=\S)", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"[A-Za-z0-9_.\-]++=")
_MORE_PAIRS = re.compile(r"[A-Za-z0-9_.\-][:\uff1a](?:\s|$)|[,;\uff0c\uff1b]\s*[A-Za-z0-9_.\-]++=")
_ANNOTATION = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\]]*+(?: \| [A-Za-z0-9_.\[\]]++)*+ *+= *+(?=[\"'])")
_BLOCK = re.compile(r"(?:[!&][^\s,]*+[ \t]++)*+[|>][+\-0-9]{0,2}[ \t]*+(?:#[^\r\n\\]*+)?(?=[\r\n]|\\++[nr])")
_ENDS_LINE = re.compile(r"[ \t]*+(?:[\s,;}\])]|#|\\|$)")
_BEHIND_QUOTATION = re.compile(r"[\s,;:)\]}>=&|\\\"'`]|$")
_WORD_GOES_ON = re.compile(r"[\w@!$%^+~-]")
_COMMENT = re.compile(r"[ \t]+#")
_LINE_BEGINNING = re.compile(r"(?:^|[\r\n]|\\[nr])(?P<indent>[ \t]*+(?:[-?#][ \t]++)*+)\Z")
_LONGEST_INDENT = 200
_URL_BEFORE = re.compile(r"://|:\\+/|%3[aA]%2[fF]")
_URL_LOOK_BEHIND = 2_000


class _Named(NamedTuple):
    """A secret name met in the text; ``at`` is where it begins, its opening quote included."""

    name: str
    at: int
    quote: str
    separator: str
    header: bool
    in_url: bool
    value_at: int
    blank_after: bool


class _Hidden(NamedTuple):
    start: int
    end: int
    replacement: str = MARKER


def is_secret_key(name: str) -> bool:
    """Whether the value under this key of a mapping is to be hidden: secret names and the four headers."""
    return is_secret_name(name) or _is_header(name)


def hide_named(text: str) -> str:
    """The text with the marker in place of every value that stands under a secret name."""
    lowered = text.lower()
    if not any([hint in lowered for hint in _HINTS]):  # noqa: C419 -- a list is faster than a generator here
        return text
    if any(dashes in text for dashes in _DASHES):
        text = _Names(text).hidden(_FLAG)
    return _Names(text).hidden(_NAMED)


class _Names:
    """One walk over a text, from name to name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._values = Values(text)

    def hidden(self, pattern: re.Pattern[str]) -> str:
        text, position, done = self._text, 0, 0
        pieces: list[str] = []
        while match := pattern.search(text, position):
            position = match.end()
            named = self._secret(match)
            found = self._value(named) if named else None
            if found:
                pieces += (text[done : found.start], found.replacement)
                done = found.end
                position = max(position, done)
        return "".join([*pieces, text[done:]])

    def _secret(self, match: re.Match[str]) -> _Named | None:
        """The name that was met, if it is one whose value is to be hidden and if there can be a value."""
        in_url = _in_url(self._text, match.start(), match["name"])
        judge = is_secret_parameter if in_url else is_secret_name
        for name in self._readings_of(match):
            if judge(name) or _is_header(name):
                named = self._named(match, name, in_url=in_url)
                if named.separator == ",":
                    return named if self._is_pair(named) else None
                return None if self._is_empty_assignment(match, named) else named
        return None

    def _readings_of(self, match: re.Match[str]) -> list[str]:
        """The name as it stands, and without what belongs to an escape before it: a line end, %3F."""
        name, before = match["name"], self._text[match.start() - 1 : match.start()]
        if before == "\\" and (escape := _ESCAPE_BEFORE.match(name)):
            return [name, name[escape.end() :]]
        if before == "%":
            return [name, name[2:]]
        return [name.lstrip("\u2014\u2013")]

    def _named(self, match: re.Match[str], name: str, *, in_url: bool) -> _Named:
        close = match["close"].rstrip("]")
        quote = close if close.endswith(('"', "'", "`")) else ""
        blanks = (_ANY_BLANKS if quote else _BLANKS).match(self._text, match.end())
        value_at = blanks.end() if blanks else match.end()
        return _Named(
            name=name,
            at=match.end("name") - len(name) - len(quote),
            quote=quote,
            separator=match["sep"],
            header=_is_header(name),
            in_url=in_url,
            value_at=value_at,
            blank_after=value_at > match.end(),
        )

    def _is_empty_assignment(self, match: re.Match[str], named: _Named) -> bool:
        """Whether an assignment has no value and another one follows it: ``TOKEN= PORT=1``."""
        tight = match.end("close") == match.start("sep")
        following = _ASSIGNMENT.match(self._text, named.value_at)
        return named.separator == "=" and tight and named.blank_after and following is not None

    def _is_pair(self, named: _Named) -> bool:
        """Whether a comma parts a name from its value: ('token', 'v'), ['--token', 'v'], ["Cookie", "v"]."""
        text, opener = self._text, _OPENER.match(self._text, named.value_at)
        if not (named.quote and opener):
            return False
        if named.header or named.name.startswith("--"):
            return True
        closed = self._values.quoted_end(opener.end(), Quote(opener["mark"], len(opener["slashes"])))
        before = text[max(0, named.at - 2) : named.at].rstrip("bB")
        return before.endswith("(") and closed is not None and text.startswith(")", closed[1])

    def _value(self, named: _Named) -> _Hidden | None:
        text, start = self._text, named.value_at
        within = self._values.open_quotes(named.at)
        indent = self._indent(named)
        ends_line = start >= len(text) or self._values.at_break(start, within) is not None
        block = _BLOCK.match(text, start) if named.separator == ":" and indent is not None else None
        if ends_line or block:
            below = named.separator == ":" and indent is not None
            return self._block(block.end() if block else start, indent or 0, within) if below else None
        if named.separator in " \t" and text.startswith("--", start):
            return None  # the flag has no value, another one follows
        if opener := _OPENER.match(text, start):
            return self._quoted(named, opener, within)
        if encoded := _ENCODED_QUOTE.match(text, start):
            return _Hidden(encoded.start("value"), encoded.end("value"))
        return self._bare(named, self._bare_end(named, indent, within))

    def _bare_end(self, named: _Named, indent: int | None, within: tuple[Quote, ...]) -> int:
        """The end of a value that does not begin with a quote."""
        text, start = self._text, named.value_at
        if named.separator == ":" and not named.header and (annotation := _ANNOTATION.match(text, start)):
            quote = Quote(text[annotation.end()])  # token: str = "v"
            closed = self._values.quoted_end(annotation.end() + 1, quote)
            return closed[1] if closed else self._values.line_end(start, within)
        if named.quote and (plain := _NUMBER_OR_WORD.match(text, start)):
            return plain.end()
        if text[start] in "{[(":
            end = self._values.bracket_end(start)
            if end is None and named.quote:
                return self._values.line_end(start, ())
            if end is not None and (indent is None or _ENDS_LINE.match(text, end)):
                return self._values.unquoted_end(end, within, in_url=named.in_url, encoded=False)
        return self._plain_end(named, indent, within)

    def _bare(self, named: _Named, end: int) -> _Hidden | None:
        """Hide an unquoted value; under a quoted name the marker is quoted alike, so that JSON stays JSON."""
        value = self._text[named.value_at : end]
        if nothing_to_hide(value.strip()) or value == f"{named.quote}{MARKER}{named.quote}":
            return None
        return _Hidden(named.value_at, end, f"{named.quote}{MARKER}{named.quote}")

    def _quoted(self, named: _Named, opener: re.Match[str], within: tuple[Quote, ...]) -> _Hidden | None:
        text, quote = self._text, Quote(opener["mark"], len(opener["slashes"]))
        ends = any(around.mark == quote.mark and around.closes_with(quote.backslashes) for around in within)
        if ends and _BEHIND_QUOTATION.match(text, opener.end()):
            return None  # it ends the quotation around the name, and there is no value
        closed = self._values.quoted_end(opener.end(), quote)
        if closed is None:
            end = self._values.line_end(opener.end(), ())
            return None if nothing_to_hide(text[opener.end() : end]) else _Hidden(opener.end(), end)
        end, after = closed
        following = text[after : after + 1]
        goes_on = following == quote.mark or _WORD_GOES_ON.match(following)
        if not quote.backslashes and goes_on:  # as in 'it''s', "a""b" and 'a'b
            rest = self._values.unquoted_end(after, within, in_url=named.in_url, encoded=False)
            return _Hidden(opener.end(), rest, f"{MARKER}{quote.mark}")
        return None if nothing_to_hide(text[opener.end() : end]) else _Hidden(opener.end(), end)

    def _plain_end(self, named: _Named, indent: int | None, within: tuple[Quote, ...]) -> int:
        """The end of a value without quotes or brackets around it."""
        text, values, start = self._text, self._values, named.value_at
        colon = named.separator in (":", "\uff1a")
        encoded = named.separator.startswith("%")
        if named.header and colon:
            end = values.line_end(start, within)
            return end if indent is None else values.deeper_end(end, indent, within)
        if named.separator == ":" and named.blank_after:
            if indent is not None:
                end = values.line_end(start, within)
                if not _MORE_PAIRS.search(text, start, end):
                    return self._yaml_end(start, end, indent, within)
            elif self._in_flow(named.at):
                return values.flow_end(start, within)
        scheme = _SCHEME.match(text, start)
        return values.unquoted_end(
            scheme.end() if scheme else start, within, in_url=named.in_url, encoded=encoded
        )

    def _yaml_end(self, start: int, end: int, indent: int, within: tuple[Quote, ...]) -> int:
        """The end of a plain YAML scalar: the line without a comment, and deeper lines that go on with it."""
        comment = _COMMENT.search(self._text, start, end)
        if comment:
            return comment.start()
        end = self._values.deeper_end(end, indent, within, words_only=True)
        line = self._text[start:end]
        return start + len(line.rstrip().removesuffix(","))

    def _block(self, end_of_line: int, indent: int, within: tuple[Quote, ...]) -> _Hidden | None:
        """Hide the deeper lines under a name: a block or folded scalar, or a nested list or mapping."""
        text = self._text
        start, end = end_of_line, self._values.deeper_end(end_of_line, indent, within, items=True)
        while (following := self._values.at_break(start, within)) is not None:
            blanks = _BLANKS.match(text, following)
            start = blanks.end() if blanks else following
        return None if start >= end or nothing_to_hide(text[start:end]) else _Hidden(start, end)

    def _indent(self, named: _Named) -> int | None:
        """How far the name is indented when it begins its line; None when something stands before it."""
        first = max(0, named.at - _LONGEST_INDENT)
        before = self._text[first : named.at]
        match = _LINE_BEGINNING.search(before)
        if not match or (first and match.start() == 0 and before[:1] not in ("\r", "\n", "\\")):
            return None
        return len(match["indent"])

    def _in_flow(self, at: int) -> bool:
        """Whether the name stands in a flow mapping: behind its opening brace, or a comma inside it."""
        before = self._text[max(0, at - _URL_LOOK_BEHIND) : at].rstrip()
        return before.endswith("{") or (before.endswith(",") and before.count("{") > before.count("}"))


def _is_header(name: str) -> bool:
    return name.lower().replace("_", "-").removeprefix("http-").rpartition(".")[2] in HEADERS


def _in_url(text: str, start: int, name: str) -> bool:
    """Whether a name is that of a URL parameter, in the query or the fragment."""
    before = text[start - 1 : start]
    if not before or before.isspace():
        return False
    if before in "?&":
        return True
    if before not in "#/;\\%":
        return False
    run = text[max(0, start - _URL_LOOK_BEHIND) : start].rsplit(None, 1)[-1]
    if before == "\\":
        return name.startswith("u0026") and bool(_URL_BEFORE.search(run))
    return bool(_URL_BEFORE.search(run)) or run.startswith("/") or run.endswith("&amp;")
