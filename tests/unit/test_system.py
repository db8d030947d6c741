"""The machine's clock with an offset, and fresh ids."""

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.system import RandomIds, SystemClock


def test_the_offset_is_read_whenever_the_clock_is(tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    offset.write_text("3600\n")
    clock = SystemClock(offset)

    first = clock.now()
    offset.write_text("7200\n")
    second = clock.now()

    assert timedelta(minutes=59) < first - datetime.now(UTC) < timedelta(minutes=61)
    assert timedelta(minutes=59) < second - first < timedelta(minutes=61)


@pytest.mark.parametrize("content", ["", "soon", None])
def test_an_offset_that_cannot_be_read_leaves_the_last_one(tmp_path: Path, content: str | None) -> None:
    offset = tmp_path / "offset"
    offset.write_text("3600")
    clock = SystemClock(offset)
    clock.now()
    offset.unlink()
    if content is not None:
        offset.write_text(content)

    now = clock.now()

    assert now - datetime.now(UTC) > timedelta(minutes=59)


def test_without_a_file_the_time_is_the_machine_s() -> None:
    assert abs(SystemClock().now() - datetime.now(UTC)) < timedelta(seconds=5)


def test_durations_do_not_follow_the_offset(tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    offset.write_text("3600")

    assert abs(SystemClock(offset).monotonic() - time.monotonic()) < 5


def test_request_ids_are_unique_sort_by_time_and_fit_into_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = RandomIds()
    made = {ids.request_id() for _ in range(1000)}
    monkeypatch.setattr(time, "time_ns", lambda: 2_000_000_000_000_000_000)

    later = ids.request_id()

    assert len(made) == 1000
    assert all(re.fullmatch(r"r-[0-9a-f]{11}-[0-9a-f]{10}", text) for text in made)
    assert max(made) < later


def test_markers_are_hex_and_differ() -> None:
    ids = RandomIds()

    assert re.fullmatch(r"[0-9a-f]{32}", ids.marker())
    assert ids.marker() != ids.marker()
