"""Slack, incoming: the Socket Mode connection.

The SDK's own client tries to connect for ever, with the same ticket, which Slack takes once and for thirty
seconds; it tells nobody that it fails; and it closes the old connection before it opens the new one. Here
each try has an end and a reason, a new connection opens before the old one closes, and who watches decides.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import ClientWebSocketResponse, ClientWSTimeout, WSMsgType
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

logger = logging.getLogger(__name__)
quiet = logging.getLogger("bot.adapters.slack_socket.sdk")
quiet.setLevel(logging.INFO)  # at DEBUG the SDK writes the ticket into its log

OPEN_SECONDS = 10.0
"""For a ticket, a connection and Slack's hello, all together."""
CLOSE_SECONDS = 0.8
"""For the closing handshake: Slack may keep the connection open and say nothing."""
ACK_SECONDS = 3.0
"""How long an old connection stays for acks that are still under way; later ones Slack takes no more."""
_PING = b"hermes"
_SERVER_ERROR = 500


class SocketError(Exception):
    """No connection was made. ``word`` is Slack's own, or empty when Slack did not answer at all."""

    def __init__(self, word: str, what: str, retry_after: float = 0.0) -> None:
        super().__init__(what)
        self.word = word
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What Slack delivers. ``retry`` is (number, reason) when it is not the first time."""

    id: str
    payload: Mapping[str, Any]
    retry: tuple[str, str] | None = None


Answer = Callable[[Envelope], Awaitable[Mapping[str, Any] | None]]
"""Gives the ack's payload, which may be empty; None = there is nothing to ack with."""


class SlackSocket:
    """The connection that envelopes come in over, and the old ones that are still closing."""

    def __init__(
        self, client: AsyncWebClient, app_token: str, answer: Answer, *, ping_seconds: float
    ) -> None:
        self._web = AsyncWebClient(
            token=client.token, base_url=client.base_url, timeout=int(OPEN_SECONDS), ssl=client.ssl,
            proxy=client.proxy, session=client.session, logger=quiet, retry_handlers=[],
        )  # fmt: skip
        self._session = client.session
        self._app_token = app_token
        self._answer = answer
        self._ping_seconds = ping_seconds
        self._current: _Connection | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._next = asyncio.Event()
        """Set, and replaced, when a new connection is there."""
        self.lost = asyncio.Event()
        """Set when another connection is wanted at once: this one ended, or Slack is about to end it."""
        self.reason = ""
        """What Slack's last disconnect frame said."""

    @property
    def connected(self) -> bool:
        """Whether Slack has said hello on a connection that is open."""
        return self._current is not None and self._current.usable

    @property
    def pong_at(self) -> float:
        """When the latest pong came in, of ``time.monotonic``; 0 before the first connection."""
        return self._current.pong_at if self._current else 0.0

    @property
    def frame_at(self) -> float:
        """The same of the latest message."""
        return self._current.frame_at if self._current else 0.0

    async def open(self) -> None:
        """Open a connection, then let the one before it go. When this fails, the old one is as it was.

        Raises:
            SocketError: no new connection.
        """
        connection: _Connection | None = None
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                url = await self._ticket()
                connection = await self._connect(url)
                await connection.greeted()
                connection.check()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if connection:
                self._retire(connection)
            raise SocketError("", f"{type(error).__name__} {error}".strip()) from error
        except BaseException:
            if connection:
                self._retire(connection)
            raise
        before, self._current = self._current, connection
        arrived, self._next = self._next, asyncio.Event()
        arrived.set()
        self.lost.clear()
        self.reason = ""
        if before:
            self._retire(before)

    async def settled(self) -> None:
        """Wait until everything that has come in is acked."""
        while waiting := {task for task in self._answering if not task.done()}:
            await asyncio.wait(waiting)

    async def close(self) -> None:
        """End every connection, within ``CLOSE_SECONDS`` or little more."""
        before, self._current = self._current, None
        if before:
            self._retire(before, patient=False)
        if self._closing:
            _, late = await asyncio.wait(self._closing, timeout=2 * CLOSE_SECONDS)
            for task in late:
                task.cancel()
        for task in set(self._answering):
            task.cancel()

    async def _ticket(self) -> str:
        try:
            answer = await self._web.apps_connections_open(app_token=self._app_token)
        except SlackApiError as error:
            data = error.response.data if isinstance(error.response.data, dict) else {}
            # A server error is no word of Slack's about us, whatever its body says.
            known = error.response.status_code < _SERVER_ERROR
            word = str(data.get("error") or "") if known else ""
            after = next(
                (str(v) for k, v in error.response.headers.items() if k.lower() == "retry-after"), ""
            )
            what = f"Slack gave no connection: {word or error.response.status_code}"
            raise SocketError(word, what, float(after) if after.isdigit() else 0.0) from error
        return str(answer.get("url") or "")

    async def _connect(self, url: str) -> "_Connection":
        if self._session is None:
            raise RuntimeError("the socket is opened in the session of its client")
        ws = await self._session.ws_connect(
            url, autoping=False, proxy=self._web.proxy, ssl=True if self._web.ssl is None else self._web.ssl,
            timeout=ClientWSTimeout(ws_close=CLOSE_SECONDS),
        )  # fmt: skip
        return _Connection(ws, self._ping_seconds, self._take, self._ended)

    def _ended(self, connection: "_Connection", reason: str) -> None:
        """A connection ended, or Slack has announced its end."""
        if connection is self._current:
            self.reason = reason
            self.lost.set()

    def _take(self, connection: "_Connection", envelope: Envelope) -> None:
        task = asyncio.create_task(self._ack(connection, envelope))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        connection.acking.add(task)
        task.add_done_callback(connection.acking.discard)

    async def _ack(self, connection: "_Connection", envelope: Envelope) -> None:
        payload = await self._answer(envelope)
        if payload is None:
            return
        frame = json.dumps({"envelope_id": envelope.id} | ({"payload": payload} if payload else {}))
        try:
            async with asyncio.timeout(ACK_SECONDS):
                while not await self._sent(frame, connection):
                    await self._next.wait()
        except TimeoutError:
            logger.warning(
                "an ack could not be sent: the connection to Slack is gone; its person sees a time-out"
            )

    async def _sent(self, frame: str, connection: "_Connection") -> bool:
        """Over any connection of the app: Slack takes it, so one that has broken meanwhile loses nothing."""
        for way in (connection, self._current):
            if way and not way.ws.closed:
                try:
                    await way.ws.send_str(frame)
                except (ConnectionError, aiohttp.ClientError):
                    continue
                return True
        return False

    def _retire(self, connection: "_Connection", *, patient: bool = True) -> None:
        task = asyncio.create_task(connection.end(ACK_SECONDS if patient else 0.0))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


class _Connection:
    """One WebSocket, read and pinged until it ends."""

    def __init__(
        self,
        ws: ClientWebSocketResponse,
        ping_seconds: float,
        take: Callable[["_Connection", Envelope], None],
        ended: Callable[["_Connection", str], None],
    ) -> None:
        self.ws = ws
        self.acking: set[asyncio.Task[None]] = set()
        self.pong_at = self.frame_at = time.monotonic()
        self._take = take
        self._ended = ended
        self._hello: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._going = False
        self.reason = ""
        self._tasks = (asyncio.create_task(self._read()), asyncio.create_task(self._ping(ping_seconds)))

    @property
    def usable(self) -> bool:
        """Slack has said hello and nothing of an end."""
        return not (self.ws.closed or self._going) and self._hello.done()

    async def greeted(self) -> None:
        """Wait for Slack's hello."""
        await asyncio.shield(self._hello)

    def check(self) -> None:
        """Raise ``SocketError`` when the end was announced in the same breath as the hello."""
        if not self.usable:
            raise SocketError(self.reason, f"the new connection ended at once: {self.reason or 'closed'}")

    async def end(self, patience: float) -> None:
        """Close it, once its acks are sent or ``patience`` seconds have passed."""
        if self.acking and patience:
            await asyncio.wait(set(self.acking), timeout=patience)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.ws.close()
        except (TimeoutError, ConnectionError, aiohttp.ClientError):
            logger.info("Slack did not answer the end of a connection; it is dropped")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._hello.done() and not self._hello.cancelled():
            self._hello.exception()  # looked at, so that nobody is warned of it

    async def _read(self) -> None:
        reason = "closed"
        try:
            while not self.ws.closed:
                message = await self.ws.receive()
                if message.type is WSMsgType.TEXT:
                    reason = self._heard(message.data) or reason
                elif message.type is WSMsgType.PING:
                    await self.ws.pong(message.data)
                elif message.type is WSMsgType.PONG:
                    self.pong_at = time.monotonic()
                elif message.type is not WSMsgType.BINARY:
                    break
        except (ConnectionError, aiohttp.ClientError):
            reason = "broken"
        finally:
            self._fail(reason)
            self._ended(self, reason)

    async def _ping(self, every: float) -> None:
        try:
            while not self.ws.closed:
                await self.ws.ping(_PING)
                await asyncio.sleep(every)
        except (ConnectionError, aiohttp.ClientError):
            return  # the reader notices the end and tells of it

    def _heard(self, text: str) -> str:
        """Take one message; gives the reason when it announces the end."""
        self.frame_at = time.monotonic()
        try:
            message = json.loads(text)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            logger.warning("Slack sent a message that is no JSON object; it is passed over")
            return ""
        kind, payload = message.get("type"), message.get("payload")
        if kind == "hello":
            if not self._hello.done():
                self._hello.set_result(None)
        elif kind == "disconnect":
            reason = str(message.get("reason") or "disconnect")
            self._going = True
            self.reason = reason
            self._fail(reason)
            self._ended(self, reason)
            return reason
        elif isinstance(message.get("envelope_id"), str) and isinstance(payload, dict):
            number = message.get("retry_attempt")
            retry = None if number is None else (str(number), str(message.get("retry_reason") or ""))
            self._take(self, Envelope(id=message["envelope_id"], payload=payload, retry=retry))
        return ""

    def _fail(self, reason: str) -> None:
        """No hello will come."""
        if not self._hello.done():
            word = reason if reason not in ("closed", "broken") else ""
            self._hello.set_exception(SocketError(word, f"the new connection ended at once: {reason}"))
