"""The create command: a first message, a thread with progress, the result; also when a create goes on."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace

from bot.domain.outcome import Done, NotDone, Refused
from bot.domain.provisioning import CreateRequest
from bot.ports import Message
from bot.usecases.admission import precheck
from bot.usecases.asking import ask, give_up, place
from bot.usecases.launch_secrets import learn
from bot.usecases.provision import cancel, provision
from bot.usecases.recovery import continue_request
from handlers.conversation import Conversation, answer, answer_press, open_thread, thread_of
from handlers.following import follow
from handlers.grammar import Command
from handlers.jobs import Job, Lane
from handlers.leaving import Boundaries, tell_leaving
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.render.failure import cleaned, failure_message
from handlers.render.help import example_message
from handlers.render.progress import Progress, progress_message
from handlers.render.result import (
    announcement,
    announcement_done,
    announcement_failed,
    result_message,
)
from handlers.services import Services


async def create(call: SlashCall, command: Command, services: Services) -> None:
    """Take it on at once; its thread, and then the work itself, each wait their turn."""
    home = command.text("home")
    if not home:
        await answer(call, example_message(), services)
        return
    learn(command.env, services.deps.redactor)
    timeout = command.text("timeout")
    request = CreateRequest(
        request_id=services.deps.ids.request_id(),
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
    asked = await ask(request, services.deps)
    if isinstance(asked, Refused):
        await answer(call, failure_message(cleaned(asked, services.deps.redactor)), services)
        return
    refused = precheck(asked, services.deps)
    if refused:
        await give_up(asked, refused, services.deps)
        await answer(call, failure_message(cleaned(refused, services.deps.redactor)), services)
        return

    async def run() -> None:
        thread = await open_thread(call, announcement(asked), services)
        placed = replace(asked, channel=thread.channel, thread_ts=thread.thread_ts)
        await place(placed, services.deps)
        await _begin(placed, thread, services)

    async def tell(why: NotDone) -> None:
        await give_up(asked, why, services.deps)
        await answer(call, failure_message(cleaned(why, services.deps.redactor)), services)

    services.jobs.start(Job(name=f"thread of {asked.request_id}", run=run, tell=tell), Lane.OPENING)


async def continue_create(request_id: str, press: ButtonPress, services: Services) -> None:
    """The Continue button of an interrupted or failed create."""
    outcome = await continue_request(request_id, press.actor, services.deps)
    if not isinstance(outcome, Done):
        await answer_press(press, failure_message(cleaned(outcome, services.deps.redactor)), services)
        return
    thread = thread_of(press, services)
    line = notices.continued_by(press.actor.id, services.deps.clock.now())
    await thread.edit(press.message_ts, notices.settled(press.text, press.blocks, line))
    await thread.edit_first(announcement(outcome.value))
    await _begin(outcome.value, thread, services)


async def cancel_create(request_id: str, press: ButtonPress, services: Services) -> None:
    """The Cancel button of a running create. The thread shows who pressed it."""
    outcome = await cancel(request_id, press.actor, services.deps)
    if isinstance(outcome, Done):
        await thread_of(press, services).say(notices.cancelling(press.actor.id))
        return
    await answer_press(press, failure_message(cleaned(outcome, services.deps.redactor)), services)


async def _begin(request: CreateRequest, thread: Conversation, services: Services) -> None:
    waiting = Progress(request_id=request.request_id, home=request.home, waiting=True)
    posted = await thread.say(progress_message(waiting), essential=False)
    if posted:
        request = replace(request, progress_ts=posted.ts)
        await place(request, services.deps)

    steps = Boundaries(
        provision(request, services.deps),
        Progress(request_id=request.request_id, home=request.home),
        lambda: services.jobs.closing,
    )

    async def run() -> None:
        await run_create(request, steps, thread, services)

    async def tell(why: NotDone) -> None:
        await _tell_end(request, why, thread, services)

    async def leave() -> None:
        if not steps.finished:
            await tell_leaving(request, steps.progress, thread)

    job = Job(name=f"create {request.request_id}", run=run, tell=tell, leave=leave)
    services.jobs.start(job, Lane.LONG)


async def run_create(
    request: CreateRequest, steps: Boundaries, talk: Conversation, services: Services
) -> None:
    """Provision, telling the thread."""
    unseen: dict[str, Message] = {}

    async def show(progress: Progress) -> None:
        message = progress_message(progress)
        unseen.clear()
        if not await talk.edit(request.progress_ts, message):
            unseen[request.progress_ts] = message

    async with aclosing(steps.events):
        outcome = await follow(steps, steps.progress, show, services.deps.clock)
    if outcome is None:
        await tell_leaving(request, steps.progress, talk)
    elif isinstance(outcome, Done):
        await talk.say(result_message(outcome.value))
        await talk.settle({talk.thread_ts: announcement_done(outcome.value), **unseen}, services.deps.clock)
    else:
        await _say_failed(request, outcome, talk, services, unseen)


async def _tell_end(request: CreateRequest, why: NotDone, talk: Conversation, services: Services) -> None:
    """A create that never ran, or whose telling broke: no spinner may stay."""
    await give_up(request, why, services.deps)
    line = "not started" if isinstance(why, Refused) else "broken off"
    ended = Progress(request_id=request.request_id, home=request.home).closed(line, well=False)
    await _say_failed(request, why, talk, services, {request.progress_ts: progress_message(ended)})


async def _say_failed(
    request: CreateRequest,
    outcome: NotDone,
    talk: Conversation,
    services: Services,
    edits: Mapping[str, Message],
) -> None:
    clean = cleaned(outcome, services.deps.redactor)
    await talk.say(failure_message(clean, request_id=request.request_id))
    await talk.settle({talk.thread_ts: announcement_failed(request, clean), **edits}, services.deps.clock)
