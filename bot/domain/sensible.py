"""Which acts make sense on a sandbox as it is now: nothing that its state would refuse anyway."""

from bot.domain.actors import Action
from bot.domain.condition import Condition
from bot.domain.sandbox import SandboxState

_RUNNING = (Action.REVEAL, Action.CHECK, Action.KEEP, Action.PAUSE, Action.STOP, Action.DIAGNOSE)
_DEGRADED = (
    Action.CHECK,
    Action.RESUME,
    Action.REVEAL,
    Action.KEEP,
    Action.PAUSE,
    Action.STOP,
    Action.DIAGNOSE,
)
"""Resuming one that runs starts a Studio that has died."""
_ASLEEP = (Action.RESUME, Action.REVEAL, Action.STOP, Action.DIAGNOSE)
_BY_CONDITION: dict[Condition, tuple[Action, ...]] = {
    Condition.READY: _RUNNING,
    Condition.STARTING: _RUNNING,
    Condition.DEGRADED: _DEGRADED,
    Condition.ASLEEP: _ASLEEP,
    Condition.PAUSING: (Action.DIAGNOSE,),
    Condition.STUCK: (Action.DIAGNOSE,),
    Condition.DARK: (Action.CHECK, Action.STOP, Action.DIAGNOSE),
    Condition.UNRESUMABLE: (Action.DIAGNOSE, Action.RESUME, Action.STOP),
    Condition.GONE: (),
}


def sensible(condition: Condition, state: SandboxState, *, listed: bool = True) -> tuple[Action, ...]:
    """In the order in which they are offered.

    What is ``unknown`` although Cube says that it runs may be used like one that does; otherwise it can only
    be examined. While a pause is on its way, Cube takes no other change.
    """
    if condition is Condition.UNKNOWN:
        return _RUNNING if state is SandboxState.RUNNING and listed else (Action.DIAGNOSE,)
    return _BY_CONDITION[condition]
