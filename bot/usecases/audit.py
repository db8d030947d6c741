"""Reading the audit log: for those who may, recorded before anything of it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.outcome import Done, Outcome, Refused
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal

MOST = 5_000
"""Rows that one reading gives."""
TOLD = 15
"""Requests that are told in words; the rest are in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Who wants to read what. An empty filter matches every row."""

    actor: Actor
    home: str = ""
    user: str = ""
    since: datetime | None = None
    channel: str = ""
    """Where it was asked for."""


@dataclass(frozen=True, slots=True)
class Story:
    """The rows of one request, oldest first, whoever wrote them; or one row that belongs to none."""

    rows: tuple[AuditRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was found."""

    query: AuditQuery
    at: datetime
    rows: tuple[AuditRow, ...]
    """Those that match, newest first, at most ``MOST``."""
    more: bool
    """There are older ones that match, too."""
    stories: tuple[Story, ...]
    """The latest, newest first, at most ``TOLD``."""
    requests: int
    """How many stories the rows belong to."""


async def read_audit(query: AuditQuery, deps: Deps) -> Outcome[Reading]:
    """The latest rows. That somebody reads them is in the log before they are given, and so is a refusal."""
    journal = Journal(
        log=deps.log,
        request_id=deps.ids.request_id(),
        action=Action.AUDIT,
        actor=query.actor,
        channel=query.channel,
    )
    denied = decide(Action.AUDIT, query.actor, deps.roster.role_of(query.actor))
    try:
        if denied:
            await journal.write("reveal", result="refused", code=denied.code, details=_filters(query))
            return Refused(
                code=denied.code, what=denied.why, safe="Nothing was shown, and the attempt was recorded.",
                todo="Ask an approver to look; `/hermes whoami` shows what you may do.",
            )  # fmt: skip
        at = deps.clock.now()
        found = await deps.log.recent(
            home=query.home or None, actor=query.user or None, since=query.since, limit=MOST + 1
        )
        rows, more = tuple(found[:MOST]), len(found) > MOST
        firsts = _latest_of_each(rows)
        stories = [await _story(row, deps) for row in firsts[:TOLD]]
        counted = {"rows": len(rows), "more": more}
        await journal.write("reveal", result="ok", code="audit-read", details=_filters(query) | counted)
    except AuditUnavailableError as error:
        return Refused(
            code="audit-unavailable",
            what="The audit log cannot be read, or it cannot be recorded that you read it.",
            safe="Nothing was shown, and nothing was changed.",
            todo="An administrator looks at the bot's database; `hermes-bot audit verify` helps.",
            detail=str(error),
        )
    return Done(
        "audit-read",
        Reading(
            query=query, at=at, rows=rows, more=more, stories=tuple(stories), requests=len(firsts)
        ),
    )  # fmt: skip


def _latest_of_each(rows: Sequence[AuditRow]) -> list[AuditRow]:
    """The first row met of every request, and every row that belongs to none."""
    seen: set[str] = set()
    latest = []
    for row in rows:
        if row.request_id and row.request_id in seen:
            continue
        seen.add(row.request_id)
        latest.append(row)
    return latest


async def _story(row: AuditRow, deps: Deps) -> Story:
    """All of its request, so that its beginning and its end are told, whatever the filter leaves out."""
    if not row.request_id:
        return Story((row,))
    return Story(tuple(await deps.log.of_request(row.request_id)) or (row,))


def _filters(query: AuditQuery) -> dict[str, str | int]:
    given = {
        "home": query.home,
        "user": query.user,
        "since": query.since.isoformat(timespec="seconds") if query.since else "",
    }
    return {name: value for name, value in given.items() if value}
