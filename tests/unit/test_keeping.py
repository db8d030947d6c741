"""A longer idle time, until when, and the way back."""

import asyncio
from datetime import timedelta

import pytest
from contract.doubles import fault
from installation import APPROVER, OPERATOR, OPERATOR2, Installation, install

from bot.domain.actors import Actor
from bot.domain.outcome import Done, Failed, Outcome, Refused, Unknown
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.changing import ChangeRequest
from bot.usecases.keeping import Kept, keep, undo_keep
from bot.usecases.past import remembered

FOREIGN = "f" * 32


@pytest.fixture
async def world() -> Installation:
    made = install()
    made.cube.now = made.clock.now
    await made.create("alpha", timeout=1800)
    return made


def only(world: Installation) -> SandboxView:
    return next(iter(world.cube.sandboxes.values()))


async def ask(
    world: Installation, seconds: int = 7200, actor: Actor = OPERATOR, target: str = "alpha"
) -> Outcome[Kept]:
    request = ChangeRequest(request_id=world.deps.ids.request_id(), actor=actor, target=target)
    return await keep(request, seconds, world.deps)


async def kept(world: Installation, seconds: int = 7200, **more: str) -> Kept:
    outcome = await ask(world, seconds, **more)  # type: ignore[arg-type]  # targets only
    assert isinstance(outcome, Done), outcome
    return outcome.value


def asked(world: Installation) -> list[object]:
    return [arguments[1] for name, arguments in world.cube.calls if name == "set_timeout"]


async def test_it_is_kept_and_its_end_is_what_cube_shows(world: Installation) -> None:
    value = await kept(world)

    assert (value.timeout, value.before, value.asleep, value.dies) == (7200, 1800, False, False)
    assert value.until == world.clock.now() + timedelta(hours=2)
    row = (await world.log.recent())[0]
    assert (row.code, row.result, row.details) == ("kept", "ok", {"timeout": 7200, "before": 1800})
    assert (await remembered([only(world)], world.deps))[only(world).sandbox_id].timeout == 7200


async def test_never_has_no_end(world: Installation) -> None:
    value = await kept(world, -1)

    assert (value.timeout, value.until) == (-1, None)
    assert only(world).end_at is None


async def test_one_that_sleeps_is_not_woken_and_has_no_end_yet(world: Installation) -> None:
    world.cube.set_state(only(world).sandbox_id, SandboxState.PAUSED)

    value = await kept(world)

    assert (value.asleep, value.until) == (True, None)
    assert only(world).state is SandboxState.PAUSED
    assert world.cube.called("resume") == 0


@pytest.mark.parametrize("seconds", [0, 59])
async def test_an_idle_time_that_puts_it_to_sleep_at_once_is_refused(
    world: Installation, seconds: int
) -> None:
    assert (await ask(world, seconds)).code == "timeout-too-short"
    assert asked(world) == []


async def test_somebody_elses_is_not_changed(world: Installation) -> None:
    assert (await ask(world, actor=OPERATOR2)).code == "not-owner"
    assert asked(world) == []


async def test_a_lost_answer_is_judged_by_looking(world: Installation) -> None:
    world.cube.fail("set_timeout", fault("timeout", 504, ""), after=True)

    assert (await ask(world)).code == "kept"


async def test_a_lost_question_is_not_called_kept(world: Installation) -> None:
    world.cube.fail("set_timeout", fault("timeout", 504, ""))

    outcome = await ask(world)

    assert isinstance(outcome, Unknown)
    assert outcome.code == "keep-unknown"
    assert (await remembered([only(world)], world.deps))[only(world).sandbox_id].timeout is None


async def test_a_refusal_of_cube_is_told(world: Installation) -> None:
    world.cube.fail("set_timeout", fault("timeout", 400, "invalid timeout"))

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "cube-bad-request"
    assert (await remembered([only(world)], world.deps))[only(world).sandbox_id].timeout == 1800


async def test_undo_sets_the_one_from_before(world: Installation) -> None:
    value = await kept(world)

    outcome = await undo_keep(value.request_id, OPERATOR, world.deps)

    assert isinstance(outcome, Done)
    assert (outcome.code, outcome.value.timeout, outcome.value.guessed) == ("keep-undone", 1800, False)
    assert asked(world) == [7200, 1800]


async def test_undo_happens_once_however_often_it_is_pressed(world: Installation) -> None:
    value = await kept(world)

    outcomes = await asyncio.gather(
        *(undo_keep(value.request_id, actor, world.deps) for actor in (OPERATOR, APPROVER))
    )
    late = await undo_keep(value.request_id, APPROVER, world.deps)

    assert [one.code for one in outcomes].count("keep-undone") == 1
    assert isinstance(late, Refused)
    assert late.code == "already-decided"
    assert asked(world) == [7200, 1800]


async def test_undo_of_an_overtaken_keep_changes_nothing(world: Installation) -> None:
    first = await kept(world)
    await kept(world, -1)

    outcome = await undo_keep(first.request_id, OPERATOR, world.deps)

    assert isinstance(outcome, Refused)
    assert outcome.code == "keep-overtaken"
    assert "never" in outcome.what
    assert asked(world) == [7200, -1]


async def test_undo_when_nobody_knows_what_holds_changes_nothing(world: Installation) -> None:
    first = await kept(world)
    world.cube.fail("set_timeout", fault("timeout", 504, ""))
    await ask(world, -1)

    outcome = await undo_keep(first.request_id, OPERATOR, world.deps)

    assert isinstance(outcome, Refused)
    assert "cannot be told any more" in outcome.what
    assert asked(world) == [7200, -1]


async def test_somebody_else_may_not_take_it_back(world: Installation) -> None:
    value = await kept(world)

    assert (await undo_keep(value.request_id, OPERATOR2, world.deps)).code == "not-owner"
    assert (await undo_keep(value.request_id, OPERATOR, world.deps)).code == "keep-undone"


async def test_a_button_without_a_keep_behind_it_says_so(world: Installation) -> None:
    assert (await undo_keep("r-nothing", OPERATOR, world.deps)).code == "nothing-to-undo"


async def test_a_sandbox_of_others_gets_a_warning_and_no_guess(world: Installation) -> None:
    world.cube.sandboxes[FOREIGN] = SandboxView(sandbox_id=FOREIGN, state=SandboxState.RUNNING)

    outcome = await ask(world, 7200, APPROVER, FOREIGN)
    assert isinstance(outcome, Done)
    undone = await undo_keep(outcome.value.request_id, APPROVER, world.deps)

    assert (outcome.value.dies, outcome.value.before) == (True, None)
    assert undone.code == "idle-unknown"
    assert asked(world) == [7200]


async def test_an_unknown_idle_time_of_ours_is_replaced_by_the_configured_one(world: Installation) -> None:
    world.cube.fail("set_timeout", fault("timeout", 504, ""))
    await ask(world)
    value = await kept(world, -1)

    outcome = await undo_keep(value.request_id, OPERATOR, world.deps)

    assert isinstance(outcome, Done)
    assert (outcome.value.timeout, outcome.value.guessed) == (900, True)
