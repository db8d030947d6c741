"""Slash commands, acknowledgements and response URLs, with a real Bolt app on the other side."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace, until
from pydantic import TypeAdapter
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_events import SlashCommandPayload

from bot.standin.slack import sockets


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


async def test_a_command_is_delivered_complete_and_acknowledged(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []

    async with connected(workspace, lambda app: hears_everything(app, heard)):
        answer = await workspace.command("create home=alpha")

    assert answer["outcome"] == "acked"
    assert 0 < answer["ack_ms"] < 1000
    assert answer["ack"] is None
    TypeAdapter(SlashCommandPayload).validate_python(heard[0])
    assert heard[0]["text"] == "create home=alpha"
    assert heard[0]["is_enterprise_install"] == "false"
    assert (heard[0]["team_id"], heard[0]["channel_name"]) == ("T_DEMO", "ops")


async def test_the_text_of_an_ack_becomes_an_ephemeral_message(workspace: Workspace) -> None:
    def listen(app: AsyncApp) -> None:
        @app.command("/hermes")
        async def answer(ack: Any) -> None:
            await ack("Working on it")

    async with connected(workspace, listen):
        answer = await workspace.command("help")

    assert answer["ack"] == {"text": "Working on it"}
    messages = await workspace.messages()
    assert [(m["text"], m["ephemeral_for"], m["user"]) for m in messages] == [
        ("Working on it", "U_OPERATOR", "U_BOT")
    ]


async def test_an_in_channel_ack_also_publishes_what_was_typed(workspace: Workspace) -> None:
    def listen(app: AsyncApp) -> None:
        @app.command("/hermes")
        async def answer(ack: Any) -> None:
            await ack(text="Here", response_type="in_channel")

    async with connected(workspace, listen):
        await workspace.command("whoami")

    messages = await workspace.messages()
    assert [(m["user"], m["text"]) for m in messages] == [("U_OPERATOR", "/hermes whoami"), ("U_BOT", "Here")]
    assert all("ephemeral_for" not in message for message in messages)


async def test_without_a_socket_the_dispatch_fails_visibly(workspace: Workspace) -> None:
    answer = await workspace.command("help")

    assert answer == {"outcome": "dispatch_failed", "ack_ms": 0.0, "ack": None}
    assert "dispatch_failed" in (await workspace.messages())[-1]["text"]


async def test_an_ack_after_three_seconds_is_too_late(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sockets.ACK_DEADLINE_S == 3
    monkeypatch.setattr(sockets, "ACK_DEADLINE_S", 0.3)
    acked_late = asyncio.Event()

    def listen(app: AsyncApp) -> None:
        @app.middleware
        async def slow(next_: Any) -> None:
            await asyncio.sleep(0.6)
            await next_()

        @app.command("/hermes")
        async def answer(ack: Any) -> None:
            await ack("too late")
            acked_late.set()

    async with connected(workspace, listen):
        answer = await workspace.command("help")
        await asyncio.wait_for(acked_late.wait(), 5)

    assert answer["outcome"] == "operation_timeout"
    assert [m["text"] for m in await workspace.messages()] == [
        '/hermes failed with the error "operation_timeout"'
    ]


async def test_a_command_of_a_foreigner_carries_the_other_team(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []

    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await workspace.command("status", user="U_FOREIGNER")

    assert (heard[0]["team_id"], heard[0]["team_domain"]) == ("T_PARTNER", "partner")


@pytest.mark.parametrize(
    ("channel", "name"),
    [
        ("G_PRIVATE", "privategroup"),
        ("D_U_OPERATOR", "directmessage"),
        ("D_PAIR", "directmessage"),
        ("C_PUBLIC", "public"),
    ],
)
async def test_a_response_url_works_where_the_app_may_not_post(
    workspace: Workspace, channel: str, name: str
) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await workspace.command("help", channel=channel)

    status, text = await workspace.respond(heard[0]["response_url"], text="hello")

    assert (status, text) == (200, "ok")
    assert heard[0]["channel_name"] == name
    assert [m["text"] for m in await workspace.messages(channel)] == ["hello"]


async def test_a_response_url_ends_after_five_posts(workspace: Workspace) -> None:
    url = workspace.slack.world.base_url + workspace.slack.world.tickets.new_response_url(
        "C_OPS", "U_OPERATOR"
    )
    for number in range(5):
        assert (await workspace.respond(url, text=str(number)))[0] == 200

    assert await workspace.respond(url, text="six") == (404, "used_url")


async def test_a_response_url_ends_after_half_an_hour(workspace: Workspace) -> None:
    url = workspace.slack.world.base_url + workspace.slack.world.tickets.new_response_url(
        "C_OPS", "U_OPERATOR"
    )
    await workspace.post("/clock", advance_s=1801)

    assert await workspace.respond(url, text="late") == (404, "expired_url")


async def test_a_command_leaves_nothing_that_a_response_could_replace_or_delete(workspace: Workspace) -> None:
    url = workspace.slack.world.base_url + workspace.slack.world.tickets.new_response_url(
        "C_OPS", "U_OPERATOR"
    )

    replaced = await workspace.respond(url, text="new", replace_original=True)
    deleted = await workspace.respond(url, delete_original=True)

    assert (replaced[0], deleted[0]) == (404, 404)
    assert await workspace.messages() == []


async def test_a_response_with_blocks_that_slack_refuses_is_refused(workspace: Workspace) -> None:
    url = workspace.slack.world.base_url + workspace.slack.world.tickets.new_response_url(
        "C_OPS", "U_OPERATOR"
    )

    status, text = await workspace.respond(url, text="x", blocks=[{"type": "nonsense"}])

    assert (status, text) == (400, "invalid_blocks")


async def test_a_disconnect_moves_the_app_to_a_new_socket(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        first = set(workspace.slack.world.sockets._connected)

        await workspace.post("/faults", target="slack", kind="disconnect", reason="refresh_requested")
        await until(lambda: bool(workspace.slack.world.sockets._connected - first))
        answer = await workspace.command("help")

    assert answer["outcome"] == "acked"


async def test_five_hundred_commands_at_once_are_all_acknowledged(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        answers = await asyncio.gather(*(workspace.command(f"help {n}") for n in range(500)))

    assert {answer["outcome"] for answer in answers} == {"acked"}
    assert len({body["trigger_id"] for body in heard}) == 500


async def test_people_cannot_type_where_they_are_not(workspace: Workspace) -> None:
    for user, channel in (("U_FOREIGNER", "G_PRIVATE"), ("U_OPERATOR", "C_ARCHIVED"), ("U_DELETED", "C_OPS")):
        status, answer = await workspace.try_post("/command", user=user, channel=channel, text="help")
        assert status == 400
        assert user in answer["error"] or channel in answer["error"]


async def test_tokens_messages_and_port_survive_a_restart(tmp_path: Path) -> None:
    async with open_workspace(tmp_path) as before:
        posted = await before.client().chat_postMessage(channel="C_OPS", text="one")
        url, credentials = before.slack.api_url, before.slack.secrets

    async with open_workspace(tmp_path) as after:
        await after.client().chat_update(channel="C_OPS", ts=posted["ts"], text="two")

        assert (after.slack.api_url, after.slack.secrets) == (url, credentials)
        assert [message["text"] for message in await after.messages()] == ["two"]


async def test_a_running_app_comes_back_to_a_restarted_stand_in(tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []
    async with open_workspace(tmp_path) as before:
        app = AsyncApp(client=before.client())
        hears_everything(app, heard)
        handler = AsyncSocketModeHandler(app, before.slack.secrets.app_token, ping_interval=1)
        await handler.connect_async()
        await before.command("one")

    async with open_workspace(tmp_path) as after:
        await until(lambda: after.slack.world.sockets.connected == 1, within_s=20)
        answer = await after.command("two")

    await handler.close_async()
    assert answer["outcome"] == "acked"
    assert [body["text"] for body in heard] == ["one", "two"]
