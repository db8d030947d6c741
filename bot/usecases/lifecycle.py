"""Stopping a sandbox: ask with everything on the table, then close Studio, destroy, and prove it gone."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import CubeError, DomainError
from bot.domain.explanations import code_of, sentences
from bot.domain.outcome import Done, Failed, Outcome, Refused, Unknown
from bot.domain.sandbox import REQUEST_KEY
from bot.usecases.deps import Deps
from bot.usecases.ending import end
from bot.usecases.journal import Journal, claimed_by, last_sandbox
from bot.usecases.occupancy import confirmed
from bot.usecases.outdated import OUTDATED, STATE, outdated
from bot.usecases.targets import NOTHING_CHANGED, Found, find, lock_of

log = logging.getLogger(__name__)

ASKED_TO_STOP = "stop-asked"
LOST = (
    "running programs and open terminals",
    "packages installed and files written outside the home and the workspace",
)
CLAIM_LOOKS = 20
CLAIM_PAUSE_SECONDS = 0.05
"""Whoever takes a home's lock for a stop writes the claim in the next moment: how often to look for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest:
    """One person's wish to stop a sandbox."""

    request_id: str
    actor: Actor
    target: str
    channel: str = ""
    thread_ts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPlan:
    """What stopping means for this sandbox; shown before anybody confirms."""

    request_id: str
    sandbox_id: str
    home: str
    workspace: str
    owner: str
    state: str
    lost: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The sandbox is gone, confirmed twice."""

    sandbox_id: str
    home: str
    workspace: str
    seconds: float
    studio_closed: bool | None
    """None when Studio could not be asked, such as in a paused sandbox."""


async def ask_stop(request: StopRequest, deps: Deps) -> Outcome[StopPlan]:
    """Look, and record the question. Changes nothing."""
    role = deps.roster.role_of(request.actor)
    denied = decide(Action.STOP, request.actor, role)
    if denied:
        return _denied(denied.code, denied.why)
    try:
        found = await find(request.target, deps)
        if isinstance(found, Refused):
            return found
        denied = decide(Action.STOP, request.actor, role, owner=found.owner)
        if denied:
            return _denied(denied.code, denied.why)
        journal = Journal(
            log=deps.log, request_id=request.request_id, action=Action.STOP, actor=request.actor,
            channel=request.channel, thread_ts=request.thread_ts, home=found.home, workspace=found.workspace,
        )  # fmt: skip
        await journal.write(
            "step", sandbox=found.view.sandbox_id, node=found.node, code=ASKED_TO_STOP, result="ok",
            details={STATE: found.view.state.value},
        )  # fmt: skip
    except DomainError as error:
        return _not_begun(error)
    return Done(
        ASKED_TO_STOP,
        StopPlan(
            request_id=request.request_id,
            sandbox_id=found.view.sandbox_id,
            home=found.home,
            workspace=found.workspace,
            owner=found.owner,
            state=found.view.state.value,
            lost=LOST,
            kept=_kept(found),
        ),
    )


async def stop(request_id: str, actor: Actor, deps: Deps) -> Outcome[Stopped]:
    """Perform a stop that was asked for, or remove the sandbox of an unfinished create. Acts once."""
    try:
        rows = await deps.log.of_request(request_id)
        target = last_sandbox(rows) or await _made_by(request_id, deps)
        if not rows or not target:
            return _nothing_to_stop()
        if claimed_by(rows):
            return await _decided_before(rows, deps)
        found = await find(target, deps)
        if isinstance(found, Refused):
            return found
        denied = decide(Action.STOP, actor, deps.roster.role_of(actor), owner=found.owner)
        if denied:
            return _denied(denied.code, denied.why)
        lock = await deps.locks.try_hold(found.lock)
        if lock is None:
            return await _busy(found, request_id, deps)
    except DomainError as error:
        return _not_begun(error)
    try:
        journal = _journal_of(rows[0], actor, deps, found)
        asked = next((row for row in rows if row.code == ASKED_TO_STOP), None)
        refusal = await outdated(asked, found, deps) if asked else None
        return await (
            _refuse_for_good(refusal, journal, deps) if refusal else _claim_and_destroy(journal, found, deps)
        )
    except DomainError as error:
        return _not_begun(error)
    finally:
        await lock.release()


async def dismiss_stop(request_id: str, actor: Actor, deps: Deps) -> Outcome[str]:
    """Keep the sandbox: the question is closed, so that an old card cannot stop it later."""
    try:
        rows = await deps.log.of_request(request_id)
        if not rows:
            return _nothing_to_stop()
        first = rows[0]
        denied = decide(Action.STOP, actor, deps.roster.role_of(actor), owner=first.actor)
        if denied:
            return _denied(denied.code, denied.why)
        journal = _journal_of(first, actor, deps)
        if await journal.claim(code="keep", sandbox=first.sandbox) is None:
            return await _decided_before(await deps.log.of_request(request_id), deps)
        await journal.close(Done("stop-dismissed", None), sandbox=first.sandbox)
    except DomainError as error:
        return _not_begun(error)
    return Done("stop-dismissed", first.sandbox)


def already_decided(claim: AuditRow | None) -> Refused:
    """The answer to every press after the first."""
    who = f"<@{claim.actor}>" if claim else "somebody else"
    verbs = {
        "stop": "stopped it",
        "keep": "decided to keep it",
        "continue": "continued it",
        OUTDATED: "pressed it, when this card did not count any more",
    }
    did = verbs.get(claim.code, "decided") if claim else "decided"
    return Refused(
        code="already-decided",
        what=f"{who} has already {did}.",
        safe="Your press changed nothing.",
        todo="The thread says how it ended.",
        facts={"by": claim.actor} if claim else {},
    )


async def _claim_and_destroy(journal: Journal, found: Found, deps: Deps) -> Outcome[Stopped]:
    """Under the lock on the home: take the request, record the intent, act, and write how it ended."""
    sandbox_id = found.view.sandbox_id
    if await journal.claim(code="stop", sandbox=sandbox_id) is None:
        return already_decided(claimed_by(await deps.log.of_request(journal.request_id)))
    await journal.write("intent", sandbox=sandbox_id, node=found.node, details={"owner": found.owner})
    outcome = await _destroy(found, deps)
    try:
        await journal.close(outcome, sandbox=sandbox_id, node=found.node)
    except AuditUnavailableError:
        log.exception("the outcome of %s could not be written to the audit log", journal.request_id)
    return outcome


async def _refuse_for_good(refusal: Refused, journal: Journal, deps: Deps) -> Refused:
    """A card that does not count is asked once; whoever presses it later is told of the first press."""
    if await journal.claim(code=OUTDATED, sandbox=refusal.sandbox) is None:
        return already_decided(claimed_by(await deps.log.of_request(journal.request_id)))
    return refusal


async def _destroy(found: Found, deps: Deps) -> Outcome[Stopped]:
    sandbox_id = found.view.sandbox_id
    began = deps.clock.monotonic()
    try:
        ended = await end(found.view, deps)
    except CubeError as error:
        what, todo = sentences(error, again=f"Ask again with `/hermes stop {found.home or sandbox_id}`")
        return Failed(
            code=code_of(error),
            what=what,
            safe="The home and workspace are safe; as far as we know the sandbox still exists.",
            todo=todo,
            detail=str(error),
            sandbox=sandbox_id,
        )
    if not ended.gone:
        return Unknown(
            code="stop-unknown",
            what="Cube was told to destroy the sandbox, but "
            + ("it still shows it." if ended.gone is False else "it does not say whether it is gone."),
            safe="The home and workspace are safe on the node.",
            todo=f"Wait a minute, then ask again with `/hermes stop {found.home or sandbox_id}`.",
            sandbox=sandbox_id,
        )
    return Done(
        "stopped",
        Stopped(
            sandbox_id=sandbox_id,
            home=found.home,
            workspace=found.workspace,
            seconds=deps.clock.monotonic() - began,
            studio_closed=ended.studio_closed,
        ),
    )


async def _made_by(request_id: str, deps: Deps) -> str:
    views = await deps.cube.list(labels={REQUEST_KEY: request_id})
    return views[0].sandbox_id if views else ""


def _journal_of(row: AuditRow, actor: Actor, deps: Deps, found: Found | None = None) -> Journal:
    """The journal of the request that ``row`` began, written by ``actor``."""
    return Journal(
        log=deps.log,
        request_id=row.request_id,
        action=Action.STOP,
        actor=actor,
        channel=row.channel,
        thread_ts=row.thread_ts,
        home=found.home if found else row.home,
        workspace=found.workspace if found else row.workspace,
    )


async def _decided_before(rows: Sequence[AuditRow], deps: Deps) -> Refused:
    """What became of the press that was first. A stop that broke off or failed is not called done."""
    claim = claimed_by(rows)
    if claim is None or claim.code != "stop":
        return already_decided(claim)
    ending = _end_of(claim, rows)
    if ending is None:
        lock = await deps.locks.try_hold(lock_of(claim.home, claim.sandbox))
        if lock is None:
            return already_decided(claim)
        await lock.release()  # nobody works on it: it has just ended, or its process died
        ending = _end_of(claim, await deps.log.of_request(claim.request_id))
    done = ending is not None and ending.result == "ok"
    if done or not claim.sandbox or await confirmed(deps, claim.sandbox) is None:
        return already_decided(claim)
    broke_off = ending is None or ending.code == "interrupted"
    return Refused(
        code="stop-not-done",
        what=f"<@{claim.actor}> has confirmed this stop before, but it"
        f" {'was interrupted' if broke_off else 'did not end well'}: the sandbox still exists.",
        safe="Your press changed nothing.",
        todo=f"Ask again with `/hermes stop {claim.home or claim.sandbox}`.",
        facts={"by": claim.actor},
        sandbox=claim.sandbox,
    )


def _end_of(claim: AuditRow, rows: Sequence[AuditRow]) -> AuditRow | None:
    return next((row for row in rows if row.phase == "outcome" and row.seq > claim.seq), None)


async def _busy(found: Found, request_id: str, deps: Deps) -> Refused:
    for _ in range(CLAIM_LOOKS):
        claim = claimed_by(await deps.log.of_request(request_id))
        if claim:
            return already_decided(claim)
        await deps.clock.sleep(CLAIM_PAUSE_SECONDS)
    return Refused(
        code="home-busy",
        what=f"Another job is working on {found.subject} right now.",
        safe=NOTHING_CHANGED,
        todo="Wait until that job's thread says how it ended, then press the button again.",
    )


def _denied(code: str, why: str) -> Refused:
    return Refused(code=code, what=why, safe=NOTHING_CHANGED, todo="Ask the owner or an approver to do it.")


def _kept(found: Found) -> tuple[str, ...]:
    if not found.home:
        return ("what is mounted from the node; I did not make this sandbox and cannot tell what that is",)
    return (
        f"home {found.home}: settings, conversations, private Skills",
        f"workspace {found.workspace}: project files",
    )


def _nothing_to_stop() -> Refused:
    return Refused(
        code="nothing-to-stop",
        what="There is no sandbox behind this button.",
        safe=NOTHING_CHANGED,
        todo="The thread says what became of it; `/hermes stop HOME` asks again.",
    )


def _not_begun(error: DomainError) -> Refused:
    if isinstance(error, AuditUnavailableError):
        return Refused(
            code="audit-unavailable",
            what="The audit log cannot be written, so nothing is changed.",
            safe=NOTHING_CHANGED,
            todo="An administrator looks at the bot's database; `hermes-bot audit verify` helps.",
            detail=str(error),
        )
    what, todo = sentences(error)
    return Refused(code=code_of(error), what=what, safe=NOTHING_CHANGED, todo=todo, detail=str(error))
