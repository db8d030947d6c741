"""The node's look at heartbeats, public Skills and sizes, on ground that somebody hostile has prepared."""

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.node_looks import HOMES_AT_ONCE, PULSE_BYTES, batches, pulse_of
from bot.adapters.programs.node_answers import answer
from bot.adapters.programs.node_pulse import pulse
from bot.adapters.programs.node_sizes import Tally, Unfinished, sizes
from bot.domain.heartbeat import Inside

GOOD = {"sandbox": "ab" * 16, "studio": "ready", "at": "2026-03-01T10:00:00.5Z", "envd": True, "load": 0.5}


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared/hermes-homes").mkdir(parents=True)
    (tmp_path / "shared/hermes-common-skills").mkdir()
    return tmp_path / "shared"


def own_of(shared: Path, home: str) -> Path:
    own = shared / "hermes-homes" / home / ".hermes-bot"
    own.mkdir(parents=True, exist_ok=True)
    return own


def look(shared: Path, *homes: Any) -> list[Any]:
    told = answer(pulse, {"shared_root": str(shared), "homes": list(homes), "seconds": 5})
    beats = json.loads(json.dumps(told))["ok"]["heartbeats"]
    assert len(beats) == len(homes)
    return list(beats)


def test_age_and_skew_are_by_the_node_s_clock(shared: Path) -> None:
    file = own_of(shared, "alpha") / "heartbeat.json"
    file.write_text(json.dumps({**GOOD, "at": "1970-01-01T01:00:00.500000000Z"}))
    os.utime(file, (3590, 3590))

    (beat,) = look(shared, "alpha")

    assert beat["skew"] == 10.5
    assert abs(beat["age"] - (time.time() - 3590)) < 5


def _fifo(own: Path, outside: Path) -> None:
    os.mkfifo(own / "heartbeat.json")


def _socket(own: Path, outside: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        handle = os.open(own, os.O_PATH)  # a socket's path may have 107 bytes only
        made.bind(f"/proc/self/fd/{handle}/heartbeat.json")
        os.close(handle)


def _directory(own: Path, outside: Path) -> None:
    (own / "heartbeat.json").mkdir()


def _link(own: Path, outside: Path) -> None:
    (own / "heartbeat.json").symlink_to(outside / "heartbeat.json")


def _own_is_a_link(own: Path, outside: Path) -> None:
    own.rmdir()
    own.symlink_to(outside)


def _home_is_a_link(own: Path, outside: Path) -> None:
    own.rmdir()
    own.parent.rmdir()
    (outside / ".hermes-bot").mkdir()
    (outside / "heartbeat.json").rename(outside / ".hermes-bot/heartbeat.json")
    own.parent.symlink_to(outside)


def _device(own: Path, outside: Path) -> None:
    (own / "heartbeat.json").symlink_to("/dev/zero")


def _nothing(own: Path, outside: Path) -> None:
    own.rmdir()


def content(data: bytes) -> Callable[[Path, Path], None]:
    def write(own: Path, outside: Path) -> None:
        (own / "heartbeat.json").write_bytes(data)

    return write


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(prepare, id=name)
        for name, prepare in {
            "pipe": _fifo,
            "socket": _socket,
            "directory": _directory,
            "link": _link,
            "own directory a link": _own_is_a_link,
            "home a link": _home_is_a_link,
            "link to a device": _device,
            "nothing": _nothing,
            "too long": content(json.dumps(GOOD).encode() + b" " * 4096),
            "empty": content(b""),
            "no JSON": content(b"{'sandbox': 1}"),
            "no text": content(b"\xff\xfe{}"),
            "a list": content(b"[1, 2]"),
            "deep": content(b"[" * 4000),
            "deep maps": content(b'{"a":' * 800),
        }.items()
    ],
)
def test_what_is_no_heartbeat_is_none_and_hides_no_other(
    shared: Path, tmp_path: Path, prepare: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "heartbeat.json").write_text(json.dumps(GOOD))
    (own_of(shared, "healthy") / "heartbeat.json").write_text(json.dumps(GOOD))
    prepare(own_of(shared, "hostile"), outside)

    hostile, healthy = look(shared, "hostile", "healthy")

    assert hostile is None
    assert healthy["sandbox"] == GOOD["sandbox"]


def test_only_known_keys_of_their_kind_come_back(shared: Path) -> None:
    told = (
        '{"sandbox": "x\\u0000", "studio": 1, "note": "%s", "envd": 1, "load": NaN, "memory_free": 1e400,'
        % ("n" * 3000)
    )
    told += '"memory_total": true, "disk_free": -5, "pid": [7], "age": 1, "skew": 2, "at": "99999-01-01"}'
    (own_of(shared, "alpha") / "heartbeat.json").write_text(told)

    (beat,) = look(shared, "alpha")

    age = beat.pop("age")
    assert beat == {"note": "n" * 100, "disk_free": -5}
    assert -5 < age < 5


@pytest.mark.parametrize(
    "name", ["../outside", "default", "", "-a", "a/b", ".hermes-bot", "f" * 64, None, 7, ["a"]]
)
def test_a_label_that_is_no_home_id_is_left_out_and_opens_nothing(shared: Path, name: Any) -> None:
    (shared / "outside/.hermes-bot").mkdir(parents=True)
    (shared / "outside/.hermes-bot/heartbeat.json").write_text(json.dumps(GOOD))
    (own_of(shared, "default") / "heartbeat.json").write_text(json.dumps(GOOD))

    assert look(shared, name) == [None]


def test_a_node_without_any_home_is_looked_at_too(tmp_path: Path) -> None:
    told = pulse({"shared_root": str(tmp_path), "homes": ["alpha"]})

    assert told["free_bytes"] > 0
    assert (told["heartbeats"], told["skills_revision"]) == ([None], "")


def revision(shared: Path) -> str:
    return str(pulse({"shared_root": str(shared), "homes": []})["skills_revision"])


def test_the_revision_of_the_public_skills_follows_names_and_texts_only(shared: Path) -> None:
    public = shared / "hermes-common-skills"
    empty = revision(shared)
    for name in ("deploy-check", "log-triage"):
        (public / name).mkdir()
        (public / name / "SKILL.md").write_text(f"# {name}")
    first = revision(shared)

    (public / ".DS_Store").write_text("x")
    (public / "._log-triage").mkdir()
    (public / "README.md").write_text("no Skill")
    (public / "log-triage/notes.txt").write_text("beside it")
    os.utime(public / "log-triage/SKILL.md", (1, 1))
    same = revision(shared)
    (public / "log-triage/SKILL.md").write_text("# changed")
    changed = revision(shared)
    (public / "log-triage").rename(public / "triage")
    renamed = revision(shared)

    assert (empty, same) == ("", first)
    assert len(first) == 8
    assert int(first, 16) >= 0
    assert len({first, changed, renamed}) == 3


def test_the_revision_follows_no_link_and_waits_for_no_pipe(shared: Path, tmp_path: Path) -> None:
    public, outside = shared / "hermes-common-skills", tmp_path / "outside"
    outside.mkdir()
    (public / "linked").symlink_to(outside)
    (public / "piped").mkdir()
    os.mkfifo(public / "piped/SKILL.md")
    (public / "text-linked").mkdir()
    (public / "text-linked/SKILL.md").symlink_to(outside / "SKILL.md")
    before = revision(shared)

    (outside / "SKILL.md").write_text("elsewhere")

    assert before == revision(shared) != ""


def test_homes_are_asked_for_in_one_look_up_to_ten_thousand() -> None:
    homes = [f"home-{number}" for number in range(HOMES_AT_ONCE)]

    assert batches(homes) == [sorted(homes)]
    assert [len(batch) for batch in batches([*homes, "one-more"])] == [HOMES_AT_ONCE, 1]
    assert batches([]) == [[]]


def test_the_worst_that_ten_thousand_homes_can_tell_fits(shared: Path) -> None:
    worst = {
        "sandbox": '"' * 900,
        "studio": '"' * 900,
        "note": "\\" * 900,
        "version": '"' * 900,
        "envd": False,
    }
    worst |= dict.fromkeys(
        ("load", "memory_free", "memory_total", "disk_free", "pid"), -1.2345678901234567e-300
    )
    (own_of(shared, "alpha") / "heartbeat.json").write_text(json.dumps({**worst, "gateway": False}))

    (beat,) = look(shared, "alpha")

    assert (len(json.dumps(beat)) + 2) * HOMES_AT_ONCE < PULSE_BYTES


def test_several_looks_become_one_pulse() -> None:
    beat = {"age": 1.5, "studio": "ready", "skew": -2}
    looks = [
        (["a", "b"], {"free_bytes": 1, "skills_revision": "", "heartbeats": [beat, None]}),
        (["c"], {"free_bytes": 2, "skills_revision": "0a1b2c3d", "heartbeats": [beat]}),
    ]

    seen = pulse_of(looks)

    assert (seen.free_bytes, seen.skills_revision, sorted(seen.heartbeats)) == (2, "0a1b2c3d", ["a", "c"])
    assert seen.heartbeats["c"].studio is Inside.READY
    assert seen.heartbeats["c"].skew == -2


def size_of(shared: Path, home: str = "alpha") -> dict[str, Any]:
    return sizes({"shared_root": str(shared), "home_id": home, "workspace_id": home, "seconds": 5})


def test_a_size_is_what_the_disk_gives_for_it(shared: Path, tmp_path: Path) -> None:
    home = shared / "hermes-homes/alpha"
    (home / "deep/deeper").mkdir(parents=True)
    bare = size_of(shared)["home"]
    (home / "deep/deeper/file").write_bytes(b"x" * 100_000)
    with_file = size_of(shared)["home"]

    (home / "again").hardlink_to(home / "deep/deeper/file")
    (tmp_path / "big").write_bytes(b"x" * 1_000_000)
    (home / "link").symlink_to(tmp_path / "big")
    (home / "link-to-all").symlink_to("/")
    os.mkfifo(home / "pipe")
    with (home / "sparse").open("wb") as sparse:
        sparse.truncate(10**9)
    with_tricks = size_of(shared)["home"]

    assert 100_000 <= with_file - bare < 140_000
    assert 0 <= with_tricks - with_file < 50_000
    assert size_of(shared)["workspace"] == 0


def test_a_side_that_cannot_be_counted_to_its_end_is_not_told(shared: Path) -> None:
    place = shared / "hermes-homes/alpha"
    place.mkdir()
    (shared / "hermes-workspaces/alpha").mkdir(parents=True)
    handle = os.open(place, os.O_RDONLY)
    for _ in range(260):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)

    told = size_of(shared)

    assert told["home"] is None
    assert told["workspace"] is not None


@pytest.mark.parametrize(("seconds", "most"), [(-1.0, 10), (60.0, 3)])
def test_counting_ends_with_its_time_and_its_number(tmp_path: Path, seconds: float, most: int) -> None:
    for number in range(5):
        (tmp_path / f"f{number}").write_text("x")
    handle = os.open(tmp_path, os.O_RDONLY)

    with pytest.raises(Unfinished):
        Tally(handle, seconds, most).of(handle, 0)

    os.close(handle)


def test_a_home_that_is_a_link_has_no_size(shared: Path, tmp_path: Path) -> None:
    (shared / "hermes-homes/alpha").symlink_to(tmp_path)
    args = {"shared_root": str(shared), "home_id": "alpha", "workspace_id": "alpha", "seconds": 5}

    assert answer(sizes, args)["error"]["code"] == "unsafe-path"
