"""What every use case is given."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.rules import Rules
from bot.ports import AuditLog, Clock, Cube, Guest, Ids, Locks, Node, Redactor, Studio
from bot.usecases.roster import Roster


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """The ports, the roster and the rules of one installation."""

    cube: Cube
    nodes: Mapping[str, Node]
    guest: Guest
    studio: Studio
    log: AuditLog
    locks: Locks
    clock: Clock
    ids: Ids
    redactor: Redactor
    roster: Roster
    rules: Rules
