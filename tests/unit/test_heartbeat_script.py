"""What the heartbeat makes of Studio's answers, and of what stands where it writes."""

import json
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.adapters.programs.assemble import heartbeat_script
from bot.adapters.programs.guest_studio import judge
from bot.domain.heartbeat import Inside, heartbeat

SANDBOX = "5a" * 16
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
READY = {"version": "v0.19.0 (2026.7.20)", "agent_bridge": {"status": "ready", "ready": True}}


def judged(answers: Sequence[str]) -> list[tuple[str, str, str]]:
    """State, note and version for each of these answers to ``/health``, by the script's own functions."""
    functions = heartbeat_script().partition("trap 'exit 0' TERM")[0]
    loop = """
    ask() { answer=$given; }
    while IFS= read -r -d '' given; do
      look_at_studio
      printf '%s\\0%s\\0%s\\0' "$studio" "$note" "$version"
    done
    """
    said = subprocess.run(
        ["bash", "-c", functions + loop, "heartbeat.sh", "/h", SANDBOX, "9000", "20"],
        input="".join(answer + "\0" for answer in answers).encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert said.stderr == b""
    parts = said.stdout.decode().split("\0")[:-1]
    return list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (HEAD + json.dumps(READY), ("ready", "", "v0.19.0 (2026.7.20)")),
        (HEAD + json.dumps(READY, indent=2), ("ready", "", "v0.19.0 (2026.7.20)")),
        ("", ("silent", "nothing has answered", "")),
        (
            HEAD + "<!doctype html><title>Studio</title>",
            ("not-ready", "/health has not answered with JSON", ""),
        ),
        (HEAD + json.dumps([READY]), ("not-ready", "/health has not answered with JSON", "")),
        (HEAD + json.dumps(READY)[:-1], ("not-ready", "/health has not answered with JSON", "")),
        (
            HEAD + json.dumps({**READY, "agent_bridge": {"status": "start\"ing'", "ready": False}}),
            ("not-ready", "the agent bridge is not ready (start_ing)", "v0.19.0 (2026.7.20)"),
        ),
        (HEAD + json.dumps({"version": "v1"}), ("not-ready", "the agent bridge is not ready (absent)", "v1")),
        (
            HEAD + json.dumps({**READY, "version": ""}),
            ("not-ready", "the agent does not tell its version", ""),
        ),
        (
            HEAD + json.dumps({"status": "ok", "gateway": "running", "agent_bridge": {"ready": "true"}}),
            ("not-ready", "the agent bridge is not ready (absent)", ""),
        ),
        (HEAD + '{"agent_bridge":{"ready":true},"version":"1","agent_bridge":null}', ("not-ready",)),
        (HEAD + json.dumps({"deep": READY, "ready": True}), ("not-ready",)),
        (HEAD + '{"a":' + "[" * 16_000, ("not-ready",)),
        (HEAD + "{" + '"a":1,' * 2_500 + '"b":2}', ("not-ready",)),
    ],
)
def test_studio_is_judged_by_what_health_says_of_the_agent(answer: str, expected: tuple[str, ...]) -> None:
    (found,) = judged([answer])

    assert found[: len(expected)] == expected


TEXT = st.text(st.characters(min_codepoint=1, max_codepoint=0x2FF), max_size=12)
LEAF = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | TEXT
KEY = st.sampled_from(["version", "ready", "status", "agent_bridge", "x"]) | TEXT
ANYTHING = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=4), max_leaves=12
)
HEALTH = st.fixed_dictionaries(
    {"version": st.sampled_from(["v1", "", None]) | TEXT},
    optional={"agent_bridge": st.dictionaries(KEY, ANYTHING, max_size=4) | ANYTHING, "more": ANYTHING},
)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(HEALTH | ANYTHING, st.booleans()), min_size=20, max_size=40))
def test_the_script_and_the_starter_agree_about_every_answer(told: list[tuple[Any, bool]]) -> None:
    bodies = [HEAD + json.dumps(health, ensure_ascii=ascii_only) for health, ascii_only in told]

    found = judged(bodies)

    def texts_only(health: Any) -> bool:  # a version that is no text is none, for the script
        return not isinstance(health, dict) or isinstance(health.get("version"), str | None)

    assert [state == "ready" for (state, _, _), (health, _) in zip(found, told, strict=True)] == [
        judge(health) == "" and texts_only(health) for health, _ in told
    ]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.hermes-bot").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def begin(home: Path, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Starts a heartbeat on the home, with nothing on Studio's port; its beats are seconds apart."""
    program = tmp_path / "run/heartbeat.sh"
    program.parent.mkdir()
    program.write_text(heartbeat_script())
    begun: list[subprocess.Popen[bytes]] = []

    def start(every: int = 20) -> "subprocess.Popen[bytes]":
        begun.append(
            subprocess.Popen(
                ["bash", str(program), str(home), SANDBOX, "1", str(every)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.environ["PATH"]},
            )
        )
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.wait()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def told_by(home: Path) -> dict[str, Any]:
    try:
        told = json.loads((home / ".hermes-bot/heartbeat.json").read_text())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def test_a_beat_tells_everything_in_the_shape_that_is_believed(
    home: Path, begin: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    begun = begin()

    wait_until(lambda: bool(told_by(home)))

    file = home / ".hermes-bot/heartbeat.json"
    told, beat = told_by(home), heartbeat(told_by(home), age=0.0)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert abs(datetime.fromisoformat(told["at"]).timestamp() - file.stat().st_mtime) < 1
    assert datetime.fromisoformat(told["at"]).tzinfo == UTC
    assert (beat.sandbox, beat.studio, beat.note) == (SANDBOX, Inside.SILENT, "nothing has answered")
    assert (beat.envd, beat.pid) == (False, begun.pid)
    assert beat.gateway is not None  # one may run on this machine
    assert beat.load is not None
    assert beat.memory_free is not None
    assert beat.memory_total is not None
    assert 0 < beat.memory_free <= beat.memory_total
    assert abs((beat.disk_free or 0) - shutil.disk_usage(home).free) < 2**30
    assert [path.name for path in file.parent.iterdir()] == ["heartbeat.json"]


@pytest.mark.parametrize("name", ["heartbeat.json", ".heartbeat.new"])
@pytest.mark.parametrize("kind", ["link to a file", "link to a directory", "dangling link", "pipe"])
def test_what_stands_in_its_place_is_replaced_and_never_followed(
    home: Path, tmp_path: Path, begin: Callable[..., "subprocess.Popen[bytes]"], name: str, kind: str
) -> None:
    place, elsewhere = home / ".hermes-bot" / name, tmp_path / "elsewhere"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(elsewhere)
    if kind == "link to a file":
        elsewhere.write_text("as it was")
    elif kind == "link to a directory":
        elsewhere.mkdir()

    begin()

    beat = home / ".hermes-bot/heartbeat.json"
    wait_until(lambda: beat.is_file() and not beat.is_symlink() and bool(told_by(home)))
    assert [path.name for path in (home / ".hermes-bot").iterdir()] == ["heartbeat.json"]
    assert not elsewhere.is_file() or elsewhere.read_text() == "as it was"
    assert not elsewhere.is_dir() or not list(elsewhere.iterdir())


def test_a_directory_in_its_place_stays_and_the_beat_goes_on(
    home: Path, begin: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    place = home / ".hermes-bot/heartbeat.json"
    (place / "kept").mkdir(parents=True)
    begun = begin(every=1)
    wait_until((home.parent / "run/heartbeat.pid").exists)
    place.rename(home / "aside")

    wait_until(lambda: bool(told_by(home)))

    assert begun.poll() is None
    assert (home / "aside/kept").is_dir()


@pytest.mark.parametrize("how", ["gone", "a link"])
def test_it_ends_by_itself_when_its_directory_is_gone(
    home: Path, begin: Callable[..., "subprocess.Popen[bytes]"], how: str
) -> None:
    begun = begin(every=1)
    wait_until(lambda: bool(told_by(home)))

    (home / ".hermes-bot").rename(home / "moved")
    if how == "a link":
        (home / ".hermes-bot").symlink_to(home / "moved")

    assert begun.wait(10) == 0


def test_a_second_one_takes_the_place_of_the_first(
    home: Path, begin: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    first = begin(every=1)
    wait_until(lambda: told_by(home).get("pid") == first.pid)

    second = begin(every=1)

    assert first.wait(10) == 0
    wait_until(lambda: told_by(home).get("pid") == second.pid)
    assert second.poll() is None
