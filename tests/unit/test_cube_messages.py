"""Every failure of Cube as the person reads it whose command met it: use case and renderer together."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from contract.doubles import fault
from installation import OPERATOR, Installation, install

from bot.adapters.cube_sdk import classify
from bot.adapters.redaction import Redactor
from bot.domain.errors import CubeError
from bot.domain.outcome import Done, NotDone, Offer
from bot.domain.sandbox import SandboxState
from bot.ports import Message
from bot.usecases.changing import ChangeRequest, not_begun
from bot.usecases.lifecycle import StopRequest, ask_stop, stop
from bot.usecases.pausing import pause
from bot.usecases.resuming import resume
from handlers.render.failure import cleaned, failure_message

DATA = Path(__file__).parents[1] / "data" / "cube_errors.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
MANY = 99
WELL = {"pause": {"already_paused", "conflict_retry", "unknown_outcome"}, "kill": {"not_found"}}
"""What a use case deals with: it waits, looks, and finds in these worlds that all is done."""

LOOKED_AT = {("kill", "unknown_outcome"), ("connect", "unknown_outcome")}
"""Answers that were lost: what is told is what was seen afterwards, not what the lost answer said."""

BUTTONS = {
    Offer.CONTINUE: "Continue", Offer.RESUME: "Resume", Offer.STOP: "Stop", Offer.FORM: "Create a new one",
    Offer.CANCEL: "Cancel", Offer.OPEN: "Open Studio", Offer.STATUS: "Status",
}  # fmt: skip
JARGON = re.compile(
    r"\b1\d{5}\b|HTTP|\b[45]\d\d\b|timeout|exception|[A-Za-z]Error|stderr|None|null|API\b|envd|tap\b|RPC",
    re.IGNORECASE,
)


def error_of(case: dict[str, Any]) -> CubeError:
    return CubeError(classify(case["operation"], case["status"], case["body"], case["headers"]))


async def created(world: Installation) -> str:
    outcome = await world.create("alpha", workspace="proj")
    assert isinstance(outcome, Done)
    return outcome.value.sandbox_id


def asked(world: Installation) -> ChangeRequest:
    return ChangeRequest(request_id=world.deps.ids.request_id(), actor=OPERATOR, target="alpha")


async def met_by_create(world: Installation, error: CubeError) -> Any:
    world.cube.fail("create", error, times=MANY)
    return await world.create("alpha")


async def met_inside(world: Installation, error: CubeError) -> Any:
    """On the data plane, while a sandbox is being made ready."""
    world.guest.fail("check_mounts", error, times=MANY)
    return await world.create("alpha")


async def met_by_pause(world: Installation, error: CubeError) -> Any:
    await created(world)
    world.cube.fail("pause", error, times=MANY)
    return await pause(asked(world), world.deps)


async def met_by_resume(world: Installation, error: CubeError) -> Any:
    world.cube.set_state(await created(world), SandboxState.PAUSED)
    world.cube.fail("resume", error, times=MANY)
    return await resume(asked(world), world.deps)


async def met_by_kill(world: Installation, error: CubeError) -> Any:
    await created(world)
    plan = await ask_stop(
        StopRequest(request_id=world.deps.ids.request_id(), actor=OPERATOR, target="alpha"), world.deps
    )
    assert isinstance(plan, Done)
    world.cube.fail("kill", error, times=MANY)
    return await stop(plan.value.request_id, OPERATOR, world.deps)


async def met_by_a_look(world: Installation, error: CubeError) -> Any:
    await created(world)
    world.cube.fail("list", error, times=MANY)
    world.cube.fail("get", error, times=MANY)
    return await pause(asked(world), world.deps)


async def met_by_network(world: Installation, error: CubeError) -> Any:
    """No command changes the network yet; what one will say is what every change says that did not begin."""
    del world
    await asyncio.sleep(0)
    return not_begun(error)


MET: dict[str, Callable[[Installation, CubeError], Awaitable[Any]]] = {
    "create": met_by_create,
    "data_plane": met_inside,
    "pause": met_by_pause,
    "resume": met_by_resume,
    "connect": met_by_resume,
    "kill": met_by_kill,
    "get": met_by_a_look,
    "network": met_by_network,
}


async def outcome_of(case: dict[str, Any]) -> Any:
    return await MET[case["operation"]](install(), error_of(case))


async def told(case: dict[str, Any]) -> NotDone:
    outcome = await outcome_of(case)
    assert isinstance(outcome, NotDone), outcome
    return outcome


def read(outcome: NotDone, request_id: str = "r-1") -> tuple[list[str], Message]:
    """The three lines of the message, and the message."""
    message = failure_message(cleaned(outcome, Redactor()), request_id=request_id)
    return message.blocks[0]["text"]["text"].splitlines(), message


FAILING = [case for case in CASES if case["expect_class"] not in WELL.get(case["operation"], ())]


@pytest.mark.parametrize("case", FAILING, ids=[case["id"] for case in FAILING])
async def test_it_says_what_happened_what_is_safe_and_what_to_do(case: dict[str, Any]) -> None:
    outcome = await told(case)

    lines, message = read(outcome)

    assert [line.split(":* ")[0].rsplit("*")[-1] for line in lines] == [
        "What happened", "What is safe", "What to do",
    ]  # fmt: skip
    for line in lines:
        sentence = line.split(":* ")[1]
        assert sentence[0].isupper() or sentence[0] in "`<", sentence
        assert sentence.endswith("."), sentence
        assert not JARGON.search(re.sub(r"`[^`]*`", "", sentence)), sentence
        assert len(sentence) < 330, sentence
    own_words = error_of(case).fault.message
    if outcome.detail:
        assert "no answer" in own_words or own_words[:40] in outcome.detail
        assert any("```" in str(block) or "preformatted" in str(block) for block in message.blocks)


@pytest.mark.parametrize("case", FAILING, ids=[case["id"] for case in FAILING])
async def test_it_names_only_buttons_that_it_has(case: dict[str, Any]) -> None:
    outcome = await told(case)

    named = set(re.findall(r"\bPress (Continue|Resume|Stop|Cancel|Status)\b", outcome.todo, re.IGNORECASE))
    assert {name.capitalize() for name in named} <= {BUTTONS[offer] for offer in outcome.offers}, outcome


@pytest.mark.parametrize("case", FAILING, ids=[case["id"] for case in FAILING])
async def test_it_names_a_command_a_button_or_a_person(case: dict[str, Any]) -> None:
    outcome = await told(case)

    assert re.search(
        r"`/hermes |`hermes-bot |[Pp]ress |administrator|people who run Cube|again", outcome.todo
    )


QUOTING = [case for case in FAILING if (case["operation"], case["expect_class"]) not in LOOKED_AT]


@pytest.mark.parametrize("case", QUOTING, ids=[case["id"] for case in QUOTING])
async def test_cubes_own_words_are_there(case: dict[str, Any]) -> None:
    outcome = await told(case)

    assert outcome.detail, outcome
    assert error_of(case).fault.message[:30] in outcome.detail


async def test_no_two_classes_are_told_alike() -> None:
    classes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for case in FAILING:
        outcome = await told(case)
        classes[outcome.what, outcome.todo].add(case["expect_class"])

    assert {texts: kinds for texts, kinds in classes.items() if len(kinds) > 1} == {}


async def test_a_secret_in_cubes_words_is_hidden() -> None:
    secret = "sk-" + "EXAMPLE" * 4
    outcome = not_begun(fault("create", 400, f"invalid value for OPENAI_API_KEY={secret}"))

    _, message = read(outcome)

    assert secret not in str(message)


@pytest.mark.parametrize("case", [c for c in CASES if c not in FAILING], ids=lambda case: case["id"])
async def test_what_waiting_and_looking_settles_is_no_failure_of_cube(case: dict[str, Any]) -> None:
    outcome = await outcome_of(case)

    assert outcome.code in {"paused", "pause-unknown", "stopped", "stop-unknown", "cube-conflict-retry"}


async def test_a_node_that_is_gone_is_not_called_an_error_of_cubes_own() -> None:
    error = fault("create", 500, "CubeMaster returned error code 130598: SelectNodesFailed")

    outcome = await met_by_create(install(), error)

    assert "node" in outcome.what
    assert "does not answer" in outcome.what
    assert "administrator" in outcome.todo


def test_every_fault_knows_its_operation() -> None:
    faults = [error_of(case).fault for case in CASES]

    assert [found.operation for found in faults] == [case["operation"] for case in CASES]
