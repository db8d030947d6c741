"""Waking a paused sandbox, and making sure that it really runs: an answer alone proves little."""

from bot.domain.errors import CubeError, GuestError
from bot.domain.explanations import is_unknown_outcome
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.deps import Deps

AWAKE_SECONDS = 15.0
"""How long a woken sandbox may take until it shows as running and a command inside answers."""


async def wake(sandbox_id: str, deps: Deps) -> SandboxView | None:
    """Resume it, and wait until it runs and answers. Gives how it stands then; None when it is gone.

    A pause that waited in line undoes a resume at once, although Cube has answered well: then it is resumed
    once more, and not a third time. Raises the ``CubeError`` of a resume that Cube refuses.
    """
    await _resume(sandbox_id, deps)
    clock = deps.clock
    began = clock.monotonic()
    pause, resumed_again = 0.1, False
    while True:
        now = await deps.cube.get(sandbox_id)
        if now is None or (now.state is SandboxState.RUNNING and await _answers(sandbox_id, deps)):
            return now
        if clock.monotonic() - began > AWAKE_SECONDS:
            return now
        if now.state is SandboxState.PAUSED and not resumed_again:
            resumed_again = True
            await _resume(sandbox_id, deps)
        await clock.sleep(pause)
        pause = min(pause * 2, 2.0)


async def _resume(sandbox_id: str, deps: Deps) -> None:
    """An answer that was lost is judged by looking afterwards."""
    try:
        await deps.cube.resume(sandbox_id)
    except CubeError as error:
        if not is_unknown_outcome(error.fault):
            raise


async def _answers(sandbox_id: str, deps: Deps) -> bool:
    try:
        return await deps.guest.answers(sandbox_id)
    except (GuestError, CubeError):
        return False
