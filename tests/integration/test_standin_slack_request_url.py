"""Slack's stand-in delivers over HTTP as Slack does: what counts as an ack, and what is sent again."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import pytest_asyncio
from aiohttp import web
from integration.standin_slack_kit import Workspace, open_workspace, until


@dataclass
class App:
    """Somebody's app behind a request URL; it answers what the test tells it to."""

    url: str = ""
    status: int = 200
    text: str = ""
    kind: str = "text/plain"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    seen: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if request.content_type == "application/json" and b"url_verification" in body:
            return web.json_response({"challenge": json.loads(body)["challenge"]})
        self.seen.append(({k.lower(): v for k, v in request.headers.items()}, body))
        await asyncio.sleep(self.delay)
        return web.Response(status=self.status, text=self.text, content_type=self.kind, headers=self.headers)

    def numbers(self) -> list[str]:
        return [headers.get("x-slack-retry-num", "") for headers, _ in self.seen]


@pytest_asyncio.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest_asyncio.fixture
async def app(workspace: Workspace) -> AsyncIterator[App]:
    app = App()
    server = web.Application()
    server.add_routes([web.post("/slack", app.take)])
    runner = web.AppRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    app.url = "http://{}:{}/slack".format(*runner.addresses[0][:2])
    await workspace.post("/delivery", mode="http", url=app.url)
    yield app
    await runner.cleanup()


async def test_command_is_a_signed_form(workspace: Workspace, app: App) -> None:
    answer = await workspace.command("whoami")

    [(headers, body)] = app.seen
    stamp = headers["x-slack-request-timestamp"]
    expected = hmac.new(
        workspace.slack.secrets.signing_secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256
    )
    assert answer["outcome"] == "acked"
    assert headers["x-slack-signature"] == f"v0={expected.hexdigest()}"
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    form = parse_qs(body.decode())
    assert (form["command"], form["text"], form["user_id"]) == (["/hermes"], ["whoami"], ["U_OPERATOR"])


async def test_answer_is_shown_to_its_person(workspace: Workspace, app: App) -> None:
    app.text = "plain words"
    await workspace.command("one")
    app.text, app.kind = json.dumps({"response_type": "in_channel", "text": "for all"}), "application/json"
    answer = await workspace.command("two")

    told = [(m["text"], m.get("ephemeral_for")) for m in await workspace.messages()]
    assert ("plain words", "U_OPERATOR") in told
    assert ("for all", None) in told
    assert answer["ack"]["text"] == "for all"


@pytest.mark.parametrize("status", [201, 302, 400, 404, 500])
async def test_other_statuses_than_200_are_no_ack(workspace: Workspace, app: App, status: int) -> None:
    app.status = status

    assert (await workspace.command("whoami"))["outcome"] == "dispatch_failed"


async def test_answer_after_three_seconds_is_too_late(workspace: Workspace, app: App) -> None:
    app.delay = 3.2

    answer = await workspace.command("whoami")

    assert answer["outcome"] == "operation_timeout"
    assert 'failed with the error "operation_timeout"' in (await workspace.messages())[-1]["text"]


async def test_address_where_nobody_listens_fails_the_handshake(workspace: Workspace) -> None:
    status, answer = await workspace.try_post("/delivery", mode="http", url="http://127.0.0.1:9/slack")

    assert status == 409
    assert "challenge" in answer["error"]
    assert (await workspace.command("whoami"))["outcome"] == "dispatch_failed"


@pytest.mark.parametrize("body", [{}, {"mode": "pigeon"}, {"mode": "http"}, {"mode": "socket", "url": "x"}])
async def test_wrong_switch_is_refused_with_an_example(workspace: Workspace, body: dict[str, str]) -> None:
    status, answer = await workspace.try_post("/delivery", **body)

    assert status == 400
    assert "mode" in answer["error"]


async def test_event_that_was_not_taken_comes_again_at_once_then_after_one_and_five_minutes(
    workspace: Workspace, app: App
) -> None:
    app.status = 500
    answer = await workspace.post("/say", user="U_OPERATOR", channel="C_OPS", text="<@U_BOT> hello")
    await until(lambda: app.numbers() == ["", "1"])
    await workspace.post("/clock", advance_s=61)
    await until(lambda: app.numbers() == ["", "1", "2"])
    await workspace.post("/clock", advance_s=301)
    await until(lambda: app.numbers() == ["", "1", "2", "3"])
    await workspace.post("/clock", advance_s=3_000)

    assert answer["outcome"] == "dispatch_failed"
    assert {headers["x-slack-retry-reason"] for headers, _ in app.seen[1:]} == {"http_error"}
    assert len({json.loads(body)["event_id"] for _, body in app.seen}) == 1
    assert len({headers["x-slack-signature"] for headers, _ in app.seen}) >= 3


async def test_event_is_not_sent_again_once_it_was_taken(workspace: Workspace, app: App) -> None:
    app.status = 503
    await workspace.post("/say", user="U_OPERATOR", channel="C_OPS", text="<@U_BOT> hello")
    await until(lambda: app.numbers() == ["", "1"])
    app.status = 200
    await workspace.post("/clock", advance_s=61)
    await until(lambda: app.numbers() == ["", "1", "2"])
    await until(lambda: not workspace.slack.world.request_url.retrying)

    assert {headers["x-slack-retry-reason"] for headers, _ in app.seen[1:]} == {"http_error"}


async def test_event_is_not_sent_again_when_the_app_says_so(workspace: Workspace, app: App) -> None:
    app.status, app.headers = 500, {"x-slack-no-retry": "1"}

    await workspace.post("/say", user="U_OPERATOR", channel="C_OPS", text="<@U_BOT> hello")

    assert app.numbers() == [""]
    assert not workspace.slack.world.request_url.retrying


async def test_socket_mode_comes_back(workspace: Workspace, app: App) -> None:
    await workspace.post("/delivery", mode="socket")

    assert (await workspace.command("whoami"))["outcome"] == "dispatch_failed"
    assert app.seen == []
