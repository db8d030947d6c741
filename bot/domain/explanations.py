"""What happened and what to do, for every error of the outside world that a person may meet."""

from bot.domain.cube_errors import CubeFault
from bot.domain.errors import CubeError, DomainError, GuestError, NodeError

_CUBE: dict[str, tuple[str, str]] = {
    "check-template": (
        "Cube does not know the template.",
        "Ask an administrator which templates are READY, or create with `template=NAME`.",
    ),
    "wait-and-retry": (
        "Cube is still busy with another change of this sandbox.",
        "Wait half a minute and try again.",
    ),
    "recreate-keep-home": (
        "This sandbox cannot be resumed on this version of Cube.",
        "Stop it and create a new one with the same home.",
    ),
    "quarantine-and-escalate": (
        "Cube cannot delete this sandbox.",
        "Leave it alone and tell the people who run Cube.",
    ),
    "use-allowed-prefix": (
        "Cube does not allow mounts from the node's shared directory.",
        "An administrator has to add it to Cube's allowed mount prefixes.",
    ),
    "create-source-dir": (
        "A directory to mount does not exist on the node that Cube chose.",
        "Try again; if it stays, an administrator should run `hermes-bot check`.",
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
        "Press Continue: it looks for the sandbox first and never makes a second one.",
    ),
    "cube-unavailable": ("Cube does not answer.", "Try again in a minute."),
    "check-api-key": ("Cube refused the bot's key.", "An administrator has to set CUBE_API_KEY."),
    "check-traffic-token": (
        "The sandbox refuses requests without its traffic token.",
        "Stop it and create a new one with the same home.",
    ),
    "slow-down": ("Cube asks us to slow down.", "Try again in a minute."),
    "fix-request": (
        "Cube did not accept the request.",
        "Check the template and the settings; Cube's own words are below.",
    ),
    "wait-or-resume": ("The sandbox is paused or just pausing.", "Wait a moment and try again."),
    "list-listeners": (
        "Nothing listens on that port in the sandbox.",
        "Press Continue to start Studio again.",
    ),
    "retry-then-report-route": (
        "Cube's proxy cannot reach the sandbox.",
        "Try again in a few seconds; if it stays, tell the people who run Cube.",
    ),
    "sandbox-gone": ("The sandbox is being destroyed.", "Create a new one with the same home."),
    "confirm-absence": ("Cube does not know this sandbox any more.", "Create a new one with the same home."),
    "already-deleted": (
        "The sandbox was destroyed already.",
        "Create a new one with the same home when you need it.",
    ),
}

_NODE: dict[str, tuple[str, str]] = {
    "node-unreachable": (
        "The node does not answer over SSH.",
        "Try again in a minute; if it stays, an administrator should run `hermes-bot check`.",
    ),
    "host-key-changed": (
        "The node shows another host key than the one we know.",
        "Do not try again: an administrator has to find out why.",
    ),
    "node-timeout": ("The node took too long.", "Try again in a minute."),
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
        "An administrator has to fix its owner or mode; the path is below.",
    ),
    "disk-low": (
        "The node has less free disk than this installation asks for.",
        "Stop or clean up something, or an administrator lowers `[limits] min_free_gib`.",
    ),
    "disk-full": (
        "The node's disk is full.",
        "Make room on the node; then press Continue or create again, and it picks up where it stopped.",
    ),
    "default-home-missing": (
        "There is no default home to fill a new home from.",
        "An administrator runs `hermes-bot template seed` once; homes in use are not affected.",
    ),
    "public-skills-missing": (
        "The directory of public Skills does not exist on the node.",
        "An administrator makes `hermes-common-skills` under the node's shared directory.",
    ),
}

_GUEST: dict[str, tuple[str, str]] = {
    "guest-timeout": ("The sandbox took too long.", "Press Continue to try this step again."),
    "guest-program-failed": (
        "Our program inside the sandbox failed.",
        "Press Continue to try this step again.",
    ),
    "studio-did-not-start": (
        "Studio did not get ready.",
        "Press Continue to start it again; its last words are below.",
    ),
    "studio-login-failed": (
        "Studio runs, but we could not sign in to replace its first password.",
        "Do not use it yet; press Continue to try again.",
    ),
    "studio-unknown-generation": (
        "We cannot tell how this Studio wants people to sign in.",
        "An administrator sets `[studio] auth` to `token` or `users`.",
    ),
    "overlay-failed": ("The public Skills could not be linked.", "Press Continue to try this step again."),
}

_OTHER = (
    "Something failed that we have no words for.",
    "Press Continue to try again; an administrator finds more in the bot's log.",
)


def code_of(error: DomainError) -> str:
    """The stable outcome code of an error."""
    if isinstance(error, CubeError):
        return "cube-" + error.fault.kind.replace("_", "-")
    if isinstance(error, (NodeError, GuestError)):
        return error.code
    return "internal-error"


def sentences(error: DomainError) -> tuple[str, str]:
    """(what happened, what to do next)."""
    if isinstance(error, CubeError):
        return _CUBE.get(error.fault.advice_key, _OTHER)
    if isinstance(error, NodeError):
        return _NODE.get(error.code, _OTHER)
    if isinstance(error, GuestError):
        return _GUEST.get(error.code, _OTHER)
    return _OTHER


def is_unknown_outcome(fault: CubeFault) -> bool:
    """Whether the change may have happened although no success was told."""
    return fault.kind == "unknown_outcome"


CUBE_ADVICE = frozenset(_CUBE)
"""Every advice that Cube faults may carry; a test holds it against the classifier."""
