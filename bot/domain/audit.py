"""What an audit event is, and the rules that make a list of them tamper-evident.

Every row carries the SHA-256 of its own content and the hash of the row before it, so that a changed,
missing or inserted row shows. Cutting off the newest rows does not show by itself: that is what posting
the head elsewhere is for. We say tamper-evident, never tamper-proof.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, Protocol, TypeAlias, get_args

from bot.domain.errors import DomainError

Json: TypeAlias = "str | int | bool | Sequence[Json] | Mapping[str, Json] | None"
Phase = Literal["intent", "step", "outcome", "vote", "claim", "reveal", "alert", "system"]
ActorKind = Literal["user", "bot", "schedule", "cli"]
Result = Literal["", "ok", "refused", "failed", "unknown"]

PHASES: Final = frozenset(get_args(Phase))
ACTOR_KINDS: Final = frozenset(get_args(ActorKind))
RESULTS: Final = frozenset(get_args(Result))

GENESIS: Final = "0" * 64
"""The ``prev_hash`` of row 1."""

CREATE: Final = "create"
"""The action of the rows that tell how a sandbox was made."""

NAMING_STEP: Final = "step-5"
"""The code of the step of a create that names its sandbox; steps before have none, those after repeat it."""

SANDBOX_GONE: Final = "sandbox-gone"
"""The code of a ``system`` row: the sandbox that it names was found to be gone, whoever ended it."""

ENDINGS: Final = frozenset({"stopped", SANDBOX_GONE})
"""Codes of outcomes and ``system`` rows after which the sandbox that they name is no more."""

CHANGES: Final = frozenset({"pause", "resume", "keep"})
"""The actions of rows that tell what was asked of a sandbox without ending it."""

MOST_CHANGES: Final = 20
"""How many of those rows are read of one sandbox; older ones say nothing about how it is now."""

COLUMNS: Final = (
    "seq", "at", "request_id", "phase", "actor", "actor_kind", "channel", "thread_ts", "action", "home",
    "workspace", "sandbox", "node", "result", "code", "reason", "details", "prev_hash", "hash",
)  # fmt: skip
"""The stored columns in their order. All are text except ``seq``, an integer that counts from 1."""

_TAG: Final = b"hermes-sandbox-bot audit row v1\n"
_HASHED: Final = tuple(sorted(set(COLUMNS) - {"hash"}))
_TEXTS: Final = tuple(name for name in COLUMNS if name not in {"seq", "at", "details", "prev_hash", "hash"})
_VOCABULARY: Final = {"phase": PHASES, "actor_kind": ACTOR_KINDS, "result": RESULTS}
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_UNSTORABLE: Final = dict.fromkeys([0, *range(0xD800, 0xE000)], "\ufffd")

Columns: TypeAlias = dict[str, str | int]
"""One row as it is stored: every name of `COLUMNS`, ``details`` as canonical JSON text."""


class AuditUnavailableError(DomainError):
    """The audit log cannot be written or read; the message says why and names no secret."""


class AuditDamagedError(AuditUnavailableError):
    """A stored row cannot be understood; ``audit verify`` tells which one and why."""


class Redactor(Protocol):
    """Removes secrets from what is about to be stored."""

    def text(self, text: str, /) -> str:
        """The text without secrets."""

    def payload(self, value: Json, /) -> Json:
        """The JSON value without secrets, of the same shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """Something that somebody did, wants to do or decided; not yet a row of the log.

    ``details`` is JSON without floats (write milliseconds, not seconds). ``result`` belongs to an outcome.

    Raises:
        ValueError: a field is outside its vocabulary, or ``details`` holds what canonical JSON cannot.
    """

    request_id: str
    phase: Phase
    actor: str
    actor_kind: ActorKind
    action: str
    channel: str = ""
    thread_ts: str = ""
    home: str = ""
    workspace: str = ""
    sandbox: str = ""
    node: str = ""
    result: Result = ""
    code: str = ""
    reason: str = ""
    details: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse at once what the log could not keep; later would be after the act."""
        for name, allowed in _VOCABULARY.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} {getattr(self, name)!r} is none of {', '.join(sorted(allowed))}")
        if not self.actor or not self.action:
            raise ValueError("an audit event needs an actor and an action, for example U0EXAMPLE and create")
        if not self.request_id and self.phase not in {"alert", "system"}:
            raise ValueError(f"an audit event of phase {self.phase} needs a request_id")
        if self.phase == "outcome" and not self.result:
            raise ValueError("an outcome needs a result: ok, refused, failed or unknown")
        if not isinstance(self.details, Mapping):
            raise ValueError("audit details are a JSON object")  # noqa: TRY004 - one kind of error for a bad event
        _plain(self.details, "details")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow(AuditEvent):
    """An event with its place in the log: what was stored, after redaction.

    ``seq`` counts from 1 without gaps, ``at`` is an aware UTC time, ``hash`` and ``prev_hash`` are
    64 hex digits.
    """

    seq: int
    at: datetime
    prev_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The newest row's number and hash; ``(0, GENESIS)`` for an empty log."""

    seq: int = 0
    hash: str = GENESIS

    def __str__(self) -> str:
        """The form in which a head is posted and given back to ``audit verify --head``."""
        return f"{self.seq}:{self.hash}"


Fault = Literal["changed", "missing", "broken-link", "duplicate", "unreadable"]


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first row at which the chain does not hold."""

    seq: int
    fault: Fault
    explanation: str

    def __str__(self) -> str:
        """One line that begins with the row, for people."""
        return f"row {self.seq}: {self.fault}: {self.explanation}"


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What a walk over the whole log found: ``rows`` good ones up to ``head``, then perhaps a fault."""

    rows: int
    head: ChainHead
    fault: ChainFault | None = None

    @property
    def ok(self) -> bool:
        """Whether every row is unchanged and in its place."""
        return self.fault is None


def timestamp(at: datetime) -> str:
    """The stored form of an aware time: UTC, microseconds, fixed width, so that text order is time order.

    Raises:
        ValueError: the time has no zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} has no time zone; audit times are aware")
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def storable(event: AuditEvent, at: datetime, redactor: Redactor) -> dict[str, str]:
    """The event's columns as they may be stored: redacted, and in text that every database takes."""
    columns = {"at": timestamp(at)}
    for name in _TEXTS:
        text: str = getattr(event, name)
        columns[name] = _clean(redactor.text(text)) if text and name not in _VOCABULARY else text
    columns["details"] = (
        _CANONICAL.encode(_plain(redactor.payload(event.details), "details")) if event.details else "{}"
    )
    return columns


def chained(columns: Mapping[str, str], head: ChainHead) -> Columns:
    """The columns as the row after ``head``: with ``seq``, ``prev_hash`` and ``hash``."""
    row: Columns = {**columns, "seq": head.seq + 1, "prev_hash": head.hash}
    row["hash"] = row_hash(row)
    return row


def row_hash(row: Mapping[str, object]) -> str:
    """SHA-256 over the domain tag and the canonical JSON of every column except ``hash``, as hex."""
    return hashlib.sha256(canonical_bytes(row)).hexdigest()


def canonical_bytes(row: Mapping[str, object]) -> bytes:
    """What is hashed. ASCII with sorted keys and no blanks, so that one row has exactly one form."""
    return _TAG + _CANONICAL.encode({name: row[name] for name in _HASHED}).encode("ascii")


def follow(head: ChainHead, row: Mapping[str, object]) -> ChainHead | ChainFault:
    """The head after ``row``, or why ``row`` does not follow ``head``.

    The content is judged before the link: a changed ``prev_hash`` is a change of its own row.
    """
    seq, expected = row["seq"], head.seq + 1
    if not isinstance(seq, int):
        return ChainFault(expected, "changed", f"its number is {seq!r}")
    if seq > expected:
        gone = "it is" if seq == expected + 1 else f"rows {expected} to {seq - 1} are"
        return ChainFault(expected, "missing", f"{gone} gone; row {seq} comes after row {head.seq}")
    if seq < expected:
        return ChainFault(seq, "duplicate", "its number is taken, or comes before the first")
    return _linked(head, seq, row)


def _linked(head: ChainHead, seq: int, row: Mapping[str, object]) -> ChainHead | ChainFault:
    if any(not isinstance(row[name], str) for name in COLUMNS if name != "seq"):
        return ChainFault(seq, "changed", "it holds something that is not text")
    if row_hash(row) != row["hash"]:
        return ChainFault(seq, "changed", "its content and its hash do not belong together")
    if row["prev_hash"] != head.hash:
        what = f"it does not follow row {head.seq} as that stands now" if head.seq else "it is not the first"
        return ChainFault(seq, "broken-link", f"{what}; one of the two was rewritten with a new hash")
    return ChainHead(seq, str(row["hash"]))


def row_of(columns: Mapping[str, object]) -> AuditRow:
    """The row that is stored in ``columns``.

    Raises:
        AuditDamagedError: it was changed into something that is no row any more.
    """
    try:
        values = {name: columns[name] for name in COLUMNS if name not in {"seq", "at", "details"}}
        return AuditRow(
            **{name: _clean(_text(value)) for name, value in values.items()},  # type: ignore[arg-type]  # vocabulary is checked by the class
            seq=int(str(columns["seq"])),
            at=datetime.fromisoformat(_text(columns["at"])),
            details=json.loads(_text(columns["details"])),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise AuditDamagedError(
            f"audit row {columns['seq']} cannot be understood ({error}); run hermes-bot audit verify"
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _clean(text: str) -> str:
    """Replace what UTF-8 or PostgreSQL cannot hold: lone surrogates and the NUL character."""
    return text if text.isascii() and "\0" not in text else text.translate(_UNSTORABLE)


def _plain(value: object, where: str) -> Json:
    """The value as dicts, lists and scalars, or a ValueError that names the place of what does not fit."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return _clean(value)
        case Mapping():
            for name in value:
                if not isinstance(name, str):
                    raise ValueError(f"{where} has the key {name!r}; keys are text")  # noqa: TRY004 - one kind of error for a bad event
            return {_clean(name): _plain(item, f"{where}.{name}") for name, item in value.items()}
        case list() | tuple():
            return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
        case float():
            raise ValueError(
                f"{where} is {value}: audit details hold no floats; write whole units, as in wait_ms=1500"
            )
        case _:
            raise ValueError(f"{where} is a {type(value).__name__}: audit details are JSON")
