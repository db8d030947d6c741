"""Drawing the App Home: when it is opened, and after each change that concerns its person."""

import asyncio
import logging

from bot.domain.actors import Action, Actor
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import ChatError
from bot.domain.outcome import NotDone
from bot.usecases.admission import may_create
from bot.usecases.overview import overview
from bot.usecases.whoami import whoami
from handlers.commands import AVAILABLE
from handlers.jobs import Job, Lane
from handlers.render.home import home_view, reading_view
from handlers.services import Services

logger = logging.getLogger(__name__)

CHANGES = frozenset({Action.CREATE, Action.STOP, Action.PAUSE, Action.RESUME, Action.KEEP})

BLANK_SECONDS = 1.5
"""How long a Home may stay as it was, or blank, until it says at least that it is being read."""


def keep_homes(services: Services) -> None:
    """From now on each change draws the Homes that it concerns anew."""

    def told(row: AuditRow) -> None:
        if row.phase == "outcome" and row.action in CHANGES and not services.homes.nobody:
            _draw_after(row, services)

    services.deps.log.watch(told)


async def open_home(actor: Actor, services: Services) -> None:
    """Somebody has opened it."""
    services.homes.opened(actor)
    await draw_home(actor, services)


async def draw_home(actor: Actor, services: Services) -> None:
    """Draw it, and once more if something changes meanwhile; not twice at the same time."""
    if not services.homes.begin(actor.id):
        return
    try:
        await _draw(actor, services)
        while services.homes.again(actor.id):
            await _draw(actor, services)
    except ChatError as error:
        services.homes.broken(actor.id)
        logger.warning("the App Home of %s was not drawn: %s", actor.id, error.code)
    except BaseException:
        services.homes.broken(actor.id)
        raise


async def _draw(actor: Actor, services: Services) -> None:
    who = whoami(actor, services.deps)
    # Where channels are restricted, a create from here would have no place for its thread.
    form = not services.allowed_channels and may_create(actor, services.deps) is None
    reading = asyncio.ensure_future(overview(actor, services.deps))
    try:
        done, _ = await asyncio.wait({reading}, timeout=BLANK_SECONDS)
        if not done:
            await services.chat.publish_home(actor.id, reading_view(who, form=form))
        found = await reading
    finally:
        reading.cancel()
    await services.chat.publish_home(actor.id, home_view(who, AVAILABLE, found, form=form))


def _draw_after(row: AuditRow, services: Services) -> None:
    async def run() -> None:
        for user in await _concerned(row, services):
            actor = services.homes.of(user)
            if actor is not None:
                await draw_home(actor, services)

    async def tell(_: NotDone) -> None:
        logger.info("no App Home is drawn after %s", row.request_id)

    services.jobs.start(Job(name=f"homes after {row.request_id}", run=run, tell=tell), Lane.HOMES)


async def _concerned(row: AuditRow, services: Services) -> list[str]:
    """Who did it, and whose sandbox it is or was."""
    try:
        made = await services.deps.log.created([row.sandbox] if row.sandbox else [])
    except AuditUnavailableError:
        made = {}
    owners = [str(of.details.get("owner") or of.actor) for of in made.values()]
    return [*dict.fromkeys([row.actor, *owners])]
