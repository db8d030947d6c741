"""Who is let in, what is answered when nothing fits, and that every envelope is acked."""

import asyncio
from typing import Any

import pytest
from slack_desk import Desk, open_desk, shown

from bot.domain.errors import ChatError
from bot.ports import Message
from handlers.commands import AVAILABLE
from handlers.verbs import VERBS


@pytest.fixture
def desk() -> Desk:
    return open_desk()


def interaction(kind: str, user: str = "U_OPERATOR", team: str = "T_DEMO", **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "user": {"id": user, "name": "x", "team_id": team},
        "team": {"id": team, "domain": "demo"},
        "api_app_id": "A_HERMES",
        "token": "t",
        "trigger_id": "1.2.ab",
        "enterprise": None,
        "is_enterprise_install": False,
        **more,
    }


async def test_help_lists_what_works_and_nothing_else(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "help")

    told = desk.told("U_OPERATOR")
    for verb in VERBS:
        assert (f"/hermes {verb.usage}" in told) == (verb.name in AVAILABLE)


async def test_an_empty_command_is_help(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "")

    assert "/hermes create home=atlas" in desk.told("U_OPERATOR")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("U_OPERATOR", "an *operator* of this bot"),
        ("U_ADMIN", "an *admin* of this bot"),
        ("U_OUTSIDER", "without a role"),
    ],
)
async def test_whoami_says_the_role(desk: Desk, user: str, expected: str) -> None:
    await desk.command(user, "whoami")

    assert expected in desk.told(user)


async def test_whoami_says_why_not(desk: Desk) -> None:
    await desk.command("U_OUTSIDER", "whoami")

    assert "*Not* `create`: You have no role in this bot; to create you need to be an operator." in desk.told(
        "U_OUTSIDER"
    )


@pytest.mark.parametrize("verb", sorted({v.name for v in VERBS} - AVAILABLE))
async def test_a_verb_that_is_not_built_says_so_in_one_line(desk: Desk, verb: str) -> None:
    example = next(v.example for v in VERBS if v.name == verb)

    await desk.command("U_OPERATOR", example.removeprefix("/hermes "))

    [answer] = desk.chat.seen_by("U_OPERATOR")
    assert f"*{verb.replace('.', ' ')}* is not available yet" in answer.text


async def test_a_refusal_shows_the_right_example_and_repeats_nothing(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha hmoe=EXAMPLE-secret-thing")

    told = desk.told("U_OPERATOR")
    assert "For example: `/hermes create" in told
    assert "EXAMPLE-secret-thing" not in told
    assert desk.parents() == []


async def test_a_command_from_another_team_is_refused_visibly(desk: Desk) -> None:
    await desk.command("U_FOREIGNER", "create home=alpha", team="T_PARTNER")

    assert "only members of this Slack team" in desk.told("U_FOREIGNER")
    assert desk.parents() == []
    assert desk.world.cube.sandboxes == {}


async def test_a_press_from_another_team_is_refused_visibly(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha")
    calls = len(desk.world.cube.calls)

    await desk.press("U_FOREIGNER", desk.thread()[-1], "hermes.open", team="T_PARTNER")

    assert "only members of this Slack team" in desk.told("U_FOREIGNER")
    assert desk.chat.views == {}
    assert len(desk.world.cube.calls) == calls


async def test_a_command_in_another_channel_is_told_where(desk: Desk) -> None:
    desk = open_desk(allowed_channels=("C_OPS", "C_ALERTS"))

    await desk.command("U_OPERATOR", "create home=alpha", channel="C_PUBLIC")

    [answer] = desk.chat.seen_by("U_OPERATOR")
    assert answer.text == "I take commands only in <#C_OPS>, <#C_ALERTS>. Please type it there."


async def test_a_command_in_an_allowed_channel_is_taken() -> None:
    desk = open_desk(allowed_channels=("C_OPS",))

    await desk.command("U_OPERATOR", "create home=alpha")

    assert desk.world.cube.sandboxes


async def test_the_same_command_envelope_twice_acts_once(desk: Desk) -> None:
    body = desk.slash("U_OPERATOR", "create home=alpha")

    await desk.send(body)
    await desk.send(body)
    await desk.services.jobs.idle()

    assert len(desk.parents()) == 1


async def test_an_unknown_button_is_acked_and_answered(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha")
    press = desk.pressing("U_OPERATOR", desk.thread()[-1], "hermes.open")
    press["actions"][0]["action_id"] = "hermes.long.gone"

    ack = await desk.send(press)
    await desk.services.jobs.idle()

    assert (ack.status, ack.body) == (200, "")
    assert "do not know this button" in desk.told("U_OPERATOR")


async def test_a_button_value_of_another_version_is_answered_not_guessed(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha")
    press = desk.pressing("U_OPERATOR", desk.thread()[-1], "hermes.stop.ask")
    press["actions"][0]["value"] = "v9:whatever"

    await desk.send(press)
    await desk.services.jobs.idle()

    assert "do not know this button" in desk.told("U_OPERATOR")


async def test_a_press_in_the_app_home_is_answered_directly(desk: Desk) -> None:
    press = interaction(
        "block_actions",
        container={"type": "view", "view_id": "V1"},
        view={"id": "V1"},
        actions=[{"type": "button", "action_id": "old", "block_id": "b", "value": "v1:x"}],
    )

    await desk.send(press)
    await desk.services.jobs.idle()

    assert "do not know this button" in shown(desk.parents("D_U_OPERATOR")[0])


@pytest.mark.parametrize(
    "body",
    [
        interaction(
            "view_submission",
            view={"id": "V1", "type": "modal", "callback_id": "old", "state": {"values": {}}},
        ),
        interaction("shortcut", callback_id="old"),
        interaction("message_action", callback_id="old", response_url=""),
    ],
    ids=["form", "shortcut", "message-shortcut"],
)
async def test_forms_and_shortcuts_we_do_not_know_are_acked_and_answered(
    desk: Desk, body: dict[str, Any]
) -> None:
    ack = await desk.send(body)
    await desk.services.jobs.idle()

    assert ack.status == 200
    assert "Nothing was done" in shown(desk.parents("D_U_OPERATOR")[0]) or "no shortcuts" in shown(
        desk.parents("D_U_OPERATOR")[0]
    )


@pytest.mark.parametrize(
    "body",
    [
        interaction("view_closed", view={"id": "V1", "callback_id": "old"}, is_cleared=False),
        interaction("block_suggestion", action_id="old", block_id="b", value="x"),
    ],
    ids=["closed", "options"],
)
async def test_what_nobody_waits_for_is_acked(desk: Desk, body: dict[str, Any]) -> None:
    ack = await desk.send(body)

    assert ack.status == 200


async def test_an_unknown_event_is_acked(desk: Desk) -> None:
    ack = await desk.send(desk.event({"type": "channel_rename", "channel": {"id": "C_OPS"}}))

    assert ack.status == 200


async def test_another_slash_command_is_acked_and_answered(desk: Desk) -> None:
    ack = await desk.send(desk.slash("U_OPERATOR", "x") | {"command": "/other"})
    await desk.services.jobs.idle()

    assert ack.status == 200
    assert "I only know the command `/hermes`" in desk.told("U_OPERATOR")


@pytest.mark.parametrize("event_id", ["Ev1", ""])
async def test_a_mention_is_answered_in_its_thread(desk: Desk, event_id: str) -> None:
    asked = await desk.chat.post("C_OPS", Message("hello"))
    mention = {
        "type": "app_mention",
        "user": "U_OPERATOR",
        "text": "<@U_BOT>",
        "ts": asked.ts,
        "channel": "C_OPS",
    }

    await desk.send(desk.event(mention, event_id=event_id))
    await desk.services.jobs.idle()

    [answer] = desk.chat.in_thread("C_OPS", asked.ts)
    assert "`/hermes help`" in answer.text


async def test_an_event_delivered_twice_is_answered_once(desk: Desk) -> None:
    asked = await desk.chat.post("C_OPS", Message("hello"))
    mention = {
        "type": "app_mention",
        "user": "U_OPERATOR",
        "text": "<@U_BOT>",
        "ts": asked.ts,
        "channel": "C_OPS",
    }

    for _ in range(2):
        await desk.send(desk.event(mention))
    await desk.services.jobs.idle()

    assert len(desk.chat.in_thread("C_OPS", asked.ts)) == 1


async def test_a_mention_from_another_team_is_refused_in_its_thread(desk: Desk) -> None:
    asked = await desk.chat.post("C_OPS", Message("hello"))
    mention = {
        "type": "app_mention",
        "user": "U_FOREIGNER",
        "user_team": "T_PARTNER",
        "text": "<@U_BOT>",
        "ts": asked.ts,
        "channel": "C_OPS",
    }

    await desk.send(desk.event(mention))
    await desk.services.jobs.idle()

    assert "only members of this Slack team" in desk.chat.in_thread("C_OPS", asked.ts)[0].text


async def test_the_app_home_shows_role_and_commands(desk: Desk) -> None:
    opened = {"type": "app_home_opened", "user": "U_OPERATOR", "channel": "D_U_OPERATOR", "tab": "home"}

    await desk.send(desk.event(opened))
    await desk.services.jobs.idle()

    home = repr(desk.chat.homes["U_OPERATOR"])
    assert "an *operator* of this bot" in home
    assert "/hermes create home=HOME" in home


async def test_the_messages_tab_draws_nothing(desk: Desk) -> None:
    opened = {"type": "app_home_opened", "user": "U_OPERATOR", "channel": "D_U_OPERATOR", "tab": "messages"}

    await desk.send(desk.event(opened))
    await desk.services.jobs.idle()

    assert desk.chat.homes == {}


async def test_the_ack_does_not_wait_for_slack_or_for_the_work(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.chat.before("post", gate.wait)

    ack = await desk.command("U_OPERATOR", "create home=alpha", settle=False)

    assert (ack.status, desk.parents()) == (200, [])
    gate.set()
    await desk.services.jobs.idle()
    assert "is ready" in desk.parents()[0].text


async def test_a_slack_that_refuses_everything_loses_no_ack_and_breaks_nothing(desk: Desk) -> None:
    for method in ("post", "direct", "respond", "update"):
        desk.chat.fail(method, ChatError("internal_error"), times=99)

    ack = await desk.command("U_OPERATOR", "create home=alpha")

    assert ack.status == 200
    assert desk.world.cube.sandboxes


@pytest.mark.parametrize(
    "body",
    [
        {"command": "/hermes"},
        {
            "type": "block_actions",
            "actions": [{"action_id": "x"}],
            "user": None,
            "message": "?",
            "container": 3,
        },
        {"type": "view_submission", "view": {"type": "modal", "callback_id": "x"}, "user": {"id": 7}},
        {"type": "event_callback", "event": {"type": "app_mention", "user": None}},
    ],
    ids=["command", "press", "form", "event"],
)
async def test_a_payload_with_gaps_is_still_acked(desk: Desk, body: dict[str, Any]) -> None:
    ack = await desk.send(body)
    await desk.services.jobs.idle()

    assert ack.status == 200
