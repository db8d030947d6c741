"""Item 11 of the Slack fidelity list, envelopes: events that come again, and envelopes that come twice."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace, until
from integration.standin_slack_raw import Frame, RawSocket, raw_socket, raw_sockets, typing
from slack_bolt.async_app import AsyncApp

from bot.standin.slack import sockets

BUTTON = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}, "value": "v"}
CARD = [{"type": "actions", "block_id": "row", "elements": [BUTTON]}]


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "ACK_DEADLINE_S", 0.25)


async def fault(workspace: Workspace, kind: str, **more: Any) -> None:
    await workspace.post("/faults", target="slack", kind=kind, **more)


async def mention(workspace: Workspace) -> dict[str, Any]:
    return await workspace.post("/say", user="U_OPERATOR", channel="C_OPS", text="@hermes hello")


async def settled(workspace: Workspace) -> None:
    """The last envelope was acknowledged or given up."""
    await until(lambda: workspace.slack.world.sockets.log.shown()[-1]["outcome"] is not None)


async def tries(workspace: Workspace, socket: RawSocket, count: int) -> list[Frame]:
    """An event that nobody acknowledges, and what comes of it as the clock moves on."""
    await mention(workspace)
    frames = [await socket.frame(), await socket.frame()]
    for wait_s in (60, 300)[: count - 2]:
        await settled(workspace)
        await workspace.post("/clock", advance_s=wait_s)
        frames.append(await socket.frame())
    return frames


@pytest.mark.usefixtures("short_deadline")
async def test_item_11_an_event_comes_again_at_once_after_a_minute_and_after_five(
    workspace: Workspace,
) -> None:
    async with raw_socket(workspace) as socket:
        frames = await tries(workspace, socket, 4)
        await workspace.post("/clock", advance_s=3600)

        assert await socket.silent()

    assert [f["retry_attempt"] for f in frames] == [0, 1, 2, 3]
    assert [f["retry_reason"] for f in frames] == ["", "timeout", "timeout", "timeout"]
    assert len({f["payload"]["event_id"] for f in frames}) == 1
    assert len({f["envelope_id"] for f in frames}) == 4
    times = [one["at"] for one in await workspace.get("/envelopes")]
    assert [round(later - earlier) // 60 for earlier, later in pairwise(times)] == [0, 1, 5]


@pytest.mark.usefixtures("short_deadline")
async def test_item_11_an_acknowledged_redelivery_is_the_last(workspace: Workspace) -> None:
    async with raw_socket(workspace) as socket:
        _, second = await tries(workspace, socket, 2)
        await socket.ack(second)
        await settled(workspace)
        await workspace.post("/clock", advance_s=3600)

        assert await socket.silent()


@pytest.mark.usefixtures("short_deadline")
async def test_item_11_a_late_ack_does_not_stop_the_next_try(workspace: Workspace) -> None:
    async with raw_socket(workspace) as socket:
        first, second = await tries(workspace, socket, 2)
        await settled(workspace)
        await socket.ack(first)
        await socket.ack(second)
        await workspace.post("/clock", advance_s=61)

        third = await socket.frame()

    assert third["retry_attempt"] == 2


async def test_item_11_an_event_without_a_socket_waits_for_one(workspace: Workspace) -> None:
    said = await mention(workspace)
    await until(lambda: len(workspace.slack.world.sockets.log.shown()) == 2)

    async with raw_socket(workspace) as socket:
        await workspace.post("/clock", advance_s=61)
        again = await socket.frame()
        await socket.ack(again)

    assert said["outcome"] == "dispatch_failed"
    assert (again["retry_attempt"], again["retry_reason"]) == (2, "connection_failed")


async def test_item_11_an_acknowledged_event_comes_once(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await mention(workspace)
        await workspace.post("/clock", advance_s=3600)
        await workspace.command("after")

    assert [body.get("type", "command") for body in heard] == ["event_callback", "command"]


@pytest.mark.usefixtures("short_deadline")
async def test_item_11_bolt_is_told_the_number_and_the_reason_of_a_retry(workspace: Workspace) -> None:
    seen: list[tuple[str, str]] = []

    def listen(app: AsyncApp) -> None:
        @app.middleware
        async def hold_the_first(next_: Any, request: Any) -> None:
            number, reason = (request.headers[f"x-slack-retry-{name}"][0] for name in ("num", "reason"))
            seen.append((number, reason))
            await asyncio.sleep(0.5 if number == "0" else 0)
            await next_()

        @app.event("app_mention")
        async def hear() -> None:
            heard.set()

    heard = asyncio.Event()
    async with connected(workspace, listen):
        await mention(workspace)
        await asyncio.wait_for(heard.wait(), 5)

    assert seen == [("0", ""), ("1", "timeout")]


@pytest.mark.usefixtures("short_deadline")
async def test_item_11_commands_and_clicks_are_not_sent_again(workspace: Workspace) -> None:
    card = await workspace.client().chat_postMessage(channel="C_OPS", text="card", blocks=CARD)
    async with raw_socket(workspace) as socket:
        await workspace.command("help")
        await workspace.post("/click", user="U_ADMIN", channel="C_OPS", ts=card["ts"], action_id="go")
        kinds = [(await socket.frame())["type"] for _ in range(2)]
        await workspace.post("/clock", advance_s=3600)

        assert await socket.silent()

    assert kinds == ["slash_commands", "interactive"]


@pytest.mark.parametrize("times", [1, 3])
async def test_item_11_a_command_can_come_more_than_once_as_the_same_envelope(
    workspace: Workspace, times: int
) -> None:
    await fault(workspace, "duplicate-envelope", times=times)
    async with raw_socket(workspace) as socket, typing(workspace) as command:
        frames = [await socket.frame() for _ in range(times + 1)]
        for frame in frames:
            await socket.ack(frame)
        answer = await command

    assert answer["outcome"] == "acked"
    assert frames == [frames[0]] * (times + 1)
    [record] = await workspace.get("/envelopes")
    assert record["sent"] == [1] * (times + 1)
    assert (await workspace.get("/faults"))["armed"] == []


async def test_item_11_a_click_can_come_twice_and_a_command_before_it_does_not(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    card = await workspace.client().chat_postMessage(channel="C_OPS", text="card", blocks=CARD)
    await fault(workspace, "duplicate-envelope", type="interactive")
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await workspace.command("help")
        await workspace.post("/click", user="U_ADMIN", channel="C_OPS", ts=card["ts"], action_id="go")
        await until(lambda: len(heard) == 3)

    assert [body.get("type", "command") for body in heard] == ["command", "block_actions", "block_actions"]
    assert heard[1]["trigger_id"] == heard[2]["trigger_id"]


async def test_item_11_the_copy_can_come_over_another_socket_and_much_later(workspace: Workspace) -> None:
    await fault(workspace, "duplicate-envelope", socket="other", delay_s=3600)
    async with raw_sockets(workspace, 2) as opened:
        async with typing(workspace) as command:
            reading = [asyncio.create_task(socket.frame()) for socket in opened]
            done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
            first = done.pop().result()
            await opened[0].ack(first)
            await command
        await workspace.post("/clock", advance_s=3601)

        frames = [await one for one in reading]

    assert frames == [first, first]


async def test_item_11_copies_repeat_each_of_the_next_envelopes(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    await fault(workspace, "duplicate-envelope", times=2, copies=4)
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        for text in ("one", "two", "three"):
            await workspace.command(text)
        await until(lambda: len(heard) == 11)

    assert sorted(body["text"] for body in heard) == ["one"] * 5 + ["three"] + ["two"] * 5
