"""Faults that the real systems are known for, switched on through ``POST /faults``.

A fault is armed for a number of times; the server that meets it takes one and fails the way the
real system fails. Kinds are a closed list, so that a misspelt fault is refused, not ignored.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS: Mapping[str, Mapping[str, str]] = {
    "cube": {
        "create-no-capacity": "POST /sandboxes answers 500 with 130597 no more resource; nothing is made",
        "create-408-after-success": "POST /sandboxes makes the sandbox, then answers 408 with an empty body",
        "create-deadline-after-success": "POST /sandboxes makes the sandbox, then answers 500 with 130595",
        "mount-source-missing": "POST /sandboxes answers 500 with 130545 prepareHostDirVolume",
        "slow-api": "every CubeAPI answer is delayed by delay_s (default 2)",
        "drop-after-write": "a change is made, then the connection is dropped without an answer",
        "api-down": "CubeAPI answers 503 without Retry-After",
        "studio-never-ready": "Studio in sandboxes made from now on listens, but its bridge never gets ready",
        "studio-does-not-start": "hermes-web-ui start in sandboxes made from now on ends with 1",
        "data-plane-dead": "CubeProxy answers 504 for a running sandbox",
        "resume-tap-busy": "resume and connect answer 500 with 130589 OpenTap ResourceBusy",
        "read-only-home": "the home mount of sandboxes made from now on is read-only",
    },
    "node": {
        "ssh-down": "the SSH server refuses connections and drops the open ones",
        "ssh-slow": "commands start after delay_s (default 2)",
        "disk-full": "free space is reported as zero and writes fail with ENOSPC",
        "drop-after-write": "the command runs, then the connection is lost before its answer",
    },
    "slack": {
        "rate-limited": "a Web API call (method, default any) answers 429 with retry_after s (default 1)",
        "invalid-blocks-plan": "messages that hold a plan block answer invalid_blocks",
        "drop-after-write": "chat.postMessage is carried out, then the connection is dropped",
        "slow-api": "every Web API answer is delayed by delay_s (default 4)",
        "history-lags": "conversations.history and .replies lack the messages of the last lag_s (default 2)",
        "server-error": "a Web API call (method, default any) answers 500",
        "disconnect": "a socket gets a disconnect frame (reason, default refresh_requested)",
    },
}

_NUMBERS = frozenset({"delay_s", "lag_s", "retry_after", "index"})


class UnknownFaultError(ValueError):
    """The fault asked for does not exist; the text lists those that do."""


@dataclass(slots=True)
class Fault:
    """One armed fault. ``times`` counts down; ``options`` are the other keys that were posted."""

    target: str
    kind: str
    times: int
    options: dict[str, Any] = field(default_factory=dict)

    def number(self, name: str, default: float) -> float:
        """An option as a number."""
        return float(self.options.get(name, default))


class Faults:
    """The armed faults of one stand-in installation."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    def arm(self, body: Mapping[str, Any]) -> Fault:
        """Arm ``{target, kind, times=1, …}``. Underscores and capitals in ``kind`` do not matter."""
        target = str(body.get("target", ""))
        kind = re.sub(r"[^a-z0-9]+", "-", str(body.get("kind", "")).lower()).strip("-")
        known = KINDS.get(target)
        if known is None:
            raise UnknownFaultError(f"target must be one of {', '.join(KINDS)}")
        if kind not in known:
            raise UnknownFaultError(f"kind for {target} must be one of {', '.join(known)}")
        times = int(body.get("times", 1))
        options = {k: v for k, v in body.items() if k not in {"target", "kind", "times"}}
        for name in _NUMBERS & options.keys():
            if isinstance(options[name], bool) or not isinstance(options[name], int | float):
                raise UnknownFaultError(f'{name} must be a number, for example {{"{name}": 2}}')
        fault = Fault(target, kind, times, options)
        self._armed.append(fault)
        return fault

    def peek(self, target: str, kind: str) -> Fault | None:
        """The armed fault of that kind, not used up by looking."""
        return next((f for f in self._armed if f.target == target and f.kind == kind and f.times > 0), None)

    def take(self, target: str, kind: str, **match: object) -> Fault | None:
        """Use one up. A fault that names an option in ``match`` only fires for the same value."""
        for fault in self._armed:
            if fault.target != target or fault.kind != kind or fault.times <= 0:
                continue
            if any(fault.options.get(key, wanted) != wanted for key, wanted in match.items()):
                continue
            fault.times -= 1
            if fault.times <= 0:
                self._armed.remove(fault)
            return fault
        return None

    def clear(self) -> None:
        """Disarm everything."""
        self._armed.clear()

    def report(self) -> dict[str, Any]:
        """What is armed, and what could be."""
        armed = [{"target": f.target, "kind": f.kind, "times": f.times, **f.options} for f in self._armed]
        return {"armed": armed, "kinds": {target: dict(kinds) for target, kinds in KINDS.items()}}
