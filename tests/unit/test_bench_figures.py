"""The arithmetic of the figures: what a percentile, a ratio and a met target are."""

import pytest
from bench.figures import Target, figure, median_of_ratios, milliseconds, not_measured, percentile, ratio


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(1, 1), (50, 50), (99, 99), (99.5, 100), (100, 100)],
)
def test_a_percentile_is_the_value_at_its_nearest_rank(percent: float, expected: int) -> None:
    values = list(range(100, 0, -1))
    assert percentile(values, percent) == expected


def test_the_99th_of_a_thousand_is_the_tenth_from_the_top() -> None:
    assert percentile(range(1, 1001), 99) == 990


def test_a_single_value_is_every_percentile() -> None:
    assert percentile([7.0], 1) == percentile([7.0], 99) == 7.0


def test_a_percentile_never_invents_a_value_between_two() -> None:
    assert percentile([1.0, 1000.0], 50) == 1.0


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1.0], 0), ([1.0], 100.1)])
def test_a_percentile_of_nothing_or_out_of_range_is_refused(values: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, percent)


def test_a_ratio_says_how_many_times_the_floor() -> None:
    assert ratio(3.0, 2.0) == 1.5


@pytest.mark.parametrize("floor", [0.0, -1.0])
def test_a_floor_that_was_not_measured_gives_no_ratio(floor: float) -> None:
    with pytest.raises(ValueError, match="floor"):
        ratio(1.0, floor)


def test_one_slow_minute_does_not_move_the_median_of_ratios() -> None:
    pairs = [(1.1, 1.0), (11.0, 10.0), (5.0, 1.0), (1.1, 1.0), (0.2, 1.0)]
    assert median_of_ratios(pairs) == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("value", "bound", "met"),
    [
        (1.09, "at most", True),
        (1.1, "at most", True),
        (1.11, "at most", False),
        (1.09, "at least", False),
        (1.1, "at least", True),
        (1.11, "at least", True),
    ],
)
def test_a_target_is_met_up_to_and_at_its_own_value(value: float, bound: str, met: bool) -> None:  # noqa: FBT001 - the expectation of a table
    assert figure(value, Target(1.1, bound))["met"] is met  # type: ignore[arg-type]  # the two literals, from a table


def test_a_figure_is_judged_before_it_is_rounded() -> None:
    assert figure(1.5004, Target(1.5)) == {"value": 1.5, "target": 1.5, "bound": "at most", "met": False}


def test_a_figure_carries_what_explains_it() -> None:
    assert figure(1.0, Target(1.5), n=400, raw={"p50_ms": 2.0})["raw"] == {"p50_ms": 2.0}


def test_what_could_not_be_measured_has_no_value_and_is_not_met() -> None:
    found = not_measured(Target(4.0), "BenchError: a command ended with operation_timeout")
    assert (found["value"], found["met"], found["target"]) == (None, False, 4.0)
    assert "operation_timeout" in found["error"]


def test_durations_are_told_in_milliseconds() -> None:
    assert milliseconds([0.001, 0.002, 0.0031]) == {"p50_ms": 2.0, "p99_ms": 3.1, "n": 3}
