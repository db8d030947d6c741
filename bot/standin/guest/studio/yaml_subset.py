"""The part of YAML that a home's ``config.yaml`` is written in.

Block mappings and sequences, flow collections on one line, plain and quoted scalars with the YAML 1.1
words (``off`` is false), block scalars, comments. Tags, anchors and multi-line flow are refused: to a
caller such a file looks corrupt.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Value = Any

_KEY = re.compile(
    r"""^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#\[\]{},&*!|>'"%@`-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+|$)"""
)
_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_INT = re.compile(r"^[-+]?(0|[1-9][0-9_]*)$")
_FLOAT = re.compile(r"^[-+]?([0-9][0-9_]*)?\.[0-9]+([eE][-+]?[0-9]+)?$|^[-+]?[0-9]+\.$")
_PLAIN = re.compile(r"^[A-Za-z0-9/~._$][A-Za-z0-9 /~._$@+=,()-]*$")


class YamlError(ValueError):
    """The text is not YAML, or not the part of it that is understood here."""


def load(text: str) -> Value:
    """The value a document holds: None for an empty one. Raises YamlError."""
    return _Reader(text).document()


def dump(value: Value) -> str:
    """A mapping as a block-style document, in the order of its keys."""
    if not isinstance(value, dict) or not value:
        return "{}\n" if value == {} else f"{_scalar_text(value)}\n"
    return "\n".join(_lines(value, 0)) + "\n"


def _lines(value: Value, depth: int) -> list[str]:
    pad = "  " * depth
    out: list[str] = []
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in pairs:
        head = f"{pad}-" if key is None else f"{pad}{_scalar_text(key)}:"
        if isinstance(item, dict | list) and item:
            out.append(head)
            out.extend(_lines(item, depth + 1))
        else:
            out.append(f"{head} {_scalar_text(item)}")
    return out


def _scalar_text(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        plain = _PLAIN.match(value) and not value.endswith(" ") and _scalar(value) == value
        return value if plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def _scalar(text: str) -> Value:
    lowered = text.lower()
    if lowered in {"", "~", "null"}:
        return None
    if lowered in _BOOLS:
        return _BOOLS[lowered]
    if _INT.match(text):
        return int(text.replace("_", ""))
    if _FLOAT.match(text):
        return float(text.replace("_", ""))
    return text


def _without_comment(text: str) -> str:
    """The text up to a ``#`` that stands outside quotes and after a blank."""
    quote = ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and not (quote == '"' and text[at - 1] == "\\") else quote
        elif char in "\"'" and (at == 0 or text[at - 1] in " [{,:"):
            quote = char
        elif char == "#" and (at == 0 or text[at - 1] in " \t"):
            return text[:at].rstrip()
    return text.rstrip()


class _Reader:
    """Reads a document line by line; each line is (indent, text without comment, raw line)."""

    def __init__(self, text: str) -> None:
        self._raw = text.removeprefix("\ufeff").splitlines()
        self._at = 0

    def document(self) -> Value:
        if any("\x00" in line for line in self._raw):
            raise YamlError("control character in the text")
        line = self._peek()
        if line is not None and line[1] == "---":
            self._at += 1
            line = self._peek()
        if line is None:
            return None
        value = self._block(line[0])
        left = self._peek()
        if left is not None and left[1] not in {"...", "---"}:
            raise YamlError(f"line {self._at + 1}: does not belong to what stands before it")
        return value

    def _peek(self) -> tuple[int, str] | None:
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            text = _without_comment(raw.strip(" "))
            if text:
                indent = len(raw) - len(raw.lstrip(" "))
                if text.startswith("\t"):
                    raise YamlError(f"line {self._at + 1}: indented with a tab")
                return indent, text
            self._at += 1
        return None

    def _block(self, indent: int) -> Value:
        line = self._peek()
        if line is None or line[0] < indent:
            return None
        if line[1] == "-" or line[1].startswith("- "):
            return self._sequence(line[0])
        if _KEY.match(line[1]):
            return self._mapping(line[0])
        self._at += 1
        return self._inline(line[1])

    def _sequence(self, indent: int) -> list[Value]:
        items: list[Value] = []
        while (line := self._peek()) and line[0] == indent and (line[1] == "-" or line[1].startswith("- ")):
            rest = line[1][1:].strip()
            if not rest:
                self._at += 1
                items.append(self._block(indent + 1))
            elif _KEY.match(rest) or rest.startswith("- "):
                # A collection that starts on the dash's line: read it as if it stood on its own line.
                inner = indent + len(line[1]) - len(rest)
                self._raw[self._at] = " " * inner + rest
                items.append(self._block(inner))
            else:
                items.append(self._value(rest, indent))
        self._check_indent(indent)
        return items

    def _mapping(self, indent: int) -> dict[Value, Value]:
        pairs: dict[Value, Value] = {}
        while (line := self._peek()) and line[0] == indent and (found := _KEY.match(line[1])):
            key = self._inline(found[1].strip())
            rest = line[1][found.end() :].strip()
            if rest:
                pairs[key] = self._value(rest, indent)
                continue
            self._at += 1
            after = self._peek()
            if after and after[0] == indent and (after[1] == "-" or after[1].startswith("- ")):
                pairs[key] = self._sequence(indent)
            else:
                pairs[key] = self._block(indent + 1)
        self._check_indent(indent)
        return pairs

    def _check_indent(self, indent: int) -> None:
        line = self._peek()
        if line and line[0] >= indent and line[1] not in {"...", "---"}:
            raise YamlError(f"line {self._at + 1}: neither a key nor an item")

    def _value(self, text: str, indent: int) -> Value:
        self._at += 1
        if text[0] in "|>":
            return self._block_scalar(text, indent)
        return self._inline(text)

    def _block_scalar(self, header: str, indent: int) -> str:
        lines: list[str] = []
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            if raw.strip() and len(raw) - len(raw.lstrip(" ")) <= indent:
                break
            lines.append(raw)
            self._at += 1
        depth = min((len(raw) - len(raw.lstrip(" ")) for raw in lines if raw.strip()), default=0)
        body = [raw[depth:] for raw in lines]
        text = ("\n" if header[0] == "|" else " ").join(body).rstrip("\n ")
        return text if header.endswith("-") or not text else text + "\n"

    def _inline(self, text: str) -> Value:
        value, rest = _flow(text, inside=False)
        if rest.strip():
            raise YamlError(f"line {self._at}: text after the value")
        return value


def _flow(text: str, *, inside: bool) -> tuple[Value, str]:
    """One flow value at the start of the text, and what follows it."""
    text = text.lstrip()
    if text[:1] in {"[", "{"}:
        return _flow_collection(text)
    if text[:1] == '"':
        found = re.match(r'"(?:[^"\\]|\\.)*"', text)
        if not found:
            raise YamlError("a quoted text has no end")
        try:
            return json.loads(found[0], strict=False), text[found.end() :]
        except json.JSONDecodeError as error:
            raise YamlError("an escape that is not understood") from error
    if text[:1] == "'":
        found = re.match(r"'((?:[^']|'')*)'", text)
        if not found:
            raise YamlError("a quoted text has no end")
        return found[1].replace("''", "'"), text[found.end() :]
    if text[:1] and text[0] in "&*!%@`|>]}":
        raise YamlError(f"{text[0]} is not understood here")
    end = re.search(r"[,\]}]|:\s", text) if inside else None
    plain = text[: end.start()] if end else text
    if not inside and re.search(r":(\s|$)", plain):
        raise YamlError("a second key on one line")
    return _scalar(plain.strip()), text[len(plain) :]


def _flow_collection(text: str) -> tuple[Value, str]:
    closing, mapping = ("}", True) if text[0] == "{" else ("]", False)
    rest = text[1:].lstrip()
    items: list[Value] = []
    pairs: dict[Value, Value] = {}
    while not rest.startswith(closing):
        if not rest:
            raise YamlError(f"no closing {closing}")
        value, rest = _flow(rest, inside=True)
        rest = rest.lstrip()
        if mapping:
            if not rest.startswith(":"):
                raise YamlError("a key without a value")
            pairs[value], rest = _flow(rest[1:], inside=True)
            rest = rest.lstrip()
        else:
            items.append(value)
        if rest.startswith(","):
            rest = rest[1:].lstrip()
        elif not rest.startswith(closing):
            raise YamlError(f"no closing {closing}")
    return (pairs if mapping else items), rest[1:]
