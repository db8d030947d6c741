"""Events are sent again until the app acknowledges one of them: at once, after a minute, after five.

The waits are on the stand-in clock. A redelivery is a new envelope with the same ``event_id``; an
acknowledgement that came too late for its own envelope does not stop it, as with a late HTTP answer.
Source: Events API, "Retries". Commands and interactions are not sent again.
"""

from typing import Any

from bot.standin.slack.envelopes import Delivery
from bot.standin.slack.world import World

RETRY_AFTER_S = (0.0, 60.0, 300.0)
_REASONS = {"operation_timeout": "timeout", "dispatch_failed": "connection_failed"}


async def deliver_event(world: World, payload: dict[str, Any]) -> Delivery:
    """Deliver an event; gives what became of the first try."""
    first = await world.sockets.deliver("events_api", payload, accepts_response_payload=False)
    if first.outcome != "acked":
        world.sockets.go_on(_again(world, payload, first))
    return first


async def _again(world: World, payload: dict[str, Any], last: Delivery) -> None:
    for attempt, wait_s in enumerate(RETRY_AFTER_S, start=1):
        await world.clock.reach(world.clock.time() + wait_s)
        last = await world.sockets.deliver(
            "events_api",
            payload,
            accepts_response_payload=False,
            retry=(attempt, _REASONS[last.outcome]),
        )
        if last.outcome == "acked":
            return
