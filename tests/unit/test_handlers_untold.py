"""A create that ended, and a process that ended before it had told so."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from contract.double_faults import fault
from slack_desk import Desk, open_desk, shown

from bot.usecases.untold import Untold, find_untold
from handlers.restart import announce_untold


@pytest.fixture
def desk() -> Desk:
    return open_desk()


async def at_once() -> None:
    """The double takes it as it comes."""


async def never() -> None:
    await asyncio.Event().wait()


async def cut_off(desk: Desk, telling: float = 0.0) -> None:
    """Its result waits for its turn in Slack when its process ends."""
    for hook in (at_once, at_once, never):
        desk.chat.before("post", hook)
    await desk.command("U_OPERATOR", "create home=alpha", settle=False)
    await desk.until(lambda: bool(desk.world.cube.sandboxes) and not desk.world.deps.running)
    await desk.until(lambda: desk.chat.called("post") == 3)
    await desk.services.jobs.drain(0, telling)


async def found_by_the_next(desk: Desk) -> Sequence[Untold]:
    return await find_untold(replace(desk.world.deps, process="p-2", running=set()))


async def test_the_next_start_says_how_it_ended_and_nothing_spins(desk: Desk) -> None:
    await cut_off(desk)

    await announce_untold(await found_by_the_next(desk), desk.services)

    [sandbox] = desk.world.cube.sandboxes
    progress, told = desk.thread()
    assert progress.buttons == {}
    assert {task["status"] for task in progress.blocks[0]["tasks"]} == {"complete"}
    assert f"is ready: sandbox `{sandbox}`" in told.text
    assert {a: b["value"] for a, b in told.buttons.items()} == {
        "hermes.open": f"v1:{sandbox}",
        "hermes.stop.ask": f"v1:{sandbox}",
    }
    assert "is ready for <@U_OPERATOR>" in desk.parents()[0].text
    assert await found_by_the_next(desk) == []


async def test_one_whose_sandbox_is_gone_meanwhile_offers_nothing_of_it(desk: Desk) -> None:
    await cut_off(desk)
    desk.world.cube.sandboxes.clear()

    await announce_untold(await found_by_the_next(desk), desk.services)

    told = desk.thread()[-1]
    assert "its sandbox is gone by now" in told.text
    assert told.buttons == {}


async def test_a_failure_is_told_with_its_reason(desk: Desk) -> None:
    desk.world.cube.fail("create", fault("create", 500, "ret_code=130597, no more resource"))
    for hook in (at_once, at_once, never):
        desk.chat.before("post", hook)
    await desk.command("U_OPERATOR", "create home=alpha", settle=False)
    await desk.until(lambda: desk.chat.called("post") == 3)
    await desk.services.jobs.drain(0)

    await announce_untold(await found_by_the_next(desk), desk.services)

    told = desk.thread()[-1]
    [outcome] = [r for r in await desk.world.log.of_request("r-000001") if r.phase == "outcome"]
    assert "There is no working Studio for home *alpha*" in told.text
    assert outcome.reason
    assert outcome.reason.split("`")[0] in told.text
    assert "/hermes create home=alpha" in shown(told)


async def test_what_was_told_is_not_told_again(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha")

    assert await found_by_the_next(desk) == []


async def test_who_is_alive_tells_it_himself(desk: Desk) -> None:
    await cut_off(desk)

    async with desk.world.locks.hold("process:p-1"):
        assert await found_by_the_next(desk) == []
    assert await find_untold(desk.world.deps) == []


async def test_its_person_is_told_past_the_queue_while_the_bot_still_can(desk: Desk) -> None:
    await cut_off(desk, telling=1.0)

    [told] = desk.parents("D_U_OPERATOR")
    assert "Studio for home alpha is ready" in told.text
