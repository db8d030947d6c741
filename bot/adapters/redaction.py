"""The one redactor: Slack payloads, log lines, audit rows, exception texts and CLI output all pass it.

Three layers, each in a module of its own: secrets that the process knows, in any encoding; values that stand
under secret names; and secrets that show by their shape.
"""

import logging
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from typing import Any, TypeVar, cast

from bot.adapters.redaction_known import MIN_LENGTH, Hit, KnownSecrets
from bot.adapters.redaction_marks import MARKER, nothing_to_hide, stand_in, without_stand_ins
from bot.adapters.redaction_names import hide_named, is_secret_key
from bot.adapters.redaction_shapes import hide_shapes

__all__ = ["MARKER", "RedactingFilter", "Redactor", "log_processor"]

T = TypeVar("T")

_MAX_ROUNDS = 8
# Ids, names and codes come again and again; what was found clean once need not be scanned again.
_REMEMBERED = 4000
_REMEMBERED_LENGTH = 200
# Slack tells the parts of a message apart by these; they are our words, and "key:1" is no pair in them.
_IDENTIFIERS = frozenset({"type", "action_id", "block_id", "callback_id", "external_id"})
_RECORD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class Redactor:
    """Hides secrets in texts and in JSON-like values.

    ``learn`` may be called from any thread at any time and counts for every call that begins afterwards. What
    comes out is stable: redacting it again changes nothing.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = KnownSecrets(MARKER)
        self._clean: set[tuple[bool, str]] = set()
        self.learn(*known)

    def learn(self, *secrets: str) -> None:
        """Hide these from now on: everywhere when of six characters or more, else under secret names only."""
        self._known.learn(secrets)
        self._clean = set()  # after learning: what was clean may hold a new secret

    def text(self, text: str) -> str:
        """The text with the marker in place of every secret."""
        return self._redacted(text, frozenset(), names=True)

    def payload(self, value: T, *, reveal: Collection[str] = ()) -> T:
        """The same value with every string redacted, and with the marker under every secret key.

        Mappings, lists, tuples and sets keep their kind and length; an object of another kind stays as it is
        unless its text holds a secret, in which case its redacted text takes its place.

        ``reveal``: known secrets of six characters or more that may pass in this one payload.
        """
        allowed = frozenset(secret.strip() for secret in reveal if secret in self._known)
        return cast("T", self._value(value, allowed, names=True))

    def _value(self, value: object, reveal: frozenset[str], *, names: bool) -> object:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._redacted(value, reveal, names=names)
        if isinstance(value, dict | Mapping):
            return self._mapping(value, reveal)
        if isinstance(value, tuple):
            items = [self._value(item, reveal, names=names) for item in value]
            return cast("Any", type(value))(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list | set | frozenset):
            kind = list if isinstance(value, list) else type(value)
            return kind(self._value(item, reveal, names=names) for item in value)
        if isinstance(value, bytes | bytearray):
            text = value.decode("utf-8", "surrogateescape")
            hidden = self._redacted(text, reveal, names=names)
            return value if hidden == text else hidden.encode("utf-8", "surrogateescape")
        if isinstance(value, int | float) and len(str(value)) < MIN_LENGTH:
            return value
        return self._other(value)

    def _mapping(self, mapping: Mapping[Any, Any], reveal: frozenset[str]) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value in mapping.items():
            shown = self._value(key, frozenset(), names=True) if isinstance(key, str) else key
            while shown in result:
                shown = f"{shown}'"  # two keys that differ in a secret only are still two keys
            if isinstance(key, str) and is_secret_key(key):
                result[shown] = self._under_secret_name(value, reveal)
            else:
                result[shown] = self._value(value, reveal, names=key not in _IDENTIFIERS)
        return result

    def _under_secret_name(self, value: object, reveal: frozenset[str]) -> object:
        if value is None or (isinstance(value, str) and (value.strip() in reveal or nothing_to_hide(value))):
            return value
        return MARKER

    def _other(self, value: object) -> object:
        """A number or an object: it stays unless what it would be printed as holds a secret."""
        try:
            printed = {str(value), repr(value)}
        except Exception:  # noqa: BLE001 -- a broken __repr__ must not lose the log line that meets it
            return f"<{type(value).__name__} that cannot be printed>"
        if all(self.text(text) == text for text in printed):
            return value
        return self.text(str(value))

    def _redacted(self, text: str, reveal: frozenset[str], *, names: bool) -> str:
        clean = self._clean
        if (names, text) in clean:
            return text
        result = self._scanned(text, reveal, names=names)
        if result == text and len(text) <= _REMEMBERED_LENGTH and not reveal:
            if len(clean) >= _REMEMBERED:
                clean.clear()
            clean.add((names, text))
        return result

    def _scanned(self, text: str, reveal: frozenset[str], *, names: bool) -> str:
        shown: list[str] = []
        result = without_stand_ins(text) if reveal else text
        for _ in range(_MAX_ROUNDS):
            # What stands around a hidden secret may make another one together; go on until nothing changes.
            before = result
            result = _replaced(result, self._known.hits(result), reveal, shown)
            if names:
                result = hide_named(result)
            result = hide_shapes(result)
            if result == before:
                break
        for number, secret in enumerate(shown):
            result = result.replace(stand_in(number), secret)
        return result


def log_processor(
    redactor: Redactor,
) -> Callable[[Any, str, MutableMapping[str, Any]], MutableMapping[str, Any]]:
    """A structlog processor that redacts a whole event. It stands last before the renderer.

    It renders ``exc_info`` to ``exception`` itself: a renderer behind it would print it unredacted.
    """

    def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        trace = _trace(event.pop("exc_info", None))
        if trace:
            event["exception"] = trace
        hidden = redactor.payload(dict(event))
        event.clear()
        event.update(hidden)
        return event

    return redact


class RedactingFilter(logging.Filter):
    """Redacts records of the standard library's logging: message, arguments, traceback, stack and extras.

    Add it to handlers: a filter of a logger does not see the records of the loggers below it.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record in place, and let it pass."""
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 -- a wrong format string must not let its arguments out unredacted
            message = f"{record.msg} {record.args}"
        record.msg, record.args = self._redactor.text(message), None
        trace = record.exc_text or _trace(record.exc_info)
        record.exc_info, record.exc_text = None, self._redactor.text(trace) if trace else None
        if record.stack_info:
            record.stack_info = self._redactor.text(record.stack_info)
        extras = {name: value for name, value in vars(record).items() if name not in _RECORD_FIELDS}
        vars(record).update(self._redactor.payload(extras))
        return True


def _trace(exc_info: Any) -> str:
    """What a formatter would print for ``exc_info``, in any form that logging accepts; empty for none."""
    if isinstance(exc_info, BaseException):
        error: BaseException | None = exc_info
    elif isinstance(exc_info, tuple):
        error = exc_info[1]
    else:
        error = sys.exc_info()[1] if exc_info else None
    return "".join(traceback.format_exception(error)).rstrip("\n") if error else ""


def _replaced(text: str, hits: list[Hit], reveal: frozenset[str], shown: list[str]) -> str:
    """The text with the marker for each run of overlapping hits, or a stand-in where all of it may pass."""
    pieces: list[str] = []
    done = 0
    for start, end, secrets in _runs(hits):
        pieces.append(text[done:start])
        if secrets <= reveal:
            pieces.append(stand_in(len(shown)))
            shown.append(text[start:end])
        else:
            pieces.append(MARKER)
        done = end
    return "".join([*pieces, text[done:]]) if done else text


def _runs(hits: list[Hit]) -> list[tuple[int, int, set[str]]]:
    runs: list[tuple[int, int, set[str]]] = []
    for hit in sorted(hits):
        if runs and hit.start < runs[-1][1]:
            start, end, secrets = runs[-1]
            runs[-1] = (start, max(end, hit.end), secrets | {hit.secret})
        else:
            runs.append((hit.start, hit.end, {hit.secret}))
    return runs
