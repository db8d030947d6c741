"""Ending things: a stop that is asked for and confirmed, a stop thought better of, a create called off."""

import asyncio

import pytest
from e2e.installed import APPROVER, OPERATOR, OPERATOR2, OUTSIDER, Installed

from bot.demo.reading import buttons, thread_text

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_stop_is_asked_confirmed_and_told_and_counts_once(site: Installed) -> None:
    created = await site.create(OPERATOR, "home=leaving workspace=papers")
    sandbox = await created.sandbox()
    card = await site.type(OPERATOR, "stop leaving")
    message = await card.holding("hermes.stop.confirm")
    await card.press("hermes.stop.confirm")
    told = thread_text([await card.saying("is gone")])

    asked = thread_text([message])
    for line in ("running programs", "home leaving: settings", "workspace papers: project files"):
        assert line in asked
    assert f"Sandbox {sandbox} is gone" in told
    assert "Studio was closed cleanly first." in told
    assert "home leaving and workspace papers" in told
    assert "Stopped by @U_OPERATOR" in thread_text((await card.messages())[:1])
    assert await site.sandboxes("leaving") == []
    assert (site.home("leaving") / "config.yaml").exists()

    again = await site.create(OPERATOR, "home=leaving")
    await card.press("hermes.stop.confirm", message=message)

    assert "Your press changed nothing." in await site.told(OPERATOR, "@U_OPERATOR has already stopped it")
    assert await site.sandboxes("leaving") == [await again.sandbox()]


async def test_keep_it_closes_the_question_for_good(site: Installed) -> None:
    created = await site.create(OPERATOR, "home=staying")
    card = await site.type(OPERATOR, "stop staying")
    message = await card.holding("hermes.stop.confirm")
    await card.press("hermes.stop.dismiss", message=message)
    kept = await card.saying("decided not to stop it")

    await card.press("hermes.stop.confirm", message=message)

    await site.told(OPERATOR, "@U_OPERATOR has already decided to keep it")
    assert buttons(kept) == {}
    assert await site.sandboxes("staying") == [await created.sandbox()]


async def test_two_people_confirm_at_once_and_both_are_answered(site: Installed) -> None:
    await site.create(OPERATOR, "home=crowded")
    card = await site.type(OPERATOR, "stop crowded")
    message = await card.holding("hermes.stop.confirm")

    await asyncio.gather(
        card.press("hermes.stop.confirm", OPERATOR, message=message),
        card.press("hermes.stop.confirm", APPROVER, message=message),
    )

    await card.saying("is gone")
    stopped = await site.recorded(home="crowded", action="stop", phase="outcome", result="ok")
    loser = APPROVER if stopped["actor"] == OPERATOR else OPERATOR
    assert f"@{stopped['actor']} has already stopped it" in await site.told(loser, "What happened:")
    assert "it did not end well" not in await card.text()
    assert "What happened" not in await card.text()


async def test_only_owner_and_approver_may_stop(site: Installed) -> None:
    created = await site.create(OPERATOR, "home=guarded")

    for user, why in (
        (OPERATOR2, "It belongs to @U_OPERATOR"),
        (OUTSIDER, "You have no role in this bot"),
    ):
        thread = await site.type(user, "stop guarded")
        assert why in thread_text([await thread.saying("What happened:")])

    assert await site.sandboxes("guarded") == [await created.sandbox()]


async def test_stop_button_of_a_result_asks_in_the_same_thread(site: Installed) -> None:
    created = await site.create(OPERATOR, "home=below")

    await created.press("hermes.stop.ask")
    await created.press("hermes.stop.confirm")

    assert "Kept on the node: home below" in thread_text([await created.saying("is gone")])
    assert await site.sandboxes("below") == []


async def test_cancel_stops_between_steps_and_continue_finishes(site: Installed) -> None:
    await site.fault("node", "ssh-slow", delay_s=1.0)
    thread = await site.type(OPERATOR, "create home=hasty")
    await site.recorded(home="hasty", phase="intent", code="")
    await thread.press("hermes.create.cancel")

    told = await thread.ended(":x:")

    assert "Cancelled after step 3." in told
    assert "No sandbox was made" in told
    assert "cancelled" in told
    assert await site.sandboxes("hasty") == []
    await thread.press("hermes.create.continue")
    assert "is ready" in await thread.ended(":white_check_mark:")


async def test_cancel_by_somebody_else_or_too_late_is_answered(site: Installed) -> None:
    await site.fault("node", "ssh-slow", delay_s=1.0)
    thread = await site.type(OPERATOR, "create home=steady")
    await site.recorded(home="steady", phase="intent", code="")
    progress = await thread.holding("hermes.create.cancel")

    refused = await site.answer_to_press(thread, "hermes.create.cancel", OPERATOR2, progress)
    told = await thread.ended(":white_check_mark:")
    late = await site.answer_to_press(thread, "hermes.create.cancel", OPERATOR, progress)

    assert "It belongs to @U_OPERATOR" in refused
    assert "is ready" in told
    assert "This request has already ended." in late
    assert len(await site.sandboxes("steady")) == 1
