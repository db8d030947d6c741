"""What a person is and may do here."""

from dataclasses import dataclass

from bot.domain.actors import OWNER_OR_APPROVER, Action, Actor, Role, decide
from bot.usecases.deps import Deps

IN_SLACK = (
    Action.STATUS,
    Action.CREATE,
    Action.CHECK,
    Action.DIAGNOSE,
    Action.PAUSE,
    Action.RESUME,
    Action.KEEP,
    Action.STOP,
    Action.REVEAL,
    Action.CANCEL,
)
"""What can be asked for in Slack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhoAmI:
    """One person's standing. ``may_not`` pairs an action with the reason."""

    actor_id: str
    role: Role
    may: tuple[str, ...]
    may_not: tuple[tuple[str, str], ...]


def whoami(actor: Actor, deps: Deps) -> WhoAmI:
    """Asked of memory only, so that it answers at once."""
    role = deps.roster.role_of(actor)
    may: list[str] = []
    may_not: list[tuple[str, str]] = []
    for action in IN_SLACK:
        denied = decide(action, actor, role)
        if denied:
            may_not.append((action.word, denied.why))
        elif action in OWNER_OR_APPROVER and role < Role.APPROVER:
            may.append(f"{action.word} (your own)")
        else:
            may.append(action.word)
    return WhoAmI(actor_id=actor.id, role=role, may=tuple(may), may_not=tuple(may_not))
