"""Creates that ended while their threads were not told: what is said waits its turn, and a process can end.

The outcome is in the audit log before anybody is told of it. So another row says that its thread stands as it
should, and where that one is missing after a restart the thread is told anew.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.actors import Action, Actor
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import CubeError
from bot.domain.provisioning import CreateRequest, Step
from bot.usecases.asking import journal_of
from bot.usecases.deps import Deps
from bot.usecases.journal import claimed_by, ending_of, last_sandbox
from bot.usecases.occupancy import confirmed
from bot.usecases.recovery import last_step, owner_of, progress_of, where_told

log = logging.getLogger(__name__)

TOLD = "told"
LOOK_BACK = timedelta(hours=1)
"""Ends of longer ago are nobody's news any more."""
ROWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """An end that nobody may have been told of, as it stands in the log."""

    request: CreateRequest
    """As much of it as the log keeps and a thread needs."""
    well: bool
    reason: str
    """Why there is no Studio; empty when there is."""
    after: Step | None
    """The last step that was completed."""
    progress_ts: str
    sandbox_id: str
    """Empty when there is none, or none any more."""


async def note_told(request: CreateRequest, deps: Deps) -> None:
    """Its thread says how it ended, and nothing in it looks as if something went on."""
    try:
        await journal_of(request, deps).write("step", code=TOLD)
    except AuditUnavailableError:
        log.exception(
            "the telling of %s could not be noted; a restart would tell it again", request.request_id
        )


async def find_untold(deps: Deps) -> list[Untold]:
    """Ends whose process is gone before it noted that they were told. Changes nothing.

    Tell them first, then ``note_told``: a crash in between tells twice, never not at all.
    """
    rows = await deps.log.recent(since=deps.clock.now() - LOOK_BACK, limit=ROWS)
    told = {row.request_id for row in rows if row.code == TOLD}
    ended = [
        row.request_id
        for row in reversed(rows)
        if row.phase == "outcome" and row.action == Action.CREATE and row.code != "interrupted"
    ]
    untold = [one for one in dict.fromkeys(ended) if one not in told]
    looked = [await _look(await deps.log.of_request(one), deps) for one in untold]
    return [one for one in looked if one is not None]


async def _look(rows: list[AuditRow], deps: Deps) -> Untold | None:
    intent = next((row for row in reversed(rows) if row.phase == "intent"), None)
    ending = ending_of(rows)
    channel, thread_ts = where_told(rows)
    if intent is None or ending is None or not thread_ts or claimed_by(rows):
        return None
    process = str(intent.details.get("process") or "")
    if not process or process == deps.process:
        return None
    lock = await deps.locks.try_hold(f"process:{process}")
    if lock is None:
        return None
    await lock.release()
    return Untold(
        request=CreateRequest(
            request_id=intent.request_id, actor=Actor(intent.actor), home=intent.home,
            workspace=intent.workspace, channel=channel, thread_ts=thread_ts, for_owner=owner_of(intent),
        ),
        well=ending.result == "ok",
        reason="" if ending.result == "ok" else ending.reason,
        after=last_step(rows),
        progress_ts=progress_of(rows),
        sandbox_id=await _there(last_sandbox(rows), deps),
    )  # fmt: skip


async def _there(sandbox_id: str, deps: Deps) -> str:
    try:
        return sandbox_id if sandbox_id and await confirmed(deps, sandbox_id) else ""
    except CubeError:
        return sandbox_id  # pressing a button looks again
