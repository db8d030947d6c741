"""A Slack stand-in with its control API, and a real Bolt app against it."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.standin.clock import StandInClock
from bot.standin.control import Control
from bot.standin.faults import Faults
from bot.standin.listener import Listener
from bot.standin.slack import SlackStandIn


@dataclass(slots=True)
class Workspace:
    slack: SlackStandIn
    clock: StandInClock
    faults: Faults
    control_url: str
    http: aiohttp.ClientSession

    def client(self, token: str | None = None) -> AsyncWebClient:
        token = token or self.slack.secrets.bot_token
        return AsyncWebClient(token=token, base_url=self.slack.api_url, retry_handlers=[])

    async def post(self, path: str, /, **body: Any) -> dict[str, Any]:
        status, answer = await self.try_post(path, **body)
        assert status == 200, answer
        return answer

    async def try_post(self, path: str, /, **body: Any) -> tuple[int, dict[str, Any]]:
        async with self.http.post(self.control_url + path, json=body) as response:
            return response.status, await response.json()

    async def get(self, path: str, /, **query: str) -> Any:
        async with self.http.get(self.control_url + path, params=query) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def command(
        self, text: str, *, user: str = "U_OPERATOR", channel: str = "C_OPS", **more: Any
    ) -> dict[str, Any]:
        return await self.post("/command", user=user, channel=channel, text=text, **more)

    async def messages(self, channel: str = "C_OPS", **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self.get("/messages", channel=channel, **query)
        return found

    async def respond(self, response_url: str, **body: Any) -> tuple[int, str]:
        async with self.http.post(response_url, json=body) as response:
            return response.status, await response.text()


@contextlib.asynccontextmanager
async def open_workspace(state: Path) -> AsyncIterator[Workspace]:
    clock, faults = StandInClock(state / "clock-offset"), Faults()
    slack = SlackStandIn(state=state, clock=clock, faults=faults)
    control = Control(slack=slack, clock=clock, faults=faults)
    listener = Listener(control.application(), kept_port=state / "control-port")
    await slack.start()
    await listener.start()
    try:
        async with aiohttp.ClientSession() as http:
            yield Workspace(slack, clock, faults, listener.url, http)
    finally:
        await listener.stop()
        await slack.stop()


@contextlib.asynccontextmanager
async def connected(workspace: Workspace, listen: Callable[[AsyncApp], None]) -> AsyncIterator[AsyncApp]:
    app = AsyncApp(client=workspace.client())
    listen(app)
    handler = AsyncSocketModeHandler(app, workspace.slack.secrets.app_token, ping_interval=1)
    await handler.connect_async()
    try:
        yield app
    finally:
        await handler.close_async()


def hears_everything(app: AsyncApp, heard: list[dict[str, Any]]) -> None:
    """Acknowledge whatever comes and keep its body."""

    async def keep(ack: Any, body: dict[str, Any]) -> None:
        await ack()
        heard.append(body)

    app.command("/hermes")(keep)
    app.action(re.compile(".*"))(keep)
    for kind in ("view_submission", "view_closed"):
        app.view({"type": kind, "callback_id": "form"})(keep)
    for name in ("app_mention", "app_home_opened"):
        app.event(name)(keep)


async def until(condition: Callable[[], bool], *, within_s: float = 5.0) -> None:
    """Poll until something holds."""
    deadline = asyncio.get_running_loop().time() + within_s
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not happen in time"
        await asyncio.sleep(0.01)
