"""What happened and what to do, for every error of the outside world that a person may meet."""

from bot.domain.audit import AuditUnavailableError
from bot.domain.cube_errors import CubeFault
from bot.domain.cube_words import CUBE_ADVICE, PRESS_CONTINUE, TRY_AGAIN, cube_sentences
from bot.domain.errors import CubeError, DomainError, GuestError, NodeError
from bot.domain.locks import LockUnavailableError

__all__ = [
    "CUBE_ADVICE",
    "GUEST_CODES",
    "NODE_CODES",
    "PRESS_CONTINUE",
    "TRY_AGAIN",
    "code_of",
    "is_unknown_outcome",
    "sentences",
]

_NODE: dict[str, tuple[str, str]] = {
    "node-unreachable": (
        "The node does not answer over SSH.",
        "Try again in a minute; if it stays, an administrator should run `hermes-bot check`.",
    ),
    "node-login-refused": (
        "The node answers, but it refuses the bot's SSH key.",
        "An administrator puts the bot's public key back for the node's `user`, and runs `hermes-bot check`.",
    ),
    "host-key-changed": (
        "The node shows another host key than the one we know.",
        "Please do not try again: an administrator finds out why, and puts the right key into `known_hosts`.",
    ),
    "node-timeout": (
        "The node took too long.",
        "Try again in a minute; what was begun there is completed, never done twice.",
    ),
    "node-program-failed": (
        "Our program on the node failed.",
        "An administrator should run `hermes-bot check`; the node's words are below.",
    ),
    "unsafe-path": (
        "A directory of this home or workspace is not safe to use: a link or a file stands in its path.",
        "An administrator has to look at it on the node; the path is below.",
    ),
    "not-writable": (
        "The home or workspace cannot be written on the node.",
        "An administrator has to fix its owner or mode, or a disk that has become read-only; see below.",
    ),
    "disk-low": (
        "The node has less free disk than this installation asks for.",
        "An administrator makes room on the node, or lowers `[limits] min_free_gib`.",
    ),
    "disk-full": (
        "The node's disk is full.",
        "An administrator makes room there; then try again.",
    ),
    "default-home-missing": (
        "There is no default home to fill a new home from.",
        "An administrator runs `hermes-bot template seed` once for this node; homes in use are not affected.",
    ),
    "public-skills-missing": (
        "The directory of public Skills does not exist on the node.",
        "An administrator makes `hermes-common-skills` under the node's shared directory.",
    ),
}

_GUEST: dict[str, tuple[str, str]] = {
    "guest-timeout": ("The sandbox took too long.", "{again}."),
    "guest-program-failed": (
        "Our program inside the sandbox failed.",
        "{again}; if it stays, `/hermes diagnose HOME` tells more.",
    ),
    "studio-did-not-start": (
        "Studio did not get ready.",
        "{again}; its last words are below.",
    ),
    "studio-login-failed": (
        "Studio runs, but we could not make its sign-in safe: somebody else may have come first.",
        "Do not use it. {again}, once; if it fails again, stop it: an administrator can reset it.",
    ),
    "studio-unknown-generation": (
        "We cannot tell how people sign in to this Studio.",
        "An administrator sets `[studio] auth` to `token` or `users` and restarts the bot; then try again.",
    ),
    "unsafe-home-entry": (
        "Something else stands in the home where Studio or the bot needs a file or directory of its own.",
        "Rename what is named below, inside the sandbox or on the node; then try again.",
    ),
    "too-many-skills": (
        "A Skills directory holds more entries than the bot looks at.",
        "Move some out of the one named below, inside the sandbox or on the node; then try again.",
    ),
    "overlay-failed": ("The public Skills could not be linked.", "{again}."),
}

_LOCKS = (
    "The bot cannot take its locks just now, so it cannot rule out a second job on the same home.",
    "Try again in a minute; if it stays, an administrator looks at the bot's database and its directory.",
)

_AUDIT = (
    "The audit log cannot be written, so nothing is changed.",
    "An administrator looks at the bot's database; `hermes-bot audit verify` helps.",
)

_OTHER = (
    "Something failed that we have no words for.",
    "{again}; an administrator finds more in the bot's log.",
)


def code_of(error: DomainError) -> str:
    """The stable outcome code of an error."""
    if isinstance(error, CubeError):
        return "cube-" + error.fault.kind.replace("_", "-")
    if isinstance(error, (NodeError, GuestError)):
        return error.code
    if isinstance(error, LockUnavailableError):
        return "locks-unavailable"
    if isinstance(error, AuditUnavailableError):
        return "audit-unavailable"
    return "internal-error"


def sentences(error: DomainError, *, again: str = TRY_AGAIN) -> tuple[str, str]:
    """(what happened, what to do next).

    ``again`` says how to try again where this is told, such as the button that stands below.
    """
    if isinstance(error, CubeError):
        return cube_sentences(error.fault, again=again)
    what, todo = _of(error)
    return what, todo.format(again=again)


def _of(error: DomainError) -> tuple[str, str]:
    if isinstance(error, NodeError):
        return _NODE.get(error.code, _OTHER)
    if isinstance(error, GuestError):
        return _GUEST.get(error.code, _OTHER)
    if isinstance(error, LockUnavailableError):
        return _LOCKS
    return _AUDIT if isinstance(error, AuditUnavailableError) else _OTHER


def is_unknown_outcome(fault: CubeFault) -> bool:
    """Whether the change may have happened although no success was told."""
    return fault.kind == "unknown_outcome"


NODE_CODES = frozenset(_NODE)
"""Every code of a ``NodeError``; a test holds it against the adapters."""

GUEST_CODES = frozenset(_GUEST)
"""Every code of a ``GuestError``; a test holds it against the adapters."""
