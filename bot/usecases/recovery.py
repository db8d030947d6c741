"""After a crash: what was on its way, what exists now, and how to go on."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.actors import Action, Actor, ActorKind, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import CubeError
from bot.domain.outcome import Done, Offer, Outcome, Refused, Unknown
from bot.domain.provisioning import CreateRequest, Step
from bot.domain.sandbox import REQUEST_KEY
from bot.usecases.asking import ask
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal, admitted, claimed_by, ending_of, last_sandbox
from bot.usecases.lifecycle import already_decided
from bot.usecases.occupancy import confirmed
from bot.usecases.targets import NOTHING_CHANGED, lock_of

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
    after: Step | None
    """The last step that was completed; None = it was only asked for."""
    sandbox_id: str | None
    sandbox_known: bool
    """False when Cube could not be asked, so that ``sandbox_id`` says nothing."""
    restarted: bool = True
    """The process that did it is gone; otherwise it lives, and lost the job."""
    node: str = ""
    recorded_sandbox: str = ""
    """The sandbox that the log names, whether or not it exists now."""


async def find_interrupted(deps: Deps) -> list[Interrupted]:
    """Requests that nobody works on any more, held against live Cube. Changes nothing.

    Tell their threads first, then ``record_interrupted``: a crash in between tells twice, never not at all.
    """
    latest = {intent.request_id: intent for intent in await deps.log.open_intents()}
    return [await _look(intent, deps) for intent in latest.values() if not await _alive(intent, deps)]


async def record_interrupted(found: Interrupted, deps: Deps) -> None:
    """Write how it ended, as far as anybody can know."""
    journal = Journal(
        log=deps.log, request_id=found.request_id, action=found.action, actor=BOT, channel=found.channel,
        thread_ts=found.thread_ts, home=found.home, workspace=found.workspace,
    )  # fmt: skip
    if found.action is Action.STOP and found.sandbox_known and found.sandbox_id is None:
        await journal.close(Done("stopped", None), sandbox=found.recorded_sandbox, node=found.node)
        return
    came = _came(found)
    await journal.close(
        Unknown(
            code="interrupted",
            what=f"The {found.action} broke off{came}.",
            safe="The home and workspace are safe on the node.",
            todo="The thread offers what to do.",
            offers=(Offer.CONTINUE, Offer.STOP),
        ),
        sandbox=found.sandbox_id or "",
        node=found.node,
    )


def _came(found: Interrupted) -> str:
    """How far; only a create has steps that tell."""
    if found.action in {Action.PAUSE, Action.RESUME, Action.KEEP}:
        return ""
    return f" after step {found.after.value}" if found.after else " before its first step"


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
        owner = owner_of(intent)
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
        refusal = await _not_continuable(rows, deps)
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
    asked = await ask(_request(rows, intent, actor, deps.ids.request_id()), deps)
    return asked if isinstance(asked, Refused) else Done("continued", asked)


async def _alive(intent: AuditRow, deps: Deps) -> bool:
    """Whether some process still works on it. A dead process holds no lock."""
    process = str(intent.details.get("process") or "")
    if process and process == deps.process:
        return intent.request_id in deps.running
    lock = await deps.locks.try_hold(
        f"process:{process}" if process else lock_of(intent.home, intent.sandbox)
    )
    if lock is None:
        return True
    await lock.release()
    return False


async def _look(intent: AuditRow, deps: Deps) -> Interrupted:
    rows = await deps.log.of_request(intent.request_id)
    sandbox_id: str | None = None
    known = True
    try:
        sandbox_id = await _sandbox(intent, rows, deps)
    except CubeError:
        known = False
    return Interrupted(
        request_id=intent.request_id,
        action=Action(intent.action),
        owner=owner_of(intent),
        home=intent.home,
        workspace=intent.workspace,
        channel=where_told(rows)[0],
        thread_ts=where_told(rows)[1],
        progress_ts=progress_of(rows),
        after=last_step(rows),
        sandbox_id=sandbox_id,
        sandbox_known=known,
        restarted=intent.details.get("process") != deps.process,
        node=intent.node,
        recorded_sandbox=last_sandbox(rows),
    )


async def _sandbox(intent: AuditRow, rows: Sequence[AuditRow], deps: Deps) -> str | None:
    recorded = last_sandbox(rows)
    if recorded:
        view = await confirmed(deps, recorded)
        return view.sandbox_id if view else None
    made = await deps.cube.list(labels={REQUEST_KEY: intent.request_id})
    return made[0].sandbox_id if made else None


def where_told(rows: Sequence[AuditRow]) -> tuple[str, str]:
    """(channel, thread) of a request: the latest thread that is known, else where it was typed."""
    threads = [(row.channel, row.thread_ts) for row in rows if row.thread_ts]
    return threads[-1] if threads else (rows[0].channel, "")


def progress_of(rows: Sequence[AuditRow]) -> str:
    """The message that shows its steps."""
    noted = [str(row.details.get("progress_ts") or "") for row in rows]
    return next((ts for ts in reversed(noted) if ts), "")


def last_step(rows: Sequence[AuditRow]) -> Step | None:
    """The last one that was completed."""
    done = [
        int(row.code.removeprefix("step-"))
        for row in rows
        if row.phase == "step" and row.code.startswith("step-")
    ]
    if done:
        return Step(max(done))
    return Step.RECORD if admitted(rows) else None


async def _not_continuable(rows: Sequence[AuditRow], deps: Deps) -> Refused | None:
    claim = claimed_by(rows)
    if claim:
        return already_decided(claim)
    ending = ending_of(rows)
    intents = [row for row in rows if row.phase == "intent"]
    if ending is None and await _alive(intents[-1], deps):
        return Refused(
            code="still-running", what="This request is still on its way.", safe=NOTHING_CHANGED,
            todo="Follow its thread; it ends with what exists.",
        )  # fmt: skip
    if ending is not None and ending.result == "ok":
        return Refused(
            code="already-ended", what="This request has already been finished.", safe=NOTHING_CHANGED,
            todo="The thread says how it ended.",
        )  # fmt: skip
    return None


def owner_of(intent: AuditRow) -> str:
    """Whose sandbox it is to become."""
    return str(intent.details.get("owner") or intent.actor)


def _request(rows: Sequence[AuditRow], intent: AuditRow, actor: Actor, request_id: str) -> CreateRequest:
    details = intent.details
    timeout = details.get("timeout")
    names = details.get("env_names")
    channel, thread_ts = where_told(rows)
    return CreateRequest(
        request_id=request_id,
        actor=actor,
        home=intent.home,
        workspace=intent.workspace,
        template=str(details.get("template") or ""),
        timeout=timeout if isinstance(timeout, int) else None,
        node=intent.node,
        profile=str(details.get("profile") or ""),
        channel=channel,
        thread_ts=thread_ts,
        continues=intent.request_id,
        for_owner=owner_of(intent),
        env_names=tuple(str(name) for name in names) if isinstance(names, (list, tuple)) else (),
    )
