"""The bot is told to stop: a create ends between two of its steps, and its thread is told in time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from bot.domain.provisioning import CreateRequest, Finished, Step, StepEvent, StepState
from handlers.conversation import Conversation
from handlers.render.leaving import leaving_announcement, leaving_line, leaving_message
from handlers.render.progress import Progress, progress_message

ONLY_LOOKS = frozenset({Step.HEALTH})
"""Steps that change nothing and end the job: one that waits for them is let through."""


class Boundaries:
    """The events of a create, which end early, between two steps, once the bot is told to stop.

    Whoever reads them then closes the create, which leaves its intent open in the audit log with every step
    that was done: that is what the next start finds.
    """

    def __init__(
        self,
        events: AsyncGenerator[StepEvent | Finished, None],
        progress: Progress,
        leaving: Callable[[], bool],
    ) -> None:
        self.events = events
        """To be closed by whoever has read them."""
        self._leaving = leaving
        self.progress = progress
        """As far as it has come."""
        self.finished = False
        """The create has come to its own end, so there is nothing to tell about a restart."""

    async def __aiter__(self) -> AsyncIterator[StepEvent | Finished]:
        """The events up to the end or the boundary."""
        async for event in self.events:
            if isinstance(event, Finished):
                self.finished = True
            elif event.state is StepState.RUNNING and self._leaving() and event.step not in ONLY_LOOKS:
                return
            else:
                self.progress = self.progress.after(event)
                self.finished = event.state is StepState.FAILED
            yield event


async def tell_leaving(
    request: CreateRequest, progress: Progress, talk: Conversation, progress_ts: asyncio.Future[str]
) -> None:
    """Say in the thread how far it came. All at once, because there are seconds for it.

    What cannot be said now, the next start says; so does a progress message that Slack has not taken yet.
    """
    line = leaving_line(progress)
    shown = progress_ts.result() if progress_ts.done() and not progress_ts.cancelled() else ""
    await asyncio.gather(
        talk.say(leaving_message(request, progress), essential=False),
        talk.edit(shown, progress_message(progress.closed(line, well=False))),
        talk.edit_first(leaving_announcement(request, progress)),
    )
