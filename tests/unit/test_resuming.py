"""Waking for a person: it stays awake, and what is not well in it is said."""

import asyncio
from typing import Any

import pytest
from contract.doubles import fault
from installation import APPROVER, OPERATOR, OPERATOR2, Installation, install

from bot.domain.actors import Actor
from bot.domain.condition import Past
from bot.domain.outcome import Done, Failed, Offer, Outcome, Refused, Unknown
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.changing import ChangeRequest
from bot.usecases.past import remembered
from bot.usecases.resuming import Resumed, StudioNow, resume
from bot.usecases.waking import wake

NO_ROOM = "resume rejected by paused_resource_release_ratio policy: need 1024MB"
NO_SNAPSHOT = "CubeMaster returned error code 130400: no pause snapshot for sandbox x"
FAILED = "CubeMaster returned error code 130400: cannot resume: pause snapshot status=FAILED (disk)"
TAP_BUSY = "CubeMaster returned error code 130589: Resume vm failed: CreateVirtioNet(OpenTap(ResourceBusy))"


@pytest.fixture
async def world() -> Installation:
    made = install()
    await made.create("alpha")
    made.cube.set_state(only(made).sandbox_id, SandboxState.PAUSED)
    return made


def only(world: Installation) -> SandboxView:
    [view] = world.cube.sandboxes.values()
    return view


async def ask(world: Installation, actor: Actor = OPERATOR, target: str = "alpha") -> Outcome[Resumed]:
    request = ChangeRequest(request_id=world.deps.ids.request_id(), actor=actor, target=target)
    return await resume(request, world.deps)


async def past(world: Installation) -> Past:
    return (await remembered([only(world)], world.deps))[only(world).sandbox_id]


def falls_asleep_again(world: Installation, times: int) -> None:
    """Each of the next ``times`` wakings is undone as soon as somebody waits."""
    left = times

    async def undone(_: float) -> None:
        nonlocal left
        if left and only(world).state is SandboxState.RUNNING:
            left -= 1
            world.cube.set_state(only(world).sandbox_id, SandboxState.PAUSED)

    world.clock.on_sleep = undone


async def test_it_is_awake_and_well(world: Installation) -> None:
    outcome = await ask(world)

    assert isinstance(outcome, Done)
    assert (outcome.code, outcome.value.studio) == ("resumed", StudioNow.WELL)
    assert world.guest.called("check_mounts") == 2
    assert world.guest.called("start_studio") == 1, "only by the create"
    assert (await past(world)).changed_at == (await world.log.recent())[0].at


async def test_one_that_runs_is_left_alone(world: Installation) -> None:
    world.cube.set_state(only(world).sandbox_id, SandboxState.RUNNING)
    rows = (await world.log.head()).seq

    outcome = await ask(world)

    assert isinstance(outcome, Done)
    assert (outcome.code, outcome.value.already) == ("already-running", True)
    assert world.cube.called("resume") == 0
    assert (await world.log.head()).seq == rows


async def test_a_studio_that_died_in_one_that_runs_is_started_again(world: Installation) -> None:
    sandbox = only(world).sandbox_id
    world.cube.set_state(sandbox, SandboxState.RUNNING)
    world.guest.studio_running.discard(sandbox)

    outcome = await ask(world)

    assert isinstance(outcome, Done)
    assert (outcome.code, outcome.value.studio) == ("studio-restarted", StudioNow.RESTARTED)
    assert world.cube.called("resume") == 0
    assert [row.phase for row in (await world.log.recent())[:2]] == ["outcome", "intent"]


async def test_one_that_is_just_pausing_is_not_called_awake(world: Installation) -> None:
    world.cube.set_state(only(world).sandbox_id, SandboxState.PAUSING)

    outcome = await ask(world)

    assert isinstance(outcome, Refused)
    assert outcome.code == "still-pausing"
    assert world.cube.called("resume") == 0


async def test_two_who_wake_it_at_once_wake_it_once_and_both_are_answered(world: Installation) -> None:
    outcomes = await asyncio.gather(ask(world), ask(world, APPROVER))

    assert sorted(one.code for one in outcomes) == ["already-decided", "resumed"]
    assert world.cube.called("resume") == 1
    assert "<@U_OPERATOR> is just waking it" in outcomes[1].what


async def test_somebody_elses_is_not_woken(world: Installation) -> None:
    assert (await ask(world, OPERATOR2)).code == "not-owner"
    assert world.cube.called("resume") == 0


async def test_one_that_goes_back_to_sleep_is_woken_once_more(world: Installation) -> None:
    falls_asleep_again(world, 1)

    outcome = await ask(world)

    assert outcome.code == "resumed"
    assert world.cube.called("resume") == 2


async def test_one_that_goes_back_to_sleep_twice_is_told_so(world: Installation) -> None:
    falls_asleep_again(world, 9)

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "resume-undone"
    assert Offer.RESUME in outcome.offers
    assert world.cube.called("resume") == 2
    assert (await past(world)).resume_undone
    assert world.guest.called("check_mounts") == 1, "only by the create"


async def test_one_that_cube_puts_back_to_sleep_before_it_answers_is_told_so(world: Installation) -> None:
    async def asleep() -> None:
        world.cube.set_state(only(world).sandbox_id, SandboxState.PAUSED)

    real = world.cube.resume

    async def undone(sandbox_id: str) -> None:
        await real(sandbox_id)
        await asleep()

    world.cube.resume = undone  # type: ignore[method-assign]  # Cube that takes every resume back

    outcome = await ask(world)

    assert outcome.code == "resume-undone"
    assert world.cube.called("resume") == 2


@pytest.mark.parametrize(
    ("status", "words", "code", "for_good"),
    [
        (500, TAP_BUSY, "cube-unresumable-tap-busy", True),
        (
            500,
            "CubeMaster returned error code 130400: no pause snapshot for sandbox x",
            "cube-bad-request",
            True,
        ),
        (500, FAILED, "cube-bad-request", True),
        (
            409,
            "resume rejected by paused_resource_release_ratio policy: need 1024MB",
            "cube-no-capacity",
            False,
        ),
        (500, "CubeMaster returned error code 130596: dial tcp", "cube-node-unreachable", False),
    ],
)
async def test_what_cube_refuses_is_told_and_not_tried_again(
    world: Installation, status: int, words: str, code: str, *, for_good: bool
) -> None:
    world.cube.fail("resume", fault("connect", status, words), times=9)

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == code
    assert world.cube.called("resume") == 1
    assert (Offer.FORM in outcome.offers) is for_good
    assert (await past(world)).cannot_resume is for_good
    assert "Continue" not in outcome.todo
    assert all([outcome.what, outcome.safe, outcome.todo])


async def test_only_a_studio_that_has_died_is_started_again(world: Installation) -> None:
    sandbox = only(world).sandbox_id
    world.guest.studio_running.discard(sandbox)

    outcome = await ask(world)

    assert isinstance(outcome, Done)
    assert outcome.value.studio is StudioNow.RESTARTED
    assert world.guest.called("start_studio") == 2


async def test_a_studio_that_stays_ill_is_told_and_the_sandbox_counts_as_woken(world: Installation) -> None:
    world.studio.not_ready[only(world).sandbox_id] = "gateway is down"

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "health-failed"
    assert "gateway is down" in outcome.what
    assert (await past(world)).changed_at == (await world.log.recent())[0].at


async def test_mounts_that_are_not_proved_are_told_and_studio_is_left_alone(world: Installation) -> None:
    world.guest.mounts_wrong = ("home is another directory",)

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "mount-not-proved"
    assert world.guest.called("start_studio") == 1


async def test_a_guest_that_does_not_answer_is_not_called_well(world: Installation) -> None:
    world.guest.deaf_for["*"] = 10_000

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "data-plane-silent"


async def test_a_sandbox_of_others_is_woken_and_not_examined(world: Installation) -> None:
    foreign: Any = SandboxView(sandbox_id="f" * 32, state=SandboxState.PAUSED)
    world.cube.sandboxes["f" * 32] = foreign

    outcome = await ask(world, APPROVER, "f" * 32)

    assert isinstance(outcome, Done)
    assert outcome.value.studio is StudioNow.UNTOLD
    assert "I did not make this sandbox" in outcome.value.notes[0]


async def test_without_a_log_nothing_is_woken(world: Installation) -> None:
    world.log.broken = "disk full"

    assert (await ask(world)).code == "audit-unavailable"
    assert world.cube.called("resume") == 0


async def test_in_one_that_runs_a_studio_that_has_died_is_started_again_on_record(
    world: Installation,
) -> None:
    sandbox = only(world).sandbox_id
    world.cube.set_state(sandbox, SandboxState.RUNNING)
    world.guest.studio_running.discard(sandbox)

    outcome = await ask(world)

    assert isinstance(outcome, Done)
    assert (outcome.code, outcome.value.already) == ("studio-restarted", True)
    assert outcome.value.studio is StudioNow.RESTARTED
    assert world.cube.called("resume") == 0
    rows = (await world.log.changes([sandbox]))[sandbox]
    assert [(row.phase, row.code) for row in rows[:2]] == [("outcome", "studio-restarted"), ("intent", "")]


async def test_one_that_runs_and_does_not_answer_is_not_called_well(world: Installation) -> None:
    world.cube.set_state(only(world).sandbox_id, SandboxState.RUNNING)
    world.guest.deaf_for["*"] = 10_000

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "data-plane-silent"
    assert world.cube.called("resume") == 0


async def test_a_look_that_fails_after_waking_is_made_again(world: Installation) -> None:
    world.cube.fail("get", fault("get", 503, "down"), times=3)
    request = fault("connect", 408, "")
    world.cube.fail("resume", request, after=True)
    target = only(world).sandbox_id

    now = await wake(target, world.deps)

    assert now is not None
    assert now.state is SandboxState.RUNNING


async def test_one_that_cannot_be_seen_after_waking_is_not_said_to_be_left_as_it_is(
    world: Installation,
) -> None:
    async def blind() -> None:
        world.cube.fail("get", fault("get", 503, "down"), times=10_000)

    world.cube.before("resume", blind)

    outcome = await ask(world)

    assert isinstance(outcome, Unknown)
    assert "could not be seen" in outcome.what
    assert "left as it is" not in outcome.safe
    assert (await world.log.recent())[0].result == "unknown"


async def test_one_404_after_waking_is_no_proof_that_it_is_gone(world: Installation) -> None:
    sandbox = only(world).sandbox_id

    async def missed() -> None:
        real = world.cube.get
        left = 1

        async def get(wanted: str) -> SandboxView | None:
            nonlocal left
            left -= 1
            return None if left >= 0 else await real(wanted)

        world.cube.get = get  # type: ignore[method-assign]  # a router that has just restarted

    world.cube.before("resume", missed)

    assert (await ask(world)).code == "resumed"
    assert sandbox in world.cube.sandboxes


async def test_one_that_was_never_seen_awake_is_not_said_to_have_gone_back_to_sleep(
    world: Installation,
) -> None:
    world.cube.fail("resume", fault("connect", 408, ""), times=9)

    outcome = await ask(world)

    assert isinstance(outcome, Failed)
    assert outcome.code == "cube-unknown-outcome"
    assert world.cube.called("resume") == 2
    assert not (await past(world)).resume_undone
