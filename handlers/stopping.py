"""The stop command and its card: ask with everything on the table, act once, answer every press."""

from bot.domain.outcome import Done, NotDone, Refused
from bot.ports import Message
from bot.usecases.lifecycle import StopRequest, ask_stop, dismiss_stop, stop
from bot.usecases.outdated import OUTDATED
from handlers.conversation import answer_press, open_thread, patiently, thread_of
from handlers.grammar import Command
from handlers.jobs import Job, Lane
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.render.failure import cleaned, failure_message
from handlers.render.leaving import stop_leaving_message
from handlers.render.stop import (
    decided_keep,
    decided_stop,
    looking,
    not_asked,
    outdated_line,
    stop_card,
    stopped_message,
    working,
)
from handlers.services import Services


async def ask(call: SlashCall, command: Command, services: Services) -> None:
    """The typed command: its first message becomes the card."""
    target = command.text("target") or ""
    thread = await open_thread(call, looking(call.actor.id, target), services)
    request = StopRequest(
        request_id=services.deps.ids.request_id(),
        actor=call.actor,
        target=target,
        channel=thread.channel,
        thread_ts=thread.thread_ts,
    )
    outcome = await ask_stop(request, services.deps)
    if isinstance(outcome, Done):
        card = stop_card(outcome.value, call.actor.id)
        if not await thread.edit_first(card):
            await thread.say(card)
        return
    clean = cleaned(outcome, services.deps.redactor)
    await thread.edit_first(not_asked(call.actor.id, target, clean.what))
    await thread.say(failure_message(clean))


async def ask_from_button(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """The Stop button below a result: the card comes into the same thread."""
    thread = thread_of(press, services)
    request = StopRequest(
        request_id=services.deps.ids.request_id(),
        actor=press.actor,
        target=sandbox_id,
        channel=thread.channel,
        thread_ts=thread.thread_ts,
    )
    outcome = await ask_stop(request, services.deps)
    if isinstance(outcome, Done):
        await thread.say(stop_card(outcome.value, press.actor.id))
        return
    await answer_press(press, failure_message(cleaned(outcome, services.deps.redactor)), services)


async def confirm(request_id: str, press: ButtonPress, services: Services) -> None:
    """The press that counts. Its person is answered: at once with a refusal, else with how it ended."""

    async def run() -> None:
        await _stop(request_id, press, services)

    async def tell(why: NotDone) -> None:
        await answer_press(press, failure_message(why), services)

    async def leave() -> None:
        rows = await services.deps.log.of_request(request_id)
        begun = any(row.phase == "intent" for row in rows)
        await thread_of(press, services).say(stop_leaving_message(press.actor.id, begun=begun))

    services.jobs.start(Job(name=f"stop {request_id}", run=run, tell=tell, leave=leave), Lane.LONG)


async def dismiss(request_id: str, press: ButtonPress, services: Services) -> None:
    """Keep it."""
    outcome = await dismiss_stop(request_id, press.actor, services.deps)
    if not isinstance(outcome, Done):
        await answer_press(press, failure_message(cleaned(outcome, services.deps.redactor)), services)
        return
    line = decided_keep(press.actor.id, services.deps.clock.now())
    settled = notices.settled(press.text, press.blocks, line)
    if not await thread_of(press, services).edit(press.message_ts, settled):
        await answer_press(press, notices.notice(line), services)


async def _stop(request_id: str, press: ButtonPress, services: Services) -> None:
    outcome = await patiently(
        stop(request_id, press.actor, services.deps),
        lambda: answer_press(press, working(press.actor.id), services),
    )
    thread = thread_of(press, services)
    if isinstance(outcome, Done):
        await thread.edit(press.message_ts, _settled(press, services, gone=True))
        await thread.say(stopped_message(outcome.value, press.actor.id))
        return
    clean = cleaned(outcome, services.deps.redactor)
    if clean.code == OUTDATED:
        await _ask_anew(clean, press, services)
        return
    if isinstance(clean, Refused):
        # Nothing happened, so the card stays as it is, for somebody who may or for later.
        await answer_press(press, failure_message(clean), services)
        return
    await thread.edit(press.message_ts, _settled(press, services, gone=False))
    await thread.say(failure_message(clean, request_id=request_id))


async def _ask_anew(why: NotDone, press: ButtonPress, services: Services) -> None:
    """The card shows what is not true any more: it is closed, and a new one shows what is."""
    thread = thread_of(press, services)
    settled = notices.settled(press.text, press.blocks, outdated_line(why.what))
    await thread.edit(press.message_ts, settled)
    await answer_press(press, failure_message(why), services)
    await ask_from_button(why.sandbox, press, services)


def _settled(press: ButtonPress, services: Services, *, gone: bool) -> Message:
    line = decided_stop(press.actor.id, services.deps.clock.now(), gone=gone)
    return notices.settled(press.text, press.blocks, line)
