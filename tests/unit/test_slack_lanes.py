"""The order and pace of what goes to one channel, in a time that the test owns."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.adapters.slack_lanes import Lane, Lanes
from bot.adapters.slack_pace import EDIT_BURST, EDIT_EVERY, Pace, Turns
from bot.domain.errors import ChatError


class RunningClock:
    """Time that stands still while anything can happen, then goes on to the next sleeper."""

    def __init__(self) -> None:
        self._now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._numbers = 0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._now)

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._numbers += 1
        entry = (self._now + seconds, self._numbers, asyncio.Event())
        self._sleepers.append(entry)
        try:
            await entry[2].wait()
        finally:
            self._sleepers.remove(entry)

    async def run(self, *work: Coroutine[Any, Any, Any]) -> list[Any]:
        """Let time pass until all of it is done; errors are given back like results."""
        tasks = [asyncio.create_task(one) for one in work]
        while not all(task.done() for task in tasks):
            for _ in range(30):
                await asyncio.sleep(0)
            if self._sleepers and not all(task.done() for task in tasks):
                at, _, woken = min(self._sleepers)
                self._now = max(self._now, at)
                woken.set()
        return await asyncio.gather(*tasks, return_exceptions=True)


class Street:
    """Lanes, and what was sent on them: (seconds, what)."""

    def __init__(self) -> None:
        self.clock = RunningClock()
        self.edits = Pace(self.clock, interval=EDIT_EVERY, burst=EDIT_BURST)
        self.lanes = Lanes(self.clock, Pace(self.clock, interval=0.2, burst=20), self.edits)
        self.sent: list[tuple[float, str]] = []
        self.takes = 0.0
        """Seconds from a call to its answer."""

    def lane(self, channel: str = "C_OPS") -> Lane:
        return self.lanes.of(channel)

    def sends(self, what: str) -> Callable[[Turns], Awaitable[None]]:
        async def send(turns: Turns) -> None:
            await turns.turn()
            self.sent.append((self.clock.monotonic(), what))
            if self.takes:
                await self.clock.sleep(self.takes)
            turns.ended()

        return send

    async def post(self, what: str, channel: str = "C_OPS") -> str:
        await self.lane(channel).post(self.sends(what))
        return what

    async def edit(self, what: str, ts: str = "1.1", channel: str = "C_OPS") -> str:
        await self.lane(channel).edit(ts, self.sends(what))
        return what

    @property
    def order(self) -> list[str]:
        return [what for _, what in self.sent]

    @property
    def gaps(self) -> list[float]:
        times = [at for at, _ in self.sent]
        return [round(later - earlier, 6) for earlier, later in itertools.pairwise(times)]


@pytest.fixture
def street() -> Street:
    return Street()


async def test_the_first_post_goes_at_once(street: Street) -> None:
    await street.clock.run(street.post("one"))

    assert street.sent == [(0.0, "one")]


async def test_posts_keep_their_order_a_second_apart(street: Street) -> None:
    await street.clock.run(*(street.post(str(n)) for n in range(6)))

    assert street.order == list("012345")
    assert street.gaps == [1.0] * 5


async def test_the_second_counts_from_the_answer(street: Street) -> None:
    street.takes = 0.7

    await street.clock.run(street.post("a"), street.post("b"), street.edit("c"))

    assert street.gaps == [1.7, 1.7]


async def test_posts_and_edits_share_the_lane_and_posts_go_first(street: Street) -> None:
    await street.clock.run(street.post("a"), street.edit("edit"), street.post("b"), street.post("c"))

    assert street.order == ["a", "b", "c", "edit"]
    assert street.gaps == [1.0] * 3


async def test_of_waiting_edits_of_one_message_only_the_newest_is_sent_and_answers_all(
    street: Street,
) -> None:
    done = await street.clock.run(street.post("a"), *(street.edit(f"edit {n}") for n in range(5)))

    assert street.order == ["a", "edit 4"]
    assert done == ["a", *(f"edit {n}" for n in range(5))]


async def test_edits_of_different_messages_all_go(street: Street) -> None:
    await street.clock.run(*(street.edit(f"edit {n}", ts=f"{n}.1") for n in range(4)))

    assert street.order == [f"edit {n}" for n in range(4)]


async def test_an_edit_that_comes_while_one_is_on_its_way_follows_it(street: Street) -> None:
    street.takes = 5.0

    async def later() -> str:
        await street.clock.sleep(2)
        return await street.edit("second")

    await street.clock.run(street.edit("first"), later())

    assert street.sent == [(0.0, "first"), (6.0, "second")]


async def test_a_failed_edit_fails_all_that_it_stood_for(street: Street) -> None:
    async def refused(_: Turns) -> None:
        raise ChatError("message_not_found")

    done = await street.clock.run(
        street.post("a"), street.edit("older"), street.lane().edit("1.1", refused), street.post("b")
    )

    assert [getattr(one, "code", one) for one in done] == ["a", "message_not_found", "message_not_found", "b"]


async def test_what_nobody_waits_for_any_more_is_not_sent(street: Street) -> None:
    async def gives_up() -> None:
        waiting = asyncio.create_task(street.edit("given up"))
        await asyncio.sleep(0)
        waiting.cancel()

    await street.clock.run(street.post("a"), gives_up(), street.post("b"))

    assert street.order == ["a", "b"]


async def test_channels_do_not_wait_for_each_other(street: Street) -> None:
    await street.clock.run(*(street.post(f"{n}", channel=f"C_{n}") for n in range(10)))

    assert {at for at, _ in street.sent} == {0.0}


async def test_all_channels_together_stay_below_slacks_several_hundred_a_minute(street: Street) -> None:
    await street.clock.run(*(street.post(f"{n}", channel=f"C_{n}") for n in range(100)))

    busiest = max(sum(start <= at < start + 10 for at, _ in street.sent) for start, _ in street.sent)
    assert busiest <= 20 + 10 * 5 + 1


async def test_edits_of_all_channels_stay_within_fifty_a_minute(street: Street) -> None:
    await street.clock.run(*(street.edit(f"{n}", channel=f"C_{n}") for n in range(100)))

    busiest = max(sum(start <= at < start + 60 for at, _ in street.sent) for start, _ in street.sent)
    assert 45 <= busiest <= 50


async def test_posts_do_not_wait_for_the_edits_of_other_channels(street: Street) -> None:
    street.edits.hold(30)

    async def later() -> str:
        await street.clock.sleep(5)
        return await street.post("post")

    await street.clock.run(street.edit("edit"), later())

    assert street.sent == [(5.0, "post"), (30.0, "edit")]


async def test_what_slack_asks_one_call_to_wait_the_whole_lane_waits(street: Street) -> None:
    async def limited(turns: Turns) -> None:
        turns.hold(20)
        await street.sends("a")(turns)

    await street.clock.run(
        street.lane().post(limited), street.post("b"), street.edit("e"), street.post("x", channel="C_OTHER")
    )

    assert street.sent == [(0.0, "x"), (20.0, "a"), (21.0, "b"), (22.0, "e")]


async def test_thirty_threads_edited_at_once_end_with_their_last_words(street: Street) -> None:
    async def thread(number: int) -> None:
        for step in range(10):
            await street.edit(f"{number}: step {step}", ts=f"{number}.1")
        await street.post(f"{number}: result")
        await street.edit(f"{number}: end", ts=f"{number}.1")

    await street.clock.run(*(thread(number) for number in range(30)))

    assert min(street.gaps) >= 1.0
    assert {f"{number}: end" for number in range(30)} <= set(street.order)


async def test_a_person_and_their_conversation_are_one_lane(street: Street) -> None:
    async def first() -> None:
        await street.post("first", channel="U_ADA")
        street.lanes.same("U_ADA", "D_ADA")
        await street.post("second", channel="D_ADA")

    await street.clock.run(first(), street.post("third", channel="U_ADA"))

    assert min(street.gaps) >= 1.0


async def test_a_conversation_that_had_a_lane_before_its_person_was_known(street: Street) -> None:
    async def first() -> None:
        await street.post("by person", channel="U_ADA")
        street.lanes.same("U_ADA", "D_ADA")

    await street.clock.run(street.post("by channel", channel="D_ADA"))
    await street.clock.run(first(), street.post("other"))
    await street.clock.run(street.post("again", channel="D_ADA"))

    times = [at for at, what in street.sent if what in {"by person", "again"}]
    assert times[1] - times[0] >= 1.0


async def test_closing_tells_whoever_waits(street: Street) -> None:
    street.takes = 60
    waiting = [asyncio.create_task(one) for one in (street.post("a"), street.post("b"), street.edit("c"))]
    await asyncio.sleep(0)

    await street.lanes.close()

    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert [getattr(error, "code", "") for error in ended] == ["slack-unreachable"] * 3
