"""Shows a stream of step events as one message, edited seldom enough for Slack."""

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
"""May be cancelled while it waits for its turn; the next one shows more."""


async def follow(
    events: AsyncIterable[StepEvent | Finished], progress: Progress, show: Show, clock: Clock
) -> tuple[Outcome[Provisioned] | None, Progress]:
    """Consume ``events`` at their own speed, ``show`` the latest state, and give the outcome.

    A slow or refused edit holds up neither the work nor its outcome. The progress that is given back shows
    the end and is for the caller to show: the outcome is worth more to people than the last edit. No outcome
    = the events ended without one, because the bot is told to stop.
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
    except Exception:
        logger.exception("the work on request %s broke", progress.request_id)
        outcome = BROKEN
    finally:
        editing.cancel()
    await asyncio.gather(editing, return_exceptions=True)
    return outcome, _closed(editor.progress, outcome) if outcome else editor.progress


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
        self.progress = progress

    def update(self, progress: Progress) -> None:
        self.progress = progress
        self._changed.set()

    async def run(self) -> None:
        """Does not wait for the last edit: of those that wait for their turn only the newest is sent."""
        earliest = self._clock.monotonic()
        async with asyncio.TaskGroup() as edits:
            while True:
                await self._changed.wait()
                left = earliest - self._clock.monotonic()
                if left > 0:
                    await self._clock.sleep(left)
                self._changed.clear()
                earliest = self._clock.monotonic() + EDIT_EVERY
                edits.create_task(self._edit(self.progress))

    async def _edit(self, progress: Progress) -> None:
        try:
            await self._show(progress)
        except Exception:
            logger.exception("a progress edit broke")
