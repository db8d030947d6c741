"""Shows a stream of step events as one message, edited seldom enough for Slack and always at the end."""

import asyncio
import logging
from collections.abc import AsyncIterable, Awaitable, Callable

from bot.domain.outcome import Done, Failed, Outcome, Refused, Unknown
from bot.domain.provisioning import Finished, Provisioned, StepEvent
from bot.ports import Clock
from handlers.jobs import BROKEN
from handlers.render.mrkdwn import seconds
from handlers.render.progress import Progress

logger = logging.getLogger(__name__)

EDIT_EVERY = 3.0
"""Seconds between two edits; Slack's own guidance for messages that are edited while they grow."""

Show = Callable[[Progress], Awaitable[object]]


async def follow(
    events: AsyncIterable[StepEvent | Finished], progress: Progress, show: Show, clock: Clock
) -> Outcome[Provisioned] | None:
    """Consume ``events`` at their own speed, ``show`` the latest state, and give the outcome.

    A slow or refused edit never holds up the work. Whatever happens, the last edit shows the end. None =
    the events ended without one, because the bot is told to stop; then the last edit is left to the caller.
    """
    editor = _Editor(show, clock, progress)
    editing = asyncio.create_task(editor.run())
    outcome: Outcome[Provisioned] | None = None
    try:
        async for event in events:
            if isinstance(event, Finished):
                outcome = event.outcome
            else:
                editor.update(editor.progress.after(event))
    except asyncio.CancelledError:
        editing.cancel()
        raise
    except Exception:
        logger.exception("the work on request %s broke", progress.request_id)
        outcome = BROKEN
    editor.stop()
    await editing
    if outcome is None:
        return None
    await show(_closed(editor.progress, outcome))
    return outcome


def _closed(progress: Progress, outcome: Outcome[Provisioned]) -> Progress:
    step = progress.current.value if progress.current else 1
    match outcome:
        case Done(value=result):
            return progress.closed(f"ready in {seconds(sum(result.durations.values()))}", well=True)
        case Refused():
            return progress.closed("not started", well=False)
        case Failed(code="cancelled"):
            return progress.closed("cancelled", well=False)
        case Failed():
            return progress.closed(f"stopped in step {step}", well=False)
        case Unknown():
            return progress.closed(f"step {step} ended without a clear answer", well=False)


class _Editor:
    """Edits one message to the latest state, at most every EDIT_EVERY seconds."""

    def __init__(self, show: Show, clock: Clock, progress: Progress) -> None:
        self._show = show
        self._clock = clock
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self.progress = progress

    def update(self, progress: Progress) -> None:
        self.progress = progress
        self._changed.set()

    def stop(self) -> None:
        self._stopped.set()
        self._changed.set()

    async def run(self) -> None:
        earliest = self._clock.monotonic()
        while True:
            await self._changed.wait()
            await self._until(earliest)
            if self._stopped.is_set():
                return
            self._changed.clear()
            earliest = self._clock.monotonic() + EDIT_EVERY
            try:
                await self._show(self.progress)
            except Exception:
                logger.exception("a progress edit broke")

    async def _until(self, earliest: float) -> None:
        """Wait for that moment, or for the end, whichever comes first."""
        left = earliest - self._clock.monotonic()
        if left <= 0 or self._stopped.is_set():
            return
        waits = [asyncio.create_task(self._clock.sleep(left)), asyncio.create_task(self._stopped.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
