"""One lane a channel: what is posted and edited there goes one after the other, a second apart.

Posts keep their order and go before waiting edits. Of several edits of one message that wait only the newest
is sent; it is the answer to all of them. Whatever a call has to wait for, its lane waits with it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from bot.adapters import slack_pace
from bot.adapters.slack_pace import LONGEST_WAIT, Pace, Turns, first_of
from bot.domain.errors import ChatError
from bot.ports import Clock

T = TypeVar("T")
Send = Callable[[Turns], Awaitable[T]]
"""Makes its calls, and takes a turn before each of them."""

CHANNELS = 2_000
"""Channels that are remembered; quiet ones are forgotten first."""


@dataclass(slots=True, eq=False)
class _Job:
    send: Send[Any]
    callers: list[asyncio.Future[Any]] = field(default_factory=list)

    @property
    def abandoned(self) -> bool:
        return all(caller.cancelled() for caller in self.callers)

    async def run(self, turns: Turns) -> None:
        try:
            result = await self.send(turns)
        except asyncio.CancelledError:
            self.fail(ChatError("slack-unreachable", "the way to Slack was closed"))
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to whoever waits for the result
            self.fail(error)
        else:
            for caller in self._waiting():
                caller.set_result(result)

    def fail(self, error: Exception) -> None:
        for caller in self._waiting():
            caller.set_exception(error)

    def _waiting(self) -> list[asyncio.Future[Any]]:
        return [caller for caller in self.callers if not caller.done()]


class Lane:
    """The lane of one channel."""

    def __init__(self, clock: Clock, posts: Pace, edits: Pace, *, every: float) -> None:
        self._clock = clock
        self._pace = Pace(clock, interval=every)
        self._post_turns = Turns(clock, (self._pace,), (posts,))
        self._edit_turns = Turns(clock, (self._pace, edits))
        self._posts: deque[_Job] = deque()
        self._edits: dict[str, _Job] = {}
        self._arrived = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether forgetting it would change nothing."""
        return self._worker is None and self._pace.idle

    async def post(self, send: Send[T]) -> T:
        """Send in turn."""
        job = _Job(send)
        self._posts.append(job)
        return cast("T", await self._result(job))

    async def edit(self, ts: str, send: Send[None]) -> None:
        """Send when nothing is to be posted, unless a newer edit of the same message takes its place."""
        job = self._edits.setdefault(ts, _Job(send))
        job.send = send
        await self._result(job)

    def posted_elsewhere(self) -> None:
        """Something has just been sent to this channel by another way."""
        self._pace.ended()

    async def close(self) -> None:
        """End what runs; who waits is told."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        for job in (*self._posts, *self._edits.values()):
            job.fail(ChatError("slack-unreachable", "the way to Slack was closed"))

    async def _result(self, job: _Job) -> Any:
        caller: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        job.callers.append(caller)
        self._arrived.set()
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="slack lane")
        return await caller

    async def _work(self) -> None:
        try:
            while self._posts or self._edits:
                turns = self._post_turns if self._posts else self._edit_turns
                # Where Slack wants us to be still for longer than anybody waits, the call itself says so.
                if turns.wait > 0 and turns.held <= LONGEST_WAIT:
                    self._arrived.clear()
                    await first_of(self._clock, turns.wait, self._arrived)
                    continue
                job = self._posts.popleft() if self._posts else self._edits.pop(next(iter(self._edits)))
                if not job.abandoned:
                    await job.run(turns)
        finally:
            self._worker = None


class Lanes:
    """The lanes of all channels."""

    def __init__(self, clock: Clock, posts: Pace, edits: Pace) -> None:
        self._clock = clock
        self._posts = posts
        self._edits = edits
        self._every = slack_pace.MESSAGE_EVERY
        self._lanes: dict[str, Lane] = {}

    def of(self, channel: str) -> Lane:
        """The lane of a channel, or of a person until it is known which conversation that is."""
        if channel not in self._lanes:
            if len(self._lanes) >= CHANNELS:
                self._lanes = {name: lane for name, lane in self._lanes.items() if not lane.idle}
            self._lanes[channel] = Lane(self._clock, self._posts, self._edits, every=self._every)
        return self._lanes[channel]

    def same(self, person: str, channel: str) -> None:
        """What is sent to this person stands in this channel."""
        mine = self.of(person)
        lane = self._lanes.setdefault(channel, mine)
        if lane is not mine:
            lane.posted_elsewhere()
            self._lanes[person] = lane

    async def close(self) -> None:
        """End all."""
        for lane in set(self._lanes.values()):
            await lane.close()
