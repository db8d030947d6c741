"""``pause mine`` and ``resume mine``: one message whose lines change as results come."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from bot.domain.actors import Action
from bot.domain.outcome import Done, NotDone
from bot.usecases.bulk import Item, each, mine
from handlers.jobs import Job, Lane
from handlers.payloads import SlashCall
from handlers.render.bulk import bulk_message, looking_for_mine, nothing_mine
from handlers.render.failure import cleaned
from handlers.render.leaving import change_leaving_message
from handlers.services import Services
from handlers.telling import Telling, failure, telling_of_call

EDIT_EVERY = 3.0
"""Seconds between two edits; Slack's own guidance for messages that are edited while they grow."""


async def change_mine(action: Action, call: SlashCall, services: Services) -> None:
    """Take it on; its one message says at once that it goes on."""
    telling = await telling_of_call(call, looking_for_mine(action, call.actor.id), services)

    async def run() -> None:
        await _run(action, call, telling, services)

    async def tell(why: NotDone) -> None:
        await telling.end(failure(why, services, ""))

    async def leave() -> None:
        await telling.end(change_leaving_message(call.actor.id, action, "mine"))

    name = f"{action} of all of {call.actor.id}"
    services.jobs.start(Job(name=name, run=run, tell=tell, leave=leave), Lane.LONG)


async def _run(action: Action, call: SlashCall, telling: Telling, services: Services) -> None:
    found = await mine(action, call.actor, services.deps)
    if not isinstance(found, Sequence):
        if not isinstance(found, Done):
            await telling.end(failure(found, services, ""))
        return
    if not found:
        await telling.end(nothing_mine(action, call.actor.id))
        return
    items = {item.sandbox_id: item for item in found}
    changed = asyncio.Event()
    changed.set()

    async def show() -> None:
        while True:
            await changed.wait()
            changed.clear()
            await telling.change(bulk_message(action, call.actor.id, [*items.values()]))
            await services.deps.clock.sleep(EDIT_EVERY)

    showing = asyncio.create_task(show())
    try:
        ended = each(action, found, call.actor, telling.talk.channel, telling.talk.thread_ts, services.deps)
        async for item in ended:
            items[item.sandbox_id] = _clean(item, services)
            changed.set()
    finally:
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)
    await telling.end(bulk_message(action, call.actor.id, [*items.values()]))


def _clean(item: Item, services: Services) -> Item:
    outcome = item.outcome
    if outcome is None or isinstance(outcome, Done):
        return item
    return replace(item, outcome=cleaned(outcome, services.deps.redactor))
