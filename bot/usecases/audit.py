"""Reading the audit log for a person: that it is read is in the log before anything of it is shown."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.outcome import Done, Outcome, Refused
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal

MOST = 5_000
"""Rows that one answer holds; ``hermes-bot audit export`` has no such bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """What somebody wants to read. An empty text or None = not restricted by it."""

    request_id: str
    actor: Actor
    home: str = ""
    user: str = ""
    since: datetime | None = None
    channel: str = ""
    """Where it was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRead:
    """The rows that match, newest first."""

    request: AuditRequest
    rows: tuple[AuditRow, ...]
    more: bool
    """There are older ones, too."""


async def read_audit(request: AuditRequest, deps: Deps) -> Outcome[AuditRead]:
    """Authorise, read, and record who reads how much of what; only then is anything shown."""
    denied = decide(Action.AUDIT, request.actor, deps.roster.role_of(request.actor))
    if denied:
        return Refused(
            code=denied.code, what=denied.why, safe="Nothing was shown.",
            todo="Ask an approver to look it up; `/hermes status HOME` shows the last events of a sandbox.",
        )  # fmt: skip
    try:
        found = await deps.log.recent(
            home=request.home or None, actor=request.user or None, since=request.since, limit=MOST + 1
        )
        rows = tuple(found[:MOST])
        await _record(request, len(rows), deps)
    except AuditUnavailableError as error:
        return Refused(
            code="audit-unavailable",
            what="The audit log cannot be read, or it cannot be noted in it that you read it.",
            safe="Nothing was shown.",
            todo="An administrator looks at the bot's database; `hermes-bot audit verify` helps.",
            detail=str(error),
        )
    return Done("audit-read", AuditRead(request=request, rows=rows, more=len(found) > MOST))


async def _record(request: AuditRequest, count: int, deps: Deps) -> None:
    journal = Journal(
        log=deps.log, request_id=request.request_id, action=Action.AUDIT, actor=request.actor,
        channel=request.channel, home=request.home,
    )  # fmt: skip
    asked = {"user": request.user, "since": request.since.isoformat() if request.since else "", "rows": count}
    await journal.write("reveal", result="ok", code="audit-read", details=asked)
