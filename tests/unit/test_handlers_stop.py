import asyncio

import pytest
from slack_desk import Desk, open_desk, shown

from bot.domain.errors import ChatError


@pytest.fixture
async def desk() -> Desk:
    made = open_desk()
    await made.command("U_OPERATOR", "create home=alpha workspace=proj")
    return made


async def test_the_card_says_what_is_lost_and_what_is_kept(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")

    card = desk.parents()[1]
    text = shown(card)
    assert "Lost for good" in text
    assert "open terminals" in text
    assert "Kept on the node" in text
    assert "workspace proj" in text
    assert list(card.buttons) == ["hermes.stop.confirm", "hermes.stop.dismiss"]
    assert card.buttons["hermes.stop.confirm"]["confirm"]["title"]["text"] == "Stop this sandbox?"
    assert desk.world.cube.sandboxes


async def test_a_confirmed_stop_settles_the_card_and_tells_the_thread(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")
    card = desk.parents()[1]

    await desk.press("U_OPERATOR", card, "hermes.stop.confirm")

    assert desk.world.cube.sandboxes == {}
    assert card.buttons == {}
    assert "Stopped by <@U_OPERATOR>, <!date^" in card.text
    assert "Lost for good" in shown(card)
    [result] = desk.thread(number=1)
    assert "is gone" in result.text
    assert "workspace *proj*" in result.text


async def test_everybody_who_presses_too_late_is_told_who_was_first(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")
    late = desk.pressing("U_APPROVER", desk.parents()[1], "hermes.stop.confirm")
    await desk.press("U_OPERATOR", desk.parents()[1], "hermes.stop.confirm")

    await desk.send(late)
    await desk.services.jobs.idle()

    assert "<@U_OPERATOR> has already stopped it" in desk.told("U_APPROVER")
    assert "Stopped by <@U_OPERATOR>" in desk.parents()[1].text


async def test_two_presses_in_the_same_moment_stop_once(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")
    card = desk.parents()[1]
    presses = [desk.pressing(user, card, "hermes.stop.confirm") for user in ("U_OPERATOR", "U_APPROVER")]

    await asyncio.gather(*(desk.send(press) for press in presses))
    await desk.services.jobs.idle()

    assert desk.world.cube.called("kill") == 1
    assert len(desk.thread(number=1)) == 1


async def test_the_same_envelope_twice_acts_once(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")
    press = desk.pressing("U_OPERATOR", desk.parents()[1], "hermes.stop.confirm")

    await desk.send(press)
    await desk.send(press)
    await desk.services.jobs.idle()

    assert "already" not in desk.told("U_OPERATOR")
    assert desk.world.cube.called("kill") == 1


async def test_somebody_else_may_not_stop_it_and_the_card_stays(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")
    card = desk.parents()[1]

    await desk.press("U_OPERATOR2", card, "hermes.stop.confirm")

    assert "only the owner or an approver" in desk.told("U_OPERATOR2")
    assert list(card.buttons) == ["hermes.stop.confirm", "hermes.stop.dismiss"]
    assert desk.world.cube.sandboxes


async def test_keep_it_settles_the_card(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")
    card = desk.parents()[1]

    await desk.press("U_OPERATOR", card, "hermes.stop.dismiss")

    assert card.buttons == {}
    assert "<@U_OPERATOR> decided not to stop it" in card.text
    assert desk.world.cube.sandboxes


async def test_a_stop_of_nothing_is_answered_where_it_was_asked(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop beta")

    assert "No sandbox runs on home beta" in desk.parents()[1].text
    assert "What is safe" in shown(desk.thread(number=1)[0])


async def test_the_stop_button_of_a_result_asks_in_the_same_thread(desk: Desk) -> None:
    await desk.press("U_OPERATOR", desk.thread()[-1], "hermes.stop.ask")

    card = desk.thread()[-1]
    assert list(card.buttons) == ["hermes.stop.confirm", "hermes.stop.dismiss"]
    await desk.press("U_OPERATOR", card, "hermes.stop.confirm")
    assert "is gone" in desk.thread()[-1].text


async def test_the_stop_button_pressed_by_somebody_else_is_refused_to_that_person(desk: Desk) -> None:
    before = len(desk.thread())

    await desk.press("U_OPERATOR2", desk.thread()[-1], "hermes.stop.ask")

    assert "only the owner or an approver" in desk.told("U_OPERATOR2")
    assert len(desk.thread()) == before


async def test_a_card_that_cannot_be_edited_is_posted_in_its_thread(desk: Desk) -> None:
    desk.chat.fail("update", ChatError("cant_update_message"))

    await desk.command("U_OPERATOR", "stop alpha")

    [card] = desk.thread(number=1)
    assert list(card.buttons) == ["hermes.stop.confirm", "hermes.stop.dismiss"]


async def test_a_stop_and_a_create_later_find_the_home_again(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")
    await desk.press("U_OPERATOR", desk.parents()[1], "hermes.stop.confirm")

    await desk.command("U_OPERATOR", "create home=alpha workspace=proj")

    assert "already initialised" in shown(desk.thread(number=2)[-1])
