import asyncio

import pytest
from contract.doubles import fault
from installation import ADMIN, APPROVER, OPERATOR, OPERATOR2, OUTSIDER, Installation, install

from bot.domain.actors import Actor
from bot.domain.outcome import Done, Refused, Unknown
from bot.domain.sandbox import SandboxState
from bot.usecases.access import reveal
from bot.usecases.lifecycle import StopPlan, StopRequest, ask_stop, dismiss_stop, stop


@pytest.fixture
async def world() -> Installation:
    made = install()
    await made.create("alpha", workspace="proj")
    return made


async def ask(world: Installation, actor: Actor = OPERATOR, target: str = "alpha") -> StopPlan:
    answer = await ask_stop(
        StopRequest(request_id=world.deps.ids.request_id(), actor=actor, target=target), world.deps
    )
    assert isinstance(answer, Done), answer
    return answer.value


async def test_the_question_says_what_is_lost_and_kept_and_changes_nothing(world: Installation) -> None:
    plan = await ask(world)

    assert "home alpha" in plan.kept[0]
    assert "workspace proj" in plan.kept[1]
    assert plan.lost
    assert len(world.cube.sandboxes) == 1


async def test_stop_closes_studio_destroys_and_keeps_the_home(world: Installation) -> None:
    plan = await ask(world)

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert isinstance(outcome, Done)
    assert outcome.value.studio_closed is True
    assert world.cube.sandboxes == {}
    assert world.node.homes["alpha"].initialised


async def test_two_presses_at_once_stop_once_and_both_are_answered(world: Installation) -> None:
    plan = await ask(world)

    outcomes = await asyncio.gather(
        stop(plan.request_id, OPERATOR, world.deps), stop(plan.request_id, APPROVER, world.deps)
    )

    assert sorted(o.code for o in outcomes) == ["already-decided", "stopped"]
    assert world.cube.called("kill") == 1


async def test_somebody_elses_sandbox_is_refused_at_the_press_too(world: Installation) -> None:
    plan = await ask(world)

    outcome = await stop(plan.request_id, OPERATOR2, world.deps)

    assert outcome.code == "not-owner"
    assert len(world.cube.sandboxes) == 1


async def test_a_paused_sandbox_is_stopped_without_waking_it(world: Installation) -> None:
    plan = await ask(world)
    world.cube.set_state(plan.sandbox_id, SandboxState.PAUSED)

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert outcome.value.studio_closed is None
    assert world.guest.called("stop_studio") == 0


async def test_a_sandbox_that_cube_still_shows_is_unknown_not_done(world: Installation) -> None:
    plan = await ask(world)
    world.cube.fail("kill", fault("kill", 408, ""))

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert isinstance(outcome, Unknown)
    assert outcome.code == "stop-unknown"


async def test_a_refused_kill_says_that_the_sandbox_still_exists(world: Installation) -> None:
    plan = await ask(world)
    world.cube.fail(
        "kill", fault("kill", 500, "CubeMaster returned error code 130593: sandbox not in normal state")
    )

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert outcome.code == "cube-stuck-not-deletable"
    assert "still exists" in outcome.safe


async def test_keep_it_closes_the_question_for_good(world: Installation) -> None:
    plan = await ask(world)
    kept = await dismiss_stop(plan.request_id, OPERATOR, world.deps)

    late = await stop(plan.request_id, OPERATOR, world.deps)

    assert kept.code == "stop-dismissed"
    assert isinstance(late, Refused)
    assert "keep it" in late.what
    assert len(world.cube.sandboxes) == 1


async def test_stop_without_a_sandbox_says_how_to_make_one(world: Installation) -> None:
    answer = await ask_stop(StopRequest(request_id="r", actor=ADMIN, target="nothing-here"), world.deps)

    assert answer.code == "sandbox-not-found"
    assert "/hermes create" in answer.todo


async def test_the_owner_gets_the_link_and_the_log_says_so(world: Installation) -> None:
    sandbox_id = next(iter(world.cube.sandboxes))

    outcome = await reveal(sandbox_id, OPERATOR, "C1", world.deps)

    assert outcome.value.password == "EXAMPLE-fresh-password-1"
    assert outcome.value.link == f"https://9000-{sandbox_id}.cube.app/"
    row = (await world.log.recent(sandbox=sandbox_id, limit=1))[0]
    assert (row.phase, row.result, row.actor) == ("reveal", "ok", OPERATOR.id)
    assert "EXAMPLE-fresh-password-1" not in repr(row)


@pytest.mark.parametrize(("actor", "code"), [(OUTSIDER, "role-needed"), (OPERATOR2, "not-owner")])
async def test_others_are_refused_and_the_attempt_is_recorded(
    world: Installation, actor: Actor, code: str
) -> None:
    sandbox_id = next(iter(world.cube.sandboxes))

    outcome = await reveal(sandbox_id, actor, "C1", world.deps)

    assert outcome.code == code
    row = (await world.log.recent(sandbox=sandbox_id, limit=1))[0]
    assert (row.phase, row.result, row.actor) == ("reveal", "refused", actor.id)


async def test_what_was_revealed_is_hidden_everywhere_else_from_then_on(world: Installation) -> None:
    sandbox_id = next(iter(world.cube.sandboxes))

    await reveal(sandbox_id, APPROVER, "C1", world.deps)

    assert "EXAMPLE-fresh-password-1" not in world.deps.redactor.text("log: EXAMPLE-fresh-password-1")
