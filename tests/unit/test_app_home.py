"""The App Home: what it shows to whom, and that it follows what changes."""

import asyncio
from typing import Any

from contract.doubles import fault
from slack_desk import Desk, open_desk
from status_rows import add

from bot.domain.errors import NodeError
from bot.domain.outcome import Failed
from bot.domain.sandbox import SandboxState
from bot.standin.slack.blocks import check_view
from handlers import drawing
from handlers.buttons import Press

DATA_PLANE: list[Any] = []


async def opened(desk: Desk, user: str = "U_OPERATOR") -> str:
    """Open the Home and give all that it says."""
    event = {"type": "app_home_opened", "user": user, "channel": f"D_{user}", "tab": "home"}
    await desk.send(desk.event(event, event_id=f"Ev{len(desk.chat.calls)}"))
    await desk.services.jobs.idle()
    return seen(desk, user)


def seen(desk: Desk, user: str = "U_OPERATOR") -> str:
    view = desk.chat.homes[user]
    check_view(view, kinds=("home",))
    return repr(view)


async def test_it_shows_ones_own_with_buttons_and_nobody_elses() -> None:
    desk = open_desk()
    sandbox_id = add(desk.world, 1, home="atlas")
    add(desk.world, 2, home="beta", owner="U_ADMIN")

    home = await opened(desk)

    assert "*atlas* is *ready*" in home
    assert "beta" not in home
    for press in (Press.OPEN, Press.STATUS):
        assert f"'{press.value}'" in home
    assert f"v1:{sandbox_id}" in home
    assert desk.world.studio.calls == DATA_PLANE


async def test_a_sleeping_one_stays_asleep_when_it_is_opened() -> None:
    desk = open_desk()
    sandbox_id = add(desk.world, 1, home="atlas", state=SandboxState.PAUSED)

    home = await opened(desk)

    assert "*atlas* is *asleep*" in home
    assert f"'{Press.RESUME.value}'" in home
    assert desk.world.cube.sandboxes[sandbox_id].state is SandboxState.PAUSED
    assert desk.world.studio.calls == DATA_PLANE


async def test_an_approver_sees_the_team_and_what_is_not_well() -> None:
    desk = open_desk()
    add(desk.world, 1, home="atlas")
    add(desk.world, 2, home="beta", age=600)

    home = await opened(desk, "U_APPROVER")

    assert "2 in all: 1 ready, 1 dark" in home
    assert "*beta* is *dark*" in home
    assert "<@U_OPERATOR> 2" in home


async def test_what_waits_for_me_comes_first() -> None:
    desk = open_desk()
    add(desk.world, 1, home="atlas", age=600)

    home = await opened(desk)

    assert home.index("Waiting for you") < home.index("Your sandboxes")
    assert home.count("*atlas* is *dark*") == 2


async def test_a_create_that_broke_off_can_go_on_from_here() -> None:
    desk = open_desk()
    desk.world.node.fail("seed", NodeError("node-timeout", "too slow"))
    await desk.command("U_OPERATOR", "create home=atlas")
    home = await opened(desk)
    assert "The Studio for home *atlas*" in home
    [go_on] = [
        element
        for block in desk.chat.homes["U_OPERATOR"]["blocks"]
        for element in block.get("elements", ())
        if element.get("action_id") == Press.CREATE_CONTINUE.value
    ]

    await desk.send(_press_in_home(desk, go_on))
    await desk.services.jobs.idle()

    assert any("is ready" in message.text for message in desk.thread())
    assert "*atlas* is" in seen(desk)
    assert "did not come to its end" not in seen(desk)


async def test_it_follows_every_change_of_whoever_has_opened_it() -> None:
    desk = open_desk()
    await opened(desk)
    await opened(desk, "U_APPROVER")

    await desk.command("U_OPERATOR", "create home=atlas")

    assert "*atlas* is *" in seen(desk)
    await desk.command("U_APPROVER", "stop atlas")
    await desk.press("U_APPROVER", desk.parents()[-1], Press.STOP_CONFIRM.value)
    assert "You have none now" in seen(desk)


async def test_a_home_that_was_never_opened_is_never_drawn() -> None:
    desk = open_desk()

    await desk.command("U_OPERATOR", "create home=atlas")

    assert desk.chat.homes == {}


async def test_a_failed_change_is_a_change_too() -> None:
    desk = open_desk()
    await opened(desk)
    drawn = desk.chat.called("publish_home")
    desk.world.node.fail("seed", NodeError("node-timeout", "too slow"))

    outcome = await desk.world.create("atlas")
    await desk.services.jobs.idle()

    assert isinstance(outcome, Failed)
    assert desk.chat.called("publish_home") > drawn


async def test_a_cube_that_does_not_answer_leaves_no_blank_page() -> None:
    desk = open_desk()
    desk.world.cube.fail("list", fault("list", 503, "service unavailable"))

    home = await opened(desk)

    assert "Cube does not answer" in home
    assert "could not read the sandboxes" in home
    assert "an *operator* of this bot" in home


async def test_a_slow_cube_is_waited_for_behind_a_page_that_says_so(monkeypatch: Any) -> None:
    monkeypatch.setattr(drawing, "BLANK_SECONDS", 0.01)
    desk = open_desk()
    add(desk.world, 1, home="atlas")
    answers = asyncio.Event()
    desk.world.cube.before("list", answers.wait)
    event = {"type": "app_home_opened", "user": "U_OPERATOR", "channel": "D_U_OPERATOR", "tab": "home"}

    await desk.send(desk.event(event))
    async with asyncio.timeout(5):
        while not desk.chat.homes:  # noqa: ASYNC110 - the double has no event to wait for
            await asyncio.sleep(0.01)
    first = seen(desk)
    answers.set()
    await desk.services.jobs.idle()

    assert "Reading how your sandboxes are" in first
    assert "*atlas* is *ready*" in seen(desk)


async def test_whoever_has_no_role_sees_no_sandboxes() -> None:
    desk = open_desk()
    add(desk.world, 1, home="atlas")

    home = await opened(desk, "U_OUTSIDER")

    assert "without a role" in home
    assert "atlas is" not in home
    assert desk.world.cube.calls == []


async def test_many_sandboxes_still_make_a_page_that_slack_takes() -> None:
    desk = open_desk()
    for number in range(80):
        add(desk.world, number, home=f"home-{number}", owner="U_APPROVER", age=600)

    home = await opened(desk, "U_APPROVER")

    assert "and 60 more" in home
    assert desk.world.node.called("pulse") == 1


def _press_in_home(desk: Desk, button: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "block_actions",
        "user": {"id": "U_OPERATOR", "username": "o", "name": "o", "team_id": "T_DEMO"},
        "team": {"id": "T_DEMO", "domain": "demo"},
        "container": {"type": "view", "view_id": "V1"},
        "view": {"id": "V1", "type": "home", "blocks": []},
        "trigger_id": desk.chat.trigger("U_OPERATOR"),
        "actions": [{"block_id": "b", "action_ts": "1.2", **button}],
    }
