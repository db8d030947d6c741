"""Work after the ack: supervised, bounded, never lost.

Slack's clock stops at the ack; what follows may take minutes. Bolt would start any number of tasks, keep no
reference to them and lose their errors, so listeners hand their work to ``Jobs`` instead.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

from bot.domain.outcome import Failed, NotDone, Refused, Unknown

logger = logging.getLogger(__name__)

BUSY = Refused(
    code="bot-busy",
    what="I have more to do right now than I can take on.",
    safe="Nothing was started for this, and nothing was changed.",
    todo="Please try again in a minute.",
)
CLOSING = Refused(
    code="bot-restarting",
    what="I am just being restarted.",
    safe="Nothing was started for this, and nothing was changed.",
    todo="Please try again in half a minute.",
)
CUT = Unknown(
    code="bot-restarting",
    what="I am just being restarted, and this took too long to wait for.",
    safe="No home, workspace or private Skill was removed; the audit log has what was done.",
    todo="Please ask again in half a minute.",
)
BROKEN = Failed(
    code="internal-error",
    what="Something inside me broke while I worked on this.",
    safe="No home, workspace or private Skill was removed; the audit log says how far it came.",
    todo="Try again; if it happens twice, an administrator finds the reason in the bot's log.",
)


class Lane(Enum):
    """Kinds of work that must not wait for each other."""

    QUICK = "quick"
    """Answers: a handful of Slack calls."""
    OPENING = "opening"
    """Opening threads: a channel takes about one message a second, and many may be asked for at once."""
    LONG = "long"
    """Provisioning and stopping: minutes."""
    HOMES = "homes"
    """Drawing App Homes after a change. Nobody waits for that, and nobody is told when it is left out."""
    SORRY = "sorry"
    """Telling people that one of the others is full or broken."""


WORK = (Lane.QUICK, Lane.OPENING, Lane.LONG)
"""The lanes that do what people asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of work and how its person is told when it cannot be done."""

    name: str
    """For the log; ids only, nothing typed."""
    run: Callable[[], Awaitable[None]]
    tell: Callable[[NotDone], Awaitable[None]]
    leave: Callable[[], Awaitable[None]] | None = None
    """How its person is told that the bot goes before the work is done; it has no clear end then."""


@dataclass(slots=True)
class _Queue:
    """One lane: what runs, what waits, and how many there may be of each."""

    width: int
    depth: int
    running: dict[asyncio.Task[None], Job] = field(default_factory=dict)
    waiting: deque[Job] = field(default_factory=deque)

    @property
    def full(self) -> bool:
        return len(self.running) >= self.width and len(self.waiting) >= self.depth


class Jobs:
    """Runs jobs in lanes, each with a bounded number running and waiting."""

    def __init__(
        self,
        *,
        quick: tuple[int, int] = (16, 600),
        opening: tuple[int, int] = (16, 600),
        long: tuple[int, int] = (16, 100),
        homes: tuple[int, int] = (2, 100),
        sorry: int = 1_000,
    ) -> None:
        self._lanes = {
            Lane.QUICK: _Queue(*quick),
            Lane.OPENING: _Queue(*opening),
            Lane.LONG: _Queue(*long),
            Lane.HOMES: _Queue(*homes),
            Lane.SORRY: _Queue(2, sorry),
        }
        self._closing = False

    def start(self, job: Job, lane: Lane) -> bool:
        """Take a job on. Never waits and never raises; False = it was turned away and its person is told."""
        if self._closing or self._lanes[lane].full:
            if lane is not Lane.HOMES:
                self._apologise(job, CLOSING if self._closing else BUSY)
            return False
        self._lanes[lane].waiting.append(job)
        self._fill(lane)
        return True

    def waiting(self, lane: Lane) -> int:
        """How many jobs of the lane have not begun."""
        return len(self._lanes[lane].waiting)

    @property
    def closing(self) -> bool:
        """Whether the bot is told to stop: work that can ends at its next boundary."""
        return self._closing

    def close(self) -> None:
        """Take nothing new; whoever asks is told so. Work that can be asked for again is dropped."""
        self._closing = True
        for lane in (Lane.LONG, Lane.OPENING):
            unbegun = self._lanes[lane].waiting
            while unbegun:
                self._apologise(unbegun.popleft(), CLOSING)

    async def idle(self) -> None:
        """Wait until nothing runs and nothing waits."""
        while tasks := self._tasks(*Lane):
            await asyncio.wait(tasks)

    async def drain(self, grace: float, telling: float = 0.0) -> list[str]:
        """Close, give what runs ``grace`` seconds, end the rest and have it told; gives the names of those.

        ``telling`` is how many seconds the people of ended jobs may be told for. Such a job is one that the
        next start finds interrupted. Apologies go on afterwards, until ``finish``.
        """
        self.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while tasks := self._tasks(*WORK):
                    await asyncio.wait(tasks)
        quick = self._lanes[Lane.QUICK]
        for job in quick.waiting:
            self._apologise(job, CLOSING)
        for job in quick.running.values():
            self._apologise(job, CUT)
        queues = [self._lanes[lane] for lane in WORK]
        left = [job for queue in queues for job in (*queue.running.values(), *queue.waiting)]
        for queue in queues:
            queue.waiting.clear()
        await _end(self._tasks(*WORK))
        for job in left:
            logger.warning("job ended by shutdown: %s", job.name)
        await self._leave(left, telling)
        return [job.name for job in left]

    async def finish(self, grace: float) -> None:
        """Give apologies their last ``grace`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self.idle()
        unsaid = sum(len(queue.running) + len(queue.waiting) for queue in self._lanes.values())
        if unsaid:
            logger.warning("%d people could not be told any more that the bot is being restarted", unsaid)
        for queue in self._lanes.values():
            queue.waiting.clear()
        await _end(self._tasks(*Lane))

    async def _leave(self, left: list[Job], grace: float) -> None:
        telling = {asyncio.ensure_future(job.leave()): job for job in left if job.leave}
        if not telling:
            return
        told, untold = await asyncio.wait(telling, timeout=grace)
        for task in told:
            if task.exception():
                logger.error(
                    "%s could not be told of the restart", telling[task].name, exc_info=task.exception()
                )
        for task in untold:
            logger.warning("%s is told of the restart by the next start only", telling[task].name)
        await _end(list(untold))

    def _tasks(self, *lanes: Lane) -> list[asyncio.Task[None]]:
        return [task for lane in lanes for task in self._lanes[lane].running]

    def _fill(self, lane: Lane) -> None:
        queue = self._lanes[lane]
        while queue.waiting and len(queue.running) < queue.width:
            job = queue.waiting.popleft()
            task = asyncio.get_running_loop().create_task(self._supervise(job, lane), name=job.name)
            queue.running[task] = job
            task.add_done_callback(lambda ended: self._ended(ended, lane))

    def _ended(self, task: asyncio.Task[None], lane: Lane) -> None:
        self._lanes[lane].running.pop(task, None)
        self._fill(lane)

    async def _supervise(self, job: Job, lane: Lane) -> None:
        try:
            await job.run()
        except Exception:
            logger.exception("job broke: %s", job.name)
            if lane not in (Lane.SORRY, Lane.HOMES):
                self._apologise(job, BROKEN)

    def _apologise(self, job: Job, why: NotDone) -> None:
        queue = self._lanes[Lane.SORRY]
        if queue.full:
            logger.error("nobody could be told about %s: %s", job.name, why.code)
            return

        async def tell() -> None:
            await job.tell(why)

        queue.waiting.append(Job(name=f"tell {job.name}: {why.code}", run=tell, tell=job.tell))
        self._fill(Lane.SORRY)


async def _end(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
