"""The node's program on directories that somebody hostile has prepared."""

import fcntl
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.programs.assemble import NODE_FILES, NODE_VERBS, program
from bot.adapters.programs.node_answers import answer, collect, plant, read_access
from bot.adapters.programs.node_prepare import has_home, launch_env, prepare
from bot.adapters.programs.node_seed import seed, stays_inside
from bot.adapters.programs.shapes import marker_text

MARKER = "ab" * 16


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shared = tmp_path / "shared"
    (shared / "hermes-common-skills").mkdir(parents=True)
    default = shared / "hermes-homes/default"
    (default / "skills/team").mkdir(parents=True)
    (default / ".hermes-bot").mkdir()
    (default / ".hermes-bot/access.json").write_text("not for others")
    (default / "config.yaml").write_text("model: x\n")
    (default / "config.yaml").chmod(0o640)
    (default / "skills/team/SKILL.md").write_text("# team")
    (default / "run.sh").write_text("#!/bin/sh\n")
    (default / "run.sh").chmod(0o755)
    return shared


def args(root: Path, home: str = "alpha", **more: Any) -> dict[str, Any]:
    base = {"shared_root": str(root), "home_id": home, "workspace_id": home, "seconds": 5}
    return {**base, "env": {}, "min_free_bytes": 0, "marker": MARKER, **more}


def code_of(verb: Callable[[dict[str, Any]], dict[str, Any]], arguments: dict[str, Any]) -> str:
    return str(answer(verb, arguments).get("error", {}).get("code", ""))


def tree(path: Path) -> dict[str, tuple[int, bytes, int]]:
    """Mode, content (or link text) and mtime of everything below."""
    found = {}
    for entry in sorted(path.rglob("*")):
        status = entry.lstat()
        content = str(entry.readlink()).encode() if entry.is_symlink() else b""
        if entry.is_file() and not entry.is_symlink():
            content = entry.read_bytes()
        found[str(entry.relative_to(path))] = (status.st_mode, content, status.st_mtime_ns)
    return found


def test_directories_are_private_and_files_are_the_owner_s(root: Path) -> None:
    prepare(args(root, env={"A": "b"}))

    home = root / "hermes-homes/alpha"
    modes = [
        stat.S_IMODE(p.stat().st_mode) for p in (home, home / ".hermes-bot", home / ".hermes-bot/studio.env")
    ]
    assert modes == [0o700, 0o700, 0o600]
    assert json.loads((home / ".hermes-bot/studio.env").read_text()) == {"A": "b"}
    assert not [p for p in (home / ".hermes-bot").iterdir() if p.name != "studio.env"]


def test_preparing_an_initialised_home_changes_nothing_but_the_bot_s_directory(root: Path) -> None:
    prepare(args(root))
    seed(args(root))
    home = root / "hermes-homes/alpha"
    home.chmod(0o755)
    before = {k: v for k, v in tree(home).items() if not k.startswith(".hermes-bot")}
    stamp = home.stat().st_mtime_ns

    prepared = prepare(args(root, env={"NEW": "1"}))

    assert prepared["home_initialised"]
    assert {k: v for k, v in tree(home).items() if not k.startswith(".hermes-bot")} == before
    assert home.stat().st_mtime_ns == stamp
    assert stat.S_IMODE(home.stat().st_mode) == 0o755


def test_an_equal_environment_is_not_written_again(root: Path) -> None:
    prepare(args(root, env={"A": "b"}))
    env_file = root / "hermes-homes/alpha/.hermes-bot/studio.env"
    before = env_file.stat().st_ino

    prepare(args(root, env={"A": "b"}))

    assert env_file.stat().st_ino == before


@pytest.mark.parametrize(
    "home",
    ["default", "..", "a/b", "a" * 64, "UPPER", "trailing-", "", "0" * 32, "a\n", ".hidden", "-a", "ä"],
)
def test_an_id_that_is_none_is_refused_again_on_the_node(root: Path, home: str) -> None:
    assert code_of(prepare, args(root, home)) == "unsafe-path"
    assert sorted(p.name for p in (root / "hermes-homes").iterdir()) == ["default"]


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "BASH_ENV", "1A", "A B", "", "A=B", "DYLD_X"])
def test_a_name_that_decides_which_programs_run_is_not_stored(root: Path, name: str) -> None:
    assert code_of(prepare, args(root, env={name: "x"})) == "program-failed"
    assert not (root / "hermes-homes/alpha").exists()


@pytest.mark.parametrize(
    "where",
    [
        "hermes-homes",
        "hermes-homes/alpha",
        "hermes-homes/alpha/.hermes-bot",
        "hermes-workspaces",
        "hermes-workspaces/alpha",
        "hermes-common-skills",
    ],
)
@pytest.mark.parametrize("kind", ["link", "dangling link", "file", "fifo"])
def test_a_component_that_is_no_directory_is_refused_and_nothing_done(
    root: Path, where: str, kind: str
) -> None:
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    place = root / where
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(root.parent / "moved")
    if kind == "file":
        place.write_text("x")
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(elsewhere if kind == "link" else root / "nowhere")

    code = code_of(prepare, args(root, env={"A": "b"}))

    assert code == "unsafe-path"
    assert not list(elsewhere.iterdir())
    assert not (root / "nowhere").exists()


@pytest.mark.parametrize("kind", ["link", "directory", "fifo"])
def test_a_hostile_environment_file_is_not_followed(root: Path, kind: str) -> None:
    prepare(args(root))
    secret = root.parent / "secret"
    secret.write_text('{"STOLEN": "yes"}')
    env_file = root / "hermes-homes/alpha/.hermes-bot/studio.env"
    env_file.unlink()
    if kind == "link":
        env_file.symlink_to(secret)
    elif kind == "fifo":
        os.mkfifo(env_file)
    else:
        env_file.mkdir()

    read = code_of(launch_env, args(root))
    code_of(prepare, args(root, env={"A": "b"}))

    assert read == "unsafe-path"
    assert secret.read_text() == '{"STOLEN": "yes"}'


def test_a_hostile_environment_file_is_not_believed(root: Path) -> None:
    prepare(args(root))
    env_file = root / "hermes-homes/alpha/.hermes-bot/studio.env"
    bad = [b"[]", b"{", b'{"PATH": "/x"}', b'{"A": 1}', b'{"A": "\\u0000"}', b"\xff", b"[" * 50_000]
    codes = []

    for content in bad:
        env_file.write_bytes(content)
        codes.append(code_of(launch_env, args(root)))
    env_file.write_bytes(b" " * 300_000)

    assert codes == ["program-failed"] * len(bad)
    assert code_of(launch_env, args(root)) == "unsafe-path"


def test_seeding_copies_all_but_the_bot_s_directory(root: Path) -> None:
    prepare(args(root))
    default, home = root / "hermes-homes/default", root / "hermes-homes/alpha"

    done = seed(args(root))

    assert done == {"outcome": "seeded", "files": 3, "skipped": []}
    expected = {k: v for k, v in tree(default).items() if not k.startswith(".hermes-bot")}
    assert {k: v for k, v in tree(home).items() if not k.startswith(".hermes-bot")} == expected
    assert sorted(p.name for p in (home / ".hermes-bot").iterdir()) == ["studio.env"]


def test_what_is_there_is_never_overwritten(root: Path) -> None:
    prepare(args(root))
    home = root / "hermes-homes/alpha"
    (home / "run.sh").write_text("mine")

    done = seed(args(root))

    assert done["files"] == 2
    assert (home / "run.sh").read_text() == "mine"


@pytest.mark.parametrize("content", ["", "model: y\n"])
def test_an_initialised_home_is_never_seeded(root: Path, content: str) -> None:
    prepare(args(root))
    home = root / "hermes-homes/alpha"
    (home / "config.yaml").write_text(content)

    done = seed(args(root))

    assert done["outcome"] == "already initialised"
    assert sorted(p.name for p in home.iterdir()) == [".hermes-bot", "config.yaml"]


def test_links_are_kept_when_they_stay_inside_and_reported_when_not(root: Path) -> None:
    default, home = root / "hermes-homes/default", root / "hermes-homes/alpha"
    (default / "inside").symlink_to("skills/team")
    (default / "skills/up").symlink_to("../run.sh")
    (default / "outside").symlink_to("../other/config.yaml")
    (default / "absolute").symlink_to("/etc/passwd")
    os.mkfifo(default / "pipe")
    prepare(args(root))

    done = seed(args(root))

    assert done["skipped"] == ["absolute", "outside", "pipe"]
    assert str((home / "inside").readlink()) == "skills/team"
    assert str((home / "skills/up").readlink()) == "../run.sh"
    assert not [n for n in ("absolute", "outside", "pipe") if os.path.lexists(home / n)]


@pytest.mark.parametrize(
    ("directory", "target", "inside"),
    [
        ("", "a", True),
        ("", "a/../../b", False),
        ("a", "../b", True),
        ("a", "../../b", False),
        ("", "..", False),
        ("", "..hidden", True),
        ("", "/a", False),
        ("", "", False),
        ("a/b", "../../..", False),
        ("a/b", "../..", True),
    ],
)
def test_where_a_link_leads_is_decided_by_its_text(directory: str, target: str, *, inside: bool) -> None:
    assert stays_inside(directory, target) is inside


def test_a_link_in_the_home_where_a_directory_must_be_stops_the_seeding_first(root: Path) -> None:
    prepare(args(root))
    home, elsewhere = root / "hermes-homes/alpha", root.parent / "elsewhere"
    elsewhere.mkdir()
    (home / "skills").symlink_to(elsewhere)

    code = code_of(seed, args(root))

    assert code == "unsafe-path"
    assert not list(elsewhere.iterdir())
    assert sorted(p.name for p in home.iterdir()) == [".hermes-bot", "skills"]


@pytest.mark.parametrize("missing", ["home", "config"])
def test_without_a_default_home_nothing_is_copied(root: Path, missing: str) -> None:
    default = root / "hermes-homes/default"
    (default / "config.yaml").unlink()
    if missing == "home":
        default.rename(root / "away")
    prepare(args(root))

    code = code_of(seed, args(root))

    assert code == "default-home-missing"
    assert [p.name for p in (root / "hermes-homes/alpha").iterdir()] == [".hermes-bot"]


def test_a_seeding_waits_for_another_one_and_then_gives_up(root: Path) -> None:
    prepare(args(root))
    other = os.open(root / "hermes-homes/alpha", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)

    code = code_of(seed, args(root, seconds=0.1))

    os.close(other)
    assert code == "node-timeout"


def test_a_seeding_that_was_killed_anywhere_is_completed(root: Path) -> None:
    default, home = root / "hermes-homes/default", root / "hermes-homes/alpha"
    for number in range(150):
        (default / f"file-{number}").write_bytes(bytes([number]) * 5000)
    expected = {k: v for k, v in tree(default).items() if not k.startswith(".hermes-bot")}
    chance = random.Random(7)  # noqa: S311 - where to kill, not a secret
    prepare(args(root))
    outcomes = set()

    for _ in range(6):
        for entry in home.iterdir():
            if entry.name != ".hermes-bot":
                subprocess.run(["rm", "-rf", str(entry)], check=True)
        running = started(root, "seed")
        deadline = time.monotonic() + 10
        wanted = chance.randrange(1, 150)
        while len(list(home.iterdir())) < wanted and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.0005)
        running.send_signal(signal.SIGKILL)
        running.wait()
        interrupted = not (home / "config.yaml").exists()
        done = seed(args(root))
        outcomes.add((interrupted, done["outcome"]))
        assert {k: v for k, v in tree(home).items() if not k.startswith(".hermes-bot")} == expected
        assert sorted(p.name for p in (home / ".hermes-bot").iterdir()) == ["studio.env"]

    assert (True, "completed") in outcomes
    assert outcomes <= {(True, "completed"), (False, "already initialised")}


def started(root: Path, verb: str) -> subprocess.Popen[bytes]:
    """The program as the node runs it."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", program(NODE_FILES, NODE_VERBS), verb],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(args(root)).encode())
    process.stdin.close()
    return process


def test_markers_are_answered_by_content_and_removed(root: Path) -> None:
    prepare(args(root))
    plant(args(root))
    own, workspace = root / "hermes-homes/alpha/.hermes-bot", root / "hermes-workspaces/alpha"
    (own / f"marker-{MARKER}.guest").write_bytes(marker_text("guest", MARKER))
    (workspace / f".hermes-bot-marker-{MARKER}.guest").write_bytes(marker_text("node", MARKER))

    found = collect(args(root))

    assert found == {"home": True, "workspace": False}
    assert not [p for p in (*own.iterdir(), *workspace.iterdir()) if "marker" in p.name]


def test_a_hostile_marker_is_no_answer(root: Path) -> None:
    prepare(args(root))
    plant(args(root))
    truth = root.parent / "truth"
    truth.write_bytes(marker_text("guest", MARKER))
    own, workspace = root / "hermes-homes/alpha/.hermes-bot", root / "hermes-workspaces/alpha"
    (own / f"marker-{MARKER}.guest").symlink_to(truth)
    os.mkfifo(workspace / f".hermes-bot-marker-{MARKER}.guest")

    found = collect(args(root))

    assert found == {"home": False, "workspace": False}
    assert truth.exists()


def test_markers_of_a_bot_that_was_killed_are_swept_an_hour_later(root: Path) -> None:
    prepare(args(root))
    workspace = root / "hermes-workspaces/alpha"
    old, young = "cd" * 16, "ef" * 16
    for marker, age in ((old, 4000), (young, 10)):
        plant(args(root, marker=marker))
        left = workspace / f".hermes-bot-marker-{marker}.node"
        os.utime(left, (time.time() - age, time.time() - age))

    plant(args(root))

    names = sorted(p.name for p in workspace.iterdir())
    assert names == sorted(f".hermes-bot-marker-{m}.node" for m in (MARKER, young))


@pytest.mark.parametrize("marker", ["../../etc/passwd", "", "AB" * 16, "ab", 7])
def test_a_marker_that_is_none_is_refused(root: Path, marker: object) -> None:
    prepare(args(root))

    assert code_of(plant, args(root, marker=marker)) == "unsafe-path"


@pytest.mark.parametrize(
    "content",
    [
        {"generation": "token", "token": "a" * 63},
        {"generation": "token", "token": "g" * 64},
        {"generation": "users", "username": "admin"},
        {"generation": "users", "username": "a b", "password": "long-enough-1"},
        {"generation": "users", "username": "admin", "password": "short"},
        {"generation": "users", "username": "admin", "password": "<https://evil>\n"},
        {"generation": "users", "username": "admin", "sign_in": "known"},
        {"generation": "users", "username": "a b", "sign_in": "changed-by-owner"},
        {"generation": "users", "sign_in": "changed-by-owner"},
        {"generation": "token", "username": "admin", "sign_in": "changed-by-owner"},
        {"generation": "other", "token": "a" * 64},
        {"generation": ["users"], "username": "admin", "password": "long-enough-1"},
        ["token"],
    ],
)
def test_a_sign_in_is_believed_only_in_the_shape_that_we_write(root: Path, content: object) -> None:
    prepare(args(root))
    (root / "hermes-homes/alpha/.hermes-bot/access.json").write_text(json.dumps(content))

    assert code_of(read_access, args(root)) == "program-failed"


def test_a_stored_sign_in_is_read_without_what_else_stands_there(root: Path) -> None:
    prepare(args(root))
    content = {"generation": "users", "username": "admin", "password": "EXAMPLE-long-1", "evil": "x"}
    (root / "hermes-homes/alpha/.hermes-bot/access.json").write_text(json.dumps(content))

    access = read_access(args(root))["access"]

    assert access == {k: v for k, v in content.items() if k != "evil"}


@pytest.mark.parametrize("username", ["admin", ""])
def test_a_record_of_a_password_that_is_not_ours_holds_none(root: Path, username: str) -> None:
    prepare(args(root))
    content = {"generation": "users", "username": username, "sign_in": "changed-by-owner"}
    place = root / "hermes-homes/alpha/.hermes-bot/access.json"
    place.write_text(json.dumps({**content, "password": "EXAMPLE-dead-1"}))

    assert read_access(args(root))["access"] == content


def test_a_missing_home_is_no_error(root: Path) -> None:
    assert has_home(args(root, "nobody")) == {"there": False}
    assert launch_env(args(root, "nobody")) == {"env": None}
    assert read_access(args(root, "nobody")) == {"access": None}


def test_directory_swapped_for_a_link_again_and_again_never_lets_a_write_out(root: Path) -> None:
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    prepare(args(root))
    own = root / "hermes-homes/alpha/.hermes-bot"
    script = (
        "import os,sys\n"
        "a, b, link = sys.argv[1:]\n"
        "os.symlink(sys.argv[2], link)\n"
        "print(flush=True)\n"
        "while True:\n"
        "    os.rename(a, a + '.real'); os.rename(link, a)\n"
        "    os.rename(a, link); os.rename(a + '.real', a)\n"
    )
    swapper = subprocess.Popen(
        [sys.executable, "-c", script, str(own), str(elsewhere), str(own) + ".link"], stdout=subprocess.PIPE
    )
    assert swapper.stdout is not None
    swapper.stdout.readline()
    codes = set()

    try:
        for number in range(400):
            codes.add(code_of(prepare, args(root, env={"N": str(number)})))
    finally:
        swapper.kill()
        swapper.wait()

    assert not list(elsewhere.iterdir())
    assert "" in codes
