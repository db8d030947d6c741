"""The same change for all of one person's sandboxes: a few at a time, and a result for each."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.actors import Action, Actor, decide
from bot.domain.errors import DomainError
from bot.domain.outcome import Failed, Outcome
from bot.usecases.changing import HOMES_ARE_SAFE, ChangeRequest, not_begun, refused
from bot.usecases.deps import Deps
from bot.usecases.occupancy import labelled
from bot.usecases.pausing import pause
from bot.usecases.resuming import resume

log = logging.getLogger(__name__)

AT_ONCE = 4
"""Changes under way at the same time: a node writes or reads the whole memory of each."""

_ACTS: dict[Action, Callable[[ChangeRequest, Deps], Awaitable[Outcome[Any]]]] = {
    Action.PAUSE: pause,
    Action.RESUME: resume,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One of the sandboxes, and how it ended for it; None = not yet."""

    sandbox_id: str
    home: str
    outcome: Outcome[Any] | None = None


async def mine(action: Action, actor: Actor, deps: Deps) -> Sequence[Item] | Outcome[Any]:
    """The sandboxes that belong to this person now, by home; read live."""
    denied = decide(action, actor, deps.roster.role_of(actor))
    if denied:
        return refused(denied.code, denied.why)
    try:
        views = await labelled(await deps.cube.list(), deps)
    except DomainError as error:
        return not_begun(error)
    own = [view for view in views if view.owner == actor.id]
    return [
        Item(sandbox_id=view.sandbox_id, home=view.home)
        for view in sorted(own, key=lambda view: (view.home, view.sandbox_id))
    ]


async def each(
    action: Action, items: Sequence[Item], actor: Actor, channel: str, thread_ts: str, deps: Deps
) -> AsyncIterator[Item]:
    """The items with their outcomes, in the order in which they end. None keeps another from its own end."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(item: Item) -> Item:
        request = ChangeRequest(
            request_id=deps.ids.request_id(), actor=actor, target=item.sandbox_id, channel=channel,
            thread_ts=thread_ts,
        )  # fmt: skip
        async with turns:
            outcome = await _safely(action, request, deps)
        return Item(sandbox_id=item.sandbox_id, home=item.home, outcome=outcome)

    tasks = [asyncio.create_task(one(item)) for item in items]
    try:
        for ended in asyncio.as_completed(tasks):
            yield await ended
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _safely(action: Action, request: ChangeRequest, deps: Deps) -> Outcome[Any]:
    try:
        return await _ACTS[action](request, deps)
    except Exception:
        log.exception("%s of %s broke", action, request.target)
        return Failed(
            code="internal-error",
            what="Something inside me broke while I worked on this one.",
            safe=HOMES_ARE_SAFE,
            todo="Try this one again by itself; an administrator finds the reason in the bot's log.",
        )
