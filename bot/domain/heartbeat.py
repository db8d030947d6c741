"""The sign of life that a sandbox leaves in its home: a hint, never a proof."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

BEAT_SECONDS = 20.0
"""How often it is written."""

FRESH_SECONDS = 60.0
"""Older than this, it tells nothing about now: two beats were missed."""

HEARTBEAT_FILE = "heartbeat.json"
"""In the bot's own directory of a home."""

_MAX_TEXT = 200
_MOST = 1e18


class Inside(StrEnum):
    """What Studio's ``/health`` said inside the sandbox, judged by its content."""

    READY = "ready"
    NOT_READY = "not-ready"
    SILENT = "silent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """One heartbeat file as the node found it. Sizes are bytes; None = not told, or not believable."""

    age: float
    """Seconds since it was written, both ends by the node's clock."""
    sandbox: str = ""
    """The sandbox that says it wrote it; another one than the home's live sandbox makes it worthless."""
    studio: Inside = Inside.UNKNOWN
    note: str = ""
    """Why Studio is not ready, in a few words."""
    version: str = ""
    """Of the agent, as Studio told it."""
    envd: bool | None = None
    """Whether Cube's command service answered inside."""
    gateway: bool | None = None
    """Whether the agent's gateway runs."""
    load: float | None = None
    """Over one minute."""
    memory_free: int | None = None
    memory_total: int | None = None
    disk_free: int | None = None
    """Of the file system that the home is on."""
    pid: int | None = None
    """Of the heartbeat itself, inside."""
    skew: float | None = None
    """Seconds that the sandbox's clock is ahead of the node's."""

    @property
    def fresh(self) -> bool:
        """Whether it tells about now."""
        return -FRESH_SECONDS <= self.age <= FRESH_SECONDS


def heartbeat(told: Mapping[str, Any], *, age: float, skew: float | None = None) -> Heartbeat:
    """What was read from a home, each part believed only in its own shape.

    Args:
        told: the file as JSON: ``sandbox, studio, note, version, envd, gateway, load, memory_free,
            memory_total, disk_free, pid``; anything may be missing or wrong.
        age: seconds since the file was written, by the node's clock.
        skew: seconds that the sandbox's clock was ahead of the node's then.
    """
    return Heartbeat(
        age=age,
        sandbox=_text(told, "sandbox"),
        studio=_inside(told.get("studio")),
        note=_text(told, "note"),
        version=_text(told, "version"),
        envd=_flag(told, "envd"),
        gateway=_flag(told, "gateway"),
        load=_number(told, "load"),
        memory_free=_whole(told, "memory_free"),
        memory_total=_whole(told, "memory_total"),
        disk_free=_whole(told, "disk_free"),
        pid=_whole(told, "pid"),
        skew=skew if skew is not None and math.isfinite(skew) else None,
    )


def _inside(value: Any) -> Inside:
    return Inside(value) if isinstance(value, str) and value in Inside._value2member_map_ else Inside.UNKNOWN


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return " ".join(value[:_MAX_TEXT].split()) if isinstance(value, str) and value.isprintable() else ""


def _flag(told: Mapping[str, Any], name: str) -> bool | None:
    value = told.get(name)
    return value if isinstance(value, bool) else None


def _number(told: Mapping[str, Any], name: str) -> float | None:
    value = told.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_MOST < value < _MOST else None


def _whole(told: Mapping[str, Any], name: str) -> int | None:
    number = _number(told, name)
    return int(number) if number is not None and number >= 0 else None
