"""Socket Mode, the server's side: tickets, hello, envelopes, acknowledgements."""

import asyncio
import json
import secrets
import time
import uuid
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import WSMsgType, web

from bot.standin.slack.cast import APP_ID

ACK_DEADLINE_S = 3.0
MOST_SOCKETS = 10
_LINK_LIFE_S = 30.0

Outcome = Literal["acked", "operation_timeout", "dispatch_failed"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one envelope. ``ack_ms`` runs from sending the frame to receiving its ack."""

    outcome: Outcome
    ack_ms: float
    ack: dict[str, Any] | None = None

    def shown(self) -> dict[str, Any]:
        """The answer of the control API."""
        return {"outcome": self.outcome, "ack_ms": round(self.ack_ms, 3), "ack": self.ack}


class Sockets:
    """The open Socket Mode connections of the app."""

    def __init__(self) -> None:
        self._links: dict[str, float] = {}
        self._open: list[web.WebSocketResponse] = []  # those that may get envelopes, next one first
        self._connected: set[web.WebSocketResponse] = set()
        self._waiting: dict[str, asyncio.Future[tuple[float, dict[str, Any] | None]]] = {}
        self._armed_reasons: list[str] = []

    @property
    def connected(self) -> int:
        """How many sockets can take an envelope."""
        return len(self._usable())

    def new_link(self) -> str:
        """A connection ticket for one use within 30 seconds."""
        ticket = secrets.token_hex(16)
        self._links[ticket] = time.monotonic() + _LINK_LIFE_S
        return ticket

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """The life of one connection."""
        expires_at = self._links.pop(request.query.get("ticket", ""), None)
        if expires_at is None or expires_at < time.monotonic():
            return web.json_response({"ok": False, "error": "invalid_ticket"}, status=401)
        # The client pings with its own payload; aiohttp answers with the same one, as Slack does.
        socket = web.WebSocketResponse(autoping=True, timeout=1.0)
        await socket.prepare(request)
        self._connected.add(socket)
        try:
            await self._talk(socket)
        finally:
            self._retire(socket)
            self._connected.discard(socket)
        return socket

    async def deliver(
        self, kind: str, payload: dict[str, Any], *, accepts_response_payload: bool
    ) -> Delivery:
        """Send one envelope to one socket and wait for its ack, three seconds at most.

        An ack that comes in over another socket counts: clients reconnect while they work.
        """
        envelope_id = str(uuid.uuid4())
        frame = json.dumps(
            {
                "envelope_id": envelope_id,
                "type": kind,
                "accepts_response_payload": accepts_response_payload,
                "payload": payload,
            }
        )
        acked: asyncio.Future[tuple[float, dict[str, Any] | None]] = (
            asyncio.get_running_loop().create_future()
        )
        self._waiting[envelope_id] = acked
        try:
            sent_at = await self._send(frame)
            if sent_at is None:
                return Delivery("dispatch_failed", 0.0)
            try:
                acked_at, ack = await asyncio.wait_for(acked, ACK_DEADLINE_S)
            except TimeoutError:
                return Delivery("operation_timeout", ACK_DEADLINE_S * 1000)
            return Delivery("acked", (acked_at - sent_at) * 1000, ack)
        finally:
            del self._waiting[envelope_id]

    async def disconnect(self, reason: str) -> None:
        """Send a disconnect frame to the longest open socket, or to the next one that opens."""
        usable = self._usable()
        if not usable:
            self._armed_reasons.append(reason)
            return
        await self._send_disconnect(usable[0], reason)
        self._retire(usable[0])

    async def close(self) -> None:
        """Close every socket."""
        closing = [socket.close(message=b"shutdown") for socket in self._connected]
        self._open.clear()
        await asyncio.gather(*closing, return_exceptions=True)

    async def _talk(self, socket: web.WebSocketResponse) -> None:
        if len(self._open) >= MOST_SOCKETS:
            await self._send_disconnect(socket, "too_many_websockets")
            await socket.close()
            return
        await socket.send_str(json.dumps(self._hello()))
        self._open.append(socket)
        if self._armed_reasons:
            await self.disconnect(self._armed_reasons.pop(0))
        async for frame in socket:
            if frame.type is WSMsgType.TEXT:
                self._take_ack(frame.data)

    async def _send(self, frame: str) -> float | None:
        while (socket := self._choose()) is not None:
            sent_at = time.perf_counter()
            try:
                await socket.send_str(frame)
            except ConnectionError:
                self._retire(socket)
                continue
            return sent_at
        return None

    def _choose(self) -> web.WebSocketResponse | None:
        """The socket for the next envelope: each in turn. Slack promises no pattern at all."""
        usable = self._usable()
        if not usable:
            return None
        chosen = usable[0]
        self._open.remove(chosen)
        self._open.append(chosen)
        return chosen

    def _usable(self) -> list[web.WebSocketResponse]:
        return [socket for socket in self._open if not socket.closed]

    def _retire(self, socket: web.WebSocketResponse) -> None:
        if socket in self._open:
            self._open.remove(socket)

    def _take_ack(self, text: str) -> None:
        received_at = time.perf_counter()
        try:
            frame = json.loads(text)
        except ValueError:
            return
        waiting = self._waiting.get(frame.get("envelope_id", "")) if isinstance(frame, dict) else None
        if waiting is not None and not waiting.done():
            payload = frame.get("payload")
            waiting.set_result((received_at, payload if isinstance(payload, dict) and payload else None))

    def _hello(self) -> dict[str, Any]:
        return {
            "type": "hello",
            "num_connections": len(self._open) + 1,
            "debug_info": {
                "host": "applink-standin",
                "started": time.strftime("%Y-%m-%d %H:%M:%S.000", time.gmtime()),
                "build_number": 1,
                "approximate_connection_time": 18060,
            },
            "connection_info": {"app_id": APP_ID},
        }

    @staticmethod
    async def _send_disconnect(socket: web.WebSocketResponse, reason: str) -> None:
        await socket.send_str(
            json.dumps({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-standin"}})
        )
