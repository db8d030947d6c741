"""What the node's programs tell about homes, read into values."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.domain.heartbeat import Heartbeat, heartbeat
from bot.ports import NodePulse, Sizes

HOMES_AT_ONCE = 10_000
"""Homes in one look. Their heartbeats take 0.5 kB each at the very most."""

PULSE_BYTES = 8 * 1024 * 1024
"""What the answer to one look may hold."""


def batches(homes: Collection[str]) -> list[list[str]]:
    """The homes of each look; one look, without homes, where there are none."""
    names = sorted(set(homes))
    return [names[start : start + HOMES_AT_ONCE] for start in range(0, len(names), HOMES_AT_ONCE)] or [[]]


def pulse_of(looks: Sequence[tuple[Sequence[str], Mapping[str, Any]]]) -> NodePulse:
    """At least one look: the homes that were asked for, and what the program answered, in that order."""
    latest = looks[-1][1]
    told = [pair for homes, answer in looks for pair in zip(homes, answer["heartbeats"], strict=True)]
    return NodePulse(
        free_bytes=int(latest["free_bytes"]),
        skills_revision=str(latest["skills_revision"]),
        heartbeats={home: _heartbeat(beat) for home, beat in told if beat is not None},
    )


def _heartbeat(told: Mapping[str, Any]) -> Heartbeat:
    skew = told.get("skew")
    return heartbeat(told, age=float(told["age"]), skew=None if skew is None else float(skew))


def sizes_of(answer: Mapping[str, Any]) -> Sizes:
    """Both sides."""
    home, workspace = answer["home"], answer["workspace"]
    return Sizes(
        home=None if home is None else int(home), workspace=None if workspace is None else int(workspace)
    )
