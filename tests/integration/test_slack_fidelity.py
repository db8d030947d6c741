"""Items 1 to 3 of the Slack fidelity list: the ack deadline, trigger ids, response URLs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace
from integration.standin_slack_raw import raw_socket, typing
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError

from bot.standin.slack import sockets

BUTTON = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}, "value": "v"}
CARD = [{"type": "actions", "block_id": "row", "elements": [BUTTON]}]
VIEW = {"type": "modal", "title": {"type": "plain_text", "text": "One"}, "blocks": [{"type": "divider"}]}


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


def never_acks(app: AsyncApp) -> None:
    """Nobody listens, so that Bolt acknowledges nothing."""


async def click(workspace: Workspace) -> dict[str, Any]:
    card = await workspace.client().chat_postMessage(channel="C_OPS", text="card", blocks=CARD)
    return await workspace.post("/click", user="U_ADMIN", channel="C_OPS", ts=card["ts"], action_id="go")


async def refused(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


def response_url(workspace: Workspace, **more: Any) -> str:
    world = workspace.slack.world
    return world.base_url + world.tickets.new_response_url("C_OPS", "U_OPERATOR", **more)


def test_item_01_the_deadline_is_three_seconds() -> None:
    assert sockets.ACK_DEADLINE_S == 3.0


async def test_item_01_the_ack_is_timed_from_the_frame_to_its_answer(workspace: Workspace) -> None:
    async with raw_socket(workspace) as socket, typing(workspace) as command:
        envelope = await socket.frame()
        await asyncio.sleep(0.2)
        await socket.ack(envelope)
        answer = await command

    assert answer["outcome"] == "acked"
    assert 200 <= answer["ack_ms"] < 3000


async def test_item_01_a_command_nobody_acknowledges_shows_operation_timeout(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "ACK_DEADLINE_S", 0.1)
    async with connected(workspace, never_acks):
        answer = await workspace.command("help")

    [shown] = await workspace.messages()
    assert answer["outcome"] == "operation_timeout"
    assert shown["text"] == '/hermes failed with the error "operation_timeout"'
    assert (shown["user"], shown["ephemeral_for"]) == ("USLACKBOT", "U_OPERATOR")


async def test_item_01_a_command_without_a_socket_shows_dispatch_failed(workspace: Workspace) -> None:
    answer = await workspace.command("help")

    [shown] = await workspace.messages()
    assert answer["outcome"] == "dispatch_failed"
    assert shown["text"] == '/hermes failed with the error "dispatch_failed"'


async def test_item_01_a_button_nobody_acknowledges_shows_a_warning_triangle(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "ACK_DEADLINE_S", 0.1)
    async with connected(workspace, never_acks):
        timed_out = await click(workspace)
    undelivered = await click(workspace)

    assert (timed_out["outcome"], undelivered["outcome"]) == ("operation_timeout", "dispatch_failed")
    assert "warning triangle" in timed_out["seen"]
    assert "warning triangle" in undelivered["seen"]


async def test_item_02_a_trigger_id_opens_one_view_within_three_seconds(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    client = workspace.client()
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        for text in ("one", "two"):
            await workspace.command(text)
    used, late = (body["trigger_id"] for body in heard)
    await client.views_open(trigger_id=used, view=VIEW)
    again = await refused(client.views_open(trigger_id=used, view=VIEW))
    await workspace.post("/clock", advance_s=3.1)

    words = [
        await refused(client.views_open(trigger_id=late, view=VIEW)),
        await refused(client.views_open(trigger_id="1.2.nonsense", view=VIEW)),
    ]

    assert again == "exchanged_trigger_id"
    assert words == ["expired_trigger_id", "invalid_trigger_id"]


async def test_item_02_two_views_of_one_trigger_id_at_once_open_one(workspace: Workspace) -> None:
    trigger_id = workspace.slack.world.tickets.new_trigger("U_OPERATOR")
    client = workspace.client()

    answers = await asyncio.gather(
        *(client.views_open(trigger_id=trigger_id, view=VIEW) for _ in range(5)), return_exceptions=True
    )

    assert sum(isinstance(answer, SlackApiError) for answer in answers) == 4


async def test_item_03_a_response_url_takes_five_posts(workspace: Workspace) -> None:
    url = response_url(workspace)

    answers = [await workspace.respond(url, text=str(number)) for number in range(7)]

    assert answers == [(200, "ok")] * 5 + [(404, "used_url")] * 2
    assert len(await workspace.messages()) == 5


async def test_item_03_a_response_url_lives_for_half_an_hour(workspace: Workspace) -> None:
    url = response_url(workspace)
    await workspace.post("/clock", advance_s=1790)
    in_time = await workspace.respond(url, text="in time")
    await workspace.post("/clock", advance_s=11)

    late = await workspace.respond(url, text="late")

    assert (in_time, late) == ((200, "ok"), (404, "expired_url"))


async def test_item_03_a_refused_post_is_used_up_all_the_same(workspace: Workspace) -> None:
    url = response_url(workspace)
    for _ in range(5):
        await workspace.respond(url, text="x", blocks=[{"type": "nonsense"}])

    assert await workspace.respond(url, text="sixth") == (404, "used_url")


async def test_item_03_the_message_of_a_click_is_replaced_and_deleted(workspace: Workspace) -> None:
    card = await workspace.client().chat_postMessage(channel="C_OPS", text="card", blocks=CARD)
    url = response_url(workspace, message_ts=card["ts"])

    await workspace.respond(url, text="decided", replace_original=True)
    replaced = await workspace.messages()
    await workspace.respond(url, delete_original=True)
    again = await workspace.respond(url, text="gone?", replace_original=True)

    assert [(m["ts"], m["text"], m["blocks"]) for m in replaced] == [(card["ts"], "decided", [])]
    assert await workspace.messages() == []
    assert again == (404, "message_not_found")


async def test_item_03_a_command_leaves_no_message_to_replace_or_delete(workspace: Workspace) -> None:
    url = response_url(workspace)

    answers = [
        await workspace.respond(url, text="x", replace_original=True),
        await workspace.respond(url, delete_original=True),
    ]

    assert answers == [(404, "message_not_found")] * 2


async def test_item_03_an_ephemeral_message_stays_one_when_it_is_replaced_for_all(
    workspace: Workspace,
) -> None:
    sent = await workspace.client().chat_postEphemeral(channel="C_OPS", user="U_OPERATOR", text="sure?")
    url = response_url(workspace, message_ts=sent["message_ts"], ephemeral=True)

    await workspace.respond(url, text="all see it", response_type="in_channel", replace_original=True)

    [message] = await workspace.messages()
    assert (message["text"], message["ephemeral_for"]) == ("all see it", "U_OPERATOR")


async def test_item_03_an_answer_reaches_a_thread_in_channel_and_as_a_new_message(
    workspace: Workspace,
) -> None:
    parent = await workspace.client().chat_postMessage(channel="C_OPS", text="parent", blocks=CARD)
    url = response_url(workspace, message_ts=parent["ts"])

    await workspace.respond(
        url, text="reply", response_type="in_channel", thread_ts=parent["ts"], replace_original=False
    )

    messages = await workspace.messages(thread=parent["ts"])
    assert [(m["text"], m["thread_ts"]) for m in messages] == [("parent", None), ("reply", parent["ts"])]


@pytest.mark.parametrize(
    "said", [{"replace_original": False}, {"response_type": "in_channel"}], ids=["to one", "not as new"]
)
async def test_item_03_any_other_answer_stays_out_of_the_thread(
    workspace: Workspace, said: dict[str, Any]
) -> None:
    parent = await workspace.client().chat_postMessage(channel="C_OPS", text="parent", blocks=CARD)

    await workspace.respond(
        response_url(workspace, message_ts=parent["ts"]), text="reply", thread_ts=parent["ts"], **said
    )

    assert [m["text"] for m in await workspace.messages(thread=parent["ts"])] == ["parent"]
    assert (await workspace.messages())[-1]["text"] == "reply"


async def test_item_03_a_reply_is_no_thread_for_an_answer(workspace: Workspace) -> None:
    client = workspace.client()
    parent = await client.chat_postMessage(channel="C_OPS", text="parent", blocks=CARD)
    reply = await client.chat_postMessage(channel="C_OPS", text="reply", thread_ts=parent["ts"])
    url = response_url(workspace, message_ts=parent["ts"])
    new = {"response_type": "in_channel", "replace_original": False, "text": "x"}

    answers = [await workspace.respond(url, **new, thread_ts=ts) for ts in (reply["ts"], "1.000001")]

    assert answers == [(400, "cannot_reply_to_message"), (400, "thread_not_found")]


async def test_item_03_a_deletion_stands_alone(workspace: Workspace) -> None:
    card = await workspace.client().chat_postMessage(channel="C_OPS", text="card", blocks=CARD)
    url = response_url(workspace, message_ts=card["ts"])

    answer = await workspace.respond(url, delete_original=True, text="gone")

    assert answer == (400, "invalid_payload")
    assert [m["text"] for m in await workspace.messages()] == ["card"]


@pytest.mark.parametrize("channel", ["G_PRIVATE", "D_PAIR", "C_PUBLIC"])
async def test_item_03_an_answer_needs_no_membership(workspace: Workspace, channel: str) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await workspace.command("help", channel=channel)

    assert await workspace.respond(heard[0]["response_url"], text="hello") == (200, "ok")
