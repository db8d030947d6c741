"""What goes wrong with one call: slow, throttled, broken, never answered, cut off after the write.

The same faults hit the Web API, response URLs (named ``response_url``) and uploaded bytes (``upload``).
The last two are no methods of the Web API, so that only a fault that names them hits them.
"""

import asyncio

from aiohttp import web

from bot.standin.faults import Fault, Faults
from bot.standin.slack.errors import SlackError

RESPONSE_URL = "response_url"
UPLOAD = "upload"
SLOW_S = 4.0
_LOOK_S = 0.05
_SERVER_ERRORS = range(500, 600)


class CallFaults:
    """The armed faults, met before and after each call is carried out."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    async def before(self, name: str, request: web.Request) -> None:
        """Meet what happens to a call that has not done anything yet.

        Raises:
            SlackError: Status 429 or 5xx.
        """
        if slow := self._take("slow-api", name):
            await asyncio.sleep(slow.number("delay_s", SLOW_S))
        if limited := self._take("rate-limited", name):
            wait_s = max(1, round(limited.number("retry_after", 1)))
            raise SlackError("ratelimited", status=429, headers={"Retry-After": str(wait_s)})
        if broken := self._take("server-error", name):
            status = int(broken.number("status", 500))
            raise SlackError("internal_error", status=status if status in _SERVER_ERRORS else 500)
        if self._take("no-answer", name, written=False):
            await _say_nothing(request)

    async def after(self, name: str, request: web.Request) -> None:
        """Meet what happens to a call that was carried out: its caller never learns of it."""
        if self._take("drop-after-write", name):
            _cut_off(request)
        elif self._take("no-answer", name, written=True):
            await _say_nothing(request)

    def _take(self, kind: str, name: str, **match: object) -> Fault | None:
        take = self._faults.take_named if name in (RESPONSE_URL, UPLOAD) else self._faults.take
        return take("slack", kind, method=name, **match)


async def _say_nothing(request: web.Request) -> None:
    """Keep the connection open until the caller gives up; what is answered then reaches nobody."""
    while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110  # no event tells
        await asyncio.sleep(_LOOK_S)


def _cut_off(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
