"""How fast we may talk to Slack: about one message a second in a channel; edits and whispers by workspace.

Slack answers too many with 429, or takes them and hides them. Rates: Slack's rate limit reference.
"""

from bot.ports import Clock

MESSAGE_EVERY = 1.0
MESSAGE_BURST = 4
EDIT_EVERY = 60 / 50
EDIT_BURST = 10
WHISPER_EVERY = 60 / 100
WHISPER_BURST = 10
CHANNELS = 2_000
"""Channels that are remembered; quiet ones are forgotten first."""


class Pace:
    """One call every ``interval`` seconds on average, with ``burst`` of them at once."""

    def __init__(self, clock: Clock, *, interval: float, burst: int) -> None:
        self._clock = clock
        self._interval = interval
        self._slack = interval * (burst - 1)
        self._next = clock.monotonic()

    @property
    def idle(self) -> bool:
        """Whether forgetting it would change nothing."""
        return self._next <= self._clock.monotonic()

    async def turn(self) -> None:
        """Wait for a turn. Turns are given in the order of asking."""
        now = self._clock.monotonic()
        planned = max(self._next, now)
        self._next = planned + self._interval
        wait = planned - self._slack - now
        if wait > 0:
            await self._clock.sleep(wait)


class ChannelPaces:
    """A pace per channel."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._paces: dict[str, Pace] = {}

    async def turn(self, channel: str) -> None:
        """Wait for a turn in this channel."""
        if channel not in self._paces:
            if len(self._paces) >= CHANNELS:
                self._paces = {name: pace for name, pace in self._paces.items() if not pace.idle}
            self._paces[channel] = Pace(self._clock, interval=MESSAGE_EVERY, burst=MESSAGE_BURST)
        await self._paces[channel].turn()
