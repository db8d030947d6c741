"""After a crash: what was on its way, what exists now, and how to go on."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.actors import Action, Actor, ActorKind, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import CubeError
from bot.domain.outcome import Done, Offer, Outcome, Refused, Unknown
from bot.domain.provisioning import CreateRequest, Step
from bot.domain.sandbox import REQUEST_KEY
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal, claimed_by, last_sandbox
from bot.usecases.lifecycle import already_decided
from bot.usecases.occupancy import confirmed
from bot.usecases.targets import NOTHING_CHANGED

TOLD = frozenset({Action.CREATE, Action.STOP})
"""Actions with a thread that waits for the truth; others are set right in the log alone."""

BOT = Actor("hermes-bot", ActorKind.BOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A request whose process died. ``sandbox_id`` was looked up live; None = none exists."""

    request_id: str
    action: Action
    owner: str
    home: str
    workspace: str
    channel: str
    thread_ts: str
    progress_ts: str
    after: Step
    """The last step that was completed."""
    sandbox_id: str | None
    sandbox_known: bool
    """False when Cube could not be asked, so that ``sandbox_id`` says nothing."""


async def find_interrupted(deps: Deps) -> list[Interrupted]:
    """Reconcile open intents with live Cube and record each; a job that a living process holds is left."""
    found: list[Interrupted] = []
    for intent in await deps.log.open_intents():
        lock = await deps.locks.try_hold(f"home:{intent.home}")
        if lock is None:
            continue
        try:
            rows = await deps.log.of_request(intent.request_id)
            if rows[-1].phase == "outcome":
                continue
            interrupted = await _reconcile(intent, rows, deps)
            if interrupted.action in TOLD:
                found.append(interrupted)
        finally:
            await lock.release()
    return found


async def continue_request(request_id: str, actor: Actor, deps: Deps) -> Outcome[CreateRequest]:
    """Claim an unfinished create, and give the request that finishes it."""
    try:
        rows = await deps.log.of_request(request_id)
        intent = next((row for row in rows if row.phase == "intent" and row.action == Action.CREATE), None)
        if intent is None:
            return Refused(
                code="request-unknown", what="This request is not in the audit log.", safe=NOTHING_CHANGED,
                todo="Start again with `/hermes create home=NAME`.",
            )  # fmt: skip
        owner = _owner(intent)
        denied = decide(Action.CREATE, actor, deps.roster.role_of(actor)) or decide(
            Action.CANCEL, actor, deps.roster.role_of(actor), owner=owner
        )
        if denied:
            return Refused(
                code=denied.code,
                what=denied.why,
                safe=NOTHING_CHANGED,
                todo="Ask the owner or an approver to continue.",
            )
        refusal = _not_continuable(rows)
        if refusal:
            return refusal
        journal = Journal(
            log=deps.log, request_id=request_id, action=Action.CREATE, actor=actor, channel=intent.channel,
            thread_ts=intent.thread_ts, home=intent.home, workspace=intent.workspace,
        )  # fmt: skip
        if await journal.claim(code="continue", sandbox=last_sandbox(rows)) is None:
            return already_decided(claimed_by(await deps.log.of_request(request_id)))
    except AuditUnavailableError:
        return Refused(
            code="audit-unavailable", what="The audit log cannot be written, so nothing is changed.",
            safe=NOTHING_CHANGED,
            todo="An administrator looks at the bot's database; `hermes-bot audit verify` helps.",
        )  # fmt: skip
    return Done("continued", _request(intent, actor, deps.ids.request_id()))


async def _reconcile(intent: AuditRow, rows: Sequence[AuditRow], deps: Deps) -> Interrupted:
    sandbox_id: str | None = None
    known = True
    try:
        sandbox_id = await _sandbox(intent, rows, deps)
    except CubeError:
        known = False
    after = _last_step(rows)
    interrupted = Interrupted(
        request_id=intent.request_id,
        action=Action(intent.action),
        owner=_owner(intent),
        home=intent.home,
        workspace=intent.workspace,
        channel=intent.channel,
        thread_ts=intent.thread_ts,
        progress_ts=str(intent.details.get("progress_ts") or ""),
        after=after,
        sandbox_id=sandbox_id,
        sandbox_known=known,
    )
    journal = Journal(
        log=deps.log, request_id=intent.request_id, action=Action(intent.action), actor=BOT,
        channel=intent.channel, thread_ts=intent.thread_ts, home=intent.home, workspace=intent.workspace,
    )  # fmt: skip
    if interrupted.action is Action.STOP and known and sandbox_id is None:
        await journal.close(Done("stopped", None), sandbox=last_sandbox(rows), node=intent.node)
        return interrupted
    await journal.close(
        Unknown(
            code="interrupted",
            what=f"The bot was restarted after step {after.value} of {intent.action}.",
            safe="The home and workspace are safe on the node.",
            todo="The thread offers what to do.",
            offers=(Offer.CONTINUE, Offer.STOP),
        ),
        sandbox=sandbox_id or "",
        node=intent.node,
    )
    return interrupted


async def _sandbox(intent: AuditRow, rows: Sequence[AuditRow], deps: Deps) -> str | None:
    recorded = last_sandbox(rows)
    if recorded:
        view = await confirmed(deps, recorded)
        return view.sandbox_id if view else None
    made = await deps.cube.list(labels={REQUEST_KEY: intent.request_id})
    return made[0].sandbox_id if made else None


def _last_step(rows: Sequence[AuditRow]) -> Step:
    done = [
        int(row.code.removeprefix("step-"))
        for row in rows
        if row.phase == "step" and row.code.startswith("step-")
    ]
    return Step(max(done, default=Step.RECORD))


def _not_continuable(rows: Sequence[AuditRow]) -> Refused | None:
    claim = claimed_by(rows)
    if claim:
        return already_decided(claim)
    last = rows[-1]
    if last.phase != "outcome":
        return Refused(
            code="still-running", what="This request is still on its way.", safe=NOTHING_CHANGED,
            todo="Follow its thread; it ends with what exists.",
        )  # fmt: skip
    if last.result == "ok":
        return Refused(
            code="already-ended", what="This request has already been finished.", safe=NOTHING_CHANGED,
            todo="The thread says how it ended.",
        )  # fmt: skip
    return None


def _owner(intent: AuditRow) -> str:
    return str(intent.details.get("owner") or intent.actor)


def _request(intent: AuditRow, actor: Actor, request_id: str) -> CreateRequest:
    details = intent.details
    timeout = details.get("timeout")
    names = details.get("env_names")
    return CreateRequest(
        request_id=request_id,
        actor=actor,
        home=intent.home,
        workspace=intent.workspace,
        template=str(details.get("template") or ""),
        timeout=timeout if isinstance(timeout, int) else None,
        node=intent.node,
        profile=str(details.get("profile") or ""),
        channel=intent.channel,
        thread_ts=intent.thread_ts,
        continues=intent.request_id,
        for_owner=_owner(intent),
        env_names=tuple(str(name) for name in names) if isinstance(names, (list, tuple)) else (),
    )
