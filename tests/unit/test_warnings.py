"""Owners are told before their sandbox goes to sleep: once per deadline, and nothing is disturbed."""

from dataclasses import replace
from datetime import timedelta

import pytest
from contract.doubles import fault
from installation import OPERATOR, Installation
from slack_desk import Desk, open_desk, shown

from bot.domain.actors import Actor
from bot.domain.errors import ChatError, CubeError
from bot.domain.sandbox import SandboxState
from bot.usecases.warnings import due_warnings, pace
from handlers.warning import warn_owners

LEAD = 300


@pytest.fixture
async def desk() -> Desk:
    made = open_desk()
    rules = made.world.deps.rules
    lifecycle = replace(rules.lifecycle, warn_before=LEAD)
    made.world.deps = replace(made.world.deps, rules=replace(rules, lifecycle=lifecycle))
    made.services = replace(made.services, deps=made.world.deps)
    made.world.cube.now = made.world.clock.now
    await made.world.create("alpha")
    idle_for(made.world, 900)
    return made


def idle_for(world: Installation, left: float) -> None:
    """All sandboxes pause in ``left`` seconds."""
    for sandbox_id, view in world.cube.sandboxes.items():
        end = (world.clock.now() + timedelta(seconds=left)).isoformat()
        world.cube.sandboxes[sandbox_id] = replace(view, end_at=end)


def told(desk: Desk, user: str = OPERATOR.id) -> list[str]:
    return [shown(kept) for kept in desk.chat.messages if kept.channel == f"D_{user}"]


async def test_an_owner_is_told_in_time_with_a_way_to_put_it_off(desk: Desk) -> None:
    await warn_owners(desk.services)
    assert told(desk) == []
    idle_for(desk.world, 240)

    await warn_owners(desk.services)

    [text] = told(desk)
    assert "home *alpha* goes to sleep in about 4 min" in text
    [kept] = [kept for kept in desk.chat.messages if kept.channel == f"D_{OPERATOR.id}"]
    [sandbox] = desk.world.cube.sandboxes
    assert kept.buttons["hermes.keep"]["value"] == f"v1:{sandbox}.7200"
    assert "hermes.open" in kept.buttons


async def test_once_per_deadline_and_a_moved_deadline_is_a_new_one(desk: Desk) -> None:
    idle_for(desk.world, 240)
    await warn_owners(desk.services)
    await desk.world.clock.sleep(60)
    await warn_owners(desk.services)
    assert len(told(desk)) == 1
    idle_for(desk.world, 290)

    await warn_owners(desk.services)

    assert len(told(desk)) == 2


async def test_nothing_is_touched_and_one_list_is_read(desk: Desk) -> None:
    idle_for(desk.world, 240)
    desk.world.cube.calls.clear()
    before = len(desk.world.guest.calls) + len(desk.world.studio.calls) + len(desk.world.node.calls)

    await warn_owners(desk.services)

    assert [name for name, _ in desk.world.cube.calls] == ["list"]
    assert len(desk.world.guest.calls) + len(desk.world.studio.calls) + len(desk.world.node.calls) == before


async def test_nobody_is_warned_of_what_does_not_happen(desk: Desk) -> None:
    [sandbox] = desk.world.cube.sandboxes
    view = desk.world.cube.sandboxes[sandbox]
    soon = (desk.world.clock.now() + timedelta(seconds=200)).isoformat()
    past = (desk.world.clock.now() - timedelta(days=6)).isoformat()
    for other in (
        replace(view, end_at=None),
        replace(view, end_at=past),
        replace(view, end_at=soon, state=SandboxState.PAUSED),
        replace(view, end_at=soon, state=SandboxState.PAUSING),
    ):
        desk.world.cube.sandboxes[sandbox] = other
        assert await due_warnings(desk.world.deps) == []


async def test_nobody_is_warned_before_half_of_the_idle_time_is_over(desk: Desk) -> None:
    await desk.world.create("beta", actor=Actor("U_OPERATOR2"), timeout=240)
    idle_for(desk.world, 200)

    assert [one.home for one in await due_warnings(desk.world.deps)] == ["alpha"]
    idle_for(desk.world, 120)

    assert sorted(one.home for one in await due_warnings(desk.world.deps)) == ["alpha", "beta"]


async def test_the_command_line_and_nobody_are_not_written_to(desk: Desk) -> None:
    [sandbox] = desk.world.cube.sandboxes
    view = desk.world.cube.sandboxes[sandbox]
    for number, owner in enumerate(("cli:anna", "")):
        labels = {**view.metadata, "hermes-owner": owner}
        other = f"{number:031x}e"
        desk.world.cube.sandboxes[other] = replace(view, sandbox_id=other, metadata=labels)
    idle_for(desk.world, 200)

    assert [one.sandbox_id for one in await due_warnings(desk.world.deps)] == [sandbox]


async def test_a_message_that_slack_refuses_is_not_sent_twice_and_keeps_nobody_waiting(desk: Desk) -> None:
    await desk.world.create("beta", actor=Actor("U_OPERATOR2"))
    idle_for(desk.world, 200)
    desk.chat.fail("direct", ChatError("user_not_found"))

    await warn_owners(desk.services)
    await warn_owners(desk.services)

    assert len(told(desk)) + len(told(desk, "U_OPERATOR2")) == 1


async def test_another_replica_that_is_at_it_leaves_nothing_to_do(desk: Desk) -> None:
    idle_for(desk.world, 200)
    desk.world.locks.taken.add("warnings")

    await warn_owners(desk.services)

    assert told(desk) == []


async def test_when_cube_does_not_answer_it_is_due_still(desk: Desk) -> None:
    idle_for(desk.world, 200)
    desk.world.cube.fail("list", fault("list", 500, "down"))
    with pytest.raises(CubeError):
        await warn_owners(desk.services)

    await warn_owners(desk.services)

    assert len(told(desk)) == 1


async def test_without_a_lead_nothing_is_looked_at(desk: Desk) -> None:
    rules = desk.world.deps.rules
    off = replace(desk.world.deps, rules=replace(rules, lifecycle=replace(rules.lifecycle, warn_before=0)))
    desk.world.cube.calls.clear()

    assert await due_warnings(off) == []
    assert desk.world.cube.calls == []


def test_a_short_lead_is_looked_at_often() -> None:
    assert [pace(lead) for lead in (5, 60, 600)] == [2.0, 12.0, 60.0]


async def test_of_one_that_cube_may_destroy_it_is_not_said_that_nothing_is_lost(desk: Desk) -> None:
    [made] = desk.world.cube.sandboxes.values()
    other = "f" * 32
    desk.world.cube.sandboxes = {other: replace(made, sandbox_id=other)}
    idle_for(desk.world, 240)

    await warn_owners(desk.services)

    [text] = told(desk)
    assert "goes to sleep or is destroyed" in text
    assert "Nothing is lost" not in text


async def test_where_use_does_not_wake_it_is_not_said_to(desk: Desk) -> None:
    rules = desk.world.deps.rules
    lifecycle = replace(rules.lifecycle, auto_resume=False)
    desk.world.deps = replace(desk.world.deps, rules=replace(rules, lifecycle=lifecycle))
    desk.services = replace(desk.services, deps=desk.world.deps)
    idle_for(desk.world, 240)

    await warn_owners(desk.services)

    [text] = told(desk)
    assert "/hermes resume" in text
