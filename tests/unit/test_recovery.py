import asyncio
from dataclasses import replace

import pytest
from contract.doubles import fault
from installation import ADMIN, OPERATOR, OUTSIDER, Installation, install

from bot.domain.errors import GuestError
from bot.domain.outcome import Done, Offer, Refused
from bot.domain.provisioning import CreateRequest, Seeding, Step
from bot.domain.rules import Limits
from bot.domain.sandbox import SandboxState
from bot.ports import CommandResult
from bot.usecases.asking import ask, give_up
from bot.usecases.default_home import COPY, make_default_home
from bot.usecases.provision import cancel
from bot.usecases.recovery import continue_request, find_interrupted, record_interrupted


@pytest.fixture
def world() -> Installation:
    return install()


async def test_no_capacity_leaves_nothing_half_made_and_can_be_continued(world: Installation) -> None:
    world.cube.fail("create", fault("create", 500, "CubeMaster returned error code 130597: no more resource"))
    failed = await world.create("alpha")
    request_id = (await world.log.recent(home="alpha"))[0].request_id

    continued = await continue_request(request_id, OPERATOR, world.deps)
    _, outcome = await world.run(continued.value)

    assert failed.code == "cube-no-capacity"
    assert isinstance(outcome, Done)
    assert outcome.value.seeding is Seeding.ALREADY


async def test_continue_finishes_with_the_same_sandbox(world: Installation) -> None:
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "port 9000 stays closed"))
    failed = await world.create("alpha", env={"A": "1"})
    request_id = (await world.log.recent(home="alpha"))[0].request_id

    continued = await continue_request(request_id, OPERATOR, world.deps)
    _, outcome = await world.run(continued.value)

    assert outcome.value.sandbox_id == failed.sandbox
    assert len(world.cube.sandboxes) == 1
    assert world.node.homes["alpha"].env == {"A": "1"}


async def test_a_continued_sandbox_is_named_as_it_was_asked_for_and_not_called_lost(
    world: Installation,
) -> None:
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "port 9000 stays closed"))
    await world.create("alpha")
    [kept] = world.cube.sandboxes.values()
    world.cube.sandboxes[kept.sandbox_id] = replace(kept, template="tpl-studio")
    request_id = (await world.log.recent(home="alpha"))[0].request_id
    continued = await continue_request(request_id, OPERATOR, world.deps)

    _, outcome = await world.run(continued.value)

    assert isinstance(outcome, Done)
    assert (outcome.value.template, outcome.value.adopted) == ("hermes-studio", False)


async def test_a_sandbox_that_was_paused_meanwhile_is_woken_by_continue(world: Installation) -> None:
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "x"))
    broken = await world.create("alpha")
    request_id = (await world.log.recent(home="alpha"))[0].request_id
    world.cube.set_state(broken.sandbox, SandboxState.PAUSED)

    continued = await continue_request(request_id, OPERATOR, world.deps)
    _, outcome = await world.run(continued.value)

    assert outcome.code == "provisioned"
    assert outcome.value.sandbox_id == broken.sandbox
    assert world.cube.called("resume") == 1


async def test_continue_of_a_sandbox_that_cannot_be_resumed_says_so_and_tries_no_more(
    world: Installation,
) -> None:
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "x"))
    broken = await world.create("alpha")
    request_id = (await world.log.recent(home="alpha"))[0].request_id
    world.cube.set_state(broken.sandbox, SandboxState.PAUSED)
    busy = "CubeMaster returned error code 130589: Resume vm failed: OpenTap ResourceBusy"
    world.cube.fail("resume", fault("connect", 500, busy), times=9)

    continued = await continue_request(request_id, OPERATOR, world.deps)
    _, outcome = await world.run(continued.value)

    assert outcome.code == "cube-unresumable-tap-busy"
    assert "was kept" in outcome.safe
    assert world.cube.called("resume") == 1
    assert list(world.cube.sandboxes) == [broken.sandbox]


async def test_continue_acts_once(world: Installation) -> None:
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "port 9000 stays closed"))
    await world.create("alpha")
    request_id = (await world.log.recent(home="alpha"))[0].request_id

    outcomes = await asyncio.gather(
        continue_request(request_id, OPERATOR, world.deps), continue_request(request_id, ADMIN, world.deps)
    )

    assert sorted(o.code for o in outcomes) == ["already-decided", "continued"]


async def test_a_crash_is_found_at_the_next_start_with_its_sandbox(world: Installation) -> None:
    request = CreateRequest(
        request_id=world.deps.ids.request_id(),
        actor=OPERATOR,
        home="alpha",
        workspace="alpha",
        channel="C1",
        thread_ts="1.0",
    )

    async def crash() -> None:
        raise asyncio.CancelledError

    world.guest.before("apply_overlay", crash)
    with pytest.raises(asyncio.CancelledError):
        await world.run(request)

    (found,) = await find_interrupted(world.deps)

    assert found.after is Step.MOUNTS
    assert found.sandbox_id in world.cube.sandboxes
    assert (found.channel, found.thread_ts) == ("C1", "1.0")
    await record_interrupted(found, world.deps)
    assert await find_interrupted(world.deps) == []


async def test_a_job_that_a_living_process_holds_is_not_called_interrupted(world: Installation) -> None:
    request = CreateRequest(
        request_id=world.deps.ids.request_id(), actor=OPERATOR, home="alpha", workspace="alpha"
    )
    seen: list[int] = []

    async def another_start() -> None:
        seen.append(len(await find_interrupted(world.deps)))

    world.guest.before("apply_overlay", another_start)
    await world.run(request)

    assert seen == [0]


async def test_a_continue_that_is_turned_away_at_once_can_be_pressed_again(world: Installation) -> None:
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "port 9000 stays closed"))
    failed = await world.create("alpha", env={"A": "1"})
    first = (await world.log.recent(home="alpha"))[0].request_id
    world.cube.fail("list", fault("list", 503, "service unavailable"))
    _, turned_away = await world.run((await continue_request(first, OPERATOR, world.deps)).value)
    second = (await world.log.recent(home="alpha"))[0].request_id

    _, outcome = await world.run((await continue_request(second, OPERATOR, world.deps)).value)

    assert Offer.CONTINUE in turned_away.offers
    assert "as it was" in turned_away.safe
    assert outcome.value.sandbox_id == failed.sandbox
    assert world.node.homes["alpha"].env == {"A": "1"}


async def test_a_refused_continue_can_be_pressed_again(world: Installation) -> None:
    world.guest.fail("start_studio", GuestError("studio-did-not-start", "port 9000 stays closed"))
    await world.create("alpha")
    first = (await world.log.recent(home="alpha"))[0].request_id
    lock = await world.locks.try_hold("home:alpha")
    assert lock is not None

    _, outcome = await world.run((await continue_request(first, OPERATOR, world.deps)).value)
    await lock.release()

    assert (outcome.code, outcome.offers) == ("home-busy", (Offer.CONTINUE,))
    assert await world.deps.log.open_intents() == []


async def test_a_default_home_in_the_making_is_not_called_interrupted(world: Installation) -> None:
    seen: list[int] = []

    async def another_look() -> None:
        seen.append(len(await world.deps.log.open_intents()))
        await find_interrupted(world.deps)
        seen.append(len(await world.deps.log.open_intents()))

    world.node.outputs["test -e /data/shared/hermes-homes/default"] = CommandResult(1, "", "")
    world.cube.outputs[COPY] = CommandResult(0, "5\n", "")
    world.cube.before("create", another_look)
    await make_default_home("hermes-studio", "node-1", ADMIN, world.deps)

    assert seen == [1, 1]


async def test_a_crash_before_the_first_step_is_found_and_can_be_continued(world: Installation) -> None:
    request = CreateRequest(
        request_id="r-asked", actor=OPERATOR, home="alpha", workspace="alpha", channel="C1", thread_ts="1.0",
        progress_ts="2.0", env={"A": "1"},
    )  # fmt: skip
    await ask(request, world.deps)
    restarted = replace(world.deps, process="p-2", running=set())

    (found,) = await find_interrupted(restarted)

    assert (found.after, found.progress_ts, found.sandbox_id) == (None, "2.0", None)
    await record_interrupted(found, restarted)
    continued = await continue_request("r-asked", OPERATOR, restarted)
    assert continued.value.env_names == ("A",)


async def test_a_request_that_waits_in_a_living_process_is_not_interrupted(world: Installation) -> None:
    request = CreateRequest(request_id="r-asked", actor=OPERATOR, home="alpha", workspace="alpha")
    await ask(request, world.deps)
    living = await world.locks.try_hold("process:p-1")

    found = await find_interrupted(world.deps)
    elsewhere = await find_interrupted(replace(world.deps, process="p-2", running=set()))

    assert living is not None
    assert (found, elsewhere) == ([], [])


async def test_a_request_that_was_given_up_has_an_end(world: Installation) -> None:
    request = CreateRequest(request_id="r-asked", actor=OPERATOR, home="alpha", workspace="alpha")
    asked = await ask(request, world.deps)

    await give_up(asked, Refused(code="bot-busy", what="Busy.", safe="Safe.", todo="Wait."), world.deps)

    assert await find_interrupted(world.deps) == []
    assert (await world.log.of_request("r-asked"))[-1].code == "bot-busy"


async def test_cancel_works_from_the_moment_it_was_asked_for(world: Installation) -> None:
    request = CreateRequest(request_id="r-asked", actor=OPERATOR, home="alpha", workspace="alpha")
    asked = await ask(request, world.deps)
    await cancel("r-asked", OPERATOR, world.deps)

    _, outcome = await world.run(asked)

    assert outcome.code == "cancelled"
    assert world.node.homes == {}


async def test_requests_that_only_wait_count_towards_no_quota() -> None:
    world = install(limits=Limits(per_user=1))
    waiting = CreateRequest(request_id="r-waiting", actor=OPERATOR, home="beta", workspace="beta")
    await ask(waiting, world.deps)

    outcome = await world.create("alpha")

    assert isinstance(outcome, Done)


async def test_a_refused_create_that_was_asked_for_is_in_the_log(world: Installation) -> None:
    asked = await ask(
        CreateRequest(request_id="r-no", actor=OUTSIDER, home="alpha", workspace="alpha"), world.deps
    )

    await world.run(asked)

    rows = await world.log.of_request("r-no")
    assert [(row.phase, row.result) for row in rows] == [("intent", ""), ("outcome", "refused")]


async def test_a_log_that_failed_and_recovered_leaves_a_request_that_continues(world: Installation) -> None:
    async def lose_the_log() -> None:
        world.log.broken = "disk is full"

    world.node.before("seed", lose_the_log)
    lost = await world.create("alpha")
    world.log.broken = ""
    request_id = (await world.log.recent(home="alpha"))[0].request_id

    continued = await continue_request(request_id, OPERATOR, world.deps)

    assert lost.code == "audit-unavailable"
    assert isinstance(continued, Done)
