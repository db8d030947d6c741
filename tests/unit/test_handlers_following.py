import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.outcome import Failed, Outcome, Refused, Unknown
from bot.domain.provisioning import Finished, Provisioned, Step, StepEvent, StepState
from handlers.following import EDIT_EVERY, follow
from handlers.jobs import BROKEN
from handlers.render.progress import Progress


class SteppedClock:
    """Time that moves only when the test says so; a sleep really waits for it."""

    def __init__(self) -> None:
        self._now = 0.0
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._now)

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._sleepers.append((self._now + seconds, woken))
        await woken.wait()

    async def advance(self, seconds: float) -> None:
        self._now += seconds
        for at, woken in self._sleepers:
            if at <= self._now:
                woken.set()
        await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class Story:
    """Events that the test feeds, and the edits that come of them."""

    def __init__(self) -> None:
        self.clock = SteppedClock()
        self.shown: list[Progress] = []
        self._events: asyncio.Queue[StepEvent | Finished | Exception] = asyncio.Queue()

    async def show(self, progress: Progress) -> None:
        self.shown.append(progress)

    async def events(self) -> AsyncIterator[StepEvent | Finished]:
        while True:
            event = await self._events.get()
            if isinstance(event, Exception):
                raise event
            yield event
            if isinstance(event, Finished):
                return

    async def happens(self, *events: StepEvent | Finished | Exception) -> None:
        for event in events:
            self._events.put_nowait(event)
        await settle()

    def begin(self) -> asyncio.Task[tuple[Outcome[Provisioned], Progress]]:
        start = Progress(request_id="r-1", home="alpha")
        return asyncio.create_task(follow(self.events(), start, self.show, self.clock))


def running(step: Step) -> StepEvent:
    return StepEvent(step, StepState.RUNNING)


def done(step: Step) -> StepEvent:
    return StepEvent(step, StepState.DONE, "fine", 1.0)


REFUSED = Refused(code="no", what="No.", safe="Yes.", todo="Ask.")


@pytest.fixture
def story() -> Story:
    return Story()


async def test_the_first_event_is_shown_at_once(story: Story) -> None:
    following = story.begin()

    await story.happens(running(Step.CHECK))

    assert [p.current for p in story.shown] == [Step.CHECK]
    following.cancel()


async def test_what_happens_meanwhile_comes_in_one_edit_three_seconds_later(story: Story) -> None:
    following = story.begin()
    await story.happens(running(Step.CHECK))

    await story.happens(done(Step.CHECK), running(Step.RECORD), done(Step.RECORD), running(Step.DIRECTORIES))
    await story.clock.advance(EDIT_EVERY - 0.1)
    early = len(story.shown)
    await story.clock.advance(0.2)

    assert early == 1
    assert [p.current for p in story.shown] == [Step.CHECK, Step.DIRECTORIES]
    following.cancel()


async def test_an_edit_that_waits_does_not_keep_a_newer_one_from_taking_its_place(story: Story) -> None:
    async def waits(progress: Progress) -> None:
        story.shown.append(progress)
        await asyncio.Event().wait()

    start = Progress(request_id="r-1", home="alpha")
    following = asyncio.create_task(follow(story.events(), start, waits, story.clock))
    await story.happens(running(Step.CHECK))

    await story.happens(done(Step.CHECK), running(Step.RECORD))
    await story.clock.advance(EDIT_EVERY)

    assert [p.current for p in story.shown] == [Step.CHECK, Step.RECORD]
    following.cancel()


async def test_nothing_is_edited_while_nothing_happens(story: Story) -> None:
    following = story.begin()
    await story.happens(running(Step.CHECK))

    for _ in range(10):
        await story.clock.advance(EDIT_EVERY)

    assert len(story.shown) == 1
    following.cancel()


async def test_the_end_is_given_back_at_once(story: Story) -> None:
    following = story.begin()
    await story.happens(running(Step.CHECK), done(Step.CHECK))

    await story.happens(Finished(REFUSED))

    outcome, last = following.result()
    assert outcome is REFUSED
    assert last.ended == "not started"


@pytest.mark.parametrize(
    ("outcome", "ended"),
    [
        (REFUSED, "not started"),
        (Failed(code="cancelled", what="C.", safe="S.", todo="T."), "cancelled"),
        (Failed(code="x", what="W.", safe="S.", todo="T."), "stopped in step 5"),
        (Unknown(code="x", what="W.", safe="S.", todo="T."), "step 5 ended without a clear answer"),
    ],
)
async def test_the_headline_tells_the_ends_apart(
    story: Story, outcome: Refused | Failed | Unknown, ended: str
) -> None:
    following = story.begin()

    await story.happens(running(Step.CREATE), Finished(outcome))

    assert following.result()[1].ended == ended


async def test_no_step_is_left_running_at_the_end(story: Story) -> None:
    following = story.begin()

    await story.happens(running(Step.CREATE), Finished(Failed(code="x", what="W.", safe="S.", todo="T.")))

    assert following.result()[1].steps[Step.CREATE].state is StepState.FAILED


async def test_an_edit_that_waits_holds_up_neither_the_work_nor_its_outcome(story: Story) -> None:
    async def forever(progress: Progress) -> None:
        await asyncio.Event().wait()

    following = asyncio.create_task(
        follow(story.events(), Progress(request_id="r-1", home="alpha"), forever, story.clock)
    )
    await story.happens(running(Step.CHECK))

    await story.happens(done(Step.CHECK), running(Step.RECORD), Finished(REFUSED))

    assert following.result()[0] is REFUSED


async def test_an_edit_that_breaks_does_not_break_the_work(story: Story) -> None:
    async def broken(progress: Progress) -> None:
        raise RuntimeError("on purpose")

    following = asyncio.create_task(
        follow(story.events(), Progress(request_id="r-1", home="alpha"), broken, story.clock)
    )
    await story.happens(running(Step.CHECK), Finished(REFUSED))

    outcome, last = following.result()
    assert outcome is REFUSED
    assert last.ended == "not started"


async def test_work_that_breaks_still_ends_the_message(story: Story) -> None:
    following = story.begin()

    await story.happens(running(Step.SEED), RuntimeError("on purpose"))

    outcome, last = following.result()
    assert outcome is BROKEN
    assert last.steps[Step.SEED].state is StepState.FAILED


async def test_a_cancelled_job_leaves_no_task_behind(story: Story) -> None:
    before = asyncio.all_tasks()
    following = story.begin()
    await story.happens(running(Step.CHECK), done(Step.CHECK))

    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await settle()

    assert asyncio.all_tasks() == before
