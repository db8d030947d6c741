"""Stopping a sandbox: ask with everything on the table, then close Studio, destroy, and prove it gone."""

import logging
from dataclasses import dataclass

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import CubeError, DomainError, GuestError
from bot.domain.explanations import code_of, is_unknown_outcome, sentences
from bot.domain.outcome import Done, Failed, Outcome, Refused, Unknown
from bot.domain.sandbox import REQUEST_KEY, SandboxState
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal, claimed_by, last_sandbox
from bot.usecases.targets import NOTHING_CHANGED, Found, find

log = logging.getLogger(__name__)

LOST = (
    "running programs and open terminals",
    "packages installed and files written outside the home and the workspace",
)
GONE_SECONDS = 30.0
"""How long Cube may take until a destroyed sandbox answers 404."""


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
            "step", sandbox=found.view.sandbox_id, node=found.node, code="stop-asked", result="ok"
        )
    except DomainError as error:
        return _not_begun(error)
    return Done(
        "stop-asked",
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
            return already_decided(claimed_by(rows))
        found = await find(target, deps)
        if isinstance(found, Refused):
            return found
        denied = decide(Action.STOP, actor, deps.roster.role_of(actor), owner=found.owner)
        if denied:
            return _denied(denied.code, denied.why)
        lock = await deps.locks.try_hold(f"home:{found.home}")
        if lock is None:
            return await _busy(found, request_id, deps)
    except DomainError as error:
        return _not_begun(error)
    try:
        return await _claim_and_destroy(_journal_of(rows[0], actor, deps, found), found, deps)
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
            return already_decided(claimed_by(await deps.log.of_request(request_id)))
        await journal.close(Done("stop-dismissed", None), sandbox=first.sandbox)
    except DomainError as error:
        return _not_begun(error)
    return Done("stop-dismissed", first.sandbox)


def already_decided(claim: AuditRow | None) -> Refused:
    """The answer to every press after the first."""
    who = f"<@{claim.actor}>" if claim else "somebody else"
    verbs = {"stop": "stopped it", "keep": "decided to keep it", "continue": "continued it"}
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


async def _destroy(found: Found, deps: Deps) -> Outcome[Stopped]:
    sandbox_id = found.view.sandbox_id
    began = deps.clock.monotonic()
    try:
        closed = await _close_studio(found, deps)
        await _kill(sandbox_id, deps)
        gone = await _gone_twice(sandbox_id, deps)
    except CubeError as error:
        what, todo = sentences(error)
        return Failed(
            code=code_of(error),
            what=what,
            safe="The home and workspace are safe; as far as we know the sandbox still exists.",
            todo=todo,
            detail=str(error),
            sandbox=sandbox_id,
        )
    if not gone:
        return Unknown(
            code="stop-unknown",
            what="Cube was told to destroy the sandbox, but it still shows it.",
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
            studio_closed=closed,
        ),
    )


async def _kill(sandbox_id: str, deps: Deps) -> None:
    """Destroy it. An answer that was lost, or that says it is gone, is judged by looking afterwards."""
    try:
        await deps.cube.kill(sandbox_id)
    except CubeError as error:
        if not is_unknown_outcome(error.fault) and error.fault.kind not in ("not_found", "gone"):
            raise


async def _close_studio(found: Found, deps: Deps) -> bool | None:
    """Close Studio's databases first, when that can be done without waking anything."""
    if found.view.state is not SandboxState.RUNNING:
        return None
    try:
        return await deps.guest.stop_studio(found.view.sandbox_id)
    except (GuestError, CubeError):
        return None


async def _gone_twice(sandbox_id: str, deps: Deps) -> bool:
    clock = deps.clock
    began = clock.monotonic()
    pause = 0.05
    misses = 0
    while True:
        misses = misses + 1 if await deps.cube.get(sandbox_id) is None else 0
        if misses >= 2:  # noqa: PLR2004 - one 404 can be a router that just restarted
            return True
        if clock.monotonic() - began > GONE_SECONDS:
            return False
        if not misses:
            await clock.sleep(pause)
            pause = min(pause * 2, 2.0)


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


async def _busy(found: Found, request_id: str, deps: Deps) -> Refused:
    claim = claimed_by(await deps.log.of_request(request_id))
    if claim:
        return already_decided(claim)
    return Refused(
        code="home-busy",
        what=f"Another job is working on home {found.home} right now.",
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
