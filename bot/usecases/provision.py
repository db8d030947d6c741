"""Provisioning: one line typed by a person becomes a working Studio, told step by step.

This module is the driver: order, cancelling, audit rows and how errors end the job. What each step
does is in ``provision_steps``.
"""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from bot.domain import endings
from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import CubeError, DomainError
from bot.domain.explanations import is_unknown_outcome
from bot.domain.outcome import Done, Failed, Outcome, Refused, Unknown
from bot.domain.provisioning import (
    CreateRequest,
    Finished,
    Provisioned,
    Step,
    StepEvent,
    StepState,
)
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal, ending_of
from bot.usecases.provision_steps import Provisioning, StepEnded

log = logging.getLogger(__name__)

CANCEL_CODE = "cancel-requested"


async def provision(request: CreateRequest, deps: Deps) -> AsyncGenerator[StepEvent | Finished, None]:
    """Run all steps. The last event is ``Finished``; nothing is raised but cancellation of the task."""
    job = Provisioning(request, deps)
    deps.running.add(request.request_id)
    try:
        async with aclosing(_steps(job)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    await _release(job)  # before the last event: its reader may never ask for another
                yield event
    finally:
        await _release(job)


async def _release(job: Provisioning) -> None:
    job.deps.running.discard(job.request.request_id)
    await job.release()


async def cancel(request_id: str, actor: Actor, deps: Deps) -> Outcome[str]:
    """Ask a running provisioning to stop before its next step."""
    try:
        rows = await deps.log.of_request(request_id)
        refusal = _no_cancel(rows, actor, deps)
        if refusal:
            return refusal
        first = rows[0]
        journal = Journal(
            log=deps.log, request_id=request_id, action=Action.CANCEL, actor=actor, home=first.home,
            workspace=first.workspace, channel=first.channel, thread_ts=first.thread_ts,
        )  # fmt: skip
        await journal.write("step", code=CANCEL_CODE, result="ok")
    except AuditUnavailableError:
        return endings.unrecorded()
    return Done(CANCEL_CODE, request_id)


def _no_cancel(rows: Sequence[AuditRow], actor: Actor, deps: Deps) -> Refused | None:
    if not rows:
        return Refused(
            code="request-unknown",
            what="This request has not begun: it is still being checked, or it was turned away.",
            safe="Nothing was changed so far; if it is still being checked, it goes on.",
            todo="Press Cancel again once its thread shows step 3.",
        )
    owner = str(rows[0].details.get("owner") or rows[0].actor)
    denied = decide(Action.CANCEL, actor, deps.roster.role_of(actor), owner=owner)
    if denied:
        return Refused(
            code=denied.code, what=denied.why, safe="The job goes on.", todo="Ask the owner to cancel it."
        )
    if ending_of(rows):
        return Refused(
            code="already-ended",
            what="This request has already ended.",
            safe="Nothing was changed.",
            todo="The thread says how it ended.",
        )
    return None


async def _steps(job: Provisioning) -> AsyncGenerator[StepEvent | Finished, None]:
    request, known = job.request, job.request.asked
    for step, work in job.plan():
        yield StepEvent(step, StepState.RUNNING)
        began = job.deps.clock.monotonic()
        try:
            known = job.recorded or request.asked
            if known and await _cancelled(job):
                after = Step(step - 1) if step > Step.CHECK else None
                raise StepEnded(endings.cancelled(after, job.sandbox_id))  # noqa: TRY301 - one way out of a step
            note = await work()
        except Exception as error:  # noqa: BLE001 - whatever happens, the person is told and the log has an end
            seconds = job.deps.clock.monotonic() - began
            outcome = _outcome_of(error, job, step)
            if request.continues and not job.recorded:
                outcome = endings.as_before(outcome)
            yield StepEvent(step, StepState.FAILED, outcome.what, seconds)
            yield Finished(await _close(job, outcome) if known else outcome)
            return
        seconds = job.durations[step] = job.deps.clock.monotonic() - began
        yield StepEvent(step, StepState.DONE, note, seconds)
    yield Finished(await _close(job, Done("provisioned", job.result())))


async def _cancelled(job: Provisioning) -> bool:
    rows = await job.deps.log.of_request(job.request.request_id)
    return any(row.code == CANCEL_CODE for row in rows)


async def _close(job: Provisioning, outcome: Outcome[Provisioned]) -> Outcome[Provisioned]:
    try:
        await job.journal.close(outcome, sandbox=job.sandbox_id, node=job.node_id)
    except AuditUnavailableError:
        log.exception("the outcome of %s could not be written to the audit log", job.request.request_id)
        return endings.log_lost(job.sandbox_id) if isinstance(outcome, Done) else outcome
    return outcome


def _outcome_of(error: Exception, job: Provisioning, step: Step) -> Refused | Failed | Unknown:
    match error:
        case StepEnded():
            return error.outcome
        case AuditUnavailableError():
            return endings.log_lost(job.sandbox_id) if job.recorded else endings.unrecorded()
        case CubeError() if step is Step.CREATE and not job.sandbox_id and is_unknown_outcome(error.fault):
            return endings.create_unknown(error)
        case DomainError():
            return endings.broken(error, job.sandbox_id, recorded=job.recorded)
        case _:
            log.error("step %s of %s failed", step.name, job.request.request_id, exc_info=error)
            return endings.bug(error, step, job.sandbox_id, recorded=job.recorded)
