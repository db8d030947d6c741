"""Cube's failures in a person's words: what happened, and what to do, for the operation that met it."""

from collections.abc import Mapping
from http import HTTPStatus

from bot.domain.cube_errors import DATA_PLANE, CubeFault

PRESS_CONTINUE = "Press Continue"
"""How a message that has this button says that one may try again."""

TRY_AGAIN = "Try again"

_NODES_FAILED = 130598
"""SelectNodesFailed: of the nodes that may be taken, Cube can use none."""

_ENOSPC = "no space left on device"
_RUNNERS = "tell the people who run Cube"
_LOOK_FIRST = "Look with `/hermes status NAME` how it stands, before you ask for it again."
_RECREATE = "make a new one with `/hermes create home=NAME`; it keeps the home"

_WORDS: Mapping[str, tuple[str, str]] = {
    "check-template": (
        "Cube does not know the template.",
        "Ask an administrator which templates are READY, or create with `template=NAME`.",
    ),
    "wait-and-retry": (
        "Cube is still busy with another change of this sandbox.",
        "Wait half a minute and {try}.",
    ),
    "treat-as-paused": (
        "The sandbox is paused already.",
        "Nothing needs to be done; `/hermes open NAME` or `/hermes resume NAME` wakes it.",
    ),
    "recreate-keep-home": (
        "Cube cannot wake this sandbox.",
        f"Stop it with `/hermes stop NAME`, then {_RECREATE}.",
    ),
    "quarantine-and-escalate": (
        "Cube cannot delete this sandbox.",
        f"Leave it as it is, and {_RUNNERS}; `/hermes diagnose NAME` collects what they need.",
    ),
    "use-allowed-prefix": (
        "Cube does not allow mounts from this directory of the node.",
        "An administrator adds the node's `shared_root` to Cube's allowed mount prefixes; then {try}.",
    ),
    "create-source-dir": (
        "A directory to mount does not exist on the node that Cube chose.",
        "{again}; if it stays, an administrator checks `cube_node` of each node in the settings.",
    ),
    "show-capacity-back-off": (
        "Cube has no room for another sandbox right now.",
        "Stop a sandbox that nobody uses with `/hermes stop NAME`, or {try} in a few minutes.",
    ),
    "check-node": (
        "Cube cannot reach the node.",
        "{again} in a minute; if it stays, an administrator looks whether the node is up.",
    ),
    "search-before-retry": ("Cube did not say whether it made the change.", _LOOK_FIRST),
    "cube-unavailable": ("Cube does not answer.", "{again} in a minute."),
    "check-api-key": (
        "Cube refused the bot's key.",
        "An administrator sets `CUBE_API_KEY`, proves it with `hermes-bot check`, and restarts the bot.",
    ),
    "check-traffic-token": (
        "The sandbox refuses requests without its traffic token.",
        f"Stop it with `/hermes stop NAME`, then {_RECREATE}.",
    ),
    "slow-down": ("Cube asks us to slow down.", "{again} in a minute; nobody has to do anything before."),
    "fix-request": (
        "Cube did not accept the request.",
        "Cube's own words are below; if they do not help, show them to an administrator.",
    ),
    "wait-or-resume": (
        "The sandbox is paused or just pausing.",
        "Wake it with `/hermes resume NAME` once `/hermes status NAME` calls it asleep.",
    ),
    "list-listeners": (
        "Nothing listens on that port in the sandbox.",
        "`/hermes resume NAME` starts a Studio that has died; `/hermes diagnose NAME` says what listens.",
    ),
    "retry-then-report-route": (
        "Cube's proxy cannot reach the sandbox.",
        f"{{again}} in a few seconds; if it stays, {_RUNNERS}.",
    ),
    "sandbox-gone": ("The sandbox is being destroyed.", f"Wait half a minute, then {_RECREATE}."),
    "confirm-absence": (
        "Cube does not know this sandbox any more.",
        f"When `/hermes status NAME` does not find it either, {_RECREATE}.",
    ),
    "already-deleted": (
        "The sandbox was destroyed already.",
        f"Nothing needs to be done; when you need it again, {_RECREATE}.",
    ),
}

_HERE: Mapping[tuple[str, str], tuple[str, str]] = {
    ("search-before-retry", "create"): (
        "Cube did not say whether it made the change.",
        "{again}: it looks for the sandbox first and never makes a second one.",
    ),
    ("search-before-retry", "resume"): (
        "Cube did not say whether it woke the sandbox.",
        "Ask for it again with `/hermes resume NAME`: it looks first, and wakes nothing twice.",
    ),
    ("list-listeners", "create"): (
        "Nothing listens on that port in the sandbox.",
        "{again} to start Studio again.",
    ),
    ("show-capacity-back-off", "resume"): (
        "The node has no room to wake this sandbox right now.",
        "Pause or stop a sandbox that nobody uses, or {try} in a few minutes.",
    ),
    ("confirm-absence", DATA_PLANE): (
        "Cube's proxy knows no such sandbox, or not this port of it.",
        f"Look with `/hermes status NAME`; when the sandbox is not there, {_RECREATE}.",
    ),
    ("cube-unavailable", DATA_PLANE): (
        "Cube's proxy has trouble of its own, so that the sandbox cannot be seen.",
        f"{{again}} in a minute; if it stays, {_RUNNERS}.",
    ),
}
"""Where one operation has other words than the rest."""

_DOING = {
    "create": "make the sandbox",
    "pause": "pause the sandbox",
    "resume": "wake the sandbox",
    "kill": "destroy the sandbox",
    "timeout": "change its idle time",
    "network": "change its network",
    DATA_PLANE: "reach the sandbox",
}

_NO_ROOM_TO_MOUNT = (
    "The node that Cube chose has no room for another mount, or its disk is full.",
    "An administrator looks there: a disk with room means leaked mounts, which a restart of Cubelet frees.",
)
_CUBE_FAILED = (
    "Cube answered with an error of its own.",
    f"{{again}} in a minute; if it stays, {_RUNNERS}. Its own words are below.",
)
_NO_NODE = (
    "Cube has no node for this sandbox: the one that it should go to does not answer, or Cube knows no such.",
    "{again} in a minute; if it stays, an administrator looks whether the node is up, and at `cube_node`.",
)

CUBE_ADVICE = frozenset(_WORDS)
"""Every advice that Cube faults may carry; a test holds it against the classifier."""


def cube_sentences(fault: CubeFault, *, again: str = TRY_AGAIN) -> tuple[str, str]:
    """(what happened, what to do next).

    Args:
        fault: its operation decides on the words, and its code and own words make some more exact.
        again: how to try again where this is told, such as the button that stands below.
    """
    operation = "resume" if fault.operation == "connect" else fault.operation
    context = "create" if again == PRESS_CONTINUE else operation
    what, todo = (
        _exactly(fault)
        or _HERE.get((fault.advice_key, context))
        or _HERE.get((fault.advice_key, operation))
        or _WORDS[fault.advice_key]
    )
    if fault.advice_key == "fix-request" and operation in _DOING:
        what = f"Cube did not accept the request to {_DOING[operation]}."
    return what, todo.replace("{again}", again).replace("{try}", again[:1].lower() + again[1:])


def _exactly(fault: CubeFault) -> tuple[str, str] | None:
    """What Cube's code or words tell beyond the class."""
    if fault.advice_key != "cube-unavailable" or fault.operation == DATA_PLANE:
        return None
    if fault.code == _NODES_FAILED:
        return _NO_NODE
    if fault.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    return _NO_ROOM_TO_MOUNT if _ENOSPC in fault.message else _CUBE_FAILED
