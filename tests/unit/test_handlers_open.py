from typing import Any

import pytest
from slack_desk import Desk, open_desk, shown

from bot.domain.errors import ChatError


@pytest.fixture(params=["hermes-studio", "hermes-studio-legacy"])
async def desk(request: pytest.FixtureRequest) -> Desk:
    made = open_desk()
    await made.command("U_OPERATOR", f"create home=alpha template={request.param}")
    return made


def secrets_of(desk: Desk) -> list[str]:
    access = desk.world.node.homes["alpha"].access
    assert access is not None
    return [secret for secret in (access.token, access.password) if secret]


def view_of(desk: Desk, user: str) -> dict[str, Any]:
    return desk.chat.views[desk.chat.view_of[user]]


async def test_the_owner_gets_a_modal_with_link_and_sign_in(desk: Desk) -> None:
    await desk.press("U_OPERATOR", desk.thread()[-1], "hermes.open")

    view = view_of(desk, "U_OPERATOR")
    [sandbox_id] = desk.world.cube.sandboxes
    button = next(b for b in view["blocks"] if b["type"] == "actions")["elements"][0]
    assert sandbox_id in button["url"]
    assert button["action_id"] == "hermes.link"
    assert button["url"] in repr([b for b in view["blocks"] if b["type"] == "section"])
    assert all(secret in repr(view) for secret in secrets_of(desk))
    assert "Only you see this" in repr(view)


async def test_a_password_that_the_owner_set_is_told_and_the_old_one_not_shown() -> None:
    desk = open_desk()
    await desk.command("U_OPERATOR", "create home=alpha")
    [dead] = secrets_of(desk)
    desk.world.node.homes["alpha"].password_changed = True
    desk.world.cube.sandboxes.clear()
    await desk.command("U_OPERATOR", "create home=alpha")

    result = desk.thread(number=1)[-1]
    await desk.press("U_OPERATOR", result, "hermes.open")

    view = repr(view_of(desk, "U_OPERATOR"))
    assert "The bot does not know the password of this Studio" in shown(result)
    assert "The password is the one that was set in Studio" in view
    assert "admin" in view
    assert dead not in view


async def test_the_modal_is_opened_before_anything_is_read(desk: Desk) -> None:
    seen: list[str] = []

    async def look() -> None:
        seen.append(repr(view_of(desk, "U_OPERATOR")))

    desk.world.node.before("read_access", look)
    await desk.press("U_OPERATOR", desk.thread()[-1], "hermes.open")

    assert "One moment" in seen[0]


async def test_no_message_ever_holds_the_secret(desk: Desk) -> None:
    await desk.press("U_OPERATOR", desk.thread()[-1], "hermes.open")

    everything = "".join(shown(m) for m in desk.chat.messages)
    assert not [secret for secret in secrets_of(desk) if secret in everything]


async def test_an_approver_may_open_it_and_that_is_recorded(desk: Desk) -> None:
    await desk.press("U_APPROVER", desk.thread()[-1], "hermes.open")

    [row] = [row for row in await desk.world.log.recent(actor="U_APPROVER") if row.phase == "reveal"]
    assert (row.result, row.home) == ("ok", "alpha")
    assert all(secret in repr(view_of(desk, "U_APPROVER")) for secret in secrets_of(desk))


async def test_a_person_without_a_role_is_refused_in_the_modal(desk: Desk) -> None:
    await desk.press("U_OUTSIDER", desk.thread()[-1], "hermes.open")

    view = view_of(desk, "U_OUTSIDER")
    assert "You have no role in this bot; to open a Studio you need to be an operator." in repr(view)
    assert "make your own" not in repr(view)
    assert not [secret for secret in secrets_of(desk) if secret in repr(view)]
    assert not [b for b in view["blocks"] if b["type"] == "actions"]


async def test_an_expired_trigger_sends_the_link_in_a_direct_message(desk: Desk) -> None:
    press = desk.pressing("U_OPERATOR", desk.thread()[-1], "hermes.open")
    desk.world.clock.advance(4)

    await desk.send(press)
    await desk.services.jobs.idle()

    [direct] = desk.parents("D_U_OPERATOR")
    assert all(secret in shown(direct) for secret in secrets_of(desk))
    assert "direct messages" in desk.told("U_OPERATOR")


async def test_an_expired_trigger_of_somebody_else_sends_nothing(desk: Desk) -> None:
    press = desk.pressing("U_OUTSIDER", desk.thread()[-1], "hermes.open")
    desk.world.clock.advance(4)

    await desk.send(press)
    await desk.services.jobs.idle()

    assert desk.parents("D_U_OUTSIDER") == []
    assert "You have no role" in desk.told("U_OUTSIDER")


async def test_a_window_that_slack_does_not_open_reveals_nothing(desk: Desk) -> None:
    desk.chat.fail("open_view", ChatError("slack-unreachable"))

    await desk.press("U_OPERATOR", desk.thread()[-1], "hermes.open")

    assert desk.world.node.called("read_access") == 0
    assert "press *Open Studio* again" in desk.told("U_OPERATOR")


async def test_a_modal_closed_meanwhile_is_no_error(desk: Desk) -> None:
    async def close() -> None:
        desk.chat.views.clear()

    desk.chat.before("update_view", close)
    await desk.press("U_OPERATOR", desk.thread()[-1], "hermes.open")

    assert desk.told("U_OPERATOR") == ""


async def test_the_link_button_only_needs_an_ack(desk: Desk) -> None:
    body = {
        "type": "block_actions",
        "user": {"id": "U_OPERATOR", "team_id": "T_DEMO"},
        "team": {"id": "T_DEMO"},
        "container": {"type": "view", "view_id": "V1"},
        "trigger_id": desk.chat.trigger("U_OPERATOR"),
        "view": {"id": "V1"},
        "actions": [{"type": "button", "action_id": "hermes.link", "block_id": "b"}],
    }
    before = len(desk.chat.calls)

    ack = await desk.send(body)
    await desk.services.jobs.idle()

    assert ack.status == 200
    assert len(desk.chat.calls) == before
