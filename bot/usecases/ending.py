"""Ending a sandbox: close Studio, destroy, and prove it gone; waking it only where nothing else works."""

from dataclasses import dataclass, replace

from bot.domain.cube_errors import FaultClass
from bot.domain.errors import CubeError, GuestError
from bot.domain.explanations import is_unknown_outcome
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.deps import Deps
from bot.usecases.waking import wake

GONE_SECONDS = 30.0
"""How long Cube may take until a destroyed sandbox answers 404."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What came of it."""

    gone: bool | None
    """Confirmed twice. False: Cube was told, and still shows it. None: nobody could look."""
    studio_closed: bool | None
    """None when Studio could not be asked, such as in a paused sandbox."""


async def end(view: SandboxView, deps: Deps) -> Ended:
    """Destroy it. Raises the ``CubeError`` of a refusal.

    Platforms up to 0.5.1 cannot delete a paused sandbox, which would block its home for ever. Such a one is
    woken, once, so that it can be deleted. Nothing is tried a second time.
    """
    closed = await _close_studio(view, deps)
    try:
        await _kill(view.sandbox_id, deps)
    except CubeError as refused:
        if refused.fault.kind is not FaultClass.STUCK_NOT_DELETABLE or not await _paused(view, deps):
            raise
        await _wake(view.sandbox_id, refused, deps)
        closed = await _close_studio(replace(view, state=SandboxState.RUNNING), deps)
        try:
            await _kill(view.sandbox_id, deps)
        except CubeError as again:
            raise _both(again, "it had been woken for that") from again
    return Ended(gone=await _gone_twice(view.sandbox_id, deps), studio_closed=closed)


async def _kill(sandbox_id: str, deps: Deps) -> None:
    """Destroy it. An answer that was lost, or that says it is gone, is judged by looking afterwards."""
    try:
        await deps.cube.kill(sandbox_id)
    except CubeError as error:
        if not is_unknown_outcome(error.fault) and error.fault.kind not in ("not_found", "gone"):
            raise


async def _paused(view: SandboxView, deps: Deps) -> bool:
    """As Cube shows it now: what was looked up before a person confirmed may be old."""
    now = await deps.cube.get(view.sandbox_id)
    return now is not None and now.state is SandboxState.PAUSED


async def _wake(sandbox_id: str, refused: CubeError, deps: Deps) -> None:
    """Wake it, so that it can be deleted. Raises the refused deletion with what came in its way."""
    try:
        now = await wake(sandbox_id, deps)
    except CubeError as error:
        words = ", in the same words" if str(error) == str(refused) else f": {error}"
        raise _both(refused, f"waking it first failed too{words}") from error
    if now is not None and now.state is not SandboxState.RUNNING:
        raise _both(refused, f"it was woken first, and is still {now.state.value}")


def _both(refused: CubeError, more: str) -> CubeError:
    """The refusal, and what was tried about it: Cube's words for both, whole, as their ends tell the most."""
    fault = refused.fault
    return CubeError(replace(fault, message=f"{fault.message} ({more})"))


async def _close_studio(view: SandboxView, deps: Deps) -> bool | None:
    """Close Studio's databases first, when that can be done without waking anything."""
    if view.state is not SandboxState.RUNNING:
        return None
    try:
        return await deps.guest.stop_studio(view.sandbox_id)
    except (GuestError, CubeError):
        return None


async def _gone_twice(sandbox_id: str, deps: Deps) -> bool | None:
    """Whether two looks found it gone. A look that fails says nothing; there is time for the next one."""
    clock = deps.clock
    began = clock.monotonic()
    pause, misses = 0.05, 0
    gone: bool | None = None
    while True:
        try:
            misses = misses + 1 if await deps.cube.get(sandbox_id) is None else 0
            gone = misses >= 2  # noqa: PLR2004 - one 404 can be a router that just restarted
        except CubeError:
            misses, gone = 0, None
        if gone or clock.monotonic() - began > GONE_SECONDS:
            return gone
        if not misses:
            await clock.sleep(pause)
            pause = min(pause * 2, 2.0)
