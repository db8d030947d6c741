"""After a restart: every thread that was left in the middle is told the truth."""

import logging
from collections.abc import Sequence

from bot.domain.actors import Action
from bot.usecases.recovery import Interrupted, record_interrupted
from bot.usecases.untold import Untold, note_told
from handlers.conversation import Conversation
from handlers.render.interrupted import (
    interrupted_announcement,
    interrupted_line,
    interrupted_message,
)
from handlers.render.interrupted_change import CHANGES, interrupted_change_message
from handlers.render.progress import progress_message, still_progress
from handlers.render.untold import untold_announcement, untold_message, untold_progress
from handlers.services import Services

logger = logging.getLogger(__name__)

TOLD = frozenset({Action.CREATE, Action.STOP}) | CHANGES
"""Actions with a thread that waits for the truth; others are set right in the log alone."""


async def announce_interrupted(found: Sequence[Interrupted], services: Services) -> None:
    """Tell each thread, then record that it was told; one that fails does not keep the others waiting."""
    for one in found:
        try:
            if one.action in TOLD and services.once.first(f"interrupted:{one.request_id}"):
                await _announce(one, services)
            await record_interrupted(one, services.deps)
        except Exception:
            logger.exception("the interruption of request %s could not be told", one.request_id)


async def announce_untold(found: Sequence[Untold], services: Services) -> None:
    """The same for creates that had ended, and whose threads still say that they go on."""
    for one in found:
        request = one.request
        try:
            if services.once.first(f"untold:{request.request_id}"):
                user = "" if request.owner.startswith("cli:") else request.owner
                thread = Conversation(
                    services.chat, user=user, channel=request.channel, thread_ts=request.thread_ts
                )
                await thread.say(untold_message(one))
                await thread.edit(one.progress_ts, progress_message(untold_progress(one)))
                await thread.edit_first(untold_announcement(one))
            await note_told(request, services.deps)
        except Exception:
            logger.exception("the end of request %s could not be told", request.request_id)


async def _announce(found: Interrupted, services: Services) -> None:
    user = "" if found.owner.startswith("cli:") else found.owner
    thread = Conversation(services.chat, user=user, channel=found.channel, thread_ts=found.thread_ts)
    if found.action in CHANGES:
        said = interrupted_change_message(found)
        if not await thread.edit(found.progress_ts, said):
            await thread.say(said)
        return
    if found.action is Action.CREATE:
        progress = still_progress(found.request_id, found.home, found.after, interrupted_line(found))
        await thread.edit(found.progress_ts, progress_message(progress))
        await thread.edit_first(interrupted_announcement(found))
    await thread.say(interrupted_message(found))
