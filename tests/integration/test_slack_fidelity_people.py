"""Items 12, 15 and 16 of the Slack fidelity list: clicks, typed words, and the transcript of everything."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace, until
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

Heard = list[dict[str, Any]]


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def client(workspace: Workspace) -> AsyncWebClient:
    return workspace.client()


@pytest.fixture
def heard() -> Heard:
    return []


@pytest.fixture
async def app(workspace: Workspace, heard: Heard) -> AsyncIterator[AsyncApp]:
    async with connected(workspace, lambda app: hears_everything(app, heard)) as running:
        yield running


def card(action_id: str, **more: Any) -> list[dict[str, Any]]:
    button = {"type": "button", "action_id": action_id, "text": {"type": "plain_text", "text": "Press"}}
    return [{"type": "actions", "block_id": "row", "elements": [{**button, "value": "v", **more}]}]


@pytest.mark.usefixtures("app")
async def test_item_12_only_a_button_that_is_in_the_message_now_can_be_pressed(
    workspace: Workspace, client: AsyncWebClient, heard: Heard
) -> None:
    posted = await client.chat_postMessage(channel="C_OPS", text="card", blocks=card("approve"))
    await client.chat_update(channel="C_OPS", ts=posted["ts"], text="card", blocks=card("undo"))
    press = {"user": "U_ADMIN", "channel": "C_OPS", "ts": posted["ts"]}

    gone, said = await workspace.try_post("/click", **press, action_id="approve")
    there = await workspace.post("/click", **press, action_id="undo")

    assert (gone, there["outcome"]) == (404, "acked")
    assert "there is: undo" in said["error"]
    assert [body["actions"][0]["action_id"] for body in heard] == ["undo"]


@pytest.mark.usefixtures("app")
async def test_item_12_a_stale_client_presses_what_it_still_shows(
    workspace: Workspace, client: AsyncWebClient, heard: Heard
) -> None:
    posted = await client.chat_postMessage(channel="C_OPS", text="card", blocks=card("approve"))
    press = {"user": "U_ADMIN", "channel": "C_OPS", "ts": posted["ts"], "action_id": "approve", "stale": True}
    await client.chat_update(channel="C_OPS", ts=posted["ts"], text="decided")
    after_edit = await workspace.post("/click", **press)
    await client.chat_delete(channel="C_OPS", ts=posted["ts"])

    after_delete = await workspace.post("/click", **press)
    never_there, _ = await workspace.try_post("/click", **{**press, "action_id": "other"})

    assert (after_edit["outcome"], after_delete["outcome"], never_there) == ("acked", "acked", 404)
    assert heard[0]["message"]["text"] == "decided"


@pytest.mark.usefixtures("app")
async def test_item_12_two_people_press_at_once(
    workspace: Workspace, client: AsyncWebClient, heard: Heard
) -> None:
    posted = await client.chat_postMessage(channel="C_OPS", text="card", blocks=card("approve"))
    press = {"channel": "C_OPS", "ts": posted["ts"], "action_id": "approve"}

    await asyncio.gather(*(workspace.post("/click", user=u, **press) for u in ("U_ADMIN", "U_APPROVER")))

    assert {body["user"]["id"] for body in heard} == {"U_ADMIN", "U_APPROVER"}
    assert len({body["trigger_id"] for body in heard}) == 2


@pytest.mark.usefixtures("app")
async def test_item_12_a_button_for_some_is_shown_to_no_other(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    blocks = card("approve", visible_to_user_ids=["U_APPROVER"])
    posted = await client.chat_postMessage(channel="C_OPS", text="card", blocks=blocks)
    press = {"channel": "C_OPS", "ts": posted["ts"], "action_id": "approve"}

    other, _ = await workspace.try_post("/click", user="U_ADMIN", **press)
    mine = await workspace.post("/click", user="U_APPROVER", **press)

    assert (other, mine["outcome"]) == (404, "acked")


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("typed", "how", "sent"),
    [
        ("owner=@ola-operator in #ops", {}, "owner=<@U_OPERATOR|ola-operator> in <#C_OPS|ops>"),
        ("in #private", {}, "in <#G_PRIVATE|>"),
        ("at http://a.example/x?y=1&z=2", {}, "at <http://a.example/x?y=1&amp;z=2>"),
        (
            "a.internal me@demo.example",
            {},
            "<http://a.internal|a.internal> <mailto:me@demo.example|me@demo.example>",
        ),
        ("a<b & c>d", {}, "a&lt;b &amp; c&gt;d"),
        ('--home=a "b c"', {"phone": True}, "—home=a “b c” "),
        (
            "owner=@ola-operator a<b http://a.example",
            {"raw": True},
            "owner=@ola-operator a<b http://a.example",
        ),
        ("--owner=@ola-operator", {"raw": True, "phone": True}, "—owner=@ola-operator "),
    ],
)
async def test_item_15_the_composer_changes_what_was_typed(
    workspace: Workspace, heard: Heard, typed: str, how: dict[str, bool], sent: str
) -> None:
    await workspace.command(typed, **how)

    assert heard[0]["text"] == sent


def secrets_in(workspace: Workspace, *texts: str) -> list[str]:
    """Which of the app's secrets stand in any of the texts."""
    known = workspace.slack.secrets
    return [
        name
        for name in ("bot_token", "app_token", "signing_secret")
        if any(getattr(known, name) in text for text in texts)
    ]


@pytest.mark.usefixtures("app")
async def test_item_16_the_transcript_holds_every_outgoing_call_in_order(
    workspace: Workspace, client: AsyncWebClient, heard: Heard
) -> None:
    await workspace.command("help")
    before = len(await workspace.get("/transcript"))
    posted = await client.chat_postMessage(channel="C_OPS", text="one")
    await client.chat_update(channel="C_OPS", ts=posted["ts"], text="two")
    await workspace.respond(heard[0]["response_url"], text="three")
    await client.files_upload_v2(filename="a.txt", content="four", channel="C_OPS")
    await workspace.http.post(
        workspace.slack.api_url + "chat.postMessage", data="{", headers={"Content-Type": "application/json"}
    )

    calls = (await workspace.get("/transcript"))[before:]

    assert [call["method"] for call in calls] == [
        "chat.postMessage",
        "chat.update",
        "response_url",
        "files.getUploadURLExternal",
        "upload",
        "files.completeUploadExternal",
        "chat.postMessage",
    ]
    assert [calls[0]["body"]["text"], calls[2]["body"]["text"], calls[4]["body"]["content"]] == [
        "one",
        "three",
        "four",
    ]
    assert calls[6]["body"] == "{"
    assert [call["at"] for call in calls] == sorted(call["at"] for call in calls)


@pytest.mark.usefixtures("app")
async def test_item_16_nothing_secret_stands_in_what_the_control_api_shows_or_the_log_says(
    workspace: Workspace, client: AsyncWebClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="bot.standin")
    await client.chat_postMessage(channel="C_OPS", text="hello")
    await workspace.command("help")

    shown = [
        json.dumps(await workspace.get(path))
        for path in ("/transcript", "/envelopes", "/sockets", "/crawls", "/healthz", "/faults")
    ]

    assert secrets_in(workspace, *shown, caplog.text) == []


async def test_item_16_a_secret_in_a_message_is_found_in_the_transcript(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await client.chat_postMessage(channel="C_OPS", text=f"our token is {workspace.slack.secrets.app_token}")

    assert secrets_in(workspace, json.dumps(await workspace.get("/transcript"))) == ["app_token"]


@pytest.mark.usefixtures("app")
async def test_item_16_a_refused_call_is_in_the_transcript_too(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await workspace.post("/faults", target="slack", kind="server-error", method="chat.postMessage")
    async with workspace.http.post(
        workspace.slack.api_url + "chat.postMessage", json={"text": "x"}
    ) as answer:
        assert answer.status == 500
    await until(lambda: bool(workspace.slack.world.transcript))

    assert (await workspace.get("/transcript"))[-1]["body"] == {"text": "x"}
