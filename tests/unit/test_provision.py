import asyncio
from dataclasses import replace

import pytest
from contract.doubles import MemoryNode, fault
from installation import ADMIN, OPERATOR, OPERATOR2, OUTSIDER, Installation, install

from bot.domain.errors import GuestError, NodeError
from bot.domain.outcome import Done, Failed, Offer, Refused, Unknown
from bot.domain.provisioning import Seeding, Step, StepState
from bot.domain.rules import Limits, NodeRules
from bot.domain.sandbox import HOME_KEY, SandboxState
from bot.usecases.provision import cancel


@pytest.fixture
def world() -> Installation:
    return install()


async def test_a_create_runs_all_ten_steps_and_ends_done(world: Installation) -> None:
    events, outcome = await world.watch("alpha", workspace="proj")

    assert isinstance(outcome, Done)
    assert [e.step for e in events if e.state is StepState.DONE] == list(Step)
    assert outcome.value.seeding is Seeding.SEEDED
    assert outcome.value.workspace == "proj"


async def test_the_sandbox_gets_three_mounts_our_labels_and_pause_on_timeout(world: Installation) -> None:
    outcome = await world.create("alpha", workspace="proj", timeout=60)

    spec = world.cube.specs[outcome.value.sandbox_id]
    assert [(m.host_path, m.guest_path, m.read_only) for m in spec.mounts] == [
        ("/data/shared/hermes-homes/alpha", "/root/.hermes", False),
        ("/data/shared/hermes-workspaces/proj", "/workspace", False),
        ("/data/shared/hermes-common-skills", "/opt/hermes-common-skills", True),
    ]
    assert (spec.on_timeout, spec.timeout) == ("pause", 60)
    assert spec.labels[HOME_KEY] == "alpha"
    assert spec.labels["hermes-owner"] == OPERATOR.id


async def test_no_environment_value_reaches_cube(world: Installation) -> None:
    outcome = await world.create("alpha", env={"OPENAI_API_KEY": "EXAMPLE-very-secret"})

    assert "EXAMPLE-very-secret" not in repr(world.cube.specs[outcome.value.sandbox_id].metadata())
    assert world.node.homes["alpha"].env == {"OPENAI_API_KEY": "EXAMPLE-very-secret"}


async def test_an_outsider_is_refused_and_nothing_is_written(world: Installation) -> None:
    outcome = await world.create("alpha", actor=OUTSIDER)

    assert isinstance(outcome, Refused)
    assert outcome.code == "role-needed"
    assert world.cube.sandboxes == {}
    assert await world.deps.log.open_intents() == []


async def test_a_stranger_from_another_team_is_refused_whatever_is_configured(world: Installation) -> None:
    outcome = await world.create("alpha", actor=replace(OPERATOR, outside_team=True))

    assert outcome.code == "outside-team"


@pytest.mark.parametrize("state", [SandboxState.RUNNING, SandboxState.PAUSED, SandboxState.PAUSING])
async def test_a_home_in_use_is_refused_with_its_owner(world: Installation, state: SandboxState) -> None:
    first = await world.create("alpha")
    world.cube.set_state(first.value.sandbox_id, state)

    outcome = await world.create("alpha", actor=OPERATOR2)

    assert outcome.code == "home-in-use"
    assert first.value.sandbox_id in outcome.what
    assert outcome.facts["owner"] == OPERATOR.id
    assert Offer.OPEN in outcome.offers


async def test_a_home_is_in_use_although_cube_lost_the_metadata(world: Installation) -> None:
    first = await world.create("alpha")
    world.cube.sandboxes[first.value.sandbox_id] = replace(
        world.cube.sandboxes[first.value.sandbox_id], metadata={}, state=SandboxState.PAUSED
    )

    outcome = await world.create("alpha", actor=OPERATOR2)

    assert outcome.code == "home-in-use"
    assert len(world.cube.sandboxes) == 1


async def test_two_creates_at_once_make_one_sandbox(world: Installation) -> None:
    outcomes = await asyncio.gather(world.create("alpha"), world.create("alpha", actor=OPERATOR2))

    assert sorted(type(o).__name__ for o in outcomes) == ["Done", "Refused"]
    assert len(world.cube.sandboxes) == 1


async def test_a_workspace_in_use_by_another_home_is_said_not_refused(world: Installation) -> None:
    await world.create("alpha", workspace="proj")

    outcome = await world.create("beta", workspace="proj")

    assert any("also used by home alpha" in note for note in outcome.value.notes)


async def test_a_heartbeat_that_cannot_begin_is_a_note_of_a_create_that_went_well(
    world: Installation,
) -> None:
    world.guest.heartbeat_note = "the heartbeat was not started: No space left on device"

    outcome = await world.create("alpha")

    (note,) = outcome.value.notes
    assert note == (
        "Its health cannot be told without waking it: the heartbeat was not started: No space left on device."
    )


async def test_quota_per_person_counts_jobs_on_their_way() -> None:
    world = install(limits=Limits(per_user=1))

    outcomes = await asyncio.gather(world.create("alpha"), world.create("beta"))

    assert sorted(getattr(o, "code", "") for o in outcomes) == ["provisioned", "quota-user"]


async def test_quota_of_the_team() -> None:
    world = install(limits=Limits(total=1))
    await world.create("alpha")

    outcome = await world.create("beta", actor=ADMIN)

    assert outcome.code == "quota-total"


async def test_an_unknown_template_names_those_that_are_ready(world: Installation) -> None:
    outcome = await world.create("alpha", template="nope")

    assert outcome.code == "template-not-found"
    assert "template=hermes-studio" in outcome.todo


async def test_a_lost_create_answer_adopts_the_sandbox_that_was_made(world: Installation) -> None:
    world.cube.fail("create", fault("create", 408, ""), after=True)

    outcome = await world.create("alpha")

    assert isinstance(outcome, Done)
    assert outcome.value.adopted
    assert len(world.cube.sandboxes) == 1


async def test_a_lost_create_answer_without_a_sandbox_is_unknown_and_never_created_twice(
    world: Installation,
) -> None:
    world.cube.fail("create", fault("create", 408, ""))

    outcome = await world.create("alpha")

    assert isinstance(outcome, Unknown)
    assert outcome.offers == (Offer.CONTINUE,)
    assert world.cube.called("create") == 1


async def test_a_failure_after_the_create_keeps_the_sandbox(world: Installation) -> None:
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "port 9000 stays closed"))

    outcome = await world.create("alpha")

    assert isinstance(outcome, Failed)
    assert outcome.sandbox in world.cube.sandboxes
    assert set(outcome.offers) == {Offer.CONTINUE, Offer.STOP}


async def test_the_node_error_has_three_sentences_and_its_own_words(world: Installation) -> None:
    world.node.fail("prepare", NodeError("unsafe-path", "/data/shared/hermes-homes/alpha is a link"))

    outcome = await world.create("alpha")

    assert outcome.code == "unsafe-path"
    assert all([outcome.what, outcome.safe, outcome.todo])
    assert "is a link" in outcome.detail


async def test_a_missing_default_home_names_the_command_that_makes_one(world: Installation) -> None:
    world.node.default_home = False

    outcome = await world.create("alpha")

    assert outcome.code == "default-home-missing"
    assert "hermes-bot template seed" in outcome.todo


async def test_mounts_that_are_not_proved_end_the_job_before_studio_starts(world: Installation) -> None:
    world.guest.mounts_wrong = ("public skills accept a write",)

    outcome = await world.create("alpha")

    assert outcome.code == "mount-not-proved"
    assert world.guest.studio_running == set()


async def test_a_studio_that_looks_dead_from_outside_fails_health_and_is_kept(world: Installation) -> None:
    world.studio.not_ready["*"] = "agent bridge is not ready"

    outcome = await world.create("alpha")

    assert outcome.code == "health-failed"
    assert "agent bridge is not ready" in outcome.what
    assert len(world.cube.sandboxes) == 1


async def test_cancel_stops_before_the_next_step_and_says_what_exists(world: Installation) -> None:
    request_ids: list[str] = []

    async def press_cancel() -> None:
        request_ids.append((await world.log.recent(home="alpha"))[0].request_id)
        await cancel(request_ids[0], OPERATOR, world.deps)

    world.node.before("seed", press_cancel)

    outcome = await world.create("alpha")

    assert outcome.code == "cancelled"
    assert "after step 4" in outcome.what
    assert world.cube.sandboxes == {}


async def test_cancel_by_somebody_else_is_refused(world: Installation) -> None:
    answers: list[str] = []

    async def press_cancel() -> None:
        request_id = (await world.log.recent(home="alpha"))[0].request_id
        answers.append((await cancel(request_id, OPERATOR2, world.deps)).code)

    world.node.before("seed", press_cancel)

    outcome = await world.create("alpha")

    assert answers == ["not-owner"]
    assert isinstance(outcome, Done)


async def test_without_an_audit_log_nothing_is_changed(world: Installation) -> None:
    world.log.broken = "disk is full"

    outcome = await world.create("alpha")

    assert outcome.code == "audit-unavailable"
    assert isinstance(outcome, Refused)
    assert world.cube.sandboxes == {}
    assert world.node.homes == {}


async def test_a_node_that_does_not_have_the_home_makes_no_second_one() -> None:
    world = install(nodes=(NodeRules(id="node-1"), NodeRules(id="node-2")))
    world.deps.nodes["node-2"] = MemoryNode("node-2")
    made = await world.create("alpha", node="node-1")
    world.cube.sandboxes.clear()

    refused = await world.create("alpha", node="node-2")
    again = await world.create("alpha")

    assert isinstance(made, Done)
    assert refused.code == "home-on-other-node"
    assert again.value.node == "node-1"
