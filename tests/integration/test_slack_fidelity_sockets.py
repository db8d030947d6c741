"""Item 11 of the Slack fidelity list, sockets: which one is used, how they end, when they are deaf."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace, until
from integration.standin_slack_raw import raw_socket, raw_sockets, refused_or_open, typing
from slack_sdk.errors import SlackApiError

from bot.standin.slack import sockets


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


async def fault(workspace: Workspace, kind: str, **more: Any) -> None:
    await workspace.post("/faults", target="slack", kind=kind, **more)


async def chosen(workspace: Workspace, count: int) -> list[int]:
    """Which sockets get the next envelopes, when everybody listens and acknowledges."""
    envelopes = await workspace.get("/envelopes")
    for number in range(count):
        await workspace.command(f"help {number}")
    return [one["sent"][0] for one in (await workspace.get("/envelopes"))[len(envelopes) :]]


async def test_item_11_envelopes_go_over_any_socket_and_a_seed_repeats_the_choice(
    workspace: Workspace,
) -> None:
    heard: list[dict[str, Any]] = []
    async with contextlib.AsyncExitStack() as apps:
        for _ in range(3):
            await apps.enter_async_context(connected(workspace, lambda app: hears_everything(app, heard)))

        await workspace.post("/sockets", seed=7)
        first = await chosen(workspace, 12)
        await workspace.post("/sockets", seed=7)
        second = await chosen(workspace, 12)

    assert first == second
    assert set(first) == {1, 2, 3}
    assert first not in ([1, 2, 3] * 4, [2, 3, 1] * 4, [3, 1, 2] * 4)
    assert len(heard) == 24


async def test_item_11_the_eleventh_socket_is_refused(workspace: Workspace) -> None:
    async with raw_sockets(workspace, 10), refused_or_open(workspace) as eleventh:
        said = await eleventh.frame()
        ended = await eleventh.end()

        assert (said["type"], said["reason"]) == ("disconnect", "too_many_websockets")
        assert ended is aiohttp.WSMsgType.CLOSE
        assert len(await workspace.get("/sockets")) == 10


async def test_item_11_a_ping_comes_back_with_its_own_payload(workspace: Workspace) -> None:
    async with raw_socket(workspace) as socket:
        assert await socket.pong(b"sdk-ping-pong:1.5") == b"sdk-ping-pong:1.5"


async def test_item_11_a_ticket_opens_one_socket(workspace: Workspace) -> None:
    secrets = workspace.slack.secrets
    link = await workspace.client(secrets.app_token).apps_connections_open(app_token=secrets.app_token)
    async with workspace.http.ws_connect(link["url"]):
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await workspace.http.ws_connect(link["url"])

    assert caught.value.status == 401


async def test_item_11_a_warning_leaves_ten_seconds(workspace: Workspace) -> None:
    async with raw_socket(workspace) as socket:
        await fault(workspace, "disconnect", reason="warning")
        warning = await socket.frame()
        async with typing(workspace) as command:
            await socket.ack(await socket.frame())
            answer = await command

        await workspace.post("/clock", advance_s=sockets.WARNING_GRACE_S)
        refresh = await socket.frame()

        assert (warning["reason"], refresh["reason"]) == ("warning", "refresh_requested")
        assert answer["outcome"] == "acked"
        assert await socket.end() is aiohttp.WSMsgType.CLOSE


async def test_item_11_after_a_refresh_request_nothing_more_comes_over_the_socket(
    workspace: Workspace,
) -> None:
    async with raw_socket(workspace) as socket:
        await fault(workspace, "disconnect", reason="refresh_requested")
        said = await socket.frame()

        answer = await workspace.command("help")

        assert said["reason"] == "refresh_requested"
        assert answer["outcome"] == "dispatch_failed"
        assert await socket.silent()


async def test_item_11_a_disabled_link_ends_every_socket_and_opens_no_more(workspace: Workspace) -> None:
    async with raw_sockets(workspace, 2) as opened:
        await fault(workspace, "disconnect", reason="link_disabled")
        said = [await socket.frame() for socket in opened]
        ended = [await socket.end() for socket in opened]

    with pytest.raises(SlackApiError) as caught:
        async with raw_socket(workspace):
            pass
    await workspace.http.delete(f"{workspace.control_url}/faults")

    assert [frame["reason"] for frame in said] == ["link_disabled"] * 2
    assert ended == [aiohttp.WSMsgType.CLOSE] * 2
    assert caught.value.response["error"] == "socket_mode_not_enabled"
    async with raw_socket(workspace) as again:
        assert await again.silent()


async def test_item_11_too_many_websockets_closes_a_socket_that_was_open(workspace: Workspace) -> None:
    async with raw_sockets(workspace, 2) as (oldest, other):
        await fault(workspace, "disconnect", reason="too_many_websockets")

        assert (await oldest.frame())["reason"] == "too_many_websockets"
        assert await oldest.end() is aiohttp.WSMsgType.CLOSE
        assert await other.silent()


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "too_many_websockets"])
async def test_item_11_a_disconnect_between_envelope_and_ack_loses_no_ack(
    workspace: Workspace, reason: str
) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await fault(workspace, "disconnect", reason=reason, after="envelope")

        answer = await workspace.command("help")
        async with asyncio.timeout(10):
            # The client may replace its socket twice, for the frame and for the close that follows it.
            while (await workspace.command("again"))["outcome"] != "acked":  # noqa: ASYNC110  # asked anew
                await asyncio.sleep(0.05)

    assert answer["outcome"] == "acked"
    assert [body["text"] for body in heard] == ["help", "again"]


async def test_item_11_an_ack_over_another_socket_counts(workspace: Workspace) -> None:
    async with raw_socket(workspace) as first, typing(workspace) as command:
        envelope = await first.frame()
        async with raw_socket(workspace) as second:
            await second.ack(envelope, {"text": "from the other one"})

            answer = await command

    assert (answer["outcome"], answer["ack"]) == ("acked", {"text": "from the other one"})
    [record] = await workspace.get("/envelopes")
    assert (record["sent"], record["acks"]) == ([1], [2])


async def test_item_11_an_ack_after_the_deadline_counts_for_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "ACK_DEADLINE_S", 0.2)
    async with raw_socket(workspace) as socket, typing(workspace) as command:
        envelope = await socket.frame()
        answer = await command
        await socket.ack(envelope, {"text": "too late"})
        await until(lambda: workspace.slack.world.sockets.log.shown()[0]["late_acks"] == 1)

    assert answer["outcome"] == "operation_timeout"
    assert "too late" not in str(await workspace.messages())


async def test_item_11_a_cut_connection_ends_without_goodbye_and_the_app_comes_back(
    workspace: Workspace,
) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await fault(workspace, "socket-abort")

        await until(lambda: [s["socket"] for s in workspace.slack.world.sockets.shown()] == [2], within_s=8)
        answer = await workspace.command("help")

    assert answer["outcome"] == "acked"


async def test_item_11_a_deaf_socket_looks_open_swallows_envelopes_and_answers_no_ping(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "ACK_DEADLINE_S", 0.2)
    async with raw_socket(workspace) as socket:
        await fault(workspace, "no-pong")
        await socket.ws.ping(b"anybody?")

        answer = await workspace.command("help")

        assert answer["outcome"] == "operation_timeout"
        assert await socket.silent()
        assert not socket.ws.closed
        assert [one["deaf"] for one in await workspace.get("/sockets")] == [True]


async def test_item_11_a_deaf_socket_can_also_get_nothing(workspace: Workspace) -> None:
    async with raw_sockets(workspace, 2) as (deaf, other):
        await fault(workspace, "no-pong", envelopes="none")
        for _ in range(6):
            async with typing(workspace) as command:
                await other.ack(await other.frame())
                assert (await command)["outcome"] == "acked"

        assert await deaf.silent()


async def test_item_11_a_real_client_leaves_a_deaf_socket(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await fault(workspace, "no-pong")

        await until(
            lambda: [(s["socket"], s["deaf"]) for s in workspace.slack.world.sockets.shown()] == [(2, False)],
            within_s=10,
        )
        answer = await workspace.command("help")

    assert answer["outcome"] == "acked"


async def test_item_11_a_wrong_reason_is_refused_in_one_sentence(workspace: Workspace) -> None:
    status, answer = await workspace.try_post("/faults", target="slack", kind="disconnect", reason="tired")

    assert status == 400
    assert "too_many_websockets" in answer["error"]


async def test_item_11_faults_wait_for_the_next_socket(workspace: Workspace) -> None:
    await fault(workspace, "disconnect", reason="refresh_requested")

    async with asyncio.timeout(5), raw_socket(workspace) as socket:
        said = await socket.frame()

    assert said["reason"] == "refresh_requested"
