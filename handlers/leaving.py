"""The bot is told to stop: a create ends between two of its steps, and its thread is told in time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from bot.domain.provisioning import CreateRequest, Finished, Step, StepEvent, StepState
from bot.ports import Message
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


class Farewell:
    """What a thread is owed when the bot goes: how far its create came, or else how it ended."""

    def __init__(self, request: CreateRequest, talk: Conversation, progress_ts: asyncio.Future[str]) -> None:
        self._request = request
        self._talk = talk
        self._progress_ts = progress_ts
        self._telling: asyncio.Task[None] | None = None
        self._unsaid: Message | None = None

    async def ending(self, message: Message) -> None:
        """Say how it ended. While that waits for its turn it is not forgotten."""
        self._unsaid = message
        await self._talk.say(message)
        self._unsaid = None

    async def say_ending(self) -> None:
        """Say it past the queue, if nobody has been told yet: the next start does not look for it."""
        if self._unsaid is not None:
            await self._talk.say_elsewhere(self._unsaid)

    async def say(self, progress: Progress) -> None:
        """Say how far it came. Asked again it waits for the same telling, which a cancelled caller leaves on.

        What cannot be said now, the next start says.
        """
        if self._telling is None:
            self._telling = asyncio.ensure_future(self._tell(progress))
        await asyncio.shield(self._telling)

    async def _tell(self, progress: Progress) -> None:
        # All at once, because there are seconds for it.
        await asyncio.gather(
            self._talk.say(leaving_message(self._request, progress), essential=False),
            self._settle(progress),
            self._talk.edit_first(leaving_announcement(self._request, progress)),
        )

    async def _settle(self, progress: Progress) -> None:
        """The message with the steps may still be on its way to Slack, and must not stay as it is then."""
        closed = progress_message(progress.closed(leaving_line(progress), well=False))
        await self._talk.edit(await asyncio.shield(self._progress_ts), closed)
