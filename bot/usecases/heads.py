"""The audit log's head, told elsewhere once a day: cutting rows off its end becomes visible."""

from datetime import timedelta

from bot.domain.actors import ActorKind
from bot.domain.audit import AuditEvent, ChainHead
from bot.usecases.deps import Deps
from bot.usecases.recovery import BOT

EVERY = timedelta(days=1)
POSTED = "head-posted"


async def due_head(deps: Deps) -> ChainHead | None:
    """The head to post now; None when there is nothing new or the last one is less than a day old."""
    head = await deps.log.head()
    posted = await deps.log.recent(actor=BOT.id, since=deps.clock.now() - EVERY, limit=1000)
    if head.seq == 0 or any(row.code == POSTED for row in posted):
        return None
    return head


async def record_posted(head: ChainHead, channel: str, ts: str, deps: Deps) -> None:
    """Note where it stands, so that replicas and restarts do not post it again."""
    await deps.log.append(
        AuditEvent(
            request_id="",
            phase="system",
            actor=BOT.id,
            actor_kind=ActorKind.BOT.value,
            action=POSTED,
            channel=channel,
            thread_ts=ts,
            code=POSTED,
            details={"seq": head.seq, "hash": head.hash},
        )
    )
