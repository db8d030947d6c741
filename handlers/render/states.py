"""The small words about a sandbox that the list, the card and the App Home have in common."""

from bot.domain.condition import Condition, ago
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.idle import Idle, IdleKind
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.sightings import Seen
from handlers.render.limits import cut

SIGNS = {
    Condition.READY: "🟢",
    Condition.STARTING: "🔵",
    Condition.DEGRADED: "🟠",
    Condition.ASLEEP: "💤",
    Condition.PAUSING: "🌙",
    Condition.STUCK: "🟠",
    Condition.DARK: "⚫",
    Condition.UNRESUMABLE: "🔴",
    Condition.GONE: "⚪",
    Condition.UNKNOWN: "❔",
}
"""Never alone: the word stands beside."""

_STUDIO = {
    Inside.READY: "ready",
    Inside.NOT_READY: "not ready",
    Inside.SILENT: "silent",
    Inside.UNKNOWN: "unknown",
}

_IDLE = {
    IdleKind.NEVER: "never pauses",
    IdleKind.DUE: "due",
    IdleKind.NONE: "-",
    IdleKind.UNKNOWN: "unknown",
}
MINUTE = 60.0
LABEL = 120
"""Characters that are shown of a label; our own names have 63 at most."""


def state(condition: Condition) -> str:
    """Its sign and its word."""
    return f"{SIGNS[condition]} {condition.value}"


def idle(left: Idle) -> str:
    """Idle time left, rounded down: nobody should count on more."""
    if left.kind is not IdleKind.LEFT:
        return _IDLE[left.kind]
    minutes = int(left.seconds // MINUTE)
    if minutes < 1:
        return "under 1 min"
    return f"{minutes} min" if minutes < 2 * MINUTE else ago(left.seconds)


def studio(seen: Seen) -> str:
    """What the heartbeat said of Studio, and how long ago."""
    if seen.view.state is SandboxState.PAUSED:
        return "asleep"
    beat = own_heartbeat(seen)
    if beat is None:
        return "unknown" if seen.node_answered else "unknown: node silent"
    return f"{_STUDIO[beat.studio]}, {ago(max(0.0, beat.age))} ago"


def name(view: SandboxView) -> str:
    """What it is called by: its home, where it has one."""
    return cut(view.home, LABEL) if view.home else view.sandbox_id


def own_heartbeat(seen: Seen) -> Heartbeat | None:
    """The heartbeat in its home, unless another sandbox says that it has written it."""
    beat = seen.heartbeat
    return beat if beat is not None and beat.sandbox in ("", seen.view.sandbox_id) else None
