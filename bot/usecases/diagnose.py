"""Diagnosing a sandbox: look from four sides at once, judge, and record who looked. Changes nothing.

A paused sandbox is examined as far as that goes without waking it. Each side has a deadline of its own, and a
side that fails is evidence, too: it never ends the examination.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditUnavailableError, Result
from bot.domain.diagnosis import Diagnosis, diagnose
from bot.domain.errors import CubeError, DomainError
from bot.domain.evidence import Evidence, Unseen
from bot.domain.explanations import code_of, sentences
from bot.domain.outcome import Done, Outcome, Refused
from bot.domain.past import UNDONE
from bot.domain.sandbox import SandboxState
from bot.usecases.deps import Deps
from bot.usecases.examination import Waking, examine_all
from bot.usecases.journal import Journal
from bot.usecases.occupancy import confirmed, look
from bot.usecases.resuming import for_good
from bot.usecases.targets import NOTHING_CHANGED, Found, find
from bot.usecases.waking import wake

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnoseRequest:
    """One person's wish to have a sandbox examined."""

    request_id: str
    actor: Actor
    target: str
    wake: bool = False
    """Wake it first when it is paused."""
    channel: str = ""
    thread_ts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What was found, and everything that was seen."""

    request_id: str
    sandbox_id: str
    home: str
    woken: bool
    """Whether this examination has woken it."""
    diagnosis: Diagnosis
    evidence: Evidence
    seconds: float


async def examine(request: DiagnoseRequest, deps: Deps) -> Outcome[Examined]:
    """Authorise, look, judge, record. With ``wake`` it is woken first, which is recorded as a resume."""
    role = deps.roster.role_of(request.actor)
    denied = decide(Action.DIAGNOSE, request.actor, role)
    if denied:
        return _denied(denied.code, denied.why)
    began = deps.clock.monotonic()
    try:
        found = await _found(request.target, deps)
        if isinstance(found, Refused):
            return found
        denied = decide(Action.DIAGNOSE, request.actor, role, owner=found.owner)
        if denied:
            return _denied(denied.code, denied.why)
        waking = await _wake(request, found, deps) if request.wake else Waking()
        if isinstance(waking, Refused):
            return waking
        evidence = await examine_all(found.view, waking, deps)
        diagnosis = diagnose(evidence)
        await _record(request, found, diagnosis, evidence, deps)
    except DomainError as error:
        return _not_done(error)
    return Done(
        "examined",
        Examined(
            request_id=request.request_id,
            sandbox_id=found.view.sandbox_id,
            home=found.home,
            woken=waking.woken,
            diagnosis=diagnosis,
            evidence=evidence,
            seconds=deps.clock.monotonic() - began,
        ),
    )


async def _found(target: str, deps: Deps) -> Found | Refused:
    """The sandbox that is meant. Of several on one home, one: that there are several is what is wrong."""
    found = await find(target, deps)
    if isinstance(found, Refused) and found.code == "target-ambiguous":
        on_home = (await look(deps, target)).on_home
        return Found(on_home[0]) if on_home else found
    return found


async def _wake(request: DiagnoseRequest, found: Found, deps: Deps) -> Waking | Refused:
    """Wake a paused one, under the lock of its home, with an intent before and an outcome after."""
    view = await confirmed(deps, found.view.sandbox_id)
    if view is None or view.state is not SandboxState.PAUSED:
        return Waking()
    lock = await deps.locks.try_hold(found.lock)
    if lock is None:
        return Refused(
            code="home-busy",
            what=f"Another job is working on {found.subject} right now.",
            safe=NOTHING_CHANGED,
            todo="Wait until that job's thread says how it ended, then press the button again.",
        )
    journal = replace(_journal(request, found, deps), action=Action.RESUME)
    deps.running.add(request.request_id)
    try:
        if await _others(found, deps):
            return Waking()  # awake, the two would write the same home
        details = {"owner": found.owner, "process": deps.process}
        await journal.write(
            "intent", sandbox=view.sandbox_id, node=found.node, reason="to examine it", details=details
        )
        try:
            now = await wake(view.sandbox_id, deps)
        except CubeError as error:
            await _end(journal, found, "failed", code_of(error), sentences(error)[0], for_good(error))
            return Waking(refused=error)
        runs = now is not None and now.state is SandboxState.RUNNING
        if runs:
            await _end(journal, found, "ok", "resumed")
        else:
            state = "gone" if now is None else now.state.value
            await _end(journal, found, "unknown", UNDONE, f"It was woken and is {state} again.")
        return Waking(woken=runs)
    finally:
        deps.running.discard(request.request_id)
        await lock.release()


async def _others(found: Found, deps: Deps) -> bool:
    """Whether another sandbox has the same home."""
    on_home = (await look(deps, found.home)).on_home if found.home else ()
    return any(one.sandbox_id != found.view.sandbox_id for one in on_home)


async def _end(
    journal: Journal,
    found: Found,
    result: Result,
    code: str,
    reason: str = "",
    details: Mapping[str, object] | None = None,
) -> None:
    """The outcome of the resume. It has happened, whether or not the log can take that."""
    sandbox, node = found.view.sandbox_id, found.node
    try:
        await journal.write(
            "outcome", sandbox=sandbox, node=node, result=result, code=code, reason=reason, details=details
        )
    except AuditUnavailableError:
        log.exception("the outcome of %s could not be written to the audit log", journal.request_id)


async def _record(
    request: DiagnoseRequest, found: Found, diagnosis: Diagnosis, evidence: Evidence, deps: Deps
) -> None:
    """Who examined what, and what came out. Looking goes on without a log; changing would not."""
    sides = {
        "cube": evidence.cube,
        "node": evidence.node,
        "inside": evidence.inside,
        "studio": evidence.studio,
    }
    details = {
        "examined": [name for name, side in sides.items() if not isinstance(side, Unseen)],
        "findings": [finding.code for finding in diagnosis.findings],
    }
    try:
        await _journal(request, found, deps).write(
            "step",
            sandbox=found.view.sandbox_id,
            node=found.node,
            result="ok",
            code=diagnosis.verdict,
            reason=diagnosis.headline,
            details=details,
        )
    except AuditUnavailableError:
        log.exception("the examination %s could not be written to the audit log", request.request_id)


def _journal(request: DiagnoseRequest, found: Found, deps: Deps) -> Journal:
    return Journal(
        log=deps.log, request_id=request.request_id, action=Action.DIAGNOSE, actor=request.actor,
        channel=request.channel, thread_ts=request.thread_ts, home=found.home, workspace=found.workspace,
    )  # fmt: skip


def _denied(code: str, why: str) -> Refused:
    return Refused(code=code, what=why, safe=NOTHING_CHANGED, todo="Ask the owner or an approver to do it.")


def _not_done(error: DomainError) -> Refused:
    if isinstance(error, AuditUnavailableError):
        return Refused(
            code="audit-unavailable",
            what="The audit log cannot be written, so nothing is woken.",
            safe=NOTHING_CHANGED,
            todo="An administrator looks at the bot's database; `hermes-bot audit verify` helps.",
            detail=str(error),
        )
    what, todo = sentences(error)
    return Refused(code=code_of(error), what=what, safe=NOTHING_CHANGED, todo=todo, detail=str(error))
