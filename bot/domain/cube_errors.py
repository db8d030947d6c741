"""What an error answer of Cube means, and what it allows us to do next.

Cube reports most failures as one status with a sentence in which a six-digit code stands. The code decides;
words decide only where one code has several meanings; the status decides the rest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from bot.domain.cube_text import code_in, message_of, one_line, own_words

DATA_PLANE = "data_plane"
"""The operation name for any request through CubeProxy to a port of a sandbox."""

READS = frozenset({"get", "list", "list_v2", "health", "logs", "template_get", "template_list"})
"""Operations that change nothing. Any other name, DATA_PLANE aside, is taken for a change."""

_TEMPLATE_OPERATIONS = frozenset({"create", "template_get", "template_list"})


class FaultClass(StrEnum):
    """Kinds of failure that call for different behaviour."""

    NOT_FOUND = "not_found"
    TEMPLATE_NOT_FOUND = "template_not_found"
    CONFLICT_RETRY = "conflict_retry"
    ALREADY_PAUSED = "already_paused"
    UNRESUMABLE_TAP_BUSY = "unresumable_tap_busy"
    STUCK_NOT_DELETABLE = "stuck_not_deletable"
    MOUNT_PREFIX_DENIED = "mount_prefix_denied"
    MOUNT_SOURCE_MISSING = "mount_source_missing"
    NO_CAPACITY = "no_capacity"
    NODE_UNREACHABLE = "node_unreachable"
    UNKNOWN_OUTCOME = "unknown_outcome"
    UNAVAILABLE = "unavailable"
    AUTH = "auth"
    RATE_LIMITED = "rate_limited"
    BAD_REQUEST = "bad_request"
    PAUSED_RETRY_LATER = "paused_retry_later"
    NOT_LISTENING = "not_listening"
    GUEST_UNREACHABLE = "guest_unreachable"
    GONE = "gone"


_RETRYABLE = frozenset(
    {
        FaultClass.CONFLICT_RETRY,
        FaultClass.NO_CAPACITY,
        FaultClass.NODE_UNREACHABLE,
        FaultClass.UNAVAILABLE,
        FaultClass.RATE_LIMITED,
        FaultClass.PAUSED_RETRY_LATER,
        FaultClass.NOT_LISTENING,
        FaultClass.GUEST_UNREACHABLE,
    }
)

_ADVICE = {
    FaultClass.NOT_FOUND: "confirm-absence",
    FaultClass.TEMPLATE_NOT_FOUND: "check-template",
    FaultClass.CONFLICT_RETRY: "wait-and-retry",
    FaultClass.ALREADY_PAUSED: "treat-as-paused",
    FaultClass.UNRESUMABLE_TAP_BUSY: "recreate-keep-home",
    FaultClass.STUCK_NOT_DELETABLE: "quarantine-and-escalate",
    FaultClass.MOUNT_PREFIX_DENIED: "use-allowed-prefix",
    FaultClass.MOUNT_SOURCE_MISSING: "create-source-dir",
    FaultClass.NO_CAPACITY: "show-capacity-back-off",
    FaultClass.NODE_UNREACHABLE: "check-node",
    FaultClass.UNKNOWN_OUTCOME: "search-before-retry",
    FaultClass.UNAVAILABLE: "cube-unavailable",
    FaultClass.AUTH: "check-api-key",
    FaultClass.RATE_LIMITED: "slow-down",
    FaultClass.BAD_REQUEST: "fix-request",
    FaultClass.PAUSED_RETRY_LATER: "wait-or-resume",
    FaultClass.NOT_LISTENING: "list-listeners",
    FaultClass.GUEST_UNREACHABLE: "retry-then-report-route",
    FaultClass.GONE: "sandbox-gone",
}

_DATA_PLANE_STATUS = {
    401: FaultClass.AUTH,
    403: FaultClass.AUTH,
    404: FaultClass.NOT_FOUND,
    408: FaultClass.UNAVAILABLE,
    409: FaultClass.CONFLICT_RETRY,
    410: FaultClass.GONE,
    429: FaultClass.RATE_LIMITED,
    502: FaultClass.NOT_LISTENING,
    504: FaultClass.GUEST_UNREACHABLE,
}

_BY_CODE = {
    130408: FaultClass.NODE_UNREACHABLE,  # CubeletUnHealthy
    130409: FaultClass.CONFLICT_RETRY,  # Conflict
    130490: FaultClass.CONFLICT_RETRY,  # TaskStateInvalid
    130592: FaultClass.RATE_LIMITED,
    130596: FaultClass.NODE_UNREACHABLE,  # ConnHostFailed
    130597: FaultClass.NO_CAPACITY,  # SelectNodesNoRes
}

_TASK_RESUME_FAILED = 130589

_TAP_BUSY = ("opentap", "resourcebusy", "vm is already created")


@dataclass(frozen=True, slots=True)
class CubeFault:
    """One failed call to Cube, understood.

    Attributes:
        kind: the class of failure.
        retryable: whether the same call may be sent again as it is.
        advice_key: which advice to show; stable, kebab-case.
        message: Cube's own words on one line, at most 400 characters of each answer, not yet redacted.
        status: HTTP status, None when no answer came.
        code: Cube's six-digit code, None when the answer has none.
        retry_after_s: seconds the answer asked to wait, None when it named none.
        operation: what was asked of Cube, as `classify` takes it.
    """

    kind: FaultClass
    retryable: bool
    advice_key: str
    message: str
    status: int | None = None
    code: int | None = None
    retry_after_s: int | None = None
    operation: str = ""


@dataclass(frozen=True, slots=True)
class _Answer:
    operation: str
    status: int
    code: int | None
    words: str  # Cube's own, in small letters, without what stood in quotes
    retry_after: bool

    @property
    def is_change(self) -> bool:
        return self.operation not in READS

    def says(self, *phrases: str) -> bool:
        return any(phrase in self.words for phrase in phrases)


def classify(operation: str, status: int | None, body: str, headers: Mapping[str, str]) -> CubeFault:
    """Say what a failed answer means. Total: any input gives a fault.

    Args:
        operation: `create`, `pause`, `resume`, `connect`, `kill`, `network`, … ; one of READS; or DATA_PLANE.
        status: HTTP status; None when the connection was lost or the deadline passed before an answer.
        body: as received, possibly cut, pretty-printed, HTML or empty.
        headers: of the answer, in any case.
    """
    message = message_of(body)
    retry_after = next((v for k, v in headers.items() if k.lower() == "retry-after"), None)
    words = own_words(message)
    code = None if operation == DATA_PLANE else code_in(words)
    if status is None:
        reading = operation in READS or operation == DATA_PLANE
        kind = FaultClass.UNAVAILABLE if reading else FaultClass.UNKNOWN_OUTCOME
    else:
        answer = _Answer(operation, status, code, words.lower().strip(), retry_after is not None)
        kind = _of_data_plane(answer) if operation == DATA_PLANE else _of_control_plane(answer)
    fallback = "no answer" if status is None else f"HTTP {status}"
    return CubeFault(
        kind=kind,
        retryable=kind in _RETRYABLE,
        advice_key=_advice(operation, kind),
        message=one_line(message) or fallback,
        status=status,
        code=code,
        retry_after_s=_seconds(retry_after),
        operation=operation,
    )


def _advice(operation: str, kind: FaultClass) -> str:
    if kind is FaultClass.NOT_FOUND and operation == "kill":
        return "already-deleted"
    if kind is FaultClass.AUTH and operation == DATA_PLANE:
        return "check-traffic-token"
    return _ADVICE[kind]


def _of_data_plane(answer: _Answer) -> FaultClass:
    if answer.status == HTTPStatus.SERVICE_UNAVAILABLE and answer.retry_after:
        return FaultClass.PAUSED_RETRY_LATER
    return _DATA_PLANE_STATUS.get(answer.status) or _by_range(answer)


def _of_control_plane(answer: _Answer) -> FaultClass:
    """The most telling sign first: refusals of the front door, Cube's code, then the bare status."""
    if answer.status in {401, 403}:
        return FaultClass.AUTH
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        return FaultClass.RATE_LIMITED
    return _by_own_words(answer) or _by_code(answer) or _by_status(answer)


def _by_own_words(answer: _Answer) -> FaultClass | None:
    """Meanings that one operation gives to words, where code and status alone would mislead."""
    tap_busy = answer.code == _TASK_RESUME_FAILED and answer.says(*_TAP_BUSY)
    match answer.operation:
        case "kill" if tap_busy or answer.says("not in normal state"):
            return FaultClass.STUCK_NOT_DELETABLE
        case "resume" | "connect" if tap_busy:
            return FaultClass.UNRESUMABLE_TAP_BUSY
        case "pause" if answer.code in {130490, 130400, None} and answer.says(
            "already paused", "already has pause snapshot"
        ):
            return FaultClass.ALREADY_PAUSED
        case _ if answer.status == HTTPStatus.CONFLICT and answer.says("paused_resource_release_ratio"):
            return FaultClass.NO_CAPACITY
        case _:
            return None


def _by_code(answer: _Answer) -> FaultClass | None:
    match answer.code:
        case 130400:  # MasterParamsError
            return _mount_prefix(answer) or FaultClass.BAD_REQUEST
        case 130404:  # NotFound; on create the thing not found is the template
            return _missing(answer)
        case 130545 if answer.words.endswith(("no such file or directory", "not a directory")):
            return FaultClass.MOUNT_SOURCE_MISSING
        case 130595:  # ReqCubeAPIFailed: the request may have been carried out
            return FaultClass.UNKNOWN_OUTCOME if answer.is_change else FaultClass.UNAVAILABLE
        case None:
            return _mount_prefix(answer)
        case code:
            return _BY_CODE.get(code)


def _by_status(answer: _Answer) -> FaultClass:
    match answer.status:
        case 404:
            return _missing(answer)
        case 409:
            return FaultClass.CONFLICT_RETRY
        case 408 | 502 | 504:
            return FaultClass.UNKNOWN_OUTCOME if answer.is_change else FaultClass.UNAVAILABLE
        case 503 if answer.retry_after and answer.operation == "kill":
            return FaultClass.CONFLICT_RETRY
        case _:
            return _by_range(answer)


def _mount_prefix(answer: _Answer) -> FaultClass | None:
    denied = answer.status in {400, 500} and answer.says(
        "not within an allowed mount prefix", "must be under one of"
    )
    return FaultClass.MOUNT_PREFIX_DENIED if denied else None


def _missing(answer: _Answer) -> FaultClass:
    about_template = answer.operation in _TEMPLATE_OPERATIONS
    return FaultClass.TEMPLATE_NOT_FOUND if about_template else FaultClass.NOT_FOUND


def _by_range(answer: _Answer) -> FaultClass:
    if answer.status in range(400, 500):
        return FaultClass.BAD_REQUEST
    if answer.status in range(500, 600) or not answer.is_change or answer.operation == DATA_PLANE:
        return FaultClass.UNAVAILABLE
    # Neither success as we know it nor an error: the change may have happened.
    return FaultClass.UNKNOWN_OUTCOME


def _seconds(retry_after: str | None) -> int | None:
    text = (retry_after or "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else None
