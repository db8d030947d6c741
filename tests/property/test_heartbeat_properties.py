"""Whatever stands in a heartbeat file, what is read from it is believable or nothing."""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.adapters.programs.node_pulse import NUMBERS, TEXTS, pulse
from bot.domain.heartbeat import Heartbeat, Inside, heartbeat

NAMES = ("at", "studio", "envd", "gateway", *NUMBERS, *(name for name, _ in TEXTS))
NUMBER = st.integers() | st.floats() | st.sampled_from([10**400, -(10**19), 1e308, math.inf, math.nan])
LEAF = st.none() | st.booleans() | NUMBER | st.text(max_size=300) | st.sampled_from(list(Inside))
JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)
TOLD = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=9), JSON, max_size=14)


def open_handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def believable(beat: Heartbeat) -> bool:
    sizes = (beat.memory_free, beat.memory_total, beat.disk_free, beat.pid)
    texts = (beat.sandbox, beat.note, beat.version)
    return (
        all(size is None or (type(size) is int and 0 <= size <= 10**18) for size in sizes)
        and all(len(text) <= 200 and text.isprintable() for text in texts)
        and isinstance(beat.studio, Inside)
        and beat.envd in (None, True, False)
        and beat.gateway in (None, True, False)
        and (beat.load is None or math.isfinite(beat.load))
        and (beat.skew is None or math.isfinite(beat.skew))
    )


@given(TOLD, st.floats(allow_nan=False, allow_infinity=False), st.none() | st.floats())
def test_any_map_becomes_a_believable_heartbeat(told: dict[str, Any], age: float, skew: float | None) -> None:
    beat = heartbeat(told, age=age, skew=skew)

    assert believable(beat)
    assert beat.age == age


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON | TOLD | st.binary(max_size=5000), min_size=1, max_size=6))
def test_any_file_becomes_a_believable_heartbeat_or_none(contents: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        shared = Path(directory)
        homes = [f"home-{number}" for number in range(len(contents))]
        for home, content in zip(homes, contents, strict=True):
            own = shared / "hermes-homes" / home / ".hermes-bot"
            own.mkdir(parents=True)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            (own / "heartbeat.json").write_bytes(data)
        handles = open_handles()

        told = json.loads(json.dumps(pulse({"shared_root": directory, "homes": homes})["heartbeats"]))

    beats = [None if one is None else heartbeat(one, age=one["age"], skew=one.get("skew")) for one in told]
    assert all(beat is None or believable(beat) for beat in beats)
    assert all(len(json.dumps(one)) < 700 for one in told)
    assert open_handles() == handles
