"""Pausing a sandbox: only what Cube shows as paused counts as done, and nothing is paused into its death."""

from dataclasses import dataclass, replace
from http import HTTPStatus

from bot.domain.actors import Action
from bot.domain.cube_errors import FaultClass
from bot.domain.errors import CubeError
from bot.domain.explanations import code_of, is_unknown_outcome, sentences
from bot.domain.idle import IdleKind, idle_left
from bot.domain.outcome import Done, Failed, Offer, Outcome, Unknown
from bot.domain.past import IDLE
from bot.domain.sandbox import SandboxState
from bot.usecases.changing import HOMES_ARE_SAFE, Change, ChangeRequest, change, gone, state_now
from bot.usecases.deps import Deps
from bot.usecases.past import remembered

PAUSE_SECONDS = 60.0
"""How long a pause is waited for. Writing the memory to disk takes seconds; Cube gives up after 30 to 120."""

ASK_AGAIN_AFTER = 5.0
"""A pause whose answer was lost, and of which nothing is to be seen for so long, is asked for once more."""

NEVER = -1

KEPT_FOR_EVER = "Its idle time was set to never first, and stays so until somebody sets another one."


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """It sleeps, as Cube shows it."""

    sandbox_id: str
    home: str
    owner: str
    seconds: float = 0.0
    already: bool = False
    """It slept before; nothing was changed."""
    wakes_on_use: bool = True
    """Opening its Studio wakes it."""
    kept_for_ever: bool = False
    """Its idle time was set to never first, because its end would have destroyed it."""


async def pause(request: ChangeRequest, deps: Deps) -> Outcome[Paused]:
    """Put a sandbox to sleep.

    A sandbox that this bot has not made may be destroyed, paused or not, when its idle time ends; so that is
    set to never before it is paused.
    """
    return await change(Action.PAUSE, request, deps, _act)


async def _act(job: Change) -> Outcome[Paused]:
    if job.found.view.state is SandboxState.PAUSED:
        return Done("already-paused", _paused(job, already=True))
    past = (await remembered([job.found.view], job.deps))[job.sandbox_id]
    await job.begin()
    if past.ours:
        return await job.end(await _pause(job))
    try:
        await _never_ends(job)
    except CubeError as error:
        return await job.end(_unprotected(error))
    outcome = await _pause(job, kept_for_ever=True)
    if isinstance(outcome, Failed | Unknown) and outcome.code != "sandbox-gone":
        outcome = replace(outcome, safe=f"{outcome.safe} {KEPT_FOR_EVER}")
    return await job.end(outcome, {IDLE: NEVER})


async def _never_ends(job: Change) -> None:
    """Set its idle time to never. An answer that was lost is judged by looking."""
    try:
        await job.deps.cube.set_timeout(job.sandbox_id, NEVER)
    except CubeError as error:
        if not is_unknown_outcome(error.fault):
            raise
        seen = await state_now(job.sandbox_id, job.deps)
        if seen is None or idle_left(seen, job.deps.clock.now()).kind is not IdleKind.NEVER:
            raise


async def _pause(job: Change, *, kept_for_ever: bool = False) -> Outcome[Paused]:
    clock = job.deps.clock
    began = clock.monotonic()
    asking = _Asking(job, began)
    refusal: CubeError | None = None
    pause = 0.1
    while True:
        refusal = await asking.ask_if_due() or refusal
        try:
            seen = await state_now(job.sandbox_id, job.deps)
        except CubeError:
            pass  # a look that fails says nothing; there is time for the next one
        else:
            if seen is None:
                return _vanished(job)
            if seen.state is SandboxState.PAUSED:
                seconds = clock.monotonic() - began
                return Done("paused", _paused(job, seconds=seconds, kept_for_ever=kept_for_ever))
            asking.under_way = seen.state is SandboxState.PAUSING
            if refusal and not asking.under_way:
                return _failed(refusal)
        if clock.monotonic() - began > PAUSE_SECONDS:
            return _given_up(job, asking)
        await clock.sleep(pause)
        pause = min(pause * 2, 2.0)


class _Asking:
    """Asking Cube for the pause: once, and once more where that may have been lost or came too early."""

    def __init__(self, job: Change, began: float) -> None:
        self._job = job
        self._due: float | None = began
        self._again = True
        self.taken = False
        """Cube may have taken it on."""
        self.under_way = job.found.view.state is SandboxState.PAUSING
        """Cube's list shows it as pausing."""
        self.busy: CubeError | None = None
        """Another change of the sandbox was in the way, the last time."""

    async def ask_if_due(self) -> CubeError | None:
        """Ask, when it is time to. Gives a refusal that waiting does not help."""
        clock = self._job.deps.clock
        if self._due is None or clock.monotonic() < self._due or self.under_way:
            return None
        self._due, self.busy = None, None
        try:
            await self._job.deps.cube.pause(self._job.sandbox_id)
        except CubeError as error:
            kind = error.fault.kind
            if kind is FaultClass.CONFLICT_RETRY:
                self.busy = error
                self._due = clock.monotonic() + (error.fault.retry_after_s or 2)
            elif is_unknown_outcome(error.fault):
                self.taken = True
                self._due = clock.monotonic() + ASK_AGAIN_AFTER if self._again else None
                self._again = False
            elif kind is not FaultClass.ALREADY_PAUSED:
                return error
        else:
            self.taken = True
        return None


def _paused(
    job: Change, *, seconds: float = 0.0, already: bool = False, kept_for_ever: bool = False
) -> Paused:
    return Paused(
        sandbox_id=job.sandbox_id, home=job.found.home, owner=job.found.owner, seconds=seconds,
        already=already, kept_for_ever=kept_for_ever, wakes_on_use=job.deps.rules.lifecycle.auto_resume,
    )  # fmt: skip


def _given_up(job: Change, asking: _Asking) -> Failed | Unknown:
    if asking.busy and not asking.taken and not asking.under_way:
        return _failed(asking.busy)
    seen = "shows it as pausing" if asking.under_way else "still shows it as running"
    return Unknown(
        code="pause-unknown",
        what=f"Cube was asked to pause the sandbox, and after {PAUSE_SECONDS:.0f} seconds it {seen}.",
        safe=f"Nothing was destroyed. {HOMES_ARE_SAFE}",
        todo="Look again in a few minutes; if it stays so, tell the people who run Cube.",
        offers=(Offer.STATUS,),
        sandbox=job.sandbox_id,
    )


def _failed(error: CubeError) -> Failed:
    what, todo = sentences(error)
    if error.fault.status == HTTPStatus.CONFLICT or error.fault.retryable:
        todo = "Wait a minute, then try again."
    return Failed(
        code=code_of(error), what=f"The sandbox was not paused: {_small(what)}",
        safe=f"It runs as before. {HOMES_ARE_SAFE}", todo=todo, detail=str(error),
    )  # fmt: skip


def _unprotected(error: CubeError) -> Failed:
    _, todo = sentences(error)
    return Failed(
        code=code_of(error),
        what="The sandbox was not paused: I did not make it, and could not set its idle time to never first.",
        safe="It runs as before. Paused as it is, the end of its idle time could have destroyed it.",
        todo="Wait a minute, then try again." if "Continue" in todo else todo,
        detail=str(error),
    )


def _vanished(job: Change) -> Failed:
    missing = gone(job.found)
    return Failed(
        code="sandbox-gone",
        what="While it was being paused, Cube said twice that the sandbox does not exist any more.",
        safe=missing.safe,
        todo=missing.todo,
    )


def _small(sentence: str) -> str:
    return sentence if sentence.startswith("Cube") else sentence[:1].lower() + sentence[1:]
