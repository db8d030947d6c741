"""Pause and Resume, typed or pressed: one message each, which says how it ended."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from bot.domain.actors import Action
from bot.domain.outcome import NotDone, Outcome
from bot.ports import Message
from bot.usecases.changing import ChangeRequest
from bot.usecases.deps import Deps
from bot.usecases.pausing import pause
from bot.usecases.resuming import resume
from handlers.bulk import change_mine
from handlers.conversation import answer_press
from handlers.grammar import Command
from handlers.jobs import Job, Lane
from handlers.payloads import ButtonPress, SlashCall
from handlers.render.leaving import change_leaving_message
from handlers.render.sleep import asked_for, going_on, paused_message, resumed_message
from handlers.services import Services
from handlers.telling import failure, tell_call, tell_press, telling_of_call, telling_of_press

MINE = "mine"
"""Stands where a target stands, for all sandboxes of whoever types it."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the two: what is done, and how it is told."""

    action: Action
    act: Callable[[ChangeRequest, Deps], Coroutine[Any, Any, Outcome[Any]]]
    render: Callable[[Any, str, str], Message]


_PAUSE = _Kind(Action.PAUSE, pause, paused_message)
_RESUME = _Kind(Action.RESUME, resume, resumed_message)


async def pause_typed(call: SlashCall, command: Command, services: Services) -> None:
    """``/hermes pause T``, or all of one's own."""
    await _typed(_PAUSE, call, command, services)


async def resume_typed(call: SlashCall, command: Command, services: Services) -> None:
    """``/hermes resume T``, or all of one's own."""
    await _typed(_RESUME, call, command, services)


async def pause_pressed(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """The Pause button."""
    _pressed(_PAUSE, sandbox_id, press, services)


async def resume_pressed(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """The Resume button."""
    _pressed(_RESUME, sandbox_id, press, services)


async def _typed(kind: _Kind, call: SlashCall, command: Command, services: Services) -> None:
    target, request_id = command.text("target") or "", services.deps.ids.request_id()
    if target == MINE:
        await change_mine(kind.action, call, services)
        return
    telling = await telling_of_call(call, going_on(kind.action, call.actor.id, target), services)
    request = ChangeRequest(
        request_id=request_id, actor=call.actor, target=target, channel=telling.talk.channel,
        thread_ts=telling.talk.thread_ts, progress_ts=telling.talk.thread_ts,
    )  # fmt: skip

    def render(value: object) -> Message:
        return kind.render(value, call.actor.id, request_id)

    async def run() -> None:
        outcome = await kind.act(request, services.deps)
        asked = asked_for(kind.action, call.actor.id, target)
        await tell_call(outcome, telling, render, services, request_id, asked)

    async def tell(why: NotDone) -> None:
        await telling.end(failure(why, services, request_id))

    async def leave() -> None:
        await telling.end(change_leaving_message(call.actor.id, kind.action, target))

    job = Job(name=f"{kind.action} {request_id}", run=run, tell=tell, leave=leave)
    services.jobs.start(job, Lane.LONG)


def _pressed(kind: _Kind, sandbox_id: str, press: ButtonPress, services: Services) -> None:
    request_id = services.deps.ids.request_id()
    telling = telling_of_press(press, services)
    request = ChangeRequest(
        request_id=request_id, actor=press.actor, target=sandbox_id, channel=telling.talk.channel,
        thread_ts=telling.talk.thread_ts,
    )  # fmt: skip

    def render(value: object) -> Message:
        return kind.render(value, press.actor.id, request_id)

    async def run() -> None:
        working = going_on(kind.action, press.actor.id, sandbox_id)
        work = kind.act(request, services.deps)
        await tell_press(work, press, telling, working, render, services, request_id)

    async def tell(why: NotDone) -> None:
        await answer_press(press, failure(why, services, request_id), services)

    async def leave() -> None:
        await telling.end(change_leaving_message(press.actor.id, kind.action, sandbox_id))

    job = Job(name=f"{kind.action} {request_id}", run=run, tell=tell, leave=leave)
    services.jobs.start(job, Lane.LONG)
