"""Making a default home ends with an outcome in the log, whatever the copy says."""

import pytest
from installation import ADMIN, Installation, install

from bot.domain.outcome import Done, Failed
from bot.ports import CommandResult
from bot.usecases.default_home import COPY, make_default_home


@pytest.fixture
def world() -> Installation:
    made = install()
    made.node.outputs["test -e /data/shared/hermes-homes/default"] = CommandResult(1, "", "")
    return made


@pytest.mark.parametrize(
    ("output", "files"),
    [
        ("7\n", 7),
        ("Welcome!\n  12\n", 12),
        ("", None),
        ("\n", None),
        ("no files\n", None),
        ("-3", None),
        ("²", None),
        ("9" * 5000, None),
    ],
)
async def test_odd_output_of_the_copy_leaves_no_open_intent(
    world: Installation, output: str, files: int | None
) -> None:
    world.cube.outputs[COPY] = CommandResult(0, output, "")

    outcome = await make_default_home("hermes-studio", "node-1", ADMIN, world.deps)

    assert isinstance(outcome, Done)
    assert outcome.value.files == files
    assert await world.log.open_intents() == []
    assert world.cube.sandboxes == {}


@pytest.mark.parametrize("method", ["create", "run", "list", "kill"])
async def test_a_bug_on_the_way_is_an_outcome_too(world: Installation, method: str) -> None:
    world.cube.outputs[COPY] = CommandResult(0, "7\n", "")
    world.cube.fail(method, IndexError("list index out of range"))

    outcome = await make_default_home("hermes-studio", "node-1", ADMIN, world.deps)

    assert isinstance(outcome, Failed)
    assert outcome.code == "internal-error"
    assert await world.log.open_intents() == []


async def test_a_log_that_breaks_at_the_end_does_not_hide_what_was_made(world: Installation) -> None:
    world.cube.outputs[COPY] = CommandResult(0, "7\n", "")

    async def full() -> None:
        world.log.broken = "disk is full"

    world.cube.before("kill", full)

    outcome = await make_default_home("hermes-studio", "node-1", ADMIN, world.deps)

    assert isinstance(outcome, Done)
