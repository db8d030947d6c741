"""Posting the audit log's head to the audit channel, once a day."""

import logging

from bot.domain.audit import AuditUnavailableError
from bot.domain.errors import ChatError
from bot.ports import Message
from bot.usecases.heads import due_head, record_posted
from handlers.services import Services

logger = logging.getLogger(__name__)


async def post_head(channel: str, services: Services) -> None:
    """Post it when it is due. What fails is tried again the next time."""
    try:
        async with services.deps.locks.hold("audit-head"):
            head = await due_head(services.deps)
            if head is None:
                return
            text = f"Audit log: {head.seq} rows; check with `hermes-bot audit verify --head {head}`."
            posted = await services.chat.post(channel, Message(text))
            await record_posted(head, posted.channel, posted.ts, services.deps)
    except (AuditUnavailableError, ChatError):
        logger.exception("the audit log's head could not be posted to %s", channel)
