"""One Socket Mode connection of the app, with the ways in which it can go bad."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import WSMsgType, web

from bot.standin.slack.cast import APP_ID

_CLOSING_S = 1.0
_LOOK_S = 0.05
_HOST = "applink-standin"


@dataclass(eq=False, slots=True)
class Connection:
    """One socket. A deaf one stays open, hears nothing, answers no ping and loses what is sent over it.

    ``swallows`` says whether a deaf one still gets envelopes, which are then lost.
    """

    number: int
    request: web.Request
    socket: web.WebSocketResponse
    opened_at: float
    deaf: bool = False
    swallows: bool = True
    envelopes: int = 0

    @classmethod
    async def accept(cls, request: web.Request, *, number: int, opened_at: float) -> "Connection":
        """Upgrade a request."""
        # Pings and closing are answered here and not by aiohttp, because a deaf socket answers neither.
        socket = web.WebSocketResponse(autoping=False, autoclose=False, timeout=_CLOSING_S)
        await socket.prepare(request)
        return cls(number, request, socket, opened_at)

    @property
    def usable(self) -> bool:
        """Whether Slack takes it for one that can get an envelope."""
        return not self.socket.closed and (self.swallows or not self.deaf)

    async def greet(self, others: int) -> None:
        """Say hello."""
        hello = {
            "type": "hello",
            "num_connections": others + 1,
            "debug_info": {
                "host": _HOST,
                "started": time.strftime("%Y-%m-%d %H:%M:%S.000", time.gmtime()),
                "build_number": 1,
                "approximate_connection_time": 18060,
            },
            "connection_info": {"app_id": APP_ID},
        }
        await self.socket.send_str(json.dumps(hello))

    async def send(self, frame: str) -> None:
        """Send an envelope; over a deaf socket it is lost without a sign.

        Raises:
            ConnectionError: The connection is gone.
        """
        self.envelopes += 1
        if not self.deaf:
            await self.socket.send_str(frame)

    async def warn(self, reason: str) -> None:
        """Send a disconnect frame, unless nobody is there any more to hear it."""
        if not self.deaf and not self.socket.closed:
            frame = {"type": "disconnect", "reason": reason, "debug_info": {"host": _HOST}}
            with suppress(ConnectionError):
                await self.socket.send_str(json.dumps(frame))

    async def heard(self, *, until: asyncio.Event) -> AsyncIterator[str]:
        """The text frames of the app, until either side ends the connection."""
        async for frame in self.socket:
            if self.deaf:
                continue
            if frame.type is WSMsgType.PING:
                await self.socket.pong(frame.data)  # with the payload of the ping, as Slack does
            elif frame.type is WSMsgType.TEXT:
                yield frame.data
        if self.deaf:
            await self._hold(until)
        else:
            await self.socket.close()

    async def close(self) -> None:
        """End it in an orderly way."""
        await self.socket.close(message=b"shutdown")

    def abort(self) -> None:
        """End it as a cut cable does: nobody says goodbye."""
        if self.request.transport is not None:
            self.request.transport.abort()

    def shown(self) -> dict[str, Any]:
        """What the control API shows."""
        return {
            "socket": self.number,
            "opened_at": self.opened_at,
            "deaf": self.deaf,
            "envelopes": self.envelopes,
        }

    async def _hold(self, until: asyncio.Event) -> None:
        """Leave a goodbye unanswered, as a dead peer does, until the app lets go of the connection."""
        while not until.is_set() and self.request.transport is not None:
            if self.request.transport.is_closing():
                return
            await asyncio.sleep(_LOOK_S)
