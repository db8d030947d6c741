"""A pause, a resume or a new idle time in whose middle the bot ends: its message is set right."""

import asyncio
from dataclasses import replace

import pytest
from contract.doubles_chat import Kept
from slack_desk import Desk, open_desk, shown

from bot.domain.sandbox import SandboxState
from bot.usecases.recovery import find_interrupted
from handlers.restart import announce_interrupted

CALLS = {"pause alpha": "pause", "resume alpha": "resume", "keep alpha 2h": "set_timeout"}


@pytest.fixture
async def desk() -> Desk:
    made = open_desk()
    await made.command("U_OPERATOR", "create home=alpha")
    return made


async def hanging(desk: Desk, text: str) -> None:
    """A command whose call to Cube is on its way and does not come back."""
    if text.startswith("resume"):
        [sandbox] = desk.world.cube.sandboxes
        desk.world.cube.set_state(sandbox, SandboxState.PAUSED)
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    desk.world.cube.before(CALLS[text], hang)
    await desk.command("U_OPERATOR", text, settle=False)
    await asyncio.wait_for(reached.wait(), 5)


def first_message(desk: Desk) -> Kept:
    return desk.parents()[-1]


@pytest.mark.parametrize("text", CALLS)
async def test_the_message_says_that_the_bot_is_restarted_and_what_to_type(desk: Desk, text: str) -> None:
    await hanging(desk, text)

    await desk.services.jobs.drain(0, 1.0)

    said = shown(first_message(desk))
    assert f"in the middle of this {text.split(maxsplit=1)[0]}" in said
    assert f"`/hermes {text}`" in said
    assert ":hourglass" not in said


@pytest.mark.parametrize("text", CALLS)
async def test_the_next_start_sets_the_message_right_and_the_log(desk: Desk, text: str) -> None:
    await hanging(desk, text)
    await desk.services.jobs.drain(0, 0)
    later = replace(desk.services, deps=replace(desk.world.deps, process="p-2", running=set()))

    found = await find_interrupted(later.deps)
    await announce_interrupted(found, later)

    assert [one.action for one in found] == [text.split(maxsplit=1)[0]]
    said = shown(first_message(desk))
    assert f"The {text.split(maxsplit=1)[0]} was interrupted, because the bot was restarted" in said
    assert "safe on the node" in said
    row = (await desk.world.log.recent())[0]
    assert (row.phase, row.code, row.result) == ("outcome", "interrupted", "unknown")
    assert "step" not in row.reason
    assert await find_interrupted(later.deps) == []


async def test_a_press_is_told_in_its_thread_by_the_next_start(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "pause alpha")
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    desk.world.cube.before("resume", hang)
    await desk.press("U_OPERATOR", first_message(desk), "hermes.resume", settle=False)
    await asyncio.wait_for(reached.wait(), 5)
    await desk.services.jobs.drain(0, 0)
    later = replace(desk.services, deps=replace(desk.world.deps, process="p-2", running=set()))

    await announce_interrupted(await find_interrupted(later.deps), later)

    said = desk.thread(number=1)[-1]
    assert "The resume was interrupted" in said.text
    assert "hermes.resume" in said.buttons
