"""Who occupies a home, on platforms that lose metadata at a pause, whatever else the log holds."""

from dataclasses import replace

import pytest
from contract.doubles import fault
from installation import APPROVER, OPERATOR, OPERATOR2, Installation, install

from bot.domain.errors import GuestError
from bot.domain.outcome import Done
from bot.domain.rules import Limits
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.access import reveal
from bot.usecases.lifecycle import StopRequest, ask_stop, dismiss_stop
from bot.usecases.occupancy import look, sighted
from bot.usecases.recovery import continue_request
from bot.usecases.targets import Found, find


@pytest.fixture
def world() -> Installation:
    return install()


def forget(world: Installation, sandbox_id: str) -> None:
    """Pause it as platform 0.7.0 does: labels and template are gone."""
    world.cube.sandboxes[sandbox_id] = replace(
        world.cube.sandboxes[sandbox_id], metadata={}, template="", state=SandboxState.PAUSED
    )


async def made(world: Installation, home: str, **more: object) -> str:
    outcome = await world.create(home, **more)
    assert isinstance(outcome, Done), outcome
    return outcome.value.sandbox_id


async def reads_of(world: Installation, home: str) -> list[str]:
    world.log.reads.clear()
    await look(world.deps, home)
    return [*world.log.reads]


async def test_quotas_count_paused_sandboxes_without_labels() -> None:
    world = install(limits=Limits(per_user=3, total=4))
    for home in ("one", "two", "three"):
        forget(world, await made(world, home))

    mine = await world.create("four")
    forget(world, await made(world, "five", actor=OPERATOR2))
    everybodys = await world.create("six", actor=OPERATOR2)

    assert (mine.code, everybodys.code) == ("quota-user", "quota-total")
    assert "one, three, two" in mine.what


async def test_the_owner_of_a_home_in_use_comes_from_the_log_and_is_marked(world: Installation) -> None:
    forget(world, await made(world, "alpha"))

    outcome = await world.create("alpha", actor=OPERATOR2)

    assert outcome.code == "home-in-use"
    assert f"<@{OPERATOR.id}> (as the audit log has it)" in outcome.what
    assert outcome.facts["owner"] == OPERATOR.id


async def test_labels_are_read_from_the_log_once_and_marked(world: Installation) -> None:
    lost = [await made(world, home, workspace="proj") for home in ("one", "two")]
    kept = await made(world, "three")
    for sandbox_id in lost:
        forget(world, sandbox_id)

    world.log.reads.clear()
    occupancy = await look(world.deps, "one")

    seen = {view.sandbox_id: view for view in occupancy.everything}
    assert [seen[sandbox_id].labels_from_log for sandbox_id in (*lost, kept)] == [True, True, False]
    assert (seen[lost[1]].home, seen[lost[1]].workspace) == ("two", "proj")
    assert (seen[lost[1]].owner, seen[lost[1]].node, seen[lost[1]].request) == (
        OPERATOR.id,
        "node-1",
        "r-000002",
    )
    assert [view.sandbox_id for view in occupancy.on_home] == [lost[0]]
    assert world.log.reads == ["created_on", "created"]


async def test_where_no_label_is_missing_the_log_is_read_no_second_time(world: Installation) -> None:
    await made(world, "alpha")

    assert await reads_of(world, "alpha") == ["created_on"]


async def test_what_cube_tells_is_not_replaced(world: Installation) -> None:
    sandbox_id = await made(world, "alpha")
    forget(world, sandbox_id)
    world.cube.sandboxes[sandbox_id] = replace(
        world.cube.sandboxes[sandbox_id], metadata={"hermes-owner": "U_OTHER"}, template="tpl-now"
    )

    [view] = (await look(world.deps, "alpha")).on_home

    assert (view.owner, view.home, view.template) == ("U_OTHER", "alpha", "tpl-now")


async def test_a_sandbox_that_nobody_knows_stays_without_labels(world: Installation) -> None:
    world.cube.sandboxes["f" * 32] = SandboxView(sandbox_id="f" * 32, state=SandboxState.RUNNING)

    [view] = (await look(world.deps, "alpha")).everything

    assert (view.home, view.labels_from_log) == ("", False)


async def test_a_target_without_labels_is_found_by_home_and_by_id(world: Installation) -> None:
    sandbox_id = await made(world, "alpha", workspace="proj")
    forget(world, sandbox_id)

    by_home, by_id = await find("alpha", world.deps), await find(sandbox_id, world.deps)

    assert isinstance(by_home, Found)
    assert by_home == by_id
    assert (by_home.home, by_home.workspace, by_home.owner) == ("alpha", "proj", OPERATOR.id)
    assert by_home.view.labels_from_log


async def test_no_number_of_opens_makes_the_log_forget_a_home(world: Installation) -> None:
    sandbox_id = await made(world, "alpha")
    for _ in range(250):
        await reveal(sandbox_id, OPERATOR, "C1", world.deps)
    hidden = world.cube.sandboxes[sandbox_id]

    async def node_does_not_answer() -> None:
        del world.cube.sandboxes[sandbox_id]

    async def node_answers() -> None:
        world.cube.sandboxes[sandbox_id] = hidden

    world.cube.before("list", node_does_not_answer)
    world.cube.before("get", node_answers)
    outcome = await world.create("alpha", actor=OPERATOR2)

    assert outcome.code == "home-in-use"
    assert len(world.cube.sandboxes) == 1


async def test_a_stop_that_was_thought_better_of_does_not_free_the_home(world: Installation) -> None:
    sandbox_id = await made(world, "alpha")
    question = StopRequest(request_id="r-q", actor=OPERATOR, target="alpha")
    await ask_stop(question, world.deps)
    await dismiss_stop("r-q", OPERATOR, world.deps)
    forget(world, sandbox_id)

    outcome = await world.create("alpha", actor=OPERATOR2)

    assert outcome.code == "home-in-use"


async def test_a_sandbox_that_is_gone_is_asked_for_twice_and_never_again(world: Installation) -> None:
    sandbox_id = await made(world, "alpha")
    del world.cube.sandboxes[sandbox_id]
    world.cube.calls.clear()

    first = await look(world.deps, "alpha")
    second = await look(world.deps, "alpha")

    assert (first.on_home, second.on_home) == ((), ())
    assert world.cube.called("get") == 2
    [row] = await world.log.recent(sandbox=sandbox_id, limit=1)
    assert (row.phase, row.code, row.home, row.request_id) == ("system", "sandbox-gone", "alpha", "")


async def test_one_404_is_no_death(world: Installation) -> None:
    sandbox_id = await made(world, "alpha")
    view = world.cube.sandboxes.pop(sandbox_id)

    async def back() -> None:
        world.cube.sandboxes[sandbox_id] = view

    async def not_yet() -> None:
        world.cube.before("get", back)

    world.cube.before("get", not_yet)
    occupancy = await look(world.deps, "alpha")

    assert [found.sandbox_id for found in occupancy.on_home] == [sandbox_id]


async def test_looking_goes_on_without_a_log_to_write(world: Installation) -> None:
    sandbox_id = await made(world, "alpha")
    del world.cube.sandboxes[sandbox_id]
    world.log.broken = "disk is full"

    occupancy = await look(world.deps, "alpha")

    assert occupancy.on_home == ()


async def test_a_look_that_cube_refuses_declares_nothing_gone(world: Installation) -> None:
    sandbox_id = await made(world, "alpha")
    del world.cube.sandboxes[sandbox_id]
    world.cube.fail("get", fault("get", 503, "service unavailable"))

    outcome = await world.create("alpha", actor=APPROVER)

    assert outcome.code == "cube-unavailable"
    assert list(await world.log.created_on("alpha")) == [sandbox_id]


async def test_a_job_that_continues_counts_its_sandbox_once() -> None:
    world = install(limits=Limits(per_user=2))
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "port 9000 stays closed"))
    await world.create("alpha")
    request_id = (await world.log.recent(home="alpha"))[0].request_id
    continued = await continue_request(request_id, OPERATOR, world.deps)
    besides: list[object] = []

    async def create_another() -> None:
        besides.append(await world.create("beta"))

    world.guest.before("apply_overlay", create_another)

    await world.run(continued.value)

    assert [outcome.code for outcome in besides] == ["provisioned"]


async def test_one_that_is_named_by_its_id_is_as_the_list_shows_it(world: Installation) -> None:
    made = await world.create("alpha")
    assert isinstance(made, Done)
    sandbox_id = made.value.sandbox_id
    world.cube.set_state(sandbox_id, SandboxState.PAUSING)

    view = await sighted(world.deps, sandbox_id)

    assert view is not None
    assert (view.state, view.listed) == (SandboxState.PAUSING, True)


async def test_one_that_only_a_question_by_id_brings_to_light_says_so(world: Installation) -> None:
    made = await world.create("alpha")
    assert isinstance(made, Done)
    sandbox_id = made.value.sandbox_id
    world.clock.advance(3600)
    world.cube.dropped = {sandbox_id}

    by_id, by_home = await sighted(world.deps, sandbox_id), await look(world.deps, "alpha")

    assert by_id is not None
    assert not by_id.listed
    assert [view.listed for view in by_home.on_home] == [False]


async def test_one_is_found_by_its_id_although_the_list_fails(world: Installation) -> None:
    made = await world.create("alpha")
    assert isinstance(made, Done)
    sandbox_id = made.value.sandbox_id
    world.cube.fail("list", fault("list", 500, "CubeMaster returned error code 130593: redis"))

    view = await sighted(world.deps, sandbox_id)

    assert view is not None
    assert view.sandbox_id == sandbox_id
