"""The create command: a first message, a thread with progress, the result; also when a create goes on."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

from bot.domain.outcome import Done, NotDone, Refused
from bot.domain.provisioning import CreateRequest
from bot.ports import Message
from bot.usecases.admission import precheck
from bot.usecases.asking import ask, first_delivery, give_up, place
from bot.usecases.launch_secrets import learn
from bot.usecases.provision import cancel, provision
from bot.usecases.recovery import continue_request
from bot.usecases.untold import note_told
from handlers.conversation import Conversation, answer, answer_press, open_thread, thread_of
from handlers.following import follow
from handlers.grammar import Command
from handlers.jobs import CLOSING, Job, Lane
from handlers.leaving import Boundaries, Farewell
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.render.failure import cleaned, failure_message
from handlers.render.progress import Progress, progress_message
from handlers.render.result import (
    announcement,
    announcement_done,
    announcement_failed,
    result_message,
)
from handlers.services import Services


async def create(call: SlashCall, command: Command, services: Services) -> None:
    """The command as it was typed on one line."""
    learn(command.env, services.deps.redactor)
    request = request_of(command, services.deps.ids.request_id(), call)
    if await first_delivery(call.trigger_id, request, services.deps):
        await take_on(call, await ask(request, services.deps), services)


def request_of(command: Command, request_id: str, call: SlashCall) -> CreateRequest:
    """What a well-formed create asks for, however it was written."""
    home, timeout = command.text("home") or "", command.text("timeout")
    return CreateRequest(
        request_id=request_id,
        actor=call.actor,
        home=home,
        workspace=command.text("workspace") or home,
        template=command.text("template") or "",
        timeout=None if timeout is None else int(timeout),
        node=command.text("node") or "",
        profile=command.text("profile") or "",
        env=command.env,
        channel=call.channel,
    )


async def take_on(call: SlashCall, asked: CreateRequest | Refused, services: Services) -> None:
    """Take it on at once; its thread, and then the work itself, each wait their turn."""
    if isinstance(asked, Refused):
        await answer(call, failure_message(cleaned(asked, services.deps.redactor)), services)
        return
    refused = precheck(asked, services.deps)
    if refused:
        await answer(call, failure_message(cleaned(refused, services.deps.redactor)), services)
        await give_up(asked, refused, services.deps)
        return

    opened = False

    async def run() -> None:
        nonlocal opened
        thread = await open_thread(call, announcement(asked), services)
        opened = True
        placed = replace(asked, channel=thread.channel, thread_ts=thread.thread_ts)
        await place(placed, services.deps)
        await _begin(placed, thread, services)

    async def tell(why: NotDone) -> None:
        # Told first and recorded then: what the end cuts off, the next start tells.
        await answer(call, failure_message(cleaned(why, services.deps.redactor)), services)
        await give_up(asked, why, services.deps)

    async def leave() -> None:
        if not opened:
            await tell(CLOSING)

    job = Job(name=f"thread of {asked.request_id}", run=run, tell=tell, leave=leave)
    services.jobs.start(job, Lane.OPENING)


async def continue_create(request_id: str, press: ButtonPress, services: Services) -> None:
    """The Continue button of an interrupted or failed create."""
    outcome = await continue_request(request_id, press.actor, services.deps)
    if not isinstance(outcome, Done):
        await answer_press(press, failure_message(cleaned(outcome, services.deps.redactor)), services)
        return
    thread = thread_of(press, services) if press.channel else _thread_of(outcome.value, services)
    line = notices.continued_by(press.actor.id, services.deps.clock.now())
    await thread.edit(press.message_ts, notices.settled(press.text, press.blocks, line))
    await thread.edit_first(announcement(outcome.value))
    await _begin(outcome.value, thread, services)


def _thread_of(request: CreateRequest, services: Services) -> Conversation:
    """Where a create was told before, for one that goes on by a press in the App Home."""
    return Conversation(
        services.chat, user=request.actor.id, channel=request.channel, thread_ts=request.thread_ts
    )


async def cancel_create(request_id: str, press: ButtonPress, services: Services) -> None:
    """The Cancel button of a running create. The thread shows who pressed it."""
    outcome = await cancel(request_id, press.actor, services.deps)
    if isinstance(outcome, Done):
        if services.once.first(f"cancelling:{request_id}"):
            await thread_of(press, services).say(notices.cancelling(press.actor.id))
        else:
            await answer_press(press, notices.CANCELLING_ALREADY, services)
        return
    await answer_press(press, failure_message(cleaned(outcome, services.deps.redactor)), services)


async def _begin(request: CreateRequest, thread: Conversation, services: Services) -> None:
    """Start the work, and meanwhile post the message that shows it: the work does not wait for Slack."""
    progress_ts: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    steps = Boundaries(
        provision(request, services.deps),
        Progress(request_id=request.request_id, home=request.home),
        lambda: services.jobs.closing,
    )

    farewell = Farewell(request, thread, progress_ts)

    async def run() -> None:
        await run_create(request, steps, thread, services, progress_ts, farewell)

    async def tell(why: NotDone) -> None:
        if why is CLOSING:
            # Its intent stays open: the next start finds it, also when this is not said in time.
            await farewell.say(steps.progress)
        else:
            await _tell_end(request, why, thread, services, progress_ts)

    async def leave() -> None:
        if steps.finished:
            await farewell.say_ending()
        else:
            await farewell.say(steps.progress)

    job = Job(name=f"create {request.request_id}", run=run, tell=tell, leave=leave)
    if not services.jobs.start(job, Lane.LONG):
        progress_ts.set_result("")
        return
    begin = Progress(
        request_id=request.request_id, home=request.home, waiting=services.jobs.waiting(Lane.LONG) > 0
    )
    posted = None
    try:
        posted = await thread.say(progress_message(begin), essential=False)
    finally:
        if not progress_ts.done():
            progress_ts.set_result(posted.ts if posted else "")
    if posted:
        await place(replace(request, progress_ts=posted.ts), services.deps)


async def run_create(
    request: CreateRequest,
    steps: Boundaries,
    talk: Conversation,
    services: Services,
    progress_ts: asyncio.Future[str],
    farewell: Farewell,
) -> None:
    """Provision, telling the thread. ``progress_ts`` is empty where no message can show the progress."""

    async def show(progress: Progress) -> None:
        await talk.edit(await asyncio.shield(progress_ts), progress_message(progress))

    async with aclosing(steps.events):
        outcome, last = await follow(steps, steps.progress, show, services.deps.clock)
    if outcome is None:
        await farewell.say(last)
        return
    if isinstance(outcome, Done):
        said, first = result_message(outcome.value), announcement_done(outcome.value)
    else:
        said, first = _failed(request, outcome, services)
    await farewell.ending(said)
    await talk.settle(await _last_edits(last, progress_ts, talk, first), services.deps.clock)
    await note_told(request, services.deps)


async def _tell_end(
    request: CreateRequest,
    why: NotDone,
    talk: Conversation,
    services: Services,
    progress_ts: asyncio.Future[str],
) -> None:
    """A create that never ran, or whose telling broke: no spinner may stay."""
    await give_up(request, why, services.deps)
    line = "not started" if isinstance(why, Refused) else "broken off"
    ended = Progress(request_id=request.request_id, home=request.home).closed(line, well=False)
    said, first = _failed(request, why, services)
    await talk.say(said)
    await talk.settle(await _last_edits(ended, progress_ts, talk, first), services.deps.clock)
    await note_told(request, services.deps)


def _failed(request: CreateRequest, outcome: NotDone, services: Services) -> tuple[Message, Message]:
    """What is said in the thread, and what its first message says from then on."""
    clean = cleaned(outcome, services.deps.redactor)
    return failure_message(clean, request_id=request.request_id), announcement_failed(request, clean)


async def _last_edits(
    last: Progress, progress_ts: asyncio.Future[str], talk: Conversation, first: Message
) -> dict[str, Message]:
    """The two messages that would go on saying that something runs; the one in the channel comes last."""
    return {await asyncio.shield(progress_ts): progress_message(last), talk.thread_ts: first}
