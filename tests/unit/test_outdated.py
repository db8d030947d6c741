"""A stop card counts for the sandbox as it was shown, and for a day."""

import pytest
from installation import APPROVER, OPERATOR, Installation, install

from bot.domain.outcome import Done, Outcome, Refused
from bot.domain.sandbox import SandboxState
from bot.usecases.changing import ChangeRequest
from bot.usecases.lifecycle import Stopped, StopPlan, StopRequest, ask_stop, stop
from bot.usecases.pausing import pause
from bot.usecases.resuming import resume


@pytest.fixture
async def world() -> Installation:
    made = install()
    await made.create("alpha")
    return made


async def ask(world: Installation) -> StopPlan:
    request = StopRequest(request_id=world.deps.ids.request_id(), actor=OPERATOR, target="alpha")
    answer = await ask_stop(request, world.deps)
    assert isinstance(answer, Done)
    return answer.value


async def press(world: Installation, plan: StopPlan) -> Outcome[Stopped]:
    return await stop(plan.request_id, OPERATOR, world.deps)


def change(world: Installation) -> ChangeRequest:
    return ChangeRequest(request_id=world.deps.ids.request_id(), actor=APPROVER, target="alpha")


def refused(outcome: Outcome[Stopped], world: Installation, words: str) -> None:
    assert isinstance(outcome, Refused)
    assert outcome.code == "stop-outdated"
    assert words in outcome.what
    assert world.cube.called("kill") == 0


async def test_one_that_somebody_has_put_to_sleep_since_is_not_destroyed(world: Installation) -> None:
    plan = await ask(world)
    await pause(change(world), world.deps)

    refused(await press(world, plan), world, "<@U_APPROVER> has put the sandbox to sleep")


async def test_one_that_was_paused_and_woken_since_is_not_destroyed(world: Installation) -> None:
    plan = await ask(world)
    await pause(change(world), world.deps)
    await resume(change(world), world.deps)

    refused(await press(world, plan), world, "<@U_APPROVER> has woken the sandbox")


async def test_one_that_fell_asleep_since_is_not_destroyed(world: Installation) -> None:
    plan = await ask(world)
    world.cube.set_state(plan.sandbox_id, SandboxState.PAUSED)

    refused(await press(world, plan), world, "has gone to sleep")


async def test_one_that_a_visit_has_woken_since_is_not_destroyed(world: Installation) -> None:
    [sandbox_id] = world.cube.sandboxes
    world.cube.set_state(sandbox_id, SandboxState.PAUSED)
    plan = await ask(world)
    world.cube.set_state(sandbox_id, SandboxState.RUNNING)

    refused(await press(world, plan), world, "somebody may use it")


async def test_a_card_of_yesterday_does_not_count(world: Installation) -> None:
    plan = await ask(world)
    await world.clock.sleep(24 * 3600 + 1)

    refused(await press(world, plan), world, "more than a day old")


async def test_a_card_of_this_morning_counts(world: Installation) -> None:
    plan = await ask(world)
    await world.clock.sleep(8 * 3600)

    assert (await press(world, plan)).code == "stopped"


async def test_a_card_that_does_not_count_is_refused_for_good(world: Installation) -> None:
    plan = await ask(world)
    world.cube.set_state(plan.sandbox_id, SandboxState.PAUSED)
    await press(world, plan)
    world.cube.set_state(plan.sandbox_id, SandboxState.RUNNING)

    outcome = await press(world, plan)

    assert isinstance(outcome, Refused)
    assert outcome.code == "already-decided"
    assert "did not count any more" in outcome.what
    assert world.cube.called("kill") == 0


async def test_the_card_of_a_sandbox_that_is_gone_stops_nothing_else(world: Installation) -> None:
    plan = await ask(world)
    world.cube.sandboxes.clear()
    await world.create("alpha")

    outcome = await press(world, plan)

    assert isinstance(outcome, Refused)
    assert outcome.code == "sandbox-not-found"
    assert plan.sandbox_id in outcome.what
    assert len(world.cube.sandboxes) == 1
    assert world.cube.called("kill") == 0
