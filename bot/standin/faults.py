"""Faults that the real systems are known for, switched on through ``POST /faults``.

A fault is armed for a number of times; the server that meets it takes one and fails the way the
real system fails. Some kinds are conditions: they hold until they are disarmed. Some leave a mark on the
sandbox that met them, as a held TAP device does; disarming is the repair. Kinds are a closed list, so that a
misspelt fault is refused, not ignored.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
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
        "mount-leak": "POST /sandboxes answers 500 with 130545 no space left on device; the disk has room",
        "empty-408": "a change (operation, default any) is made unless done is false; then 408, no body",
        "deadline-exceeded": "a change (operation, default any) is made unless done is false; then 130595",
        "front-page": "a call (operation) gets nginx's page of status 502 or 504; a change is made if done",
        "node-connection-failed": "a change (operation, default any) answers 500 with 130596 ConnHostFailed",
        "rate-limited": "a call (operation, default any) answers 429 with a Retry-After (retry_after, 1 s)",
        "master-rate-limited": "a call (operation, default any) answers 500 with 130592",
        "unparsed-body": "a call with a body (operation, default any) answers 422 in plain text",
        "auth-rejected": "a call (operation, default any) answers 401 although the key is right",
        "list-fails": "GET /sandboxes answers 500 with 130593",
        "list-drops-node": "until disarmed, lists leave out the sandboxes of a node (default any)",
        "labels-lost": "until disarmed, metadata and template of sandboxes once paused are gone from answers",
        "master-down": "until disarmed, every call but /health answers 500: CubeMaster cannot be reached",
        "lifecycle-locked": "a change (operation) finds another on its way: 409, on DELETE 503 and 2 s",
        "resume-already-created": "as resume-tap-busy, with 130589 VM is already created",
        "resume-no-room": "resume and connect answer 409 with paused_resource_release_ratio",
        "resume-then-paused": "resume and connect answer well, and the sandbox is paused again at once",
        "stuck-pausing": "a pause answers 408 after delay_s (default 30) and never ends until disarmed",
        "running-but-dark": "until disarmed, CubeProxy answers 504 for what runs now (all; sandbox, node)",
        "vm-exited": "the VMs that run now (all; sandbox, node) end, and the API still says running",
        "node-gone": "until disarmed, Cube cannot reach a node (default all): 130596, 504, left out of lists",
        "nothing-listens": "CubeProxy answers 502 for a port (default any), as if nothing listened there",
        "proxy-unavailable": "CubeProxy answers 503 without Retry-After, as when it cannot reach its Redis",
    },
    "node": {
        "ssh-down": "the SSH server refuses connections and drops the open ones",
        "ssh-slow": "commands start after delay_s (default 2)",
        "disk-full": "free space is reported as zero and writes fail with ENOSPC",
        "drop-after-write": "the command runs, then the connection is lost before its answer",
        "connect-slow": "a login takes delay_s (default 2) longer",
        "host-key-changed": "until disarmed, the SSH server shows another host key; open connections end",
        "auth-refused": "until disarmed, the SSH server refuses the key; open connections end",
        "reset-before-command": "the connection is reset when a command is asked for; it does not run",
        "reset-during-command": "the connection is reset delay_s (default 0.05) into a command; that goes on",
        "read-only-root": "until disarmed, /data/shared is remounted read-only on the node",
        "rsync-missing": "until disarmed, commands find no rsync: 127, command not found",
    },
    "slack": {
        "rate-limited": "a Web API call (method, default any) answers 429 with retry_after s (default 1)",
        "invalid-blocks-plan": "messages that hold a plan block answer invalid_blocks",
        "drop-after-write": "a call (method, default chat.postMessage) is carried out, then cut off",
        "slow-api": "a Web API answer (method, default any) is delayed by delay_s (default 4)",
        "server-error": "a Web API call (method, default any) answers 500, or another 5xx (status)",
        "no-answer": "a call (method, default any) is never answered; written=true: carried out all the same",
        "history-lags": "conversations.history and .replies lack the messages of the last lag_s (default 2)",
        "strict-rates": "no burst of posts is tolerated: the second in a channel within a second answers 429",
        "hide-bursts": "a post above the rate answers ok and is hidden due to a high volume of activity",
        "disconnect": "a socket gets a disconnect frame (reason, default refresh_requested; "
        "warning ends it after 10 s, link_disabled switches Socket Mode off until faults are disarmed); "
        "now, or with after=envelope between an envelope and its ack",
        "socket-abort": "a socket's connection is cut without a goodbye (after=envelope as for disconnect)",
        "no-pong": "a socket stays open, answers no ping and loses its envelopes, or with envelopes=none "
        "gets none (after=envelope as for disconnect)",
        "duplicate-envelope": "the next envelope (type, default any) is sent `times` more times over any "
        "socket (socket=same or other) delay_s later (default 0); with copies=n each of the next `times` "
        "envelopes is sent n more times",
    },
}

_NUMBERS = frozenset({"delay_s", "lag_s", "retry_after", "index", "status", "copies", "port"})
_CHOICES: Mapping[str, frozenset[str]] = {
    "reason": frozenset({"warning", "refresh_requested", "link_disabled", "too_many_websockets"}),
    "after": frozenset({"envelope"}),
    "envelopes": frozenset({"none", "lost"}),
    "socket": frozenset({"same", "other"}),
    "type": frozenset({"slash_commands", "interactive", "events_api"}),
}
# Options that a fault has unless it is armed with others.
_DEFAULTS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("slack", "drop-after-write"): {"method": "chat.postMessage"},
}
_FLAGS = frozenset({"done"})
HELD = frozenset(
    {
        "list-drops-node",
        "labels-lost",
        "master-down",
        "running-but-dark",
        "node-gone",
        "host-key-changed",
        "auth-refused",
        "read-only-root",
        "rsync-missing",
    }
)
"""Conditions: without ``times`` they hold until they are disarmed."""


class UnknownFaultError(ValueError):
    """The fault asked for does not exist; the text lists those that do."""


@dataclass(slots=True)
class Fault:
    """One armed fault. ``times`` counts down unless it is ``held``; ``options`` are the other posted keys.

    ``met`` says that it has been applied to what was there when it was armed.
    """

    target: str
    kind: str
    times: int
    options: dict[str, Any] = field(default_factory=dict)
    held: bool = False
    met: bool = False

    def number(self, name: str, default: float) -> float:
        """An option as a number."""
        return float(self.options.get(name, default))

    def flag(self, name: str, *, default: bool) -> bool:
        """An option that is true or false."""
        return bool(self.options.get(name, default))

    def fits(self, target: str, kind: str, match: Mapping[str, object]) -> bool:
        """Whether it is of that kind, and every option it names has the value in ``match``."""
        return (self.target, self.kind) == (target, kind) and all(
            self.options.get(key, wanted) == wanted for key, wanted in match.items()
        )


class Faults:
    """The armed faults of one stand-in installation, and what they have left behind.

    ``calls`` counts requests as ``cube NAME`` and ``node NAME``: so patience can be told from a loop.
    """

    def __init__(self) -> None:
        self._armed: list[Fault] = []
        self._marks: set[tuple[str, str]] = set()
        self._watchers: list[Callable[[], None]] = []
        self.calls: Counter[str] = Counter()

    def watch(self, changed: Callable[[], None]) -> None:
        """Have ``changed`` called after something was armed, used up or cleared."""
        self._watchers.append(changed)

    def unwatch(self, changed: Callable[[], None]) -> None:
        """Stop that, if it was ever begun."""
        if changed in self._watchers:
            self._watchers.remove(changed)

    def count(self, target: str, name: str) -> None:
        """Note one call."""
        self.calls[f"{target} {name}"] += 1

    def mark(self, effect: str, subject: str) -> None:
        """Leave ``effect`` on a sandbox until everything is disarmed."""
        self._marks.add((effect, subject))

    def marked(self, effect: str, subject: str) -> bool:
        """Whether that effect is on it."""
        return (effect, subject) in self._marks

    def arm(self, body: Mapping[str, Any]) -> Fault:
        """Arm ``{target, kind, times=1, …}``. Underscores and capitals in ``kind`` do not matter."""
        target = str(body.get("target", ""))
        kind = re.sub(r"[^a-z0-9]+", "-", str(body.get("kind", "")).lower()).strip("-")
        known = KINDS.get(target)
        if known is None:
            raise UnknownFaultError(f"target must be one of {', '.join(KINDS)}")
        if kind not in known:
            raise UnknownFaultError(f"kind for {target} must be one of {', '.join(known)}")
        times, held = int(body.get("times", 1)), kind in HELD and "times" not in body
        options = {k: v for k, v in body.items() if k not in {"target", "kind", "times"}}
        for name in _NUMBERS & options.keys():
            number = options[name]
            if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                raise UnknownFaultError(f'{name} must be a number, for example {{"{name}": 2}}')
        for name in _CHOICES.keys() & options.keys() if target == "slack" else ():
            if not isinstance(options[name], str) or options[name] not in _CHOICES[name]:
                raise UnknownFaultError(f"{name} must be one of {', '.join(sorted(_CHOICES[name]))}")
        for name in _FLAGS & options.keys():
            if not isinstance(options[name], bool):
                raise UnknownFaultError(f'{name} must be true or false, for example {{"{name}": false}}')
        fault = Fault(target, kind, times, {**_DEFAULTS.get((target, kind), {}), **options}, held)
        self._armed.append(fault)
        self._tell()
        return fault

    def peek(self, target: str, kind: str, **match: object) -> Fault | None:
        """The armed fault of that kind, not used up by looking."""
        return next((fault for fault in self._armed if fault.fits(target, kind, match)), None)

    def armed(self, target: str, kind: str) -> list[Fault]:
        """All armed faults of that kind."""
        return [fault for fault in self._armed if (fault.target, fault.kind) == (target, kind)]

    def take(self, target: str, kind: str, **match: object) -> Fault | None:
        """Use one up. A fault that names an option in ``match`` only fires for the same value."""
        return self._use(self.peek(target, kind, **match))

    def take_named(self, target: str, kind: str, **match: object) -> Fault | None:
        """Like `take`, but only a fault that names its ``method``."""
        fitting = (fault for fault in self._armed if fault.fits(target, kind, match))
        return self._use(next((fault for fault in fitting if "method" in fault.options), None))

    def _use(self, fault: Fault | None) -> Fault | None:
        if fault is not None and not fault.held:
            fault.times -= 1
            if fault.times <= 0:
                self._armed.remove(fault)
                self._tell()
        return fault

    def disarm(self, target: str, kind: str) -> None:
        """Disarm every fault of one kind."""
        self._armed = [fault for fault in self._armed if (fault.target, fault.kind) != (target, kind)]
        self._tell()

    def clear(self) -> None:
        """Disarm everything, and repair what it has left behind."""
        self._armed.clear()
        self._marks.clear()
        self._tell()

    def report(self) -> dict[str, Any]:
        """What is armed, what could be, what it has left on which sandbox, and the calls so far."""
        armed = [
            {"target": f.target, "kind": f.kind, "times": f.times, "held": f.held, **f.options}
            for f in self._armed
        ]
        return {
            "armed": armed,
            "kinds": {target: dict(kinds) for target, kinds in KINDS.items()},
            "marks": [{"effect": effect, "sandbox": subject} for effect, subject in sorted(self._marks)],
            "calls": dict(self.calls),
        }

    def _tell(self) -> None:
        for changed in self._watchers:
            changed()
