import asyncio

import pytest
from contract.doubles import fault
from installation import ADMIN, APPROVER, OPERATOR, OPERATOR2, OUTSIDER, Installation, install

from bot.domain.actors import Actor
from bot.domain.audit import AuditEvent
from bot.domain.outcome import Done, Failed, Refused, Unknown
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


async def ask_asleep(world: Installation) -> StopPlan:
    """Ask to stop one that sleeps."""
    [sandbox_id] = world.cube.sandboxes
    world.cube.set_state(sandbox_id, SandboxState.PAUSED)
    return await ask(world)


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
    plan = await ask_asleep(world)

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


async def test_a_paused_sandbox_that_cube_will_not_delete_is_woken_once_and_closed_cleanly(
    world: Installation,
) -> None:
    plan = await ask_asleep(world)
    world.cube.paused_cannot_be_killed = True

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert isinstance(outcome, Done)
    assert outcome.value.studio_closed is True
    assert world.cube.sandboxes == {}
    assert (world.cube.called("resume"), world.cube.called("kill")) == (1, 2)


async def test_a_stop_that_can_neither_delete_nor_wake_says_both_and_tries_no_more(
    world: Installation,
) -> None:
    plan = await ask_asleep(world)
    world.cube.paused_cannot_be_killed = True
    busy = "CubeMaster returned error code 130589: Resume vm failed: OpenTap ResourceBusy"
    world.cube.fail("resume", fault("connect", 500, busy))

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert isinstance(outcome, Failed)
    assert outcome.code == "cube-stuck-not-deletable"
    assert "not in normal state" in outcome.detail
    assert "OpenTap" in outcome.detail
    assert (world.cube.called("resume"), world.cube.called("kill")) == (1, 1)


async def test_a_sandbox_that_pauses_again_at_once_is_resumed_once_more(world: Installation) -> None:
    plan = await ask_asleep(world)
    world.cube.paused_cannot_be_killed = True
    world.cube.fail("resume", fault("connect", 408, ""))

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert outcome.code == "stopped"
    assert (world.cube.called("resume"), world.cube.called("kill")) == (2, 2)


async def test_a_sandbox_that_cannot_be_woken_to_be_deleted_ends_the_stop(world: Installation) -> None:
    plan = await ask_asleep(world)
    world.cube.paused_cannot_be_killed = True
    world.cube.fail("resume", fault("connect", 408, ""), times=9)

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert outcome.code == "cube-stuck-not-deletable"
    assert "waking it first failed too: HTTP 408" in outcome.detail
    assert (world.cube.called("resume"), world.cube.called("kill")) == (2, 1)


@pytest.mark.parametrize(("failures", "code"), [(3, "stopped"), (1000, "stop-unknown")])
async def test_looks_that_fail_after_a_kill_are_not_taken_for_a_sandbox_that_lives(
    world: Installation, failures: int, code: str
) -> None:
    plan = await ask(world)

    async def cannot_be_looked_at() -> None:
        world.cube.fail("get", fault("get", 502, ""), times=failures)

    world.cube.before("kill", cannot_be_looked_at)

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert outcome.code == code
    assert world.cube.called("kill") == 1
    if isinstance(outcome, Unknown):
        assert "does not say whether it is gone" in outcome.what
        assert "still exists" not in outcome.safe


async def test_a_running_sandbox_that_cannot_be_deleted_is_not_resumed(world: Installation) -> None:
    plan = await ask(world)
    stuck = fault("kill", 500, "CubeMaster returned error code 130593: sandbox not in normal state")
    world.cube.fail("kill", stuck)

    await stop(plan.request_id, OPERATOR, world.deps)

    assert world.cube.called("resume") == 0


async def test_the_loser_of_two_presses_waits_for_the_winners_claim(world: Installation) -> None:
    plan = await ask(world)
    lock = await world.locks.try_hold("home:alpha")
    assert lock is not None

    async def winner_claims(_: float) -> None:
        if len(world.clock.slept) == 3:
            claim = {"request_id": plan.request_id, "phase": "claim", "action": "stop", "code": "stop"}
            await world.log.claim(AuditEvent(**claim, actor=APPROVER.id, actor_kind="user", home="alpha"))

    world.clock.on_sleep = winner_claims

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert outcome.code == "already-decided"
    assert f"<@{APPROVER.id}> has already stopped it" in outcome.what


async def test_a_home_that_another_job_holds_is_said_to_be_busy_after_a_second(world: Installation) -> None:
    plan = await ask(world)
    world.locks.taken.add("home:alpha")
    began = world.clock.monotonic()

    outcome = await stop(plan.request_id, OPERATOR, world.deps)

    assert outcome.code == "home-busy"
    assert 0.5 < world.clock.monotonic() - began < 1.5


async def killed_in_the_middle(world: Installation, plan: StopPlan) -> None:
    """A stop whose process dies before Cube is told."""

    async def crash() -> None:
        raise asyncio.CancelledError

    world.guest.before("stop_studio", crash)
    with pytest.raises(asyncio.CancelledError):
        await stop(plan.request_id, OPERATOR, world.deps)


@pytest.mark.parametrize("reconciled", [False, True])
async def test_an_old_card_does_not_call_an_interrupted_stop_done(
    world: Installation,
    reconciled: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    plan = await ask(world)
    await killed_in_the_middle(world, plan)
    if reconciled:
        ending = {"request_id": plan.request_id, "phase": "outcome", "action": "stop", "home": "alpha"}
        await world.log.append(
            AuditEvent(**ending, actor="hermes-bot", actor_kind="bot", result="unknown", code="interrupted")
        )

    late = await stop(plan.request_id, APPROVER, world.deps)
    kept = await dismiss_stop(plan.request_id, OPERATOR, world.deps)

    assert (late.code, kept.code) == ("stop-not-done", "stop-not-done")
    assert "was interrupted" in late.what
    assert "/hermes stop alpha" in late.todo
    assert len(world.cube.sandboxes) == 1


async def test_an_old_card_of_an_interrupted_stop_knows_when_the_sandbox_is_gone(world: Installation) -> None:
    plan = await ask(world)
    await killed_in_the_middle(world, plan)
    world.cube.sandboxes.clear()

    late = await stop(plan.request_id, APPROVER, world.deps)

    assert "has already stopped it" in late.what


async def test_an_old_card_does_not_call_a_failed_stop_done(world: Installation) -> None:
    plan = await ask(world)
    world.cube.fail("kill", fault("kill", 503, "service unavailable"))
    await stop(plan.request_id, OPERATOR, world.deps)

    late = await stop(plan.request_id, APPROVER, world.deps)
    again = await stop((await ask(world)).request_id, OPERATOR, world.deps)

    assert late.code == "stop-not-done"
    assert "did not end well" in late.what
    assert isinstance(again, Done)


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
