"""A program: the least that Bolt can do, one listener that acks and nothing else. The floor of the acks."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient


async def listen() -> None:
    """Ack ``/hermes`` until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    app = AsyncApp(client=AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_URL"]))

    @app.command("/hermes")
    async def empty(ack: Callable[[], Awaitable[None]]) -> None:
        await ack()

    handler = AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"])
    await handler.connect_async()
    await stop.wait()
    await handler.close_async()


if __name__ == "__main__":
    asyncio.run(listen())
