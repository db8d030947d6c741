"""A longer idle time for a sandbox, shown with its end; and back to the one from before, once."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain.actors import Action, Actor
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.condition import moment
from bot.domain.durations import spell_duration
from bot.domain.errors import CubeError, DomainError
from bot.domain.explanations import code_of, is_unknown_outcome, sentences
from bot.domain.outcome import Done, Failed, Outcome, Refused, Unknown
from bot.domain.past import IDLE
from bot.domain.rules import MIN_IDLE
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.changing import Change, ChangeRequest, change, not_begun
from bot.usecases.deps import Deps
from bot.usecases.journal import claimed_by
from bot.usecases.occupancy import confirmed
from bot.usecases.past import remembered
from bot.usecases.targets import NOTHING_CHANGED

BEFORE = "before"
"""The detail of a keep with the idle seconds from before; none when nobody knew them."""

CLOCKS_APART = timedelta(seconds=30)
"""How far Cube's clock may be from ours when a lost answer is judged by the end that Cube shows."""

UNDO = "undo"
"""The code of the claim on a keep that is taken back."""

_AS_BEFORE = "The sandbox was left as it is, and so were its home and workspace."


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The idle time that holds now, as Cube shows it."""

    request_id: str
    """Of the keep, also when it has just been taken back."""
    sandbox_id: str
    home: str
    timeout: int
    """Idle seconds; -1 = never."""
    before: int | None = None
    """The one from before; None = nobody knows."""
    until: datetime | None = None
    """When it ends unless somebody uses the sandbox before; None = never, or not while it sleeps."""
    asleep: bool = False
    dies: bool = False
    """Not made by this bot: at the end of a finite idle time Cube may destroy it instead of pausing it."""
    guessed: bool = False
    """Taken back to the installation's own idle time, as the one from before is not known."""


async def keep(request: ChangeRequest, seconds: int, deps: Deps) -> Outcome[Kept]:
    """Set the idle time; -1 = never. It counts from now, and anew from each use."""
    if 0 <= seconds < MIN_IDLE:
        return Refused(
            code="timeout-too-short",
            what=f"An idle time of {spell_duration(seconds)} would put it to sleep while it is used.",
            safe=NOTHING_CHANGED,
            todo=f"Give {spell_duration(MIN_IDLE)} or more, for example `/hermes keep {request.target} 2h`.",
        )

    async def act(job: Change) -> Outcome[Kept]:
        past = (await remembered([job.found.view], deps))[job.sandbox_id]
        details = {IDLE: seconds, BEFORE: past.timeout}
        await job.begin(**details)
        return await _set(job, Kept(
            request_id=request.request_id, sandbox_id=job.sandbox_id, home=job.found.home, timeout=seconds,
            before=past.timeout, dies=not past.ours and seconds >= 0,
        ), "kept")  # fmt: skip

    return await change(Action.KEEP, request, deps, act)


async def undo_keep(request_id: str, actor: Actor, deps: Deps) -> Outcome[Kept]:
    """Set the idle time from before a keep. However often it is pressed, that happens once."""
    try:
        rows = await deps.log.of_request(request_id)
    except AuditUnavailableError as error:
        return not_begun(error)
    kept = next((row for row in rows if row.phase == "outcome" and row.code == "kept"), None)
    if kept is None:
        return Refused(
            code="nothing-to-undo", what="There is no idle time behind this button that could be taken back.",
            safe=NOTHING_CHANGED, todo="Set the one that you want, for example `/hermes keep TARGET 15m`.",
        )  # fmt: skip
    taken = claimed_by(rows)
    if taken:
        return _undone_before(taken)
    request = ChangeRequest(
        request_id=request_id, actor=actor, target=kept.sandbox, channel=kept.channel,
        thread_ts=kept.thread_ts,
    )  # fmt: skip

    async def act(job: Change) -> Outcome[Kept]:
        return await _undo(job, kept)

    return await change(Action.KEEP, request, deps, act)


async def _undo(job: Change, kept: AuditRow) -> Outcome[Kept]:
    past = (await remembered([job.found.view], job.deps))[job.sandbox_id]
    wanted, before = kept.details.get(IDLE), kept.details.get(BEFORE)
    if past.timeout != wanted:
        now = "" if past.timeout is None else spell_duration(past.timeout)
        return Refused(
            code="keep-overtaken", what=f"The idle time has been changed since, to {now}."
            if now
            else "It cannot be told any more which idle time holds now.",
            safe=NOTHING_CHANGED, todo=f"Set the one that you want: `/hermes keep {_target(job)} 15m`.",
        )  # fmt: skip
    known = isinstance(before, int) and not isinstance(before, bool)
    if not known and not past.ours:
        return Refused(
            code="idle-unknown",
            what="I did not make this sandbox and do not know its idle time from before.",
            safe=f"{NOTHING_CHANGED} A guess could have it destroyed.",
            todo=f"Set the one that you want: `/hermes keep {_target(job)} 2h`.",
        )
    timeout = int(str(before)) if known else job.deps.rules.lifecycle.idle
    if await job.journal.claim(code=UNDO, sandbox=job.sandbox_id) is None:
        claim = claimed_by(await job.deps.log.of_request(job.journal.request_id))
        return _undone_before(claim)
    await job.begin(**{IDLE: timeout, BEFORE: past.timeout})
    return await _set(job, Kept(
        request_id=job.journal.request_id, sandbox_id=job.sandbox_id, home=job.found.home, timeout=timeout,
        before=past.timeout, dies=not past.ours and timeout >= 0, guessed=not known,
    ), "keep-undone")  # fmt: skip


async def _set(job: Change, kept: Kept, code: str) -> Outcome[Kept]:
    """Set it, look, and say what Cube shows."""
    details: dict[str, object] = {IDLE: kept.timeout, BEFORE: kept.before}
    lost: CubeError | None = None
    try:
        await job.deps.cube.set_timeout(job.sandbox_id, kept.timeout)
    except CubeError as error:
        if not is_unknown_outcome(error.fault):
            return await job.end(_not_set(job, error))
        lost = error
    try:
        view = await confirmed(job.deps, job.sandbox_id)
    except CubeError as error:
        if lost is None:  # Cube has said yes; only when it ends cannot be told
            return await job.end(Done(code, replace(kept, until=_end(kept, job.deps))), details)
        return await job.end(_unknown(job, error))
    if view is None:
        return await job.end(_vanished(job))
    if not _holds(view, kept, job.deps, told=lost is None):
        return await job.end(_unknown(job, lost))
    asleep = view.state is SandboxState.PAUSED
    until = None if asleep or kept.timeout < 0 else moment(view.end_at)
    return await job.end(Done(code, replace(kept, until=until, asleep=asleep)), details)


def _holds(view: SandboxView, kept: Kept, deps: Deps, *, told: bool) -> bool:
    """Whether Cube shows the end that the new idle time comes to. Where it ``told`` so, any will do."""
    end, wanted = moment(view.end_at), _end(kept, deps)
    if wanted is None or end is None:
        return wanted is None and end is None
    return told or abs(end - wanted) < CLOCKS_APART


def _end(kept: Kept, deps: Deps) -> datetime | None:
    return None if kept.timeout < 0 else deps.clock.now() + timedelta(seconds=kept.timeout)


def _target(job: Change) -> str:
    return job.found.home or job.sandbox_id


def _undone_before(claim: AuditRow | None) -> Refused:
    who = f"<@{claim.actor}>" if claim else "Somebody"
    return Refused(
        code="already-decided", what=f"{who} has already taken this back.",
        safe="Your press changed nothing.", todo="Set the idle time that you want with `/hermes keep`.",
        facts={"by": claim.actor} if claim else {},
    )  # fmt: skip


def _not_set(job: Change, error: DomainError) -> Failed:
    _, todo = sentences(error, again=f"Type `/hermes keep {_target(job)} 2h` again")
    return Failed(
        code=code_of(error), what="Cube did not take the new idle time.", safe=_AS_BEFORE, todo=todo,
        detail=str(error), sandbox=job.sandbox_id,
    )  # fmt: skip


def _unknown(job: Change, error: DomainError | None) -> Unknown:
    return Unknown(
        code="keep-unknown",
        what="Cube was told the new idle time, and it cannot be seen whether it took it.",
        safe=_AS_BEFORE,
        todo=f"Ask for it again in a minute: `/hermes keep {_target(job)} 2h`; twice does no harm.",
        detail=str(error) if error else "",
        sandbox=job.sandbox_id,
    )


def _vanished(job: Change) -> Failed:
    return Failed(
        code="sandbox-gone",
        what="Cube says twice that the sandbox does not exist any more.",
        safe="The home and workspace are safe on the node.",
        todo=f"Make a new one with `/hermes create home={job.found.home or 'NAME'}`.",
    )
