"""The Slack side over real Socket Mode or HTTP and a real Web API; Cube and the node are in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web
from installation import Installation, install
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack_chat import SlackChat
from bot.adapters.slack_identity import ask_identity
from bot.adapters.system import SystemClock
from bot.domain.link import Patience
from bot.link import SlackLink
from bot.request_url import RequestUrl
from bot.standin.clock import StandInClock
from bot.standin.faults import Faults
from bot.standin.slack import SlackStandIn
from bot.standin.slack.people import Click
from handlers.jobs import Jobs
from handlers.register import register
from handlers.services import Services

MANIFEST = Path(__file__).parents[2] / "manifest.yaml"
SCOPES = yaml.safe_load(MANIFEST.read_text())["oauth_config"]["scopes"]["bot"]
"""The app gets what the manifest asks for, and nothing more."""


@dataclass(kw_only=True)
class Office:
    """People, a Slack, and a bot that listens to it."""

    slack: SlackStandIn
    world: Installation
    jobs: Jobs

    async def types(self, user: str, text: str, channel: str = "C_OPS") -> dict[str, Any]:
        answer = await self.slack.people.command(user, channel, text)
        await self.jobs.idle()
        return answer

    async def clicks(self, user: str, message: dict[str, Any], action_id: str) -> dict[str, Any]:
        click = Click(user=user, action_id=action_id, channel=message["channel"], ts=message["ts"])
        answer = await self.slack.people.click(click)
        await self.jobs.idle()
        return answer

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


@pytest.fixture(params=["socket", "http"])
async def office(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    """The same listeners both ways: over a socket, and behind a request URL."""
    slack = SlackStandIn(
        state=tmp_path, clock=StandInClock(tmp_path / "offset"), faults=Faults(), scopes=SCOPES
    )
    await slack.start()
    world, jobs = install(), Jobs()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(slack.stop)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        client = AsyncWebClient(slack.secrets.bot_token, base_url=slack.api_url, session=session)
        me = await client.auth_test()
        result = AuthorizeResult(enterprise_id=None, team_id=me["team_id"], bot_user_id=me["user_id"])

        async def authorize(**_: Any) -> AuthorizeResult:
            return result

        app = AsyncApp(client=client, authorize=authorize, request_verification_enabled=False)
        chat = SlackChat(client, world.deps.redactor, SystemClock())
        stack.push_async_callback(chat.close)
        services = Services(
            deps=world.deps, chat=chat, jobs=jobs, team_id=me["team_id"], bot_user_id=me["user_id"]
        )
        register(app, services)
        await stack.enter_async_context(
            over_http(app, slack) if request.param == "http" else over_a_socket(app, client, slack)
        )
        stack.push_async_callback(jobs.drain, 1)
        yield Office(slack=slack, world=world, jobs=jobs)


@asynccontextmanager
async def over_a_socket(app: AsyncApp, client: AsyncWebClient, slack: SlackStandIn) -> AsyncIterator[None]:
    link = SlackLink(partial(ask_identity, client), Patience())
    watching = asyncio.create_task(link.watch())
    async with link.socket_mode(app, client, slack.secrets.app_token):
        await link.up.wait()
        yield
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


@asynccontextmanager
async def over_http(app: AsyncApp, slack: SlackStandIn) -> AsyncIterator[None]:
    entry = RequestUrl(slack.secrets.signing_secret)
    entry.open(app, SystemClock())
    server = web.Application()
    server.add_routes(entry.routes)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    await slack.deliver_to(f"http://{host}:{port}/slack/events")
    yield
    await runner.cleanup()


async def test_the_main_job_is_told_from_command_to_stop(office: Office) -> None:
    answer = await office.types("U_OPERATOR", "create home=alpha workspace=proj")
    parent, progress, result = office.shown()
    await office.clicks("U_OPERATOR", result, "hermes.stop.ask")
    await office.clicks("U_OPERATOR", office.latest(), "hermes.stop.confirm")

    assert answer["outcome"] == "acked"
    assert answer["ack_ms"] < 1000
    assert "is ready" in parent["text"]
    assert progress["thread_ts"] == result["thread_ts"] == parent["ts"]
    assert [b["type"] for b in progress["blocks"]] == ["plan"]
    assert "is gone" in office.latest()["text"]
    assert office.world.cube.sandboxes == {}


async def test_open_shows_the_sign_in_in_a_modal_and_nowhere_else(office: Office) -> None:
    await office.types("U_OPERATOR", "create home=alpha")

    await office.clicks("U_OPERATOR", office.latest(), "hermes.open")

    access = office.world.node.homes["alpha"].access
    assert access is not None
    assert access.password in json.dumps(office.slack.views("U_OPERATOR"))
    posts = [entry for entry in office.slack.world.transcript if entry["method"] != "views.update"]
    assert access.password not in json.dumps(posts)


async def test_an_outsider_sees_the_refusal_in_the_modal(office: Office) -> None:
    await office.types("U_OPERATOR", "create home=alpha")

    await office.clicks("U_OUTSIDER", office.latest(), "hermes.open")

    assert "You have no role" in json.dumps(office.slack.views("U_OUTSIDER"))


async def test_a_foreigner_is_answered_and_refused(office: Office) -> None:
    answer = await office.types("U_FOREIGNER", "create home=alpha")

    assert answer["outcome"] == "acked"
    assert "only members of this Slack team" in office.whispers("U_FOREIGNER")


@pytest.mark.parametrize("channel", ["G_PRIVATE", "D_PAIR"])
async def test_the_thread_moves_to_direct_messages(office: Office, channel: str) -> None:
    answer = await office.types("U_OPERATOR", "create home=alpha", channel)

    assert answer["outcome"] == "acked"
    assert "Studio for home alpha is ready" in office.latest("D_U_OPERATOR")["text"]
    assert "direct messages" in office.whispers("U_OPERATOR", channel)


async def test_a_lost_answer_of_slack_makes_no_second_message(office: Office) -> None:
    office.fault("drop-after-write")

    await office.types("U_OPERATOR", "create home=alpha")

    assert len(office.shown()) == 1
    assert "Studio for home alpha is ready" in office.latest("D_U_OPERATOR")["text"]


async def test_a_slack_without_plans_gets_ten_lines(office: Office) -> None:
    office.fault("invalid-blocks-plan", times=99)

    await office.types("U_OPERATOR", "create home=alpha")

    _, progress, _ = office.shown()
    assert [b["type"] for b in progress["blocks"]] == ["header", "section"]


async def test_a_slow_slack_does_not_slow_the_ack(office: Office) -> None:
    office.fault("slow-api", delay_s=1.5, times=1)

    answer = await office.types("U_OPERATOR", "help")

    assert answer["ack_ms"] < 1000


async def test_a_rate_limit_loses_nothing(office: Office) -> None:
    office.fault("rate-limited", method="chat.postMessage", retry_after=1, times=1)

    await office.types("U_OPERATOR", "create home=alpha")

    assert "Studio for home alpha is ready" in office.latest()["text"]


async def test_the_home_tab_and_a_mention_are_answered(office: Office) -> None:
    await office.slack.people.open_home("U_OPERATOR")
    await office.slack.people.say("U_OPERATOR", "C_OPS", "<@U_BOT> hello")
    await _until(office, lambda: office.slack.home("U_OPERATOR") is not None and len(office.shown()) > 1)

    assert "operator" in json.dumps(office.slack.home("U_OPERATOR"))
    assert "/hermes help" in office.latest()["text"]


@pytest.mark.parametrize("office", ["socket"], indirect=True)
async def test_a_job_outlives_its_socket(office: Office) -> None:
    async def reconnect() -> None:
        office.fault("disconnect")
        await office.slack.apply_disconnects()

    office.world.cube.before("create", reconnect)
    await office.types("U_OPERATOR", "create home=alpha")

    assert "Studio for home alpha is ready" in office.latest()["text"]


async def _until(office: Office, condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.02)
            await office.jobs.idle()
