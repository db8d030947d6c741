"""Carrying one request and its answer between a client and a port in a sandbox."""

import asyncio
import contextlib
import socket

from bot.standin.cube.http_wire import HEAD_LIMIT, Body, Head, WireError
from bot.standin.cube.proxy_route import Route

# client_max_body_size of CubeProxy.
BODY_LIMIT = 256 * 1024 * 1024
_PIECE = 64 * 1024
_LINGER_SECONDS = 5.0
_HOP_BY_HOP = ("connection", "keep-alive", "proxy-connection", "te")


class TooLargeError(Exception):
    """The body is larger than the proxy allows, and nothing has been answered yet."""


class NoAnswerError(Exception):
    """What listens in the sandbox ended the connection, or answered with what is not HTTP."""


class Client:
    """The connection from outside."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def head(self) -> bytes:
        """The request head, through the empty line."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def refuse(self, answer: bytes) -> None:
        """Answer without having read the body.

        The rest is read and thrown away for a while: a connection closed on unread bytes is reset,
        and the reset would overtake the answer.
        """
        self.writer.write(answer)
        await self.writer.drain()
        with contextlib.suppress(OSError, RuntimeError):
            self.writer.write_eof()
        with contextlib.suppress(TimeoutError, ConnectionError):
            await asyncio.wait_for(self._drain_input(), _LINGER_SECONDS)

    async def _drain_input(self) -> None:
        while await self.reader.read(_PIECE):
            pass

    def abort(self) -> None:
        """Reset the connection."""
        self.writer.transport.abort()

    async def close(self) -> None:
        """Close what is still open."""
        self.writer.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            await asyncio.wait_for(self.writer.wait_closed(), 1.0)


class Splice:
    """One request on its way. The connection ends with it, so nothing can be mixed up."""

    def __init__(self, client: Client, head: Head, route: Route, mask: str) -> None:
        self._client = client
        self._head = head
        self._route = route
        self._mask = mask
        self._host = head.get("host")
        self._method = head.start[0]
        self._upgrade = head.get("upgrade") if "upgrade" in head.get("connection").lower() else ""
        self._expects = head.get("expect").lower() == "100-continue"
        self._body = Body.of_request(head)
        self._answered = False

    def check_size(self) -> None:
        """Raise TooLargeError for a length that is announced too large."""
        if (self._body.announced or 0) > BODY_LIMIT:
            raise TooLargeError

    async def run(self, connection: socket.socket) -> None:
        """Send the request, pass the answer back. Takes over ``connection``.

        Raises TooLargeError and NoAnswerError while nothing has been answered.
        """
        reader, writer = await asyncio.open_connection(sock=connection, limit=HEAD_LIMIT)
        try:
            writer.write(self._request_head())
            if self._expects:
                self._client.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            sending = asyncio.create_task(self._send_body(writer))
            try:
                await self._receive(reader, writer, sending)
            finally:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError, ConnectionError, WireError, TooLargeError):
                    await sending
        finally:
            writer.transport.abort()

    def _request_head(self) -> bytes:
        head = Head(self._head.start, list(self._head.headers))
        head.drop(*_HOP_BY_HOP, "expect")
        self._route.outgoing(head, self._mask)
        if self._upgrade:
            head.headers.append(("Connection", "Upgrade"))
        else:
            head.drop("upgrade")
            head.headers.append(("Connection", "close"))
        method, target, _version = head.start
        head.start = (method, target, "HTTP/1.1")
        return head.encode()

    async def _send_body(self, writer: asyncio.StreamWriter) -> None:
        """Pass the body on, then wait for the client to say or do something more."""
        while not self._body.done:
            data = await self._client.reader.read(_PIECE)
            if not data:
                raise ConnectionResetError("the client left in the middle of its body")
            taken = self._body.feed(data)
            if self._body.size > BODY_LIMIT:
                raise TooLargeError
            # An upstream that has answered already may have closed; its answer still counts.
            with contextlib.suppress(ConnectionError):
                writer.write(taken)
                await writer.drain()
        if not self._upgrade:
            # Anything that follows belongs to a next request, which a closing connection never gets
            # to; only the end of the stream matters.
            while await self._client.reader.read(_PIECE):
                pass

    async def _receive(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sending: asyncio.Task[None]
    ) -> None:
        answer = asyncio.create_task(self._answer(reader, writer, sending))
        try:
            await asyncio.wait({answer, sending}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and sending.done():
                error = sending.exception()
                if isinstance(error, TooLargeError) and not self._answered:
                    raise error
                if error is not None or not self._upgrade:
                    raise ConnectionResetError("the client left before the answer was complete") from error
            await answer
        finally:
            answer.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError, NoAnswerError):
                await answer

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sending: asyncio.Task[None]
    ) -> None:
        try:
            head = await self._final_head(reader)
            body = Body.of_response(head, self._method)
        except (
            WireError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
            ConnectionError,
            ValueError,
        ) as error:
            raise NoAnswerError from error
        self._answered = True
        outside = self._client.writer
        if head.start[1] == "101":
            outside.write(head.encode())
            await sending
            await self._both_ways(reader, writer)
            return
        head.drop(*_HOP_BY_HOP)
        self._route.incoming(head, self._host)
        head.headers.append(("Connection", "close"))
        outside.write(head.encode())
        await outside.drain()
        while not body.done:
            data = await reader.read(_PIECE)
            if not data:
                if body.announced is not None or "chunked" in head.get("transfer-encoding").lower():
                    raise ConnectionResetError("the sandbox broke off in the middle of its answer")
                break
            outside.write(body.feed(data))
            await outside.drain()

    async def _final_head(self, reader: asyncio.StreamReader) -> Head:
        """The response head, after interim ones other than a switch of protocols."""
        while True:
            head = Head.parse(await reader.readuntil(b"\r\n\r\n"))
            if not head.start[1].startswith("1") or head.start[1] == "101":
                return head

    async def _both_ways(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """After a switch of protocols: bytes in both directions until one side ends."""
        ways = {
            asyncio.create_task(_copy(self._client.reader, writer)),
            asyncio.create_task(_copy(reader, self._client.writer)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_PIECE):
        target.write(data)
        await target.drain()
