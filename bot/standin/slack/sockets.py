"""Socket Mode, the server's side: tickets, sockets, envelopes and their acknowledgements."""

import asyncio
import json
import random
import secrets
import time
import uuid
from collections.abc import Coroutine
from typing import Any

from aiohttp import web

from bot.standin.clock import StandInClock
from bot.standin.faults import Fault, Faults
from bot.standin.slack.connections import Connection
from bot.standin.slack.envelopes import Delivery, Envelope, EnvelopeLog
from bot.standin.slack.errors import SlackError
from bot.standin.slack.redelivery import send_again

__all__ = ["ACK_DEADLINE_S", "MOST_SOCKETS", "SOCKET_FAULTS", "WARNING_GRACE_S", "Delivery", "Sockets"]

ACK_DEADLINE_S = 3.0
MOST_SOCKETS = 10
WARNING_GRACE_S = 10.0
"""Between a ``warning`` and the ``refresh_requested`` that ends the socket, on the stand-in clock."""
_LINK_LIFE_S = 30.0
_MOST_COPIES = 10_000
SOCKET_FAULTS = ("disconnect", "socket-abort", "no-pong")


class Sockets:
    """The open Socket Mode connections of the app, and what is sent over them.

    Every envelope goes over any one of them: Slack promises no pattern. ``seed`` makes the choices
    repeatable.
    """

    def __init__(self, clock: StandInClock, faults: Faults, *, seed: int | None = None) -> None:
        self._clock = clock
        self._faults = faults
        self._chance = random.Random(seed)  # noqa: S311  # which socket is next is no secret
        self._links: dict[str, float] = {}
        self._connected: set[Connection] = set()
        self._open: list[Connection] = []  # those that may get envelopes, the longest open first
        self._opened = 0
        self._waiting: dict[str, asyncio.Future[tuple[float, dict[str, Any] | None]]] = {}
        self._pending: list[Fault] = []  # for the next socket that opens
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self.log = EnvelopeLog()
        self.enabled = True
        """Whether Socket Mode is switched on in the app's settings."""

    @property
    def connected(self) -> int:
        """How many sockets can take an envelope."""
        return len(self._usable())

    def shown(self) -> list[dict[str, Any]]:
        """The sockets that may get an envelope, the longest open first."""
        return [connection.shown() for connection in self._usable()]

    def seed(self, seed: int) -> None:
        """Start the sequence of random choices anew."""
        self._chance.seed(seed)

    def new_link(self) -> str:
        """A connection ticket for one use within 30 seconds.

        Raises:
            SlackError: ``socket_mode_not_enabled``.
        """
        if not self.enabled:
            raise SlackError("socket_mode_not_enabled")
        ticket = secrets.token_hex(16)
        self._links[ticket] = time.monotonic() + _LINK_LIFE_S
        return ticket

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """The life of one connection."""
        expires_at = self._links.pop(request.query.get("ticket", ""), None)
        if expires_at is None or expires_at < time.monotonic():
            return web.json_response({"ok": False, "error": "invalid_ticket"}, status=401)
        self._opened += 1
        connection = await Connection.accept(request, number=self._opened, opened_at=self._clock.time())
        self._connected.add(connection)
        try:
            await self._talk(connection)
        finally:
            self._retire(connection)
            self._connected.discard(connection)
        return connection.socket

    async def deliver(
        self, kind: str, payload: dict[str, Any], *, accepts_response_payload: bool
    ) -> Delivery:
        """Send one envelope to one socket and wait for its ack, three seconds at most.

        An ack that comes in over another socket counts: clients reconnect while they work. An event that
        is not acknowledged is sent again later on; what is given is the fate of the first try.
        """
        body = {"type": kind, "accepts_response_payload": accepts_response_payload, "payload": payload}
        if kind != "events_api":
            return await self._deliver(body)

        async def deliver_event(retry: tuple[int, str]) -> Delivery:
            return await self._deliver({**body, "retry_attempt": retry[0], "retry_reason": retry[1]})

        first = await deliver_event((0, ""))
        if first.outcome != "acked":
            self.go_on(send_again(self._clock, deliver_event, first))
        return first

    def go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the rest, until it ends or the stand-in does."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def meet(self, fault: Fault) -> None:
        """Let a fault of `SOCKET_FAULTS` hit the longest open socket, or the next one that opens."""
        usable = [connection for connection in self._usable() if not connection.deaf]
        if usable:
            await self._suffer(usable[0], fault)
        else:
            self._pending.append(fault)

    def recover(self) -> None:
        """Switch Socket Mode on again, and forget the faults that wait for a socket."""
        self.enabled = True
        self._pending.clear()

    async def close(self) -> None:
        """Close every socket."""
        self._stopping.set()
        self._open.clear()
        for task in self._tasks:
            task.cancel()
        closing = [connection.close() for connection in self._connected if not connection.deaf]
        await asyncio.gather(*closing, *self._tasks, return_exceptions=True)

    async def _talk(self, connection: Connection) -> None:
        if len(self._usable()) >= MOST_SOCKETS:
            await connection.warn("too_many_websockets")
            await connection.close()
            return
        await connection.greet(len(self._usable()))
        self._open.append(connection)
        if self._pending:
            await self._suffer(connection, self._pending.pop(0))
        async for text in connection.heard(until=self._stopping):
            self._take_ack(connection, text)

    async def _deliver(self, body: dict[str, Any]) -> Delivery:
        envelope = Envelope(str(uuid.uuid4()), body["type"], body.get("retry_attempt", 0), self._clock.time())
        self.log.add(envelope)
        acked: asyncio.Future[tuple[float, dict[str, Any] | None]] = (
            asyncio.get_running_loop().create_future()
        )
        self._waiting[envelope.id] = acked
        try:
            delivery = await self._sent_and_acked(
                envelope, json.dumps({"envelope_id": envelope.id, **body}), acked
            )
        finally:
            del self._waiting[envelope.id]
        envelope.outcome = delivery.outcome
        return delivery

    async def _sent_and_acked(
        self, envelope: Envelope, frame: str, acked: asyncio.Future[tuple[float, dict[str, Any] | None]]
    ) -> Delivery:
        sent = await self._send(envelope, frame)
        if sent is None:
            return Delivery("dispatch_failed", 0.0)
        connection, sent_at = sent
        await self._after_sending(envelope, frame, connection)
        try:
            acked_at, ack = await asyncio.wait_for(acked, ACK_DEADLINE_S)
        except TimeoutError:
            return Delivery("operation_timeout", ACK_DEADLINE_S * 1000)
        return Delivery("acked", (acked_at - sent_at) * 1000, ack)

    async def _send(
        self, envelope: Envelope, frame: str, *, among: list[Connection] | None = None
    ) -> tuple[Connection, float] | None:
        while usable := [connection for connection in among or self._open if connection.usable]:
            connection = usable[0] if len(usable) == 1 else self._chance.choice(usable)
            sent_at = time.perf_counter()
            try:
                await connection.send(frame)
            except ConnectionError:
                self._retire(connection)
                continue
            envelope.sent.append(connection.number)
            return connection, sent_at
        return None

    async def _after_sending(self, envelope: Envelope, frame: str, connection: Connection) -> None:
        """The faults of an envelope that is on its way and not yet acknowledged."""
        if double := self._faults.take("slack", "duplicate-envelope", type=envelope.kind):
            copies = int(double.number("copies", 0))
            if copies == 0:  # without `copies` this one envelope gets all that is armed
                copies = 1
                while copies < _MOST_COPIES and self._faults.take(
                    "slack", "duplicate-envelope", type=envelope.kind
                ):
                    copies += 1
            self.go_on(self._repeat(envelope, frame, connection, double, copies))
        for kind in SOCKET_FAULTS:
            if fault := self._faults.take("slack", kind, after="envelope"):
                await self._suffer(connection, fault)

    async def _repeat(
        self, envelope: Envelope, frame: str, first: Connection, double: Fault, copies: int
    ) -> None:
        """Send the same frame again, over the same socket, another one, or any."""
        await self._clock.reach(self._clock.time() + double.number("delay_s", 0))
        for _ in range(copies):
            among = {
                "same": [first],
                "other": [connection for connection in self._open if connection is not first],
            }.get(str(double.options.get("socket")))
            await self._send(envelope, frame, among=among)

    async def _suffer(self, connection: Connection, fault: Fault) -> None:
        if fault.kind == "socket-abort":
            connection.abort()
        elif fault.kind == "no-pong":
            connection.deaf = True
            connection.swallows = fault.options.get("envelopes") != "none"
        else:
            await self._disconnect(connection, str(fault.options.get("reason", "refresh_requested")))

    async def _disconnect(self, connection: Connection, reason: str) -> None:
        if reason == "warning":
            await connection.warn(reason)
            self.go_on(self._refresh_after_warning(connection))
        elif reason == "link_disabled":
            self.enabled = False
            self._links.clear()
            for each in self._usable():
                self._retire(each)
                await each.warn(reason)
                self.go_on(each.close())
        else:
            # The app closes it, or not: Slack leaves the connection open and sends nothing more over it.
            self._retire(connection)
            await connection.warn(reason)
            if reason == "too_many_websockets":
                self.go_on(connection.close())

    async def _refresh_after_warning(self, connection: Connection) -> None:
        await self._clock.reach(self._clock.time() + WARNING_GRACE_S)
        self._retire(connection)
        await connection.warn("refresh_requested")
        await connection.close()

    def _usable(self) -> list[Connection]:
        return [connection for connection in self._open if connection.usable]

    def _retire(self, connection: Connection) -> None:
        if connection in self._open:
            self._open.remove(connection)

    def _take_ack(self, connection: Connection, text: str) -> None:
        received_at = time.perf_counter()
        try:
            frame = json.loads(text)
        except ValueError:
            return
        envelope = self.log.find(frame.get("envelope_id")) if isinstance(frame, dict) else None
        if envelope is None:
            return
        envelope.acks.append(connection.number)
        waiting = self._waiting.get(envelope.id)
        if waiting is None:
            envelope.late += envelope.outcome != "acked"
        elif not waiting.done():
            payload = frame.get("payload")
            waiting.set_result((received_at, payload if isinstance(payload, dict) and payload else None))
