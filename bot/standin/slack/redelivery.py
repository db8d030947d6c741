"""Events are sent again until the app acknowledges one of them: at once, after a minute, after five.

The waits are on the stand-in clock. A redelivery is a new envelope with the same ``event_id``; an
acknowledgement that came too late for its own envelope does not stop it, as with a late HTTP answer.
Source: Events API, "Retries". Commands and interactions are not sent again.
"""

from collections.abc import Awaitable, Callable

from bot.standin.clock import StandInClock
from bot.standin.slack.envelopes import Delivery

RETRY_AFTER_S = (0.0, 60.0, 300.0)
_REASONS = {"operation_timeout": "timeout", "dispatch_failed": "connection_failed"}

Again = Callable[[tuple[int, str]], Awaitable[Delivery]]
"""Sends an event once more, with the number and the reason of the retry."""


async def send_again(clock: StandInClock, again: Again, last: Delivery) -> None:
    """Retry after a first delivery that was not acknowledged."""
    for attempt, wait_s in enumerate(RETRY_AFTER_S, start=1):
        await clock.reach(clock.time() + wait_s)
        last = await again((attempt, _REASONS[last.outcome]))
        if last.outcome == "acked":
            return
