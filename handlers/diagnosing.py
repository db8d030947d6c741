"""The diagnose command and its buttons: the verdict, what cures it, and the evidence as a file."""

import dataclasses

from bot.domain.outcome import Done, NotDone
from bot.ports import Redactor
from bot.usecases.diagnose import DiagnoseRequest, Examined, examine
from handlers.conversation import Conversation, answer, answer_press, open_thread, patiently, thread_of
from handlers.grammar import Command
from handlers.jobs import CUT, Job, Lane
from handlers.payloads import ButtonPress, SlashCall
from handlers.render.diagnosis import (
    diagnosis_message,
    evidence_message,
    examined_announcement,
    examining,
    not_examined,
    waking,
)
from handlers.render.failure import cleaned, failure_message
from handlers.services import Services


async def ask(call: SlashCall, command: Command, services: Services) -> None:
    """The typed command: its first message becomes the verdict in one line."""
    target = command.text("target") or ""
    opened: list[Conversation] = []

    async def run() -> None:
        thread = await open_thread(call, examining(call.actor.id, target), services)
        opened.append(thread)
        request = DiagnoseRequest(
            request_id=services.deps.ids.request_id(),
            actor=call.actor,
            target=target,
            channel=thread.channel,
            thread_ts=thread.thread_ts,
        )
        outcome = await examine(request, services.deps)
        if isinstance(outcome, Done):
            examined = shown(outcome.value, services.deps.redactor)
            await thread.edit_first(examined_announcement(examined, call.actor.id))
            await _tell(thread, examined)
            return
        clean = cleaned(outcome, services.deps.redactor)
        await thread.edit_first(not_examined(call.actor.id, target, clean.what))
        await thread.say(failure_message(clean))

    async def tell(why: NotDone) -> None:
        await answer(call, failure_message(why), services)

    async def leave() -> None:
        for thread in opened:
            await thread.say(failure_message(CUT))

    name = f"diagnose by {call.actor.id}"
    services.jobs.start(Job(name=name, run=run, tell=tell, leave=leave), Lane.LONG)


async def from_button(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """*Diagnose* below a message: the verdict comes into the same thread."""
    _start(sandbox_id, press, services, wake=False)


async def wake_and_examine(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """*Wake and examine*: it is woken, so that the inside can be looked at, too."""
    _start(sandbox_id, press, services, wake=True)


def _start(sandbox_id: str, press: ButtonPress, services: Services, *, wake: bool) -> None:
    async def run() -> None:
        thread = thread_of(press, services)
        request = DiagnoseRequest(
            request_id=services.deps.ids.request_id(),
            actor=press.actor,
            target=sandbox_id,
            wake=wake,
            channel=thread.channel,
            thread_ts=thread.thread_ts,
        )
        slow = waking(press.actor.id) if wake else examining(press.actor.id, sandbox_id)
        outcome = await patiently(
            examine(request, services.deps), lambda: answer_press(press, slow, services)
        )
        if isinstance(outcome, Done):
            await _tell(thread, shown(outcome.value, services.deps.redactor))
            return
        await answer_press(press, failure_message(cleaned(outcome, services.deps.redactor)), services)

    async def tell(why: NotDone) -> None:
        await answer_press(press, failure_message(why), services)

    async def leave() -> None:
        await tell(CUT)

    name = f"diagnose {sandbox_id}"
    services.jobs.start(Job(name=name, run=run, tell=tell, leave=leave), Lane.LONG)


async def _tell(thread: Conversation, examined: Examined) -> None:
    verdict = await thread.say(diagnosis_message(examined))
    if verdict and not thread.channel:  # pressed in the App Home: the verdict starts a thread of its own
        thread.channel, thread.thread_ts = verdict.channel, verdict.ts
    await thread.say(evidence_message(examined), essential=False)


def shown(examined: Examined, redactor: Redactor) -> Examined:
    """Without secrets in what is told of the findings, before anything is cut to fit."""
    diagnosis = examined.diagnosis
    findings = tuple(
        dataclasses.replace(one, sentence=redactor.text(one.sentence), cure=redactor.text(one.cure))
        for one in diagnosis.findings
    )
    clean = dataclasses.replace(diagnosis, headline=redactor.text(diagnosis.headline), findings=findings)
    return dataclasses.replace(examined, diagnosis=clean)
