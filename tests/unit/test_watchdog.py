"""The watchdog's verdicts: each stage in its order and its time, and nothing from one slow answer."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.link import (
    GAP_SECONDS,
    REFUSALS,
    TOO_MANY,
    Link,
    LinkState,
    Patience,
    Seen,
    judge,
    pause_before,
    wants_another,
)

PATIENCE = Patience()
STAGES = (LinkState.HEALTHY, LinkState.SUSPECT, LinkState.NOT_READY, LinkState.GIVEN_UP)
WELL = Seen(at=0.0)
SILENT = Seen(at=0.0, pong_age=PATIENCE.pong + 1)


def after(seconds: float, seen: Seen, link: Link | None = None) -> Link:
    """The verdict when this was seen once a second for so long."""
    link = link or Link(at=0.0)
    begin = link.at or 0.0
    for second in range(int(seconds) + 1):
        link = judge(link, replace(seen, at=begin + second), PATIENCE)
    return link


def test_link_without_symptoms_stays_healthy() -> None:
    assert after(3600, WELL).state is LinkState.HEALTHY


@pytest.mark.parametrize(
    "seen",
    [SILENT, Seen(at=0.0, connected=False), Seen(at=0.0, unanswered=2)],
    ids=["old pong", "no socket", "two probes without an answer"],
)
def test_each_symptom_goes_through_every_stage_in_its_time(seen: Seen) -> None:
    states = [after(seconds, seen).state for seconds in (0, 29, 31, 299, 302)]

    assert states == [
        LinkState.SUSPECT, LinkState.SUSPECT, LinkState.NOT_READY, LinkState.NOT_READY, LinkState.GIVEN_UP,
    ]  # fmt: skip


def test_one_slow_answer_is_no_symptom() -> None:
    assert after(60, Seen(at=0.0, unanswered=1)).state is LinkState.HEALTHY


def test_link_that_is_well_for_a_moment_is_still_in_doubt() -> None:
    doubted = after(31, SILENT)

    assert after(PATIENCE.steady - 2, WELL, doubted).state is LinkState.NOT_READY
    assert after(PATIENCE.steady + 2, WELL, doubted) == Link(at=doubted.at + PATIENCE.steady + 2)


def test_link_that_breaks_every_few_seconds_is_given_up_too() -> None:
    link = Link(at=0.0)
    for second in range(400):
        seen = SILENT if second % 8 == 0 else WELL
        link = judge(link, replace(seen, at=float(second)), PATIENCE)

    assert link.state is LinkState.GIVEN_UP


def test_time_in_which_the_process_was_frozen_does_not_count() -> None:
    link = judge(Link(at=0.0), SILENT, PATIENCE)

    link = judge(link, replace(SILENT, at=7_200.0), PATIENCE)

    assert (link.state, link.doubted) == (LinkState.SUSPECT, GAP_SECONDS)


def test_refusal_ends_it_at_once_and_for_good() -> None:
    link = judge(Link(at=0.0), replace(WELL, refusal="invalid_auth: …"), PATIENCE)

    assert link.state is LinkState.REFUSED
    assert judge(link, replace(WELL, at=99.0), PATIENCE) is link


def test_quiet_socket_is_replaced_without_a_doubt() -> None:
    quiet = replace(WELL, frame_age=PATIENCE.quiet + 1)

    assert judge(Link(at=0.0), quiet, PATIENCE).state is LinkState.HEALTHY
    assert wants_another(Link(at=0.0), quiet, PATIENCE)
    assert not wants_another(Link(at=0.0), WELL, PATIENCE)


def test_silent_socket_is_replaced_before_anybody_is_alarmed() -> None:
    assert wants_another(judge(Link(at=0.0), SILENT, PATIENCE), SILENT, PATIENCE)


def test_pauses_grow_to_half_a_minute_and_too_many_sockets_wait_a_whole_one() -> None:
    assert [pause_before(n) for n in (0, 1, 2, 3, 6, 50)] == [0.0, 1.0, 2.0, 4.0, 30.0, 30.0]
    assert pause_before(1, TOO_MANY) == 60.0


def test_every_refusal_says_what_to_do() -> None:
    assert all(";" in sentence or "must be" in sentence for sentence in REFUSALS.values())


LOOKS = st.lists(
    st.builds(
        Seen,
        at=st.floats(0, 100, allow_nan=False),  # the time since the look before
        connected=st.booleans(),
        pong_age=st.floats(0, 60),
        frame_age=st.floats(0, 2_000),
        unanswered=st.integers(0, 4),
    ),
    max_size=120,
)


@given(LOOKS)
def test_no_stage_is_skipped_and_none_comes_before_its_time(looks: list[Seen]) -> None:
    now, link = 0.0, Link()
    left_healthy = 0.0
    for look in looks:
        now += look.at
        before, link = link, judge(link, replace(look, at=now), PATIENCE)
        old, new = STAGES.index(before.state), STAGES.index(link.state)
        assert new <= old + 1
        if before.state is LinkState.HEALTHY:
            left_healthy = now
        if new > old:
            assert link.reasons
            bound = {LinkState.NOT_READY: PATIENCE.not_ready, LinkState.GIVEN_UP: PATIENCE.give_up}
            assert now - left_healthy >= bound.get(link.state, 0.0) - 1e-6
        if 0 < new < old:
            raise AssertionError("it gets well in one step or not at all")
        assert before.state is not LinkState.GIVEN_UP or link is before
