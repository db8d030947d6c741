"""Socket Mode without an SDK: sockets that show every frame and acknowledge only what they are told to."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from integration.standin_slack_kit import Workspace

Frame = dict[str, Any]


class RawSocket:
    """One open socket."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws

    async def frame(self, *, within_s: float = 3.0) -> Frame:
        """The next text frame."""
        message = await self.ws.receive(timeout=within_s)
        assert message.type is aiohttp.WSMsgType.TEXT, message
        found: Frame = json.loads(message.data)
        return found

    async def end(self, *, within_s: float = 3.0) -> aiohttp.WSMsgType:
        """How the socket ends, when no more text comes."""
        kind = (await self.ws.receive(timeout=within_s)).type
        assert kind is not aiohttp.WSMsgType.TEXT
        return kind

    async def silent(self, *, for_s: float = 0.15) -> bool:
        """Whether nothing at all comes for a while."""
        try:
            await self.ws.receive(timeout=for_s)
        except TimeoutError:
            return True
        return False

    async def ack(self, envelope: Frame, payload: Frame | None = None) -> None:
        answer: Frame = {"envelope_id": envelope["envelope_id"]}
        await self.ws.send_str(json.dumps(answer | ({"payload": payload} if payload else {})))

    async def pong(self, payload: bytes, *, within_s: float = 3.0) -> bytes:
        """Ping; gives what the pong carries."""
        await self.ws.ping(payload)
        message = await self.ws.receive(timeout=within_s)
        assert message.type is aiohttp.WSMsgType.PONG, message
        found: bytes = bytes(message.data)
        return found


@contextlib.asynccontextmanager
async def raw_sockets(workspace: Workspace, count: int = 1) -> AsyncIterator[list[RawSocket]]:
    """Sockets that have said hello, in the order of their opening."""
    async with contextlib.AsyncExitStack() as open_ones:
        yield [await open_ones.enter_async_context(raw_socket(workspace)) for _ in range(count)]


@contextlib.asynccontextmanager
async def raw_socket(workspace: Workspace) -> AsyncIterator[RawSocket]:
    """One socket, its hello read."""
    async with refused_or_open(workspace) as socket:
        hello = await socket.frame()
        assert hello["type"] == "hello"
        yield socket


@contextlib.asynccontextmanager
async def refused_or_open(workspace: Workspace) -> AsyncIterator[RawSocket]:
    """One socket, whatever is said first."""
    secrets = workspace.slack.secrets
    link = await workspace.client(secrets.app_token).apps_connections_open(app_token=secrets.app_token)
    ws = await workspace.http.ws_connect(
        link["url"], autoping=False, timeout=aiohttp.ClientWSTimeout(None, 0.1)
    )
    try:
        yield RawSocket(ws)
    finally:
        await ws.close()


@contextlib.asynccontextmanager
async def typing(workspace: Workspace, text: str = "help") -> AsyncIterator["asyncio.Task[Frame]"]:
    """A command that somebody types while the test does something else; the task gives the answer."""
    task = asyncio.create_task(workspace.command(text))
    try:
        yield task
    finally:
        if not task.done():
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
