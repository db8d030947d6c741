"""Pause, Resume, Keep and their like as people in Slack meet them."""

import asyncio
from dataclasses import replace

import pytest
from contract.doubles import fault
from contract.doubles_chat import Kept
from slack_desk import Desk, open_desk, shown

from bot.domain.errors import ChatError
from bot.domain.sandbox import SandboxState, SandboxView


@pytest.fixture
async def desk() -> Desk:
    made = open_desk()
    made.world.cube.now = made.world.clock.now
    await made.command("U_OPERATOR", "create home=alpha")
    return made


def only(desk: Desk) -> SandboxView:
    [view] = desk.world.cube.sandboxes.values()
    return view


def latest(desk: Desk) -> Kept:
    """The newest message that starts a thread."""
    return desk.parents()[-1]


async def test_a_typed_pause_is_one_message_that_says_how_it_ended(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "pause alpha")

    message = latest(desk)
    assert "The sandbox of home *alpha* sleeps" in message.text
    assert "put to sleep by <@U_OPERATOR>" in message.text
    assert {"hermes.resume", "hermes.open"} == set(message.buttons)
    assert only(desk).state is SandboxState.PAUSED


async def test_a_typed_resume_says_that_all_is_well(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "pause alpha")
    await desk.command("U_OPERATOR", "resume alpha")

    assert "is awake" in latest(desk).text
    assert "its Studio is well" in latest(desk).text
    assert only(desk).state is SandboxState.RUNNING


async def test_two_people_press_resume_at_once_and_both_are_answered(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "pause alpha")
    message = latest(desk)
    presses = [desk.pressing(user, message, "hermes.resume") for user in ("U_OPERATOR", "U_APPROVER")]

    await asyncio.gather(*(desk.send(press) for press in presses))
    await desk.services.jobs.idle()

    assert desk.world.cube.called("resume") == 1
    assert [reply.text.count("is awake") for reply in desk.thread(number=1)] == [1]
    answers = desk.told("U_OPERATOR") + desk.told("U_APPROVER")
    assert "is just waking it" in answers


async def test_who_may_not_is_told_alone_and_the_thread_stays_quiet(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "pause alpha")

    await desk.press("U_OPERATOR2", latest(desk), "hermes.resume")

    assert "It belongs to <@U_OPERATOR>" in desk.told("U_OPERATOR2")
    assert desk.thread(number=1) == []


async def test_a_pause_that_cannot_be_told_offers_another_look(desk: Desk) -> None:
    desk.world.cube.pauses_get_stuck = True

    await desk.command("U_OPERATOR", "pause alpha")

    text = shown(latest(desk))
    assert "after 60 seconds it shows it as pausing" in text
    assert "Code `pause-unknown`" in text
    assert "hermes.status" in latest(desk).buttons


async def test_a_button_below_a_message_for_one_person_is_answered_to_that_person(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "pause alpha")
    press = desk.pressing("U_OPERATOR", latest(desk), "hermes.resume")
    press["container"]["is_ephemeral"] = True

    await desk.send(press)
    await desk.services.jobs.idle()

    assert desk.thread(number=1) == []
    assert "is awake" in desk.told("U_OPERATOR")


async def test_keep_shows_its_end_and_undo_settles_the_message(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "keep alpha 2h")
    message = latest(desk)
    assert "goes to sleep after `2h` without use, not before <!date^" in message.text

    await desk.press("U_OPERATOR", message, "hermes.keep.undo")

    assert message.buttons == {}
    assert "Taken back by <@U_OPERATOR>: `15m`" in message.text
    [said] = desk.thread(number=1)
    assert "goes to sleep after `15m` without use" in said.text


async def test_undo_counts_once_and_everybody_is_answered(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "keep alpha never")
    late = desk.pressing("U_APPROVER", latest(desk), "hermes.keep.undo")
    await desk.press("U_OPERATOR", latest(desk), "hermes.keep.undo")

    await desk.send(late)
    await desk.services.jobs.idle()

    assert "<@U_OPERATOR> has already taken this back" in desk.told("U_APPROVER")
    assert desk.world.cube.called("set_timeout") == 2


@pytest.mark.parametrize("value", ["", "7200", "x.7200", f"{'a' * 32}.999999999", f"{'a' * 32}.-2"])
async def test_a_keep_button_of_another_shape_does_nothing(desk: Desk, value: str) -> None:
    await desk.command("U_OPERATOR", "keep alpha 2h")
    press = desk.pressing("U_OPERATOR", latest(desk), "hermes.keep.undo")
    press["actions"][0] |= {"action_id": "hermes.keep", "value": f"v1:{value}"}
    before = desk.world.cube.called("set_timeout")

    await desk.send(press)
    await desk.services.jobs.idle()

    assert "I do not know this button any more" in desk.told("U_OPERATOR")
    assert desk.world.cube.called("set_timeout") == before


async def test_a_press_on_a_keep_button_keeps(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "pause alpha")
    press = desk.pressing("U_OPERATOR", latest(desk), "hermes.resume")
    press["actions"][0] |= {"action_id": "hermes.keep", "value": f"v1:{only(desk).sandbox_id}.-1"}

    await desk.send(press)
    await desk.services.jobs.idle()

    [said] = desk.thread(number=1)
    assert "sleeps; once awake, it stays so" in said.text
    assert only(desk).state is SandboxState.PAUSED


async def test_open_typed_fills_a_window_that_one_person_sees(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "open alpha")

    assert "EXAMPLE-fresh-password-1" in str(desk.view_of("U_OPERATOR"))
    assert not any("EXAMPLE-fresh" in shown(kept) for kept in desk.chat.messages)
    [row] = [row for row in await desk.world.log.recent() if row.phase == "reveal"]
    assert (row.result, row.sandbox) == ("ok", only(desk).sandbox_id)


async def test_open_typed_by_somebody_else_is_refused_in_the_window_and_recorded(desk: Desk) -> None:
    await desk.command("U_OPERATOR2", "open alpha")

    assert "It belongs to" in str(desk.view_of("U_OPERATOR2"))
    [row] = [row for row in await desk.world.log.recent() if row.phase == "reveal"]
    assert row.result == "refused"


async def test_open_typed_with_a_lost_trigger_is_answered_in_direct_messages(desk: Desk) -> None:
    desk.chat.fail("open_view", ChatError("expired_trigger_id"))

    await desk.command("U_OPERATOR", "open alpha")

    [direct] = [kept for kept in desk.chat.messages if kept.channel == "D_U_OPERATOR"]
    assert "EXAMPLE-fresh-password-1" in shown(direct)


async def test_pause_mine_has_a_line_for_each_and_one_failure_hides_none(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=beta")
    await desk.command("U_OPERATOR2", "create home=other")
    desk.world.cube.fail("pause", fault("pause", 500, "CubeMaster returned error code 130596: dial tcp"))

    await desk.command("U_OPERATOR", "pause mine")

    text = shown(latest(desk))
    assert text.count("Home *") == 2
    assert "sleeps (" in text
    assert "`cube-node-unreachable`" in text
    assert "1 done, 1 not" in text
    assert "other" not in text
    states = {view.home: view.state for view in desk.world.cube.sandboxes.values()}
    assert states["other"] is SandboxState.RUNNING
    assert sorted(states.values()).count(SandboxState.PAUSED) == 1


async def test_one_that_breaks_inside_hides_none(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=beta")
    desk.world.cube.fail("pause", RuntimeError("a bug"))

    await desk.command("U_OPERATOR", "pause mine")

    assert "`internal-error`" in shown(latest(desk))
    assert "sleeps (" in shown(latest(desk))


async def test_resume_mine_leaves_what_is_awake_alone(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=beta")
    await desk.command("U_OPERATOR", "pause alpha")

    await desk.command("U_OPERATOR", "resume mine")

    text = shown(latest(desk))
    assert "*alpha* is awake (" in text
    assert "*beta* was awake already" in text
    assert "2 sandboxes of <@U_OPERATOR>: all done" in text
    assert desk.world.cube.called("resume") == 1


async def test_nothing_to_do_is_said_kindly(desk: Desk) -> None:
    await desk.command("U_OPERATOR2", "pause mine")

    assert "you have no sandbox that I could put to sleep" in latest(desk).text


async def test_mine_is_for_those_who_may(desk: Desk) -> None:
    await desk.command("U_OUTSIDER", "pause mine")

    assert "You have no role in this bot" in shown(latest(desk))


async def test_at_most_four_are_under_way_at_once(desk: Desk) -> None:
    view = only(desk)
    for number in range(9):
        other = f"{number:032x}"
        labels = {**view.metadata, "hermes-home": f"home-{number}"}
        desk.world.cube.sandboxes[other] = replace(view, sandbox_id=other, metadata=labels)
    running = most = 0
    real = desk.world.cube.pause

    async def pause(sandbox_id: str) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        await real(sandbox_id)
        running -= 1

    desk.world.cube.pause = pause  # type: ignore[method-assign]  # counts what overlaps

    await desk.command("U_OPERATOR", "pause mine")

    assert "all done" in latest(desk).text
    assert most == 4


async def test_a_stale_stop_card_is_closed_and_a_new_one_shows_what_is(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "stop alpha")
    card = latest(desk)
    await desk.command("U_APPROVER", "pause alpha")

    await desk.press("U_OPERATOR", card, "hermes.stop.confirm")

    assert desk.world.cube.called("kill") == 0
    assert card.buttons == {}
    assert "<@U_APPROVER> has put the sandbox to sleep" in shown(card)
    fresh = next(reply for reply in desk.thread(number=1) if "hermes.stop.confirm" in reply.buttons)
    assert "(paused, owner" in shown(fresh)
    await desk.press("U_OPERATOR", fresh, "hermes.stop.confirm")
    assert desk.world.cube.sandboxes == {}
