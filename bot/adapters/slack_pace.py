"""How fast we may talk to Slack: a message or edit a second in a channel; the rest by workspace and method.

Slack answers too many with 429, or takes them and hides them. Rates: Slack's rate limit reference.
"""

import asyncio
from dataclasses import dataclass

from bot.ports import Clock

MESSAGE_EVERY = 1.0
"""Seconds from the end of one post or edit to the next one in the same channel: no two are ever closer."""
POST_EVERY = 60 / 300
POST_BURST = 20
"""Slack takes "several hundred" posts a minute from an app, over all channels."""
EDIT_EVERY = 60 / 40
EDIT_BURST = 10
"""With its burst a minute holds the 50 of Slack's tier 3; so for whispers, the 100 of tier 4."""
WHISPER_EVERY = 60 / 90
WHISPER_BURST = 10
LONGEST_WAIT = 60.0
"""Seconds that a call waits for Slack's rate limit in all; beyond, its sender is told."""


class Pace:
    """One call every ``interval`` seconds on average, with ``burst`` of them at once."""

    def __init__(self, clock: Clock, *, interval: float = 0.0, burst: int = 1) -> None:
        self._clock = clock
        self._interval = interval
        self._slack = interval * (burst - 1)
        self._next = clock.monotonic()
        self._held_until = self._next

    @property
    def idle(self) -> bool:
        """Whether forgetting it would change nothing."""
        return max(self._next, self._held_until) <= self._clock.monotonic()

    @property
    def wait(self) -> float:
        """Seconds until the next call may go; not positive when it may go now."""
        return max(self._next - self._slack, self._held_until) - self._clock.monotonic()

    @property
    def held(self) -> float:
        """Seconds for which Slack has asked us to be still."""
        return self._held_until - self._clock.monotonic()

    def take(self) -> None:
        """A call goes now."""
        self._next = max(self._next, self._clock.monotonic()) + self._interval

    def ended(self) -> None:
        """The call has its answer: when Slack received it is not known better than that."""
        self._next = max(self._next, self._clock.monotonic() + self._interval - self._slack)

    def hold(self, seconds: float) -> None:
        """Slack asked for it: nothing before."""
        self._held_until = max(self._held_until, self._clock.monotonic() + seconds)


@dataclass(frozen=True, slots=True)
class Turns:
    """The paces that one kind of call obeys. A 429 holds the ``strict`` ones up, not the ``shared``."""

    clock: Clock
    strict: tuple[Pace, ...]
    shared: tuple[Pace, ...] = ()

    @property
    def wait(self) -> float:
        """Seconds until the next call may go."""
        return max(pace.wait for pace in (*self.strict, *self.shared))

    @property
    def held(self) -> float:
        """Seconds for which Slack has asked us to be still."""
        return max(pace.held for pace in self.strict)

    async def turn(self) -> None:
        """Wait for it and take it."""
        while (wait := self.wait) > 0:
            await self.clock.sleep(wait)
        for pace in (*self.strict, *self.shared):
            pace.take()

    def ended(self) -> None:
        """The call has its answer, or none."""
        for pace in self.strict:
            pace.ended()

    def hold(self, seconds: float) -> None:
        """Slack asked for it: nothing before."""
        for pace in self.strict:
            pace.hold(seconds)


class MethodTurns:
    """Turns of calls that only Slack itself slows down, one pace a method."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._of: dict[str, Turns] = {}

    def of(self, method: str) -> Turns:
        """Those of a method."""
        if method not in self._of:
            self._of[method] = Turns(self._clock, (Pace(self._clock),))
        return self._of[method]


async def first_of(clock: Clock, seconds: float, arrival: asyncio.Event) -> None:
    """Wait for a time or an event, whichever comes first."""
    waits = [asyncio.create_task(clock.sleep(seconds)), asyncio.create_task(arrival.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
