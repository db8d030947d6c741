"""Posting the audit log's head to the audit channel, once a day."""

import logging

from bot.domain.audit import AuditUnavailableError
from bot.domain.errors import ChatError
from bot.usecases.heads import due_head, record_posted
from handlers.render.notices import audit_head
from handlers.services import Services

logger = logging.getLogger(__name__)


async def post_head(channel: str, services: Services) -> None:
    """Post it when it is due. What fails is tried again the next time."""
    try:
        async with services.deps.locks.hold("audit-head"):
            head = await due_head(services.deps)
            if head is None:
                return
            posted = await services.chat.post(channel, audit_head(head.seq, str(head)))
            await record_posted(head, posted.channel, posted.ts, services.deps)
    except (AuditUnavailableError, ChatError):
        logger.exception("the audit log's head could not be posted to %s", channel)
