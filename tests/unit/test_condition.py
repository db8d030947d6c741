"""The ten words for the state of a sandbox, each in the case that it is for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.condition import Condition, Past, Sight, ago, judge
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.sandbox import SandboxState, SandboxView

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ME = "a" * 32
LONG_AGO = NOW - timedelta(hours=5)
JUST_NOW = NOW - timedelta(seconds=10)


def view(state: SandboxState = SandboxState.RUNNING, **changes: Any) -> SandboxView:
    given: dict[str, Any] = {"sandbox_id": ME, "state": state, "started_at": LONG_AGO.isoformat()}
    return SandboxView(**(given | changes))


def beat(studio: Inside = Inside.READY, *, age: float = 12, **changes: Any) -> Heartbeat:
    given: dict[str, Any] = {"age": age, "sandbox": ME, "studio": studio, "envd": True}
    return Heartbeat(**(given | changes))


def word(**seen: Any) -> Condition:
    return judge(Sight(**({"view": view(), "now": NOW} | seen))).condition


YOUNG = view(started_at=JUST_NOW.isoformat())
ASLEEP = view(SandboxState.PAUSED)
PAUSING = view(SandboxState.PAUSING)
USED = view(end_at=(NOW + timedelta(seconds=880)).isoformat())
"""With an idle time of 900 s it was used 20 s ago."""


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ("gone", {"view": None}),
        ("unknown", {"view": view(SandboxState.UNKNOWN), "heartbeat": beat()}),
        ("unknown", {"listed": False, "heartbeat": beat()}),
        ("unknown", {"view": view(SandboxState.PAUSED, listed=False)}),
        ("ready", {"heartbeat": beat()}),
        ("ready", {"heartbeat": beat(), "reached": True, "studio": True}),
        ("ready", {"heartbeat": beat(Inside.SILENT), "reached": True, "studio": True}),
        ("ready", {"heartbeat": beat(sandbox="")}),
        ("starting", {"view": YOUNG}),
        ("starting", {"view": YOUNG, "heartbeat": beat(sandbox="")}),
        ("starting", {"view": YOUNG, "heartbeat": beat(sandbox="b" * 32)}),
        ("starting", {"view": YOUNG, "heartbeat": beat(Inside.SILENT, age=2)}),
        ("starting", {"heartbeat": beat(age=30), "past": Past(changed_at=JUST_NOW)}),
        ("starting", {"view": USED, "heartbeat": beat(age=600), "past": Past(timeout=900)}),
        ("dark", {"view": USED, "heartbeat": beat(age=600), "past": Past(timeout=900), "probed_at": NOW}),
        ("degraded", {"heartbeat": beat(Inside.SILENT)}),
        ("degraded", {"heartbeat": beat(Inside.NOT_READY, note="no bridge")}),
        ("degraded", {"heartbeat": beat(envd=False)}),
        ("degraded", {"heartbeat": beat(), "reached": True, "studio": False}),
        ("degraded", {"reached": True, "studio": True}),
        ("degraded", {"heartbeat": beat(age=600), "reached": True}),
        ("unknown", {"heartbeat": beat(Inside.UNKNOWN)}),
        ("unknown", {}),
        ("unknown", {"node_answered": False}),
        ("unknown", {"view": YOUNG, "node_answered": False}),
        ("unknown", {"node_answered": False, "reached": True}),
        ("ready", {"node_answered": False, "reached": True, "studio": True}),
        ("degraded", {"node_answered": False, "reached": True, "studio": False}),
        ("dark", {"node_answered": False, "reached": False}),
        ("unknown", {"heartbeat": beat(sandbox="b" * 32)}),
        ("unknown", {"heartbeat": beat(age=-600)}),
        ("dark", {"heartbeat": beat(age=61)}),
        ("dark", {"reached": False}),
        ("dark", {"heartbeat": beat(), "reached": False}),
        ("asleep", {"view": ASLEEP, "heartbeat": beat()}),
        ("asleep", {"view": ASLEEP, "past": Past(resume_undone=True)}),
        ("unresumable", {"view": ASLEEP, "past": Past(cannot_resume=True, resume_undone=True)}),
        ("pausing", {"view": PAUSING, "heartbeat": beat()}),
        ("pausing", {"view": PAUSING, "past": Past(pause_asked_at=JUST_NOW)}),
        ("stuck", {"view": PAUSING, "past": Past(pause_asked_at=LONG_AGO)}),
        ("stuck", {"view": PAUSING, "past": Past(pause_asked_at=JUST_NOW, pause_given_up=True)}),
        ("stuck", {"view": view(SandboxState.PAUSING, end_at=LONG_AGO.isoformat())}),
    ],
)
def test_each_word_has_its_case(expected: str, seen: dict[str, Any]) -> None:
    assert word(**seen) == expected


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"heartbeat": beat(age=600)}, "last sign of life is 10 min old"),
        ({"heartbeat": beat(), "reached": False}, "sign of life, but Cube's proxy cannot reach it"),
        ({"reached": False}, "nothing in it answers"),
        ({"listed": False}, "leaves it out of its list"),
        ({"view": ASLEEP, "past": Past(resume_undone=True)}, "went back to sleep at once"),
        ({"view": ASLEEP, "past": Past(cannot_resume=True)}, "home and workspace are safe"),
        ({"heartbeat": beat(Inside.NOT_READY, note="no bridge")}, "does not work (no bridge)"),
        (
            {"reached": True, "studio": False, "studio_note": "nothing listens on the port"},
            "(nothing listens",
        ),
        ({"reached": True, "studio": True, "heartbeat": beat(age=600)}, "its heartbeat has stopped"),
        ({"reached": True, "studio": True}, "it has no heartbeat"),
        ({"heartbeat": beat(sandbox="b" * 32)}, "the heartbeat in its home is another's"),
        ({"reached": True, "studio": True, "node_answered": False}, "Studio works; its node cannot be asked"),
    ],
)
def test_the_sentence_is_about_this_very_case(seen: dict[str, Any], words: str) -> None:
    assert words in judge(Sight(**({"view": view(), "now": NOW} | seen))).sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_800, "2 days")],
)
def test_a_length_of_time_has_one_unit(seconds: float, text: str) -> None:
    assert ago(seconds) == text


def test_a_studio_that_was_just_restarted_and_works_is_not_called_degraded_for_an_old_heartbeat() -> None:
    changed = NOW - timedelta(seconds=3)

    judged = judge(
        Sight(
            view=view(),
            now=NOW,
            heartbeat=beat(age=5),
            reached=True,
            studio=True,
            past=Past(changed_at=changed),
        )
    )

    assert judged.condition is Condition.STARTING
    assert "has stopped" not in judged.sentence
