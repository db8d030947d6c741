"""Arithmetic of the figures: percentiles, ratios and whether a target is met. No clock, no I/O."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Figure = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """The worst value that is good enough."""

    value: float
    bound: Literal["at most", "at least"] = "at most"

    def met_by(self, value: float) -> bool:
        """Whether a measured value is good enough; the target itself is."""
        return value <= self.value if self.bound == "at most" else value >= self.value


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that ``percent`` of all are not above (nearest rank): a value that was measured.

    Raises:
        ValueError: there are no values, or ``percent`` is not within (0, 100].
    """
    if not values:
        raise ValueError("a percentile needs at least one value")
    if not 0 < percent <= 100:
        raise ValueError(f"a percentile lies above 0 and up to 100; {percent} does not")
    # Rounding first: 99 % of 1,000 is rank 990, not 991 because of a binary fraction.
    rank = math.ceil(round(len(values) * percent / 100, 9))
    return sorted(values)[rank - 1]


def ratio(value: float, floor: float) -> float:
    """How many times the floor.

    Raises:
        ValueError: the floor is not above zero, so the floor was not measured.
    """
    if floor <= 0:
        raise ValueError(f"the floor of a ratio is above zero; it is {floor}")
    return value / floor


def median_of_ratios(pairs: Sequence[tuple[float, float]]) -> float:
    """The median over (value, floor) pairs of neighbours in time, so that slow minutes cancel out."""
    return statistics.median(ratio(value, floor) for value, floor in pairs)


def figure(value: float, target: Target, **about: Any) -> Figure:
    """One figure. It is judged as measured, not as printed."""
    return {
        "value": round(value, 3),
        "target": target.value,
        "bound": target.bound,
        "met": target.met_by(value),
        **about,
    }


def not_measured(target: Target, why: str) -> Figure:
    """The place of a figure that could not be measured, with the reason."""
    return {"value": None, "target": target.value, "bound": target.bound, "met": False, "error": why}


def milliseconds(seconds: Sequence[float]) -> Figure:
    """p50, p99 and number of a series of durations."""
    return {
        "p50_ms": round(percentile(seconds, 50) * 1000, 2),
        "p99_ms": round(percentile(seconds, 99) * 1000, 2),
        "n": len(seconds),
    }
