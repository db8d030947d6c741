"""Pausing: only what Cube shows as paused is done, and nothing is paused into its death."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from contract.doubles import fault
from installation import ADMIN, APPROVER, OPERATOR, OPERATOR2, OUTSIDER, Installation, install

from bot.domain.actors import Action, Actor
from bot.domain.outcome import Done, Failed, Outcome, Refused, Unknown
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.bulk import Item
from bot.usecases.changing import ChangeRequest
from bot.usecases.past import remembered
from bot.usecases.pausing import PAUSE_SECONDS, Paused, pause
from handlers.render.bulk import bulk_message

FOREIGN = "f" * 32


@pytest.fixture
async def world() -> Installation:
    made = install()
    await made.create("alpha")
    made.cube.calls.clear()
    return made


def only(world: Installation) -> SandboxView:
    [view] = world.cube.sandboxes.values()
    return view


async def ask(world: Installation, actor: Actor = OPERATOR, target: str = "alpha") -> Outcome[Paused]:
    request = ChangeRequest(request_id=world.deps.ids.request_id(), actor=actor, target=target)
    return await pause(request, world.deps)


async def last_row(world: Installation, action: str = "pause") -> Any:
    return next(row for row in await world.log.recent() if row.action == action)


def foreign(world: Installation) -> None:
    """A sandbox that somebody else has made."""
    world.cube.sandboxes[FOREIGN] = SandboxView(sandbox_id=FOREIGN, state=SandboxState.RUNNING)


async def test_it_sleeps_and_the_log_has_the_intent_before_and_the_outcome_after(world: Installation) -> None:
    outcome = await ask(world)

    assert isinstance(outcome, Done)
    assert (outcome.code, outcome.value.home, outcome.value.kept_for_ever) == ("paused", "alpha", False)
    assert only(world).state is SandboxState.PAUSED
    rows = (await world.log.changes([only(world).sandbox_id]))[only(world).sandbox_id]
    assert [(row.phase, row.code, row.result) for row in rows] == [
        ("outcome", "paused", "ok"), ("intent", "", ""),
    ]  # fmt: skip
    assert world.cube.called("set_timeout") == 0


async def test_no_request_reaches_the_inside_of_the_sandbox(world: Installation) -> None:
    before = (len(world.guest.calls), len(world.studio.calls))

    await ask(world)

    assert (len(world.guest.calls), len(world.studio.calls)) == before


@pytest.mark.parametrize(
    ("actor", "code"), [(OPERATOR2, "not-owner"), (OUTSIDER, "role-needed"), (APPROVER, "paused")]
)
async def test_its_owner_may_and_an_approver(world: Installation, actor: Actor, code: str) -> None:
    assert (await ask(world, actor)).code == code


async def test_one_that_sleeps_is_left_alone_and_leaves_no_row(world: Installation) -> None:
    await ask(world)
    rows = (await world.log.head()).seq

    outcome = await ask(world)

    assert isinstance(outcome, Done)
    assert (outcome.code, outcome.value.already) == ("already-paused", True)
    assert world.cube.called("pause") == 1
    assert (await world.log.head()).seq == rows


async def test_a_pause_that_does_not_end_is_unknown_after_its_time(world: Installation) -> None:
    world.cube.pauses_get_stuck = True
    began = world.clock.monotonic()

    outcome = await ask(world)

    assert isinstance(outcome, Unknown)
    assert outcome.code == "pause-unknown"
    assert "it shows it as pausing" in outcome.what
    assert world.cube.called("pause") == 1
    assert PAUSE_SECONDS <= world.clock.monotonic() - began < PAUSE_SECONDS + 5
    past = (await remembered([only(world)], world.deps))[only(world).sandbox_id]
    assert past.pause_given_up


async def test_a_lost_answer_is_judged_by_looking(world: Installation) -> None:
    world.cube.fail("pause", fault("pause", 408, ""), after=True)

    outcome = await ask(world)

    assert outcome.code == "paused"
    assert world.cube.called("pause") == 1


async def test_a_lost_question_is_asked_once_more(world: Installation) -> None:
    world.cube.fail("pause", fault("pause", 504, "<html>"))

    outcome = await ask(world)

    assert outcome.code == "paused"
    assert world.cube.called("pause") == 2


async def test_a_question_that_is_lost_twice_is_not_asked_a_third_time(world: Installation) -> None:
    world.cube.fail("pause", fault("pause", 504, "<html>"), times=9)

    outcome = await ask(world)

    assert outcome.code == "pause-unknown"
    assert "still shows it as running" in outcome.what
    assert world.cube.called("pause") == 2


async def test_another_change_in_the_way_is_waited_for(world: Installation) -> None:
    busy = fault("pause", 409, "sandbox lifecycle operation in progress; retry later")
    world.cube.fail("pause", busy, times=2)

    assert (await ask(world)).code == "paused"


async def test_a_change_that_stays_in_the_way_is_told_and_nothing_was_paused(world: Installation) -> None:
    busy = fault("pause", 409, "sandbox lifecycle operation in progress; retry later")
    world.cube.fail("pause", busy, times=99)

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "cube-conflict-retry"
    assert outcome.safe.startswith("It runs as before.")


async def test_a_refusal_is_told_at_once(world: Installation) -> None:
    world.cube.fail("pause", fault("pause", 500, "CubeMaster returned error code 130596: dial tcp"))

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "cube-node-unreachable"
    assert world.cube.called("pause") == 1
    assert (await last_row(world)).result == "failed"


async def test_already_paused_in_cubes_words_is_a_success(world: Installation) -> None:
    async def somebody_else() -> None:
        world.cube.set_state(only(world).sandbox_id, SandboxState.PAUSED)

    world.cube.before("pause", somebody_else)

    assert (await ask(world)).code == "paused"


async def test_one_that_is_pausing_is_waited_for_and_not_asked(world: Installation) -> None:
    sandbox = only(world).sandbox_id
    world.cube.set_state(sandbox, SandboxState.PAUSING)

    async def ends(_: float) -> None:
        world.cube.set_state(sandbox, SandboxState.PAUSED)

    world.clock.on_sleep = ends

    assert (await ask(world)).code == "paused"
    assert world.cube.called("pause") == 0


async def test_one_that_is_destroyed_meanwhile_is_not_called_paused(world: Installation) -> None:
    world.cube.fail("pause", fault("pause", 408, ""))

    async def destroyed() -> None:
        world.cube.sandboxes.clear()

    world.cube.before("pause", destroyed)

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "sandbox-gone"


async def test_a_sandbox_of_others_never_times_out_before_it_is_paused(world: Installation) -> None:
    foreign(world)

    outcome = await ask(world, APPROVER, FOREIGN)

    assert isinstance(outcome, Done)
    assert outcome.value.kept_for_ever
    changes = [name for name, _ in world.cube.calls if name in {"pause", "set_timeout"}]
    assert changes == ["set_timeout", "pause"]
    assert ("set_timeout", (FOREIGN, -1)) in world.cube.calls
    past = (await remembered([world.cube.sandboxes[FOREIGN]], world.deps))[FOREIGN]
    assert past.timeout == -1


async def test_a_sandbox_of_others_that_cannot_be_made_safe_is_not_paused(world: Installation) -> None:
    foreign(world)
    world.cube.sandboxes[FOREIGN] = replace(world.cube.sandboxes[FOREIGN], end_at="2026-01-01T00:00:00Z")
    world.cube.fail("set_timeout", fault("timeout", 504, ""))

    outcome = await ask(world, ADMIN, FOREIGN)

    assert isinstance(outcome, Failed)
    assert "could have destroyed it" in outcome.safe
    assert "Continue" not in outcome.todo, "there is no such button"
    assert world.cube.called("pause") == 0


async def test_without_a_log_nothing_is_paused(world: Installation) -> None:
    world.log.broken = "disk full"

    outcome = await ask(world)

    assert isinstance(outcome, Refused)
    assert outcome.code == "audit-unavailable"
    assert world.cube.called("pause") == 0


async def test_two_who_pause_at_once_pause_once_and_both_are_answered(world: Installation) -> None:
    outcomes = await asyncio.gather(ask(world), ask(world, APPROVER))

    assert sorted(one.code for one in outcomes) == ["already-decided", "paused"]
    assert world.cube.called("pause") == 1
    assert "<@U_OPERATOR> is just pausing it" in outcomes[1].what


async def test_a_home_that_somebody_works_on_is_left_alone(world: Installation) -> None:
    world.locks.taken.add("home:alpha")

    outcome = await ask(world)

    assert outcome.code == "home-busy"
    assert world.cube.called("pause") == 0


async def test_a_sandbox_of_others_does_not_wait_for_another_one_of_others(world: Installation) -> None:
    foreign(world)
    world.locks.taken.add(f"sandbox:{'e' * 32}")

    assert (await ask(world, APPROVER, FOREIGN)).code == "paused"


async def test_a_sandbox_of_others_that_somebody_works_on_is_named_by_its_id(world: Installation) -> None:
    foreign(world)
    world.locks.taken.add(f"sandbox:{FOREIGN}")

    outcome = await ask(world, APPROVER, FOREIGN)

    assert isinstance(outcome, Refused)
    assert outcome.what == f"Another job is working on sandbox `{FOREIGN}` right now."


async def test_a_never_whose_answer_was_lost_and_that_holds_is_enough(world: Installation) -> None:
    foreign(world)
    world.cube.fail("set_timeout", fault("timeout", 408, ""), after=True)

    assert (await ask(world, APPROVER, FOREIGN)).code == "paused"


async def test_a_pause_that_fails_after_the_idle_time_was_changed_tells_that_too(world: Installation) -> None:
    foreign(world)
    world.cube.fail("pause", fault("pause", 500, "CubeMaster returned error code 130596: dial tcp"))

    outcome = await ask(world, APPROVER, FOREIGN)

    assert isinstance(outcome, Failed)
    assert "idle time was set to never" in outcome.safe


def test_a_line_of_many_tells_that_an_idle_time_was_changed() -> None:
    paused = Paused(sandbox_id=FOREIGN, home="beta", owner="U_OPERATOR", kept_for_ever=True)
    items = [Item(sandbox_id=FOREIGN, home="beta", outcome=Done("paused", paused))]

    message = bulk_message(Action.PAUSE, "U_OPERATOR", items)

    assert "its idle time was set to never first" in str(message.blocks)
