"""Telling owners before their sandboxes go to sleep."""

import logging

from bot.domain.errors import ChatError
from bot.usecases.warnings import due_warnings, record_warned
from handlers.render.warning import warning_message
from handlers.services import Services

logger = logging.getLogger(__name__)


async def warn_owners(services: Services) -> None:
    """Warn whoever is due. Another replica that is at it leaves nothing to do.

    Raises:
        DomainError: Cube, the log or the locks cannot be asked; whoever is due still is the next time.
    """
    deps = services.deps
    lock = await deps.locks.try_hold("warnings")
    if lock is None:
        return
    try:
        for warning in await due_warnings(deps):
            await record_warned(warning, deps)
            try:
                await services.chat.direct(warning.owner, warning_message(warning, deps.clock.now()))
            except ChatError as error:
                # It is not told again: a message that may have arrived must not come twice.
                logger.warning("%s could not be warned: %s", warning.owner, error.code)
    finally:
        await lock.release()
