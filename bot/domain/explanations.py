"""What happened and what to do, for every error of the outside world that a person may meet."""

from http import HTTPStatus

from bot.domain.audit import AuditUnavailableError
from bot.domain.cube_errors import CubeFault
from bot.domain.errors import CubeError, DomainError, GuestError, NodeError
from bot.domain.locks import LockUnavailableError

TRY_AGAIN = "Try again in a minute"
PRESS_CONTINUE = "Press Continue"
"""Below what a create left behind."""

_CUBE: dict[str, tuple[str, str]] = {
    "check-template": (
        "Cube does not know the template.",
        "Ask an administrator which templates are READY, or create with `template=NAME`.",
    ),
    "wait-and-retry": (
        "Cube is still busy with another change of this sandbox.",
        "Wait half a minute and try again.",
    ),
    "treat-as-paused": (
        "The sandbox is paused already.",
        "Nothing needs to be done; opening its Studio wakes it.",
    ),
    "recreate-keep-home": (
        "Cube cannot resume this sandbox.",
        "Stop it, then create a new one with the same home.",
    ),
    "quarantine-and-escalate": (
        "Cube cannot delete this sandbox.",
        "Leave it as it is, and tell the people who run Cube.",
    ),
    "use-allowed-prefix": (
        "Cube does not allow mounts from this directory of the node.",
        "An administrator adds the node's `shared_root` to Cube's allowed mount prefixes.",
    ),
    "create-source-dir": (
        "A directory to mount does not exist on the node that Cube chose.",
        "Try again; if it stays, an administrator checks `cube_node` of each node in the settings.",
    ),
    "show-capacity-back-off": (
        "Cube has no room for another sandbox right now.",
        "Stop a sandbox that nobody uses, or try again in a few minutes.",
    ),
    "check-node": (
        "Cube cannot reach the node.",
        "Try again in a minute; if it stays, an administrator should look at the node.",
    ),
    "search-before-retry": (
        "Cube did not say whether it made the change.",
        "{again}: it looks first, and nothing is done twice.",
    ),
    "cube-unavailable": ("Cube does not answer.", "Try again in a minute."),
    "check-api-key": (
        "Cube refused the bot's key.",
        "An administrator sets `CUBE_API_KEY` and restarts the bot.",
    ),
    "check-traffic-token": (
        "The sandbox refuses requests without its traffic token.",
        "Stop it and create a new one with the same home.",
    ),
    "slow-down": ("Cube asks us to slow down.", "Try again in a minute."),
    "fix-request": (
        "Cube did not accept the request.",
        "Cube's own words are below; if they do not help, show them to an administrator.",
    ),
    "wait-or-resume": ("The sandbox is paused or just pausing.", "Wait a moment and try again."),
    "list-listeners": (
        "Nothing listens on that port in the sandbox.",
        "{again}, or start its Studio with `/hermes resume HOME`.",
    ),
    "retry-then-report-route": (
        "Cube's proxy cannot reach the sandbox.",
        "Try again in a few seconds; if it stays, tell the people who run Cube.",
    ),
    "sandbox-gone": (
        "The sandbox is being destroyed.",
        "Wait half a minute, then create a new one with the same home.",
    ),
    "confirm-absence": ("Cube does not know this sandbox any more.", "Create a new one with the same home."),
    "already-deleted": (
        "The sandbox was destroyed already.",
        "Create a new one with the same home when you need it.",
    ),
}

_ENOSPC = "no space left on device"
_NO_ROOM_TO_MOUNT = (
    "The node that Cube chose has no room for another mount, or its disk is full.",
    "An administrator looks there: a disk with room means leaked mounts, which a restart of Cubelet frees.",
)
_CUBE_FAILED = (
    "Cube answered with an error of its own.",
    "Try again in a minute; if it stays, tell the people who run Cube. Its own words are below.",
)

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
    what, todo = _both(error)
    return what, todo.format(again=again)


def _both(error: DomainError) -> tuple[str, str]:
    if isinstance(error, CubeError):
        return _of_cube(error.fault)
    if isinstance(error, NodeError):
        return _NODE.get(error.code, _OTHER)
    if isinstance(error, GuestError):
        return _GUEST.get(error.code, _OTHER)
    if isinstance(error, LockUnavailableError):
        return _LOCKS
    return _AUDIT if isinstance(error, AuditUnavailableError) else _OTHER


def _of_cube(fault: CubeFault) -> tuple[str, str]:
    """By its advice, and more exactly where Cube's own words allow it."""
    if fault.advice_key == "cube-unavailable" and fault.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return _NO_ROOM_TO_MOUNT if _ENOSPC in fault.message else _CUBE_FAILED
    return _CUBE.get(fault.advice_key, _OTHER)


def is_unknown_outcome(fault: CubeFault) -> bool:
    """Whether the change may have happened although no success was told."""
    return fault.kind == "unknown_outcome"


CUBE_ADVICE = frozenset(_CUBE)
"""Every advice that Cube faults may carry; a test holds it against the classifier."""

NODE_CODES = frozenset(_NODE)
"""Every code of a ``NodeError``; a test holds it against the adapters."""

GUEST_CODES = frozenset(_GUEST)
"""Every code of a ``GuestError``; a test holds it against the adapters."""
