"""How much idle time a sandbox has left, read from its deadline and never guessed."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bot.domain.condition import moment
from bot.domain.sandbox import SandboxState, SandboxView

TWO_HOURS = 7_200
"""Seconds that *Keep 2 h* sets."""


class IdleKind(StrEnum):
    """What can be said of it."""

    NEVER = "never"
    """It is not paused for being idle."""
    LEFT = "left"
    DUE = "due"
    """Cube's next look pauses it, unless somebody uses it first."""
    NONE = "none"
    """It sleeps already, or is on its way there."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Idle:
    """``seconds`` belong to ``LEFT``."""

    kind: IdleKind
    seconds: float = 0.0


def idle_left(view: SandboxView, now: datetime) -> Idle:
    """What is left of a sandbox's idle time. An old deadline of a paused one means nothing."""
    if view.state in (SandboxState.PAUSED, SandboxState.PAUSING):
        return Idle(IdleKind.NONE)
    if view.state is SandboxState.UNKNOWN or not view.listed:
        return Idle(IdleKind.UNKNOWN)
    if view.end_at is None:
        return Idle(IdleKind.NEVER)
    deadline = moment(view.end_at)
    if deadline is None:
        return Idle(IdleKind.UNKNOWN)
    left = (deadline - now).total_seconds()
    return Idle(IdleKind.LEFT, left) if left > 0 else Idle(IdleKind.DUE)
