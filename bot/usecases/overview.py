"""What one person finds in the App Home: their sandboxes, what waits for them, and the team's at a glance."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from bot.domain.actors import Action, Actor, Role, decide
from bot.domain.audit import AuditRow
from bot.domain.errors import DomainError
from bot.domain.outcome import Done
from bot.usecases.card import allowed_acts
from bot.usecases.deps import Deps
from bot.usecases.journal import claimed_by, ending_of
from bot.usecases.sightings import Seen, look_closer
from bot.usecases.status import Scope, Survey, survey

log = logging.getLogger(__name__)
T = TypeVar("T")

PATIENCE = 10.0
"""Seconds for each part; a part that takes longer is left out, and named."""

MOST_MINE = 20
MOST_LOOKED_AT = 60
"""Sandboxes that are looked at closer, one's own first."""

LOOK_BACK = timedelta(days=7)
MOST_ROWS = 200
MOST_UNFINISHED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A create of this person's that did not come to its end and can go on."""

    request_id: str
    home: str
    at: datetime
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """One of this person's own, and what makes sense on it now that they may."""

    seen: Seen
    acts: tuple[Action, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """Everybody's sandboxes in numbers."""

    total: int
    states: Mapping[str, int]
    """By our words where all were looked at, else by Cube's."""
    judged: bool
    owners: Mapping[str, int]
    troubled: tuple[Seen, ...]
    """Of others, that were looked at and are not well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All of it. A part that could not be read is None, and named in ``missing``."""

    at: datetime
    mine: tuple[Own, ...] | None
    mine_count: int = 0
    unfinished: tuple[Unfinished, ...] | None = None
    team: Team | None = None
    """For approvers."""
    missing: tuple[str, ...] = ()


async def overview(actor: Actor, deps: Deps) -> Overview:
    """Look at Cube and into the log at once. Wakes nothing; never raises for what they do not answer."""
    role = deps.roster.role_of(actor)
    at = deps.clock.now()
    if decide(Action.STATUS, actor, role):
        return Overview(at=at, mine=())
    looked, waiting = await asyncio.gather(
        _in_time("the sandboxes", _sandboxes(actor, deps)),
        _in_time("unfinished creates", _unfinished(actor, deps)),
    )
    missing = [
        name for name, part in (("the sandboxes", looked), ("unfinished creates", waiting)) if part is None
    ]
    if looked is None:
        return Overview(at=at, mine=None, unfinished=waiting, missing=tuple(missing))
    found, seen = looked
    mine = [one for one in seen if one.view.owner == actor.id][:MOST_MINE]
    return Overview(
        at=at,
        mine=tuple(Own(seen=one, acts=allowed_acts(one, actor, deps)) for one in mine),
        mine_count=found.mine,
        unfinished=None if waiting is None else _still_open(waiting, found),
        team=_team(actor, found, seen) if role >= Role.APPROVER else None,
        missing=tuple(missing),
    )


async def _sandboxes(actor: Actor, deps: Deps) -> tuple[Survey, list[Seen]] | None:
    found = await survey(actor, Scope.ALL, deps)
    if not isinstance(found, Done):
        log.warning("an App Home is drawn without sandboxes: %s", found.code)
        return None
    most = MOST_LOOKED_AT if deps.roster.role_of(actor) >= Role.APPROVER else min(MOST_MINE, found.value.mine)
    return found.value, await look_closer(found.value.views[:most], deps)


async def _unfinished(actor: Actor, deps: Deps) -> tuple[Unfinished, ...]:
    since = deps.clock.now() - LOOK_BACK
    asked = _latest(await deps.log.recent(actor=actor.id, since=since, limit=MOST_ROWS))[:MOST_UNFINISHED]
    requests = await asyncio.gather(*(deps.log.of_request(row.request_id) for row in asked))
    return tuple(
        Unfinished(request_id=row.request_id, home=row.home, at=row.at, code=ending.code)
        for row, rows in zip(asked, requests, strict=True)
        if (ending := ending_of(rows)) is not None
        and ending.result in {"failed", "unknown"}
        and ending.code != "cancelled"
        and claimed_by(rows) is None
    )


def _latest(rows: Sequence[AuditRow]) -> list[AuditRow]:
    """Of each home the latest create alone: what came before it is settled by it."""
    latest: dict[str, AuditRow] = {}
    for row in rows:
        if row.phase == "intent" and row.action == Action.CREATE:
            latest.setdefault(row.home, row)
    return [*latest.values()]


def _still_open(waiting: Collection[Unfinished], found: Survey) -> tuple[Unfinished, ...]:
    """Without those whose home another request's sandbox has taken since."""
    taken = {view.home: view.request for view in found.views if view.home}
    return tuple(one for one in waiting if taken.get(one.home) in (None, one.request_id))


def _team(actor: Actor, found: Survey, seen: Collection[Seen]) -> Team:
    judged = len(seen) == len(found.views)
    words = (one.judged.condition.value for one in seen) if judged else (v.state.value for v in found.views)
    owners = Counter(view.owner for view in found.views)
    return Team(
        total=found.everything,
        states=dict(Counter(words).most_common()),
        judged=judged,
        owners=dict(owners.most_common()),
        troubled=tuple(one for one in seen if one.view.owner != actor.id and one.judged.condition.troubled),
    )


async def _in_time(what: str, reading: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(PATIENCE):
            return await reading
    except (DomainError, TimeoutError) as error:
        log.warning("an App Home is drawn without %s: %s", what, error or type(error).__name__)
        return None
