"""What every use case is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.domain.probing import LastProbe
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
    process: str = ""
    """Names this process; it holds the lock ``process:NAME`` as long as it lives."""
    running: set[str] = field(default_factory=set)
    """Requests that this process has taken on and not ended."""
    probed: dict[str, LastProbe] = field(default_factory=dict)
    """By sandbox, the latest last: our last request through Cube's proxy, which was a use to Cube."""
