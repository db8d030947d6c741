"""Buttons, modals, the Home tab and mentions, with a real Bolt app on the other side."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace
from pydantic import TypeAdapter
from slack_bolt.async_app import AsyncApp
from slack_events import (
    AppHomeOpenedEvent,
    AppMentionEvent,
    BlockActionsPayload,
    EventCallbackEnvelope,
    ViewClosedPayload,
    ViewSubmissionPayload,
)
from slack_sdk.errors import SlackApiError

Heard = list[dict[str, Any]]


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def heard() -> Heard:
    return []


@pytest.fixture
async def app(workspace: Workspace, heard: Heard) -> AsyncIterator[AsyncApp]:
    async with connected(workspace, lambda app: hears_everything(app, heard)) as running:
        yield running


def button(action_id: str, value: str = "v", **more: Any) -> dict[str, Any]:
    return {
        "type": "button",
        "action_id": action_id,
        "text": {"type": "plain_text", "text": action_id},
        "value": value,
        **more,
    }


def actions(*elements: dict[str, Any], block_id: str = "row") -> list[dict[str, Any]]:
    return [{"type": "actions", "block_id": block_id, "elements": list(elements)}]


def form(**more: Any) -> dict[str, Any]:
    return {
        "type": "modal",
        "callback_id": "form",
        "title": {"type": "plain_text", "text": "Rebuild"},
        "submit": {"type": "plain_text", "text": "Go"},
        "private_metadata": "home=alpha",
        "blocks": [
            {
                "type": "input",
                "block_id": "why",
                "label": {"type": "plain_text", "text": "Why"},
                "element": {"type": "plain_text_input", "action_id": "text", "max_length": 20},
            },
            {
                "type": "input",
                "block_id": "how",
                "optional": True,
                "label": {"type": "plain_text", "text": "How"},
                "element": {
                    "type": "static_select",
                    "action_id": "pick",
                    "options": [
                        {"text": {"type": "plain_text", "text": name}, "value": name}
                        for name in ("soft", "hard")
                    ],
                },
            },
        ],
        **more,
    }


def without_null_enterprise(body: dict[str, Any]) -> dict[str, Any]:
    # Slack sends null for a workspace outside an organisation; the type allows it only to be absent.
    assert body["enterprise"] is None
    return {name: value for name, value in body.items() if name != "enterprise"}


async def trigger(workspace: Workspace, heard: Heard) -> str:
    await workspace.command("form")
    return str(heard[-1]["trigger_id"])


async def test_a_click_in_a_message_is_delivered_complete(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    parent = await app.client.chat_postMessage(channel="C_OPS", text="parent")
    reply = await app.client.chat_postMessage(
        channel="C_OPS", text="card", thread_ts=parent["ts"], blocks=actions(button("approve", "req-1"))
    )

    answer = await workspace.post(
        "/click", user="U_APPROVER", channel="C_OPS", ts=reply["ts"], action_id="approve"
    )

    assert answer["outcome"] == "acked"
    body = heard[0]
    TypeAdapter(BlockActionsPayload).validate_python(without_null_enterprise(body))
    assert body["container"] == {
        "type": "message",
        "message_ts": reply["ts"],
        "channel_id": "C_OPS",
        "is_ephemeral": False,
        "thread_ts": parent["ts"],
    }
    action = body["actions"][0]
    assert (action["action_id"], action["block_id"], action["value"]) == ("approve", "row", "req-1")
    assert body["message"]["text"] == "card"
    assert body["is_enterprise_install"] is False


async def test_only_a_button_that_is_there_now_can_be_pressed(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    card = await app.client.chat_postMessage(channel="C_OPS", text="card", blocks=actions(button("approve")))
    await app.client.chat_update(channel="C_OPS", ts=card["ts"], text="decided")
    press = {"user": "U_APPROVER", "channel": "C_OPS", "ts": card["ts"], "action_id": "approve"}

    status, refusal = await workspace.try_post("/click", **press)
    stale = await workspace.post("/click", **press, stale=True)

    assert status == 404
    assert "approve" in refusal["error"]
    assert stale["outcome"] == "acked"
    assert heard[0]["actions"][0]["value"] == "v"
    assert heard[0]["message"]["text"] == "decided"


async def test_two_people_can_press_the_same_button_at_once(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    card = await app.client.chat_postMessage(channel="C_OPS", text="card", blocks=actions(button("approve")))

    await asyncio.gather(
        *(
            workspace.post("/click", user=user, channel="C_OPS", ts=card["ts"], action_id="approve")
            for user in ("U_APPROVER", "U_ADMIN")
        )
    )

    assert {body["user"]["id"] for body in heard} == {"U_APPROVER", "U_ADMIN"}


async def test_a_value_chooses_between_buttons_of_one_action(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    blocks = actions(button("stop", "a"), block_id="a") + actions(button("stop", "b"), block_id="b")
    card = await app.client.chat_postMessage(channel="C_OPS", text="card", blocks=blocks)
    press = {"user": "U_ADMIN", "channel": "C_OPS", "ts": card["ts"], "action_id": "stop"}

    ambiguous, _ = await workspace.try_post("/click", **press)
    await workspace.post("/click", **press, value="b")

    assert ambiguous == 400
    assert heard[0]["actions"][0]["block_id"] == "b"


async def test_an_ephemeral_message_is_pressed_replaced_and_deleted_only_through_its_response_url(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    sent = await app.client.chat_postEphemeral(
        channel="C_OPS", user="U_OPERATOR", text="sure?", blocks=actions(button("yes"))
    )
    ts = sent["message_ts"]
    with pytest.raises(SlackApiError, match="message_not_found"):
        await app.client.chat_update(channel="C_OPS", ts=ts, text="x")

    await workspace.post("/click", user="U_OPERATOR", channel="C_OPS", ts=ts, action_id="yes")

    assert heard[0]["container"]["is_ephemeral"] is True
    assert "message" not in heard[0]
    url = heard[0]["response_url"]
    await workspace.respond(url, text="done", replace_original=True)
    assert [(m["ts"], m["text"], m["blocks"]) for m in await workspace.messages()] == [(ts, "done", [])]
    await workspace.respond(url, delete_original=True)
    assert await workspace.messages() == []


async def test_an_ephemeral_message_belongs_to_one_person_and_a_reload_loses_it(
    workspace: Workspace, app: AsyncApp
) -> None:
    sent = await app.client.chat_postEphemeral(
        channel="C_OPS", user="U_OPERATOR", text="sure?", blocks=actions(button("yes"))
    )
    press = {"channel": "C_OPS", "ts": sent["message_ts"], "action_id": "yes"}

    of_another, _ = await workspace.try_post("/click", user="U_ADMIN", **press)
    await workspace.post("/reload", user="U_OPERATOR")
    after_reload, _ = await workspace.try_post("/click", user="U_OPERATOR", **press)

    assert (of_another, after_reload) == (404, 404)


async def test_a_response_to_a_click_in_a_shared_message_is_a_new_ephemeral_one(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    card = await app.client.chat_postMessage(channel="C_OPS", text="card", blocks=actions(button("go")))
    await workspace.post("/click", user="U_ADMIN", channel="C_OPS", ts=card["ts"], action_id="go")

    await workspace.respond(heard[0]["response_url"], text="only you")

    first, second = await workspace.messages()
    assert (first["text"], second["text"], second["ephemeral_for"]) == ("card", "only you", "U_ADMIN")


async def test_a_foreigner_in_a_shared_channel_presses_with_the_other_team(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    card = await app.client.chat_postMessage(channel="C_OPS", text="card", blocks=actions(button("go")))

    await workspace.post("/click", user="U_FOREIGNER", channel="C_OPS", ts=card["ts"], action_id="go")

    assert heard[0]["user"]["team_id"] == "T_PARTNER"


async def test_a_modal_opens_once_and_gives_back_what_was_typed(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    trigger_id = await trigger(workspace, heard)
    opened = await app.client.views_open(trigger_id=trigger_id, view=form())
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await app.client.views_open(trigger_id=trigger_id, view=form())
    view_id = opened["view"]["id"]
    assert [view["id"] for view in await workspace.get("/views", user="U_OPERATOR")] == [view_id]

    answer = await workspace.post(
        "/submit",
        user="U_OPERATOR",
        view_id=view_id,
        values={"why": {"text": "broken"}, "how": {"pick": "hard"}},
    )

    body = heard[-1]
    TypeAdapter(ViewSubmissionPayload).validate_python(body)
    assert body["view"]["private_metadata"] == "home=alpha"
    assert body["view"]["state"]["values"]["why"]["text"] == {"type": "plain_text_input", "value": "broken"}
    assert body["view"]["state"]["values"]["how"]["pick"]["selected_option"]["value"] == "hard"
    assert answer["outcome"] == "acked"
    assert await workspace.get("/views", user="U_OPERATOR") == []


async def test_a_trigger_expires_after_three_seconds(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    trigger_id = await trigger(workspace, heard)
    await workspace.post("/clock", advance_s=3.1)

    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await app.client.views_open(trigger_id=trigger_id, view=form())


async def test_the_client_holds_back_what_it_would_not_send(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    await app.client.views_open(trigger_id=await trigger(workspace, heard), view=form())
    before = len(heard)

    refusals = [
        await workspace.try_post("/submit", user="U_OPERATOR", values=values)
        for values in (
            {},
            {"why": {"text": "x" * 21}},
            {"why": {"text": "ok"}, "how": {"pick": "gentle"}},
            {"nothing": {"text": "x"}},
        )
    ]

    assert [status for status, _ in refusals] == [400] * 4
    assert len(heard) == before


@pytest.mark.parametrize(
    ("ack", "titles", "errors"),
    [
        ({"response_action": "errors", "errors": {"why": "Say more"}}, ["Rebuild"], {"why": "Say more"}),
        (
            {"response_action": "update", "view": form(title={"type": "plain_text", "text": "Two"})},
            ["Two"],
            None,
        ),
        (
            {"response_action": "push", "view": form(title={"type": "plain_text", "text": "Two"})},
            ["Rebuild", "Two"],
            None,
        ),
        ({"response_action": "clear"}, [], None),
    ],
)
async def test_the_ack_of_a_submission_decides_what_happens_to_the_modal(
    workspace: Workspace, ack: dict[str, Any], titles: list[str], errors: dict[str, str] | None
) -> None:
    heard: Heard = []

    def listen(app: AsyncApp) -> None:
        @app.command("/hermes")
        async def keep(ack: Any, body: dict[str, Any]) -> None:
            await ack()
            heard.append(body)

        @app.view("form")
        async def answer_with(ack: Any) -> None:
            await ack(**wanted)

    wanted = ack
    async with connected(workspace, listen) as app:
        await app.client.views_open(trigger_id=await trigger(workspace, heard), view=form())

        answer = await workspace.post("/submit", user="U_OPERATOR", values={"why": {"text": "x"}})

    views = await workspace.get("/views", user="U_OPERATOR")
    assert answer["ack"]["response_action"] == ack["response_action"]
    assert "ack_error" not in answer
    assert [view["title"]["text"] for view in views] == titles
    assert (views[-1].get("errors") if views else None) == errors


async def test_a_stack_holds_three_modals(workspace: Workspace, app: AsyncApp, heard: Heard) -> None:
    def trigger_in_top() -> str:
        return workspace.slack.world.tickets.new_trigger(
            "U_OPERATOR", workspace.slack.views("U_OPERATOR")[-1]["id"]
        )

    await app.client.views_open(trigger_id=await trigger(workspace, heard), view=form())
    for _ in range(2):
        await app.client.views_push(trigger_id=trigger_in_top(), view=form())

    with pytest.raises(SlackApiError, match="push_limit_reached"):
        await app.client.views_push(trigger_id=trigger_in_top(), view=form())

    views = await workspace.get("/views", user="U_OPERATOR")
    assert [view["previous_view_id"] for view in views] == [None, views[0]["id"], views[1]["id"]]


async def test_an_update_with_an_old_hash_conflicts_and_a_good_one_keeps_what_was_typed(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    opened = await app.client.views_open(trigger_id=await trigger(workspace, heard), view=form())
    view = opened["view"]
    await workspace.post("/click", user="U_OPERATOR", view_id=view["id"], action_id="pick", selected="hard")
    await app.client.views_update(view_id=view["id"], hash=view["hash"], view=form())

    with pytest.raises(SlackApiError, match="hash_conflict"):
        await app.client.views_update(view_id=view["id"], hash=view["hash"], view=form())

    shown = (await workspace.get("/views", user="U_OPERATOR"))[0]
    assert shown["state"]["values"]["how"]["pick"]["selected_option"]["value"] == "hard"


async def test_a_click_in_a_modal_carries_the_view_and_no_message(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    view = form(blocks=[*form()["blocks"], *actions(button("more"))])
    opened = await app.client.views_open(trigger_id=await trigger(workspace, heard), view=view)

    await workspace.post("/click", user="U_OPERATOR", view_id=opened["view"]["id"], action_id="more")

    body = heard[-1]
    TypeAdapter(BlockActionsPayload).validate_python(without_null_enterprise(body))
    assert body["container"] == {"type": "view", "view_id": opened["view"]["id"]}
    assert not {"channel", "message", "response_url"} & body.keys()


async def test_closing_is_told_only_for_views_that_asked(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    await app.client.views_open(trigger_id=await trigger(workspace, heard), view=form(notify_on_close=True))
    told = await workspace.post("/close", user="U_OPERATOR")
    await app.client.views_open(trigger_id=await trigger(workspace, heard), view=form())
    untold = await workspace.post("/close", user="U_OPERATOR")

    closed = [body for body in heard if body.get("type") == "view_closed"]
    TypeAdapter(ViewClosedPayload).validate_python(closed[0])
    assert (told["outcome"], untold["outcome"], len(closed)) == ("acked", "not_sent", 1)


async def test_the_home_tab_opens_is_published_and_is_pressed(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    assert await workspace.get("/home", user="U_OPERATOR") is None
    await workspace.post("/click", user="U_OPERATOR", home=True)
    TypeAdapter(EventCallbackEnvelope).validate_python(heard[0])
    TypeAdapter(AppHomeOpenedEvent).validate_python(heard[0]["event"])
    assert "view" not in heard[0]["event"]
    await app.client.views_publish(
        user_id="U_OPERATOR", view={"type": "home", "blocks": actions(button("mine"))}
    )

    await workspace.post("/click", user="U_OPERATOR", home=True, action_id="mine")

    assert heard[-1]["view"]["type"] == "home"
    assert (await workspace.get("/home", user="U_OPERATOR"))["blocks"][0]["block_id"] == "row"


async def test_a_mention_in_a_thread_reaches_the_app(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    parent = await app.client.chat_postMessage(channel="C_OPS", text="parent")

    said = await workspace.post(
        "/say", user="U_OPERATOR", channel="C_OPS", text="@hermes status a<b", thread_ts=parent["ts"]
    )

    envelope = heard[0]
    TypeAdapter(EventCallbackEnvelope).validate_python(envelope)
    TypeAdapter(AppMentionEvent).validate_python(envelope["event"])
    assert envelope["event"]["text"] == "<@U_BOT> status a&lt;b"
    assert envelope["event"]["thread_ts"] == parent["ts"]
    assert envelope["event"]["ts"] == said["ts"]


async def test_a_mention_where_the_app_is_not_stays_unheard(
    workspace: Workspace, app: AsyncApp, heard: Heard
) -> None:
    said = await workspace.post("/say", user="U_OPERATOR", channel="G_PRIVATE", text="@hermes status")

    assert (said["outcome"], heard) == ("not_sent", [])
