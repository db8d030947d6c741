"""Our Socket Mode connection against a Slack that does what the test tells it to."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import WSMsgType, web
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters import slack_socket
from bot.adapters.slack_socket import Envelope, SlackSocket, SocketError
from bot.domain.errors import ChatError
from bot.domain.link import LinkState, Patience
from bot.link import GAVE_UP, REFUSED, SlackLink, ack_payload

HELLO = {"type": "hello"}
Script = Callable[[web.WebSocketResponse], Awaitable[None]]


@dataclass
class Slack:
    """Gives tickets and plays a script on each connection; keeps the acks."""

    url: str = ""
    script: Script | None = None
    ticket: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200
    asked: int = 0
    acks: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    open: list[web.WebSocketResponse] = field(default_factory=list)

    async def give(self, _: web.Request) -> web.Response:
        self.asked += 1
        body = self.ticket or {"ok": True, "url": f"ws://{self.url}/link"}
        return web.json_response(body, status=self.status, headers=self.headers)

    async def talk(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        self.open.append(ws)
        number = len(self.open)
        if self.script:
            await self.script(ws)
        else:
            await ws.send_json(HELLO)
        async for message in ws:
            if message.type is WSMsgType.TEXT:
                self.acks.append((number, json.loads(message.data)))
        return ws


@pytest_asyncio.fixture
async def slack() -> AsyncIterator[Slack]:
    slack = Slack()
    server = web.Application()
    server.add_routes([web.post("/api/apps.connections.open", slack.give), web.get("/link", slack.talk)])
    runner = web.AppRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slack.url = "{}:{}".format(*runner.addresses[0][:2])
    yield slack
    await runner.cleanup()


class Ours:
    """The socket under test, with an answer that the test decides."""

    def __init__(self, client: AsyncWebClient) -> None:
        self.taken: list[Envelope] = []
        self.ack: Mapping[str, Any] | None = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.socket = SlackSocket(client, "EXAMPLE", self.answer, ping_seconds=0.05)

    async def answer(self, envelope: Envelope) -> Mapping[str, Any] | None:
        self.taken.append(envelope)
        await self.gate.wait()
        return self.ack


@pytest_asyncio.fixture
async def ours(slack: Slack) -> AsyncIterator[Ours]:
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient("EXAMPLE", base_url=f"http://{slack.url}/api/", session=session)
        made = Ours(client)
        yield made
        await made.socket.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is waited for happens at the other end of a socket
            await asyncio.sleep(0.005)


def envelope(number: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": "slash_commands", "envelope_id": f"e-{number}", "payload": {"text": "help"}, **more}


@pytest.mark.parametrize(
    ("ack", "frame"),
    [({}, {"envelope_id": "e-1"}), ({"text": "hi"}, {"envelope_id": "e-1", "payload": {"text": "hi"}})],
)
async def test_envelope_is_acked_with_what_was_answered(
    slack: Slack, ours: Ours, ack: dict[str, Any], frame: dict[str, Any]
) -> None:
    ours.ack = ack
    await ours.socket.open()

    await slack.open[0].send_json(envelope(retry_attempt=2, retry_reason="timeout"))

    await until(lambda: bool(slack.acks))
    assert slack.acks == [(1, frame)]
    assert ours.taken[0].retry == ("2", "timeout")


async def test_answer_of_nothing_is_no_ack(slack: Slack, ours: Ours) -> None:
    ours.ack = None
    await ours.socket.open()

    await slack.open[0].send_json(envelope())
    await until(lambda: len(ours.taken) == 1)
    await ours.socket.settled()

    assert slack.acks == []


async def test_ack_whose_connection_broke_goes_out_over_the_next_one(slack: Slack, ours: Ours) -> None:
    await ours.socket.open()
    ours.gate.clear()
    await slack.open[0].send_json(envelope())
    await until(lambda: len(ours.taken) == 1)
    await slack.open[0].close()
    await asyncio.wait_for(ours.socket.lost.wait(), 5)
    await ours.socket.open()

    ours.gate.set()

    await until(lambda: bool(slack.acks))
    assert slack.acks == [(2, {"envelope_id": "e-1"})]


async def test_old_connection_stays_until_its_acks_are_out(slack: Slack, ours: Ours) -> None:
    await ours.socket.open()
    ours.gate.clear()
    await slack.open[0].send_json(envelope())
    await until(lambda: len(ours.taken) == 1)

    await ours.socket.open()
    ours.gate.set()

    await until(lambda: bool(slack.acks) and slack.open[0].closed)
    assert slack.acks == [(1, {"envelope_id": "e-1"})]
    assert ours.socket.connected


@pytest.mark.parametrize("text", ["no JSON", "[]", '"text"', '{"envelope_id": 5}', '{"type": "new"}', "null"])
async def test_messages_of_other_shapes_are_passed_over(slack: Slack, ours: Ours, text: str) -> None:
    await ours.socket.open()

    await slack.open[0].send_str(text)
    await slack.open[0].send_json(envelope())

    await until(lambda: len(slack.acks) == 1)
    assert len(ours.taken) == 1


@pytest.mark.parametrize("reason", ["too_many_websockets", "link_disabled"])
async def test_connection_that_is_refused_before_its_hello_says_why(
    slack: Slack, ours: Ours, reason: str
) -> None:
    async def refuse(ws: web.WebSocketResponse) -> None:
        await ws.send_json({"type": "disconnect", "reason": reason})
        await ws.close()

    slack.script = refuse

    with pytest.raises(SocketError) as refused:
        await ours.socket.open()

    assert refused.value.word == reason
    assert not ours.socket.connected


async def test_failed_opening_leaves_the_old_connection_as_it_was(slack: Slack, ours: Ours) -> None:
    await ours.socket.open()
    slack.ticket, slack.status = {"ok": False, "error": "internal_error"}, 500

    with pytest.raises(SocketError) as failed:
        await ours.socket.open()

    await slack.open[0].send_json(envelope())
    await until(lambda: len(slack.acks) == 1)
    assert failed.value.word == ""
    assert ours.socket.connected


async def test_rate_limit_says_how_long_to_wait(slack: Slack, ours: Ours) -> None:
    slack.ticket, slack.status = {"ok": False, "error": "ratelimited"}, 429
    slack.headers = {"Retry-After": "7"}

    with pytest.raises(SocketError) as limited:
        await ours.socket.open()

    assert (limited.value.word, limited.value.retry_after) == ("ratelimited", 7.0)


async def test_slack_that_says_no_hello_is_not_waited_for_for_ever(
    slack: Slack, ours: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mute(_: web.WebSocketResponse) -> None:
        """Open, and silent."""

    monkeypatch.setattr(slack_socket, "OPEN_SECONDS", 0.2)
    slack.script = mute

    with pytest.raises(SocketError, match="TimeoutError"):
        await ours.socket.open()

    assert not ours.socket.connected


async def test_pongs_keep_it_young(slack: Slack, ours: Ours) -> None:
    await ours.socket.open()
    first = ours.socket.pong_at

    await until(lambda: ours.socket.pong_at > first)

    assert ours.socket.connected


async def test_socket_mode_that_was_switched_off_ends_it_with_what_to_do(
    slack: Slack, ours: Ours, caplog: pytest.LogCaptureFixture
) -> None:
    async def disabled(ws: web.WebSocketResponse) -> None:
        await ws.send_json({"type": "disconnect", "reason": "link_disabled"})
        await ws.close()

    async def identity() -> Mapping[str, Any]:
        raise ChatError("ratelimited")

    slack.script = disabled
    link = SlackLink(identity, Patience(not_ready=0.5, pause=0.05))
    client = ours.socket._web
    async with link.socket_mode(None, client, "EXAMPLE"):  # type: ignore[arg-type]  # nothing is dispatched
        code = await asyncio.wait_for(link.watch(), 10)

    assert code == REFUSED
    assert link.report().state == LinkState.REFUSED
    assert "Socket Mode is switched off" in caplog.text
    assert slack.asked == 1


async def test_refusal_of_the_app_token_is_believed_although_the_bot_token_is_good(
    slack: Slack, ours: Ours
) -> None:
    async def identity() -> Mapping[str, Any]:
        return {"team_id": "T_DEMO"}

    link = SlackLink(identity, Patience(not_ready=0.5, pause=0.1, probe_again=0.01))
    client = ours.socket._web
    async with link.socket_mode(None, client, "EXAMPLE"):  # type: ignore[arg-type]  # nothing is dispatched
        watching = asyncio.create_task(link.watch())
        await asyncio.wait_for(link.up.wait(), 5)
        slack.ticket = {"ok": False, "error": "token_revoked"}
        await slack.open[0].close()
        code = await asyncio.wait_for(watching, 10)

    assert code == REFUSED
    assert link.report().reasons[0].startswith("token_revoked: ")
    assert slack.asked == 3


@pytest.mark.parametrize("word", ["slack-unreachable", "fatal_error", "ratelimited"])
async def test_start_that_gets_no_identity_is_given_up_whatever_slack_says(word: str) -> None:
    async def identity() -> Mapping[str, Any]:
        raise ChatError(word)

    link = SlackLink(identity, Patience(probe_again=0.01, not_ready=0.1, give_up=0.3))

    assert await asyncio.wait_for(link.watch(), 10) == GAVE_UP
    assert not link.identity.done()


@pytest.mark.parametrize(
    ("status", "body", "kind", "payload"),
    [
        (200, "", "", {}),
        (200, "hello", "text/plain;charset=utf-8", {"text": "hello"}),
        (200, '{"response_action": "clear"}', "application/json;charset=utf-8", {"response_action": "clear"}),
        (200, "[]", "application/json", {}),
        (404, '{"error": "unhandled request"}', "application/json", {}),
        (500, "", "", None),
    ],
)
def test_answer_of_bolt_becomes_an_ack(
    status: int, body: str, kind: str, payload: dict[str, Any] | None
) -> None:
    assert ack_payload(status, body, kind) == payload
