"""The control API, shape by shape: what tests, the demo, the console and other people's checks rely on."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.demo.processes import environment, stand_ins

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

OUTCOME = {"outcome", "ack_ms", "ack"}
MESSAGE = {"ts", "thread_ts", "user", "text", "blocks"}
WHO = {"user": "U_OPERATOR", "channel": "C_OPS"}


def text(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words}


def button(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "button", "text": text(value), "value": value, "action_id": "go", **more}


def row(block_id: str, *elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "block_id": block_id, "elements": list(elements)}


def field(block_id: str, kind: str, **more: Any) -> dict[str, Any]:
    element = {"type": kind, "action_id": "of", **more}
    return {"type": "input", "block_id": block_id, "label": text(block_id), "element": element}


CHOICES = {"options": [{"text": text(one), "value": one} for one in ("red", "blue")]}
CARD = [
    row("first", button("1")),
    row("second", button("2")),
    row("third", {"type": "static_select", "action_id": "pick", "placeholder": text("Which"), **CHOICES}),
]
FORM = {
    "type": "modal",
    "callback_id": "form",
    "title": text("Form"),
    "submit": text("Send"),
    "blocks": [
        field("name", "plain_text_input"),
        field("colours", "multi_static_select", **CHOICES),
        row("in form", button("3")),
    ],
}
HOME = {"type": "home", "blocks": [row("at home", button("4"))]}


@dataclass(slots=True)
class World:
    """The stand-ins as a process, and an app of another make than ours."""

    where: dict[str, str]
    http: aiohttp.ClientSession
    client: AsyncWebClient
    app: AsyncApp
    app_token: str
    heard: list[dict[str, Any]]

    async def get(self, path: str, **query: str) -> Any:
        async with self.http.get(self.where["control"] + path, params=query) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def post(self, path: str, /, **body: Any) -> Any:
        async with self.http.post(self.where["control"] + path, json=body) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def acted(self, path: str, /, **body: Any) -> dict[str, Any]:
        """Act as a person; gives what the app heard of it."""
        answer = await self.post(path, **body)
        assert answer.keys() == OUTCOME, answer
        assert (answer["outcome"], answer["ack"]) == ("acked", None)
        assert 0 < answer["ack_ms"] < 3000
        return self.heard[-1]

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        handler = AsyncSocketModeHandler(self.app, self.app_token)
        await handler.connect_async()
        try:
            yield
        finally:
            await handler.close_async()


def listen(app: AsyncApp, heard: list[dict[str, Any]]) -> None:
    """Acknowledge everything but the command ``be quiet``, and with words the one that asks for them."""

    async def keep(ack: Any, body: dict[str, Any]) -> None:
        heard.append(body)
        if body.get("text") == "be quiet":
            return
        await (ack("words") if body.get("text") == "say words" else ack())

    app.command("/hermes")(keep)
    app.action(re.compile(""))(keep)
    app.view("form")(keep)
    app.event("app_home_opened")(keep)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("control")
    async with stand_ins(folder) as where, aiohttp.ClientSession() as http:
        env = environment(Path(where["env_file"]))
        client = AsyncWebClient(env["SLACK_BOT_TOKEN"], base_url=where["slack_api"], session=http)
        heard: list[dict[str, Any]] = []
        app = AsyncApp(client=client)
        listen(app, heard)
        yield World(where, http, client, app, env["SLACK_APP_TOKEN"], heard)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def heard_world(world: World) -> AsyncIterator[World]:
    async with world.listening():
        yield world


async def test_a_command_without_an_app_is_not_dispatched(world: World) -> None:
    answer = await world.post("/command", **WHO, text="help")

    assert answer == {"outcome": "dispatch_failed", "ack_ms": 0.0, "ack": None}


async def test_a_command_is_acked_with_what_the_app_said(heard_world: World) -> None:
    world = heard_world

    body = await world.acted("/command", **WHO, text="create home=a")
    said = await world.post("/command", **WHO, text="say words")

    assert (body["command"], body["text"], body["user_id"], body["channel_id"]) == (
        "/hermes",
        "create home=a",
        "U_OPERATOR",
        "C_OPS",
    )
    assert (said["outcome"], said["ack"]) == ("acked", {"text": "words"})


async def test_a_command_that_is_not_acked_times_out(heard_world: World) -> None:
    answer = await heard_world.post("/command", **WHO, text="be quiet")

    assert answer == {"outcome": "operation_timeout", "ack_ms": 3000.0, "ack": None}


async def test_a_click_names_its_button_by_block_value_or_choice(heard_world: World) -> None:
    world = heard_world
    posted = await world.client.chat_postMessage(channel="C_OPS", text="card", blocks=CARD)
    where = {**WHO, "ts": posted["ts"]}

    clicked = [
        (await world.acted("/click", **where, action_id="go", block_id="second"))["actions"][0]["value"],
        (await world.acted("/click", **where, action_id="go", value="1"))["actions"][0]["block_id"],
        (await world.acted("/click", **where, action_id="pick", selected="blue"))["actions"][0][
            "selected_option"
        ]["value"],
    ]
    await world.client.chat_update(channel="C_OPS", ts=posted["ts"], text="over", blocks=[])
    stale = await world.acted("/click", **where, action_id="go", value="1", stale=True)

    assert clicked == ["2", "first", "blue"]
    assert stale["message"]["text"] == "over"


async def test_a_form_is_shown_pressed_and_sent_in(heard_world: World) -> None:
    world = heard_world
    body = await world.acted("/command", **WHO, text="form")
    opened = await world.client.views_open(trigger_id=body["trigger_id"], view=FORM)
    view_id = opened["view"]["id"]

    shown = await world.get("/views", user="U_OPERATOR")
    pressed = await world.acted("/click", user="U_OPERATOR", action_id="go", view_id=view_id)
    values = {"name": {"of": "atlas"}, "colours": {"of": ["red", "blue"]}}
    sent = await world.acted("/submit", user="U_OPERATOR", view_id=view_id, values=values)

    assert [(view["id"], view["type"], view["callback_id"]) for view in shown] == [(view_id, "modal", "form")]
    assert pressed["view"]["id"] == view_id
    state = sent["view"]["state"]["values"]
    assert state["name"]["of"]["value"] == "atlas"
    assert [one["value"] for one in state["colours"]["of"]["selected_options"]] == ["red", "blue"]
    assert await world.get("/views", user="U_OPERATOR") == []


async def test_the_home_tab_is_opened_shown_and_pressed(heard_world: World) -> None:
    world = heard_world
    before = await world.get("/home", user="U_ADMIN")
    opened = await world.post("/click", user="U_ADMIN", home=True)
    await world.client.views_publish(user_id="U_ADMIN", view=HOME)

    shown = await world.get("/home", user="U_ADMIN")
    pressed = await world.acted("/click", user="U_ADMIN", home=True, action_id="go")

    assert before is None
    assert opened["outcome"] == "acked"
    assert (shown["type"], shown["blocks"][0]["block_id"]) == ("home", "at home")
    assert pressed["container"] == {"type": "view", "view_id": shown["id"]}


async def test_messages_are_as_they_stand_oldest_first_replies_included(world: World) -> None:
    first = (await world.client.chat_postMessage(channel="C_AUDIT", text="first"))["ts"]
    await world.client.chat_postMessage(channel="C_AUDIT", text="second")
    await world.client.chat_postMessage(channel="C_AUDIT", text="reply", thread_ts=first)
    await world.client.chat_postEphemeral(channel="C_AUDIT", user="U_ADMIN", text="only you")
    await world.client.chat_update(channel="C_AUDIT", ts=first, text="edited", blocks=CARD)
    await world.client.chat_postMessage(channel="U_ADMIN", text="direct")

    everything = await world.get("/messages", channel="C_AUDIT")
    thread = await world.get("/messages", channel="C_AUDIT", thread=first)
    direct = await world.get("/messages", channel="D_U_ADMIN")

    assert [(m["text"], m["thread_ts"]) for m in everything] == [
        ("edited", None),
        ("second", None),
        ("reply", first),
        ("only you", None),
    ]
    assert all(message.keys() >= MESSAGE for message in everything)
    assert [m["ts"] for m in everything] == sorted(m["ts"] for m in everything)
    assert [block["block_id"] for block in everything[0]["blocks"]] == ["first", "second", "third"]
    assert {m["user"] for m in everything} == {"U_BOT"}
    assert [m.get("ephemeral_for") for m in everything] == [None, None, None, "U_ADMIN"]
    assert [m["text"] for m in thread] == ["edited", "reply"]
    assert [m["text"] for m in direct] == ["direct"]


async def test_an_uploaded_file_is_given_back(world: World) -> None:
    await world.client.files_upload_v2(channel="C_OPS", filename="list.txt", content="a\nb\n")
    file_id = (await world.get("/messages", channel="C_OPS"))[-1]["files"][0]["id"]

    async with world.http.get(f"{world.where['control']}/files/{file_id}") as answer:
        status, content = answer.status, await answer.read()

    assert (status, content) == (200, b"a\nb\n")


async def test_the_transcript_has_every_call_in_order_and_no_token(world: World) -> None:
    calls = await world.get("/transcript")
    await world.client.conversations_info(channel="C_OPS")

    [last] = (await world.get("/transcript"))[len(calls) :]

    assert last.keys() == {"method", "body", "at"}
    assert (last["method"], last["body"]["channel"]) == ("conversations.info", "C_OPS")
    assert isinstance(last["at"], float)
    assert [call["at"] for call in calls] == sorted(call["at"] for call in calls)
    assert "xoxb-" not in str(calls)
    assert "xapp-" not in str(calls)


async def test_paper_sandboxes_are_listed_by_cube(world: World) -> None:
    await world.post("/paper", count=3, state="paused", metadata={"hermes-home": "paper-{n}"})

    async with world.http.get(f"{world.where['cube_api']}/sandboxes") as answer:
        listed = await answer.json()

    paper = [one for one in listed if one["metadata"].get("hermes-home", "").startswith("paper-")]
    assert sorted((one["metadata"]["hermes-home"], one["state"]) for one in paper) == [
        (f"paper-{n}", "paused") for n in range(3)
    ]


@pytest.mark.parametrize(
    ("target", "kind"), [("cube", "rate-limited"), ("node", "ssh-slow"), ("slack", "server-error")]
)
async def test_a_fault_is_armed_reported_and_disarmed(world: World, target: str, kind: str) -> None:
    await world.post("/faults", target=target, kind=kind, times=2)
    armed = (await world.get("/faults"))["armed"]

    async with world.http.delete(f"{world.where['control']}/faults") as answer:
        status = answer.status

    assert [(one["target"], one["kind"], one["times"]) for one in armed] == [(target, kind, 2)]
    assert status == 200
    assert (await world.get("/faults"))["armed"] == []


async def test_the_clock_moves_for_the_stand_ins_and_for_a_bot(world: World) -> None:
    offset_file = Path(environment(Path(world.where["env_file"]))["HERMES_BOT_CLOCK_OFFSET_FILE"])
    before = (await world.client.chat_postMessage(channel="C_ALERTS", text="now"))["ts"]

    answer = await world.post("/clock", advance_s=3600)

    after = (await world.client.chat_postMessage(channel="C_ALERTS", text="later"))["ts"]
    assert answer["offset_s"] == float(offset_file.read_text()) >= 3600
    assert 3600 <= float(after) - float(before) < 3660


async def test_it_says_that_it_is_well(world: World) -> None:
    assert (await world.get("/healthz"))["ok"] is True


async def test_the_cast_and_the_channels_are_those_that_everybody_knows(world: World) -> None:
    users = {user["id"]: user async for page in await world.client.users_list() for user in page["members"]}
    listed = await world.client.conversations_list(types="public_channel")
    channels = {channel["id"]: channel for channel in listed["channels"]}
    approvers = await world.client.usergroups_users_list(usergroup="S_APPROVERS")
    private = {"text": "help", "user": "U_OPERATOR", "channel": "G_PRIVATE"}

    assert {"U_ADMIN", "U_APPROVER", "U_OPERATOR", "U_OPERATOR2", "U_OUTSIDER", "U_FOREIGNER"} <= users.keys()
    assert {users[user]["team_id"] for user in ("U_ADMIN", "U_OUTSIDER")} == {"T_DEMO"}
    assert users["U_FOREIGNER"]["team_id"] != "T_DEMO"
    assert approvers["users"] == ["U_APPROVER"]
    member = {name: channels[name]["is_member"] for name in ("C_OPS", "C_ALERTS", "C_AUDIT", "C_PUBLIC")}
    assert member == {"C_OPS": True, "C_ALERTS": True, "C_AUDIT": True, "C_PUBLIC": False}
    assert channels["C_ARCHIVED"]["is_archived"] is True
    assert (await world.post("/command", **private))["outcome"] in {"acked", "dispatch_failed"}
    async with world.http.get(f"{world.where['cube_api']}/templates") as answer:
        aliases = {alias for one in await answer.json() for alias in one.get("aliases") or ()}
    assert {"hermes-studio", "hermes-studio-legacy"} <= aliases


async def test_what_cannot_be_done_is_refused_in_one_sentence(world: World) -> None:
    async def refused(path: str, **body: Any) -> tuple[int, set[str]]:
        async with world.http.post(world.where["control"] + path, json=body) as answer:
            return answer.status, set(await answer.json())

    answers = await asyncio.gather(
        refused("/command", user="U_NOBODY", channel="C_OPS", text="help"),
        refused("/click", **WHO, ts="1.2", action_id="go"),
        refused("/submit", user="U_OUTSIDER", view_id="V1", values={}),
        refused("/faults", target="slack", kind="no-such-kind"),
        refused("/clock", advance_s=-1),
        refused("/paper", count=0),
    )

    assert {keys for _, names in answers for keys in names} == {"error"}
    assert [status for status, _ in answers] == [400, 404, 404, 400, 400, 400]
