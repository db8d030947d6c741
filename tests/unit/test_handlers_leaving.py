"""A create that ends between two steps because the bot is told to stop."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

import pytest
from installation import OPERATOR, install
from slack_desk import open_desk

from bot.domain.outcome import Done
from bot.domain.provisioning import CreateRequest, Finished, Step, StepEvent, StepState
from bot.usecases.provision import provision
from bot.usecases.recovery import find_interrupted
from handlers.jobs import Lane
from handlers.leaving import Boundaries
from handlers.render.leaving import leaving_line, leaving_message
from handlers.render.progress import Progress

START = Progress(request_id="r-1", home="alpha")


async def story() -> AsyncGenerator[StepEvent | Finished, None]:
    for step in Step:
        yield StepEvent(step, StepState.RUNNING)
        yield StepEvent(step, StepState.DONE, "note", 0.1)
    yield Finished(Done("provisioned", None))  # type: ignore[arg-type]  # nobody looks at it


async def read(steps: Boundaries) -> list[StepEvent | Finished]:
    async with aclosing(steps.events):
        return [event async for event in steps]


@pytest.mark.parametrize("told_after", [0, 1, 4, 8])
async def test_it_ends_after_the_step_that_runs(told_after: int) -> None:
    steps = Boundaries(story(), START, lambda: len(steps.progress.steps) >= told_after)

    events = await read(steps)

    assert len(events) == 2 * told_after
    assert leaving_line(steps.progress) == f"{told_after} of 10 steps done, I am being restarted"
    assert not steps.finished


async def test_step_that_only_looks_is_let_through_to_the_end() -> None:
    steps = Boundaries(story(), START, lambda: Step.STUDIO in steps.progress.steps)

    events = await read(steps)

    assert isinstance(events[-1], Finished)
    assert steps.finished


async def test_what_was_done_stays_in_the_log_as_an_open_intent() -> None:
    world = install()
    request = CreateRequest(request_id="r-1", actor=OPERATOR, home="alpha", workspace="alpha")
    steps = Boundaries(provision(request, world.deps), START, lambda: Step.CREATE in steps.progress.steps)

    await read(steps)

    rows = await world.log.of_request("r-1")
    [found] = await find_interrupted(world.deps)
    assert [row for row in rows if row.phase == "outcome"] == []
    assert (found.after, found.sandbox_id) == (Step.CREATE, next(iter(world.cube.sandboxes)))
    assert await world.locks.try_hold("home:alpha") is not None


def test_step_that_was_cut_is_named_and_not_counted() -> None:
    request = CreateRequest(request_id="r-1", actor=OPERATOR, home="alpha", workspace="proj")
    progress = START.after(StepEvent(Step.CHECK, StepState.DONE)).after(
        StepEvent(Step.RECORD, StepState.RUNNING)
    )

    text = leaving_message(request, progress).text

    assert "1 of 10 steps are done; step 2 (Write it to the audit log) took too long" in text
    assert "*alpha*" in text
    assert "*proj*" in text


async def at_once() -> None:
    """The double takes it as it comes."""


async def test_a_step_message_that_slack_takes_late_is_settled_all_the_same() -> None:
    desk, turn = open_desk(), asyncio.Event()
    desk.chat.before("post", at_once)
    desk.chat.before("post", turn.wait)
    desk.world.cube.before("create", asyncio.Event().wait)
    await desk.command("U_OPERATOR", "create home=alpha", settle=False)
    await desk.until(lambda: desk.world.cube.called("create") == 1)
    await desk.until(lambda: desk.chat.called("post") == 2)
    desk.services.jobs.close()
    job = next(job for job in desk.services.jobs._lanes[Lane.LONG].running.values() if job.leave is not None)

    leaving = asyncio.ensure_future(job.leave())
    await desk.until(lambda: desk.chat.called("post") == 3)
    turn.set()
    await leaving

    steps, said = sorted(desk.thread(), key=lambda message: message.blocks[0]["type"] != "plan")
    assert steps.buttons == {}
    assert "I am being restarted" in steps.text
    assert "I am being restarted. 4 of 10 steps are done" in said.text
    await job.leave()
    assert len(desk.thread()) == 2
    await desk.services.jobs.drain(0)


async def test_a_create_that_finds_the_bot_on_its_way_out_stays_open_for_the_next_start() -> None:
    desk = open_desk()
    await desk.command("U_OPERATOR", "help")

    async def the_end() -> None:
        desk.services.jobs.close()

    desk.chat.before("post", the_end)
    await desk.command("U_OPERATOR", "create home=alpha")

    [said] = desk.thread()
    [found] = await find_interrupted(replace(desk.world.deps, process="p-2", running=set()))
    assert "I am being restarted. 0 of 10 steps are done" in said.text
    assert (found.after, found.thread_ts) == (None, desk.parents()[0].ts)
    assert "0 of 10 steps done" in desk.parents()[0].text


async def test_one_whose_thread_never_opened_is_told_alone_and_is_over() -> None:
    desk = open_desk()
    desk.chat.before("post", asyncio.Event().wait)
    await desk.command("U_OPERATOR", "create home=alpha", settle=False)
    await desk.until(lambda: desk.chat.called("post") == 1)

    await desk.services.jobs.drain(0, 1.0)

    assert "I am just being restarted" in desk.told("U_OPERATOR")
    assert await find_interrupted(replace(desk.world.deps, process="p-2", running=set())) == []
