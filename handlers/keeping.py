"""Keep, typed or pressed, and its Undo."""

import re

from bot.domain.actors import Action
from bot.domain.durations import FOREVER, MAX_SECONDS
from bot.domain.outcome import Done, NotDone
from bot.ports import Message
from bot.usecases.changing import ChangeRequest
from bot.usecases.keeping import Kept, keep, undo_keep
from handlers.conversation import answer_press, thread_of
from handlers.grammar import Command
from handlers.jobs import Job, Lane
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.render.keep import kept_message, setting, undone_line, undone_message
from handlers.render.leaving import change_leaving_message
from handlers.render.sleep import asked_for
from handlers.services import Services
from handlers.telling import failure, tell_call, tell_press, telling_of_call, telling_of_press

_SANDBOX_AND_SECONDS = re.compile(r"([0-9a-f]{32})\.(-1|[0-9]{1,9})")


async def keep_typed(call: SlashCall, command: Command, services: Services) -> None:
    """``/hermes keep T 2h``."""
    target, seconds = command.text("target") or "", int(command.text("duration") or FOREVER)
    request_id = services.deps.ids.request_id()
    telling = await telling_of_call(call, setting(call.actor.id, target, seconds), services)
    request = ChangeRequest(
        request_id=request_id, actor=call.actor, target=target, channel=telling.talk.channel,
        thread_ts=telling.talk.thread_ts, progress_ts=telling.talk.thread_ts,
    )  # fmt: skip

    def render(kept: Kept) -> Message:
        return kept_message(kept, call.actor.id)

    async def run() -> None:
        outcome = await keep(request, seconds, services.deps)
        asked = asked_for(Action.KEEP, call.actor.id, target)
        await tell_call(outcome, telling, render, services, request_id, asked)

    async def tell(why: NotDone) -> None:
        await telling.end(failure(why, services, request_id))

    async def leave() -> None:
        await telling.end(change_leaving_message(call.actor.id, Action.KEEP, target))

    services.jobs.start(Job(name=f"keep {request_id}", run=run, tell=tell, leave=leave), Lane.LONG)


async def keep_pressed(identifier: str, press: ButtonPress, services: Services) -> None:
    """A Keep button: its value names the sandbox and the idle time."""
    read = _SANDBOX_AND_SECONDS.fullmatch(identifier)
    if read is None or int(read[2]) > MAX_SECONDS:
        await answer_press(press, notices.UNKNOWN_BUTTON, services)
        return
    sandbox_id, seconds = read[1], int(read[2])
    request_id = services.deps.ids.request_id()
    telling = telling_of_press(press, services)
    request = ChangeRequest(
        request_id=request_id, actor=press.actor, target=sandbox_id, channel=telling.talk.channel,
        thread_ts=telling.talk.thread_ts,
    )  # fmt: skip

    def render(kept: Kept) -> Message:
        return kept_message(kept, press.actor.id)

    async def run() -> None:
        working = setting(press.actor.id, sandbox_id, seconds)
        await tell_press(
            keep(request, seconds, services.deps), press, telling, working, render, services, request_id
        )

    async def tell(why: NotDone) -> None:
        await answer_press(press, failure(why, services, request_id), services)

    async def leave() -> None:
        await telling.end(change_leaving_message(press.actor.id, Action.KEEP, sandbox_id))

    services.jobs.start(Job(name=f"keep {request_id}", run=run, tell=tell, leave=leave), Lane.LONG)


async def undo_pressed(request_id: str, press: ButtonPress, services: Services) -> None:
    """The Undo of a keep. The message that offered it says by whom it was taken back."""
    outcome = await undo_keep(request_id, press.actor, services.deps)
    if not isinstance(outcome, Done):
        await answer_press(press, failure(outcome, services, request_id), services)
        return
    thread = thread_of(press, services)
    line = undone_line(press.actor.id, outcome.value)
    await thread.edit(press.message_ts, notices.settled(press.text, press.blocks, line))
    await thread.say(undone_message(outcome.value, press.actor.id))
