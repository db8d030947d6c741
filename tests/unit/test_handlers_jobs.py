import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from bot.domain.outcome import NotDone
from handlers.jobs import BROKEN, BUSY, CLOSING, CUT, Job, Jobs, Lane
from handlers.once import Once


class Person:
    """Somebody who is told things."""

    def __init__(self) -> None:
        self.told: list[NotDone] = []

    async def tell(self, why: NotDone) -> None:
        self.told.append(why)

    def job(self, run: Callable[[], Awaitable[None]], name: str = "job") -> Job:
        return Job(name=name, run=run, tell=self.tell)


async def nothing() -> None:
    """A job that is done at once."""


def blocking() -> tuple[asyncio.Event, Callable[[], Awaitable[None]]]:
    gate = asyncio.Event()

    async def run() -> None:
        await gate.wait()

    return gate, run


async def test_a_job_runs() -> None:
    done = asyncio.Event()

    async def run() -> None:
        done.set()

    assert Jobs().start(Person().job(run), Lane.QUICK)
    await asyncio.wait_for(done.wait(), 1)


async def test_a_lane_runs_no_more_than_its_width_and_starts_the_rest_in_order() -> None:
    jobs, person, gate = Jobs(long=(2, 10)), Person(), asyncio.Event()
    began: list[int] = []

    def numbered(number: int) -> Job:
        async def run() -> None:
            began.append(number)
            await gate.wait()

        return person.job(run)

    for number in range(4):
        jobs.start(numbered(number), Lane.LONG)
    await asyncio.sleep(0)
    before = [*began]
    gate.set()
    await jobs.idle()

    assert before == [0, 1]
    assert began == [0, 1, 2, 3]


async def test_a_full_lane_turns_a_job_away_and_tells_its_person() -> None:
    jobs, person = Jobs(quick=(1, 1)), Person()
    gate, run = blocking()

    taken = [jobs.start(person.job(run), Lane.QUICK) for _ in range(3)]
    gate.set()
    await jobs.idle()

    assert taken == [True, True, False]
    assert person.told == [BUSY]


async def test_long_jobs_do_not_keep_quick_ones_waiting() -> None:
    jobs, person, done = Jobs(long=(1, 5)), Person(), asyncio.Event()
    gate, run = blocking()
    for _ in range(5):
        jobs.start(person.job(run), Lane.LONG)

    async def quick() -> None:
        done.set()

    jobs.start(person.job(quick), Lane.QUICK)

    await asyncio.wait_for(done.wait(), 1)
    gate.set()
    await jobs.idle()


async def test_a_job_that_breaks_is_logged_and_its_person_told(caplog: pytest.LogCaptureFixture) -> None:
    jobs, person = Jobs(), Person()

    async def run() -> None:
        raise RuntimeError("on purpose")

    with caplog.at_level(logging.ERROR):
        jobs.start(person.job(run, "create r-1"), Lane.LONG)
        await jobs.idle()

    assert person.told == [BROKEN]
    assert "create r-1" in caplog.text
    assert "on purpose" in caplog.text


async def test_an_apology_that_breaks_is_logged_and_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs()
    tries: list[NotDone] = []

    async def run() -> None:
        raise RuntimeError("on purpose")

    async def tell(why: NotDone) -> None:
        tries.append(why)
        raise RuntimeError("nobody listens")

    jobs.start(Job(name="job", run=run, tell=tell), Lane.QUICK)
    await jobs.idle()

    assert tries == [BROKEN]
    assert "nobody listens" in caplog.text


async def test_draining_lets_running_jobs_end() -> None:
    jobs, person = Jobs(), Person()
    gate, run = blocking()
    jobs.start(person.job(run), Lane.LONG)
    asyncio.get_running_loop().call_later(0.01, gate.set)

    left = await jobs.drain(5)

    assert (left, person.told) == ([], [])


async def test_draining_names_what_it_had_to_end() -> None:
    jobs, person = Jobs(), Person()
    _, run = blocking()
    jobs.start(person.job(run, "create r-1"), Lane.LONG)

    left = await jobs.drain(0.01)

    assert left == ["create r-1"]
    assert person.told == []


async def test_draining_tells_those_whose_work_never_began() -> None:
    jobs, first, second = Jobs(long=(1, 5)), Person(), Person()
    gate, run = blocking()
    jobs.start(first.job(run), Lane.LONG)
    jobs.start(second.job(run), Lane.LONG)
    asyncio.get_running_loop().call_later(0.01, gate.set)

    await jobs.drain(5)

    assert second.told == [CLOSING]


async def test_draining_tells_the_people_of_what_it_had_to_end() -> None:
    jobs, person = Jobs(), Person()
    _, run = blocking()
    said: list[str] = []

    async def leave() -> None:
        said.append("on my way out")

    jobs.start(replace(person.job(run, "create r-1"), leave=leave), Lane.LONG)

    left = await jobs.drain(0.01, 1.0)

    assert (left, said, person.told) == (["create r-1"], ["on my way out"], [])


async def test_quick_answers_that_are_not_given_any_more_are_told_as_such() -> None:
    jobs, first, second = Jobs(quick=(1, 5)), Person(), Person()
    _, run = blocking()
    jobs.start(first.job(run), Lane.QUICK)
    jobs.start(second.job(run), Lane.QUICK)

    await jobs.drain(0.01)
    await jobs.finish(1)

    assert (first.told, second.told) == ([CUT], [CLOSING])


async def test_telling_on_the_way_out_is_bounded_and_one_that_breaks_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    jobs, person = Jobs(), Person()

    async def broken() -> None:
        raise RuntimeError("nobody listens")

    async def endless() -> None:
        await asyncio.Event().wait()

    for leave in (broken, endless):
        _, run = blocking()
        jobs.start(replace(person.job(run, f"create {leave.__name__}"), leave=leave), Lane.LONG)

    async with asyncio.timeout(5):
        await jobs.drain(0.01, 0.05)

    assert "create broken could not be told of the restart" in caplog.text
    assert "create endless is told of the restart by the next start only" in caplog.text


async def test_apologies_do_not_hold_up_the_drain_and_are_said_afterwards() -> None:
    jobs, person = Jobs(), Person()
    gate = asyncio.Event()
    said: list[NotDone] = []

    async def tell(why: NotDone) -> None:
        await gate.wait()
        said.append(why)

    jobs.close()
    jobs.start(Job(name="late", run=nothing, tell=tell), Lane.QUICK)
    async with asyncio.timeout(1):
        await jobs.drain(30)
    gate.set()

    await jobs.finish(5)

    assert (said, person.told) == ([CLOSING], [])


async def test_apologies_that_take_too_long_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs()

    async def tell(_: NotDone) -> None:
        await asyncio.Event().wait()

    jobs.close()
    for number in range(5):
        jobs.start(Job(name=f"late {number}", run=nothing, tell=tell), Lane.QUICK)

    await jobs.finish(0.02)

    assert "5 people could not be told any more" in caplog.text


async def test_nothing_new_is_taken_while_draining() -> None:
    jobs, person = Jobs(), Person()
    await jobs.drain(0)

    taken = jobs.start(person.job(nothing), Lane.QUICK)
    await jobs.idle()

    assert (taken, person.told) == (False, [CLOSING])


async def test_five_hundred_at_once_are_all_done() -> None:
    jobs, person = Jobs(), Person()
    done: list[int] = []

    def numbered(number: int) -> Job:
        async def run() -> None:
            await asyncio.sleep(0)
            done.append(number)

        return person.job(run)

    for number in range(500):
        jobs.start(numbered(number), Lane.QUICK)
    await jobs.idle()

    assert sorted(done) == list(range(500))


def test_a_key_counts_once() -> None:
    once = Once()

    assert [once.first("a"), once.first("a"), once.first("b")] == [True, False, True]


def test_envelopes_without_a_key_are_never_taken_for_the_same() -> None:
    once = Once()

    assert [once.first(""), once.first("")] == [True, True]


def test_only_the_latest_keys_are_remembered() -> None:
    once = Once(capacity=2)

    assert [once.first(key) for key in ("a", "b", "c", "a", "c")] == [True, True, True, True, False]


async def test_a_home_that_cannot_be_drawn_now_is_left_out_without_a_word() -> None:
    told: list[str] = []
    jobs = Jobs(homes=(1, 0))
    gate = asyncio.Event()

    async def tell(why: NotDone) -> None:
        told.append(why.code)

    async def breaks() -> None:
        raise RuntimeError

    taken = [jobs.start(Job(name="home", run=run, tell=tell), Lane.HOMES) for run in (gate.wait, gate.wait)]
    gate.set()
    await jobs.idle()
    jobs.start(Job(name="home", run=breaks, tell=tell), Lane.HOMES)
    await jobs.idle()

    assert taken == [True, False]
    assert told == []
