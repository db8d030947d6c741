"""Waking a paused sandbox, and making sure that it really runs: an answer alone proves little."""

from bot.domain.errors import CubeError, GuestError
from bot.domain.explanations import is_unknown_outcome
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.deps import Deps
from bot.usecases.occupancy import confirmed

AWAKE_SECONDS = 15.0
"""How long a woken sandbox may take until it shows as running and a command inside answers."""


class UnseenError(CubeError):
    """Cube was told to wake it, and cannot be asked afterwards how it is."""


async def wake(sandbox_id: str, deps: Deps) -> SandboxView | None:
    """Resume it, and wait until it runs and answers. Gives how it stands then; None when it is gone.

    A pause that waited in line undoes a resume at once, although Cube has answered well: then it is resumed
    once more, and not a third time. Raises the ``CubeError`` of a resume that Cube refuses
    or whose answers were lost while it slept on, and `UnseenError`.
    """
    lost = await _resume(sandbox_id, deps)
    clock = deps.clock
    began = clock.monotonic()
    pause, resumed_again = 0.1, False
    while True:
        late = clock.monotonic() - began > AWAKE_SECONDS
        try:
            now = await confirmed(deps, sandbox_id)
        except CubeError as error:  # a look that fails says nothing; there is time for the next one
            if late:
                raise UnseenError(error.fault) from error
        else:
            if now is None or (now.state is SandboxState.RUNNING and await _answers(sandbox_id, deps)):
                return now
            if late and lost and now.state is SandboxState.PAUSED:
                raise lost  # nothing tells that it has ever been awake
            if late:
                return now
            if now.state is SandboxState.PAUSED and not resumed_again:
                resumed_again = True
                again = await _resume(sandbox_id, deps)
                lost = lost and again
        await clock.sleep(pause)
        pause = min(pause * 2, 2.0)


async def _resume(sandbox_id: str, deps: Deps) -> CubeError | None:
    """Ask for it. An answer that was lost is given back, to be judged by looking afterwards."""
    try:
        await deps.cube.resume(sandbox_id)
    except CubeError as error:
        if not is_unknown_outcome(error.fault):
            raise
        return error
    return None


async def _answers(sandbox_id: str, deps: Deps) -> bool:
    try:
        return await deps.guest.answers(sandbox_id)
    except (GuestError, CubeError):
        return False
