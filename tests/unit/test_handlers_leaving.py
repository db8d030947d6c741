"""A create that ends between two steps because the bot is told to stop."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from installation import OPERATOR, install

from bot.domain.outcome import Done
from bot.domain.provisioning import CreateRequest, Finished, Step, StepEvent, StepState
from bot.usecases.provision import provision
from bot.usecases.recovery import find_interrupted
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
