"""People, a Slack, and one bot or several that listen to it; Cube and the node are in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import aiohttp
import pytest
import yaml
from aiohttp import web
from installation import Installation, install
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters import slack_pace
from bot.adapters.slack_chat import SlackChat
from bot.adapters.slack_identity import ask_identity
from bot.adapters.system import SystemClock
from bot.domain.link import Patience
from bot.link import SlackLink
from bot.ports import Clock
from bot.request_url import RequestUrl
from bot.standin.clock import StandInClock
from bot.standin.faults import Faults
from bot.standin.slack import SlackStandIn, payloads
from bot.standin.slack.limits import Limits
from bot.standin.slack.people import Click
from bot.usecases.deps import Deps
from handlers.jobs import Jobs
from handlers.register import register
from handlers.services import Services

MANIFEST = Path(__file__).parents[2] / "manifest.yaml"
SCOPES = yaml.safe_load(MANIFEST.read_text())["oauth_config"]["scopes"]["bot"]
"""The app gets what the manifest asks for, and nothing more."""
QUICK = 0.01
"""Seconds between two messages, instead of the second that tests of the pace itself wait for."""

Way = Literal["socket", "http"]


@dataclass(kw_only=True)
class Office:
    """People, a Slack, and what listens to it."""

    slack: SlackStandIn
    world: Installation
    bots: list[Services]

    @property
    def jobs(self) -> Jobs:
        return self.bots[0].jobs

    async def idle(self) -> None:
        for bot in self.bots:
            await bot.jobs.idle()

    async def types(self, user: str, text: str, channel: str = "C_OPS") -> dict[str, Any]:
        answer = await self.slack.people.command(user, channel, text)
        await self.idle()
        return answer

    async def clicks(self, user: str, message: dict[str, Any], action_id: str) -> dict[str, Any]:
        answer = await self.slack.people.click(self.click(user, message, action_id))
        await self.idle()
        return answer

    def click(self, user: str, message: dict[str, Any], action_id: str) -> Click:
        return Click(user=user, action_id=action_id, channel=message["channel"], ts=message["ts"])

    def typed(self, user: str, text: str, channel: str = "C_OPS") -> dict[str, Any]:
        """The payload of a typed command, to be delivered as often as a test likes."""
        world = self.slack.world
        return payloads.slash_command(
            token=world.secrets.verification_token,
            person=world.cast.people[user],
            channel=world.cast.channels[channel],
            command="/hermes",
            text=text,
            response_url=world.base_url + world.tickets.new_response_url(channel, user),
            trigger_id=world.tickets.new_trigger(user),
        )

    async def delivers(self, kind: str, payload: dict[str, Any], times: int) -> set[str]:
        """The same envelope several times at once; gives what became of them."""
        deliver = self.slack.world.deliver
        answers = await asyncio.gather(
            *(deliver(kind, payload, accepts_response_payload=True) for _ in range(times))
        )
        await self.idle()
        return {answer.outcome for answer in answers}

    def shown(self, channel: str = "C_OPS", *, to: str = "") -> list[dict[str, Any]]:
        found = [m | {"channel": channel} for m in self.slack.messages(channel)]
        return [m for m in found if m.get("ephemeral_for", "") in ("", to, None)]

    def latest(self, channel: str = "C_OPS") -> dict[str, Any]:
        return self.shown(channel)[-1]

    def whispers(self, user: str, channel: str = "C_OPS") -> str:
        return "\n".join(m["text"] for m in self.slack.messages(channel) if m.get("ephemeral_for") == user)

    def sent(self, method: str) -> list[dict[str, Any]]:
        return [entry["body"] for entry in self.slack.world.transcript if entry["method"] == method]

    def fault(self, kind: str, **more: Any) -> None:
        self.slack.world.faults.arm({"target": "slack", "kind": kind, **more})

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.02)
                await self.idle()


@asynccontextmanager
async def open_office(
    state: Path,
    *others: Deps,
    world: Installation | None = None,
    clock: Clock | None = None,
    way: Way = "socket",
) -> AsyncIterator[Office]:
    """One bot on the world's deps, and one more on each of ``others``, as replicas of it.

    With a clock of its own the way to Slack keeps Slack's pace by it, and the stand-in writes down its time.
    """
    slack = SlackStandIn(state=state, clock=StandInClock(state / "offset"), faults=Faults(), scopes=SCOPES)
    if clock is not None:
        slack.world.clock.time = lambda: clock.now().timestamp()  # type: ignore[method-assign]
        slack.world.limits = Limits(slack.world.faults, now=clock.monotonic)
    else:
        slack.world.limits.quicken(1 / QUICK)
    await slack.start()
    office = Office(slack=slack, world=world or install(), bots=[])
    try:
        async with AsyncExitStack() as stack:
            for deps in (office.world.deps, *others):
                office.bots.append(await stack.enter_async_context(_listening(slack, deps, clock, way)))
            yield office
    finally:
        await slack.stop()


@asynccontextmanager
async def _listening(
    slack: SlackStandIn, deps: Deps, clock: Clock | None, way: Way
) -> AsyncIterator[Services]:
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(slack.secrets.bot_token, base_url=slack.api_url, session=session)
        me = await client.auth_test()
        result = AuthorizeResult(enterprise_id=None, team_id=me["team_id"], bot_user_id=me["user_id"])

        async def authorize(**_: Any) -> AuthorizeResult:
            return result

        app = AsyncApp(client=client, authorize=authorize, request_verification_enabled=False)
        jobs = Jobs()
        chat = SlackChat(client, deps.redactor, clock) if clock else _quick_chat(client, deps)
        services = Services(deps=deps, chat=chat, jobs=jobs, team_id=me["team_id"], bot_user_id=me["user_id"])
        register(app, services)
        async with _over_http(app, slack) if way == "http" else _over_a_socket(app, client, slack):
            try:
                yield services
            finally:
                await jobs.drain(1)
        await chat.close()


@asynccontextmanager
async def _over_a_socket(app: AsyncApp, client: AsyncWebClient, slack: SlackStandIn) -> AsyncIterator[None]:
    link = SlackLink(partial(ask_identity, client), Patience())
    watching = asyncio.create_task(link.watch())
    async with link.socket_mode(app, client, slack.secrets.app_token):
        await link.up.wait()
        yield
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


@asynccontextmanager
async def _over_http(app: AsyncApp, slack: SlackStandIn) -> AsyncIterator[None]:
    entry = RequestUrl(slack.secrets.signing_secret)
    entry.open(app, SystemClock())
    server = web.Application()
    server.add_routes(entry.routes)
    runner = web.AppRunner(server)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        await slack.deliver_to(f"http://{host}:{port}/slack/events")
        yield
    finally:
        await runner.cleanup()


def _quick_chat(client: AsyncWebClient, deps: Deps) -> SlackChat:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slack_pace, "MESSAGE_EVERY", QUICK)
        return SlackChat(client, deps.redactor, SystemClock())
