"""The programs that look at a home, on ground that somebody hostile has prepared."""

import base64
import errno
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from e2e.manifests import manifest

from bot.adapters.config_yaml import judge_config
from bot.adapters.guest_evidence import guest_evidence
from bot.adapters.node_evidence import node_evidence
from bot.adapters.programs.assemble import EXAMINE_FILES, EXAMINE_NODE_FILES, program
from bot.adapters.programs.guest_examine import config_kind, log_line, log_tail, try_write
from bot.adapters.programs.guest_network import reached
from bot.adapters.programs.node_examine import MAX_CONFIG, examine
from bot.domain.endpoints import address_of
from bot.domain.evidence import NodeEvidence
from bot.domain.heartbeat import Inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shared = tmp_path / "shared"
    (shared / "hermes-common-skills/notes").mkdir(parents=True)
    (shared / "hermes-workspaces/alpha").mkdir(parents=True)
    home = shared / "hermes-homes/alpha"
    (home / ".hermes-bot").mkdir(parents=True)
    home.chmod(0o700)
    (home / ".hermes-bot").chmod(0o700)
    (home / ".hermes-bot/studio.env").write_text('{"A": "1"}')
    (home / "config.yaml").write_text("model: x\n")
    return shared


def look(root: Path) -> NodeEvidence:
    answer = examine({"shared_root": str(root), "home_id": "alpha", "workspace_id": "alpha"})
    return node_evidence(json.loads(json.dumps(answer)))


def test_a_home_that_is_well(root: Path) -> None:
    seen = look(root)

    assert (seen.home.kind, seen.home.mode, seen.workspace.kind, seen.public_names) == (
        "dir",
        0o700,
        "dir",
        1,
    )
    assert (seen.bot_directory.mode, seen.launch_file, seen.access_file) == (0o700, "ok", "absent")
    assert (seen.config.state, seen.home_disk.read_only) == ("ok", False)
    assert seen.home_disk.free
    assert abs(seen.now - time.time()) < 5


@pytest.mark.parametrize("part", ["hermes-homes", "hermes-homes/alpha", "hermes-workspaces/alpha"])
def test_a_link_in_the_path_is_named_and_not_followed(root: Path, part: str) -> None:
    moved = (root / part).rename(root / "moved")
    (root / part).symlink_to(moved)

    seen = look(root)

    kinds = {seen.home.kind, seen.workspace.kind}
    assert kinds & {"link", "unsafe"}
    if "homes" in part:
        assert (seen.config.state, seen.bot_directory.kind) == ("absent", "missing")


def test_a_bot_directory_that_is_a_link_is_not_looked_into(root: Path, tmp_path: Path) -> None:
    own = root / "hermes-homes/alpha/.hermes-bot"
    own.rename(tmp_path / "elsewhere")
    own.symlink_to(tmp_path / "elsewhere")

    seen = look(root)

    assert (seen.bot_directory.kind, seen.launch_file) == ("link", "absent")


def test_files_of_the_bot_that_are_something_else_are_told(root: Path) -> None:
    own = root / "hermes-homes/alpha/.hermes-bot"
    (own / "studio.env").unlink()
    os.mkfifo(own / "studio.env")
    (own / "access.json").symlink_to("/etc/hostname")

    seen = look(root)

    assert "not a regular file" in seen.launch_file
    assert "symbolic link" in seen.access_file


@pytest.mark.parametrize(
    ("make", "state"),
    [
        (lambda path: path.mkdir(), "not-a-file"),
        (os.mkfifo, "not-a-file"),
        (lambda path: path.symlink_to("/etc/hostname"), "link"),
        (lambda path: path.write_bytes(b"a" * (MAX_CONFIG + 1)), "too-large"),
        (lambda path: path.write_bytes(b"a: \xff"), "broken"),
        (lambda path: path.write_text("a: [1"), "broken"),
        (lambda path: path.write_text(""), "ok"),
        (lambda _: None, "absent"),
    ],
)
def test_the_settings_may_be_anything(root: Path, make: Any, state: str) -> None:
    path = root / "hermes-homes/alpha/config.yaml"
    path.unlink()
    make(path)

    assert look(root).config.state == state


@pytest.mark.parametrize(("mode", "told"), [("WAL", "wal"), ("DELETE", "rollback")])
def test_the_journal_mode_is_read_from_the_header_and_nothing_is_opened(
    root: Path, mode: str, told: str
) -> None:
    home = root / "hermes-homes/alpha"
    with closing(sqlite3.connect(home / "state.db")) as database:
        database.execute(f"PRAGMA journal_mode={mode}")
        database.execute("CREATE TABLE t (x)")
    before = manifest(home)

    seen = look(root)

    assert seen.journal_mode == told
    assert manifest(home) == before


def test_a_database_that_is_a_pipe_keeps_nobody_waiting(root: Path) -> None:
    os.mkfifo(root / "hermes-homes/alpha/state.db")

    seen = look(root)

    assert seen.database is not None
    assert (seen.database.kind, seen.journal_mode) == ("other", "")


@pytest.mark.parametrize("home", ["../x", "default", "a/b", ""])
def test_ids_are_checked_again_on_the_node(root: Path, home: str) -> None:
    command = [sys.executable, "-I", "-c", program(EXAMINE_NODE_FILES, ("examine",)), "examine"]
    given = {"shared_root": str(root), "home_id": home, "workspace_id": "alpha", "seconds": 5}

    done = subprocess.run(command, input=json.dumps(given).encode(), capture_output=True, check=True)

    assert json.loads(done.stdout)["error"]["code"] == "unsafe-path"


YAML: list[tuple[str, str]] = [
    ("a: 1\nb:\n  c: [1, 2]\n  d: {e: f}\n", ""),
    ("\ufeffa: 1\n", ""),
    ("# nothing but a comment\n", ""),
    ("~\n", ""),
    ("base: &b {x: 1}\nmore: *b\neven:\n  <<: *b\n  <<: *b\n", ""),
    ("a: !!str 1\n", ""),
    ("a: {k: 1}\nb: {k: 1}\n", ""),
    ("a: 1\nb: 2\na: 3\n", "line 3 repeats a name"),
    ("a:\n  b: 1\n  'b': 2\n", "line 3 repeats a name"),
    ("- 1\n- 2\n", "it is no list of settings with names"),
    ("just a sentence\n", "it is no list of settings with names"),
    ("'null'\n", "it is no list of settings with names"),
    ("a: 1\n---\nb: 2\n", "line 2 starts a second document"),
    ("a: *nobody\n", "line 1 refers to something that is not there"),
    ("a: !!python/object/apply:os.system ['true']\n", "line 1 has a tag that is not loaded"),
    ("a: !own 1\n", "line 1 has a tag that is not loaded"),
    ("{[a, b]: 1}\n", "line 1 has a list or a mapping as a name"),
    ("a:\n\tb: 1\n", "line 2 is not YAML"),
    ("a: 1\n  b: 2\n", "line 2 is not YAML"),
    ("a: \x00\n", "it is not YAML"),
]


@pytest.mark.parametrize(("text", "problem"), YAML)
def test_settings_are_judged_by_what_the_agent_could_load(text: str, problem: str) -> None:
    told = judge_config(text.encode())

    assert (told.state, told.problem) == ("broken" if problem else "ok", problem)


def test_settings_that_would_fill_the_memory_are_judged_at_once() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(20)
    )
    deep, long = "a: " + "[" * 100_000, "a: [" + "1," * 100_000 + "]"

    began = time.monotonic()
    states = [judge_config(text.encode()).state for text in (bomb, deep, long)]

    assert states == ["ok", "broken", "broken"]
    assert time.monotonic() - began < 20


def test_what_is_wrong_is_told_without_the_contents() -> None:
    secret = "EXAMPLE-" + "k3y" * 5

    told = judge_config(f"model:\n  api_key: {secret}\n  api_key: {secret}\n bad: [{secret}\n".encode())

    assert told.state == "broken"
    assert secret not in told.problem


def test_a_write_leaves_nothing(tmp_path: Path) -> None:
    before = manifest(tmp_path)

    assert try_write(str(tmp_path)) == "ok"
    assert manifest(tmp_path) == before


def test_a_write_leaves_nothing_where_files_must_have_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(path: Any, flags: int, *args: Any, **named: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "not here")
        return real(path, flags, *args, **named)

    monkeypatch.setattr(os, "open", refuse)

    assert try_write(str(tmp_path)) == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_write_where_there_is_nothing_is_told() -> None:
    assert try_write("/nowhere/at/all") == "ENOENT"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("GET /x?token=EXAMPLE-abc&y=1", "GET /x?(hidden)&y=1"),
        (f"key {'ab' * 32} used", "key (hidden) used"),
        ("bell \x07 and \x1b[31mred", "bell   and  [31mred"),
        ("word " * 100, "word " * 47 + "word (cut)"),
        ("x" * 500, " (cut)"),
    ],
)
def test_a_line_of_a_log_is_cut_between_words_and_without_tokens(line: str, shown: str) -> None:
    assert log_line(line) == shown


def test_the_end_of_a_log_is_shown_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("".join(f"line {number}\n" for number in range(5000)))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/bridge.log").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "logs/server.log")

    lines = log_tail(str(tmp_path))

    assert lines[-1] == "server.log: line 4999"
    assert len(lines) == 12


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda path: path.write_text("a: 1"), "file"),
        (lambda path: path.symlink_to("/etc/hostname"), "file"),
        (lambda path: path.symlink_to("/nowhere"), "nothing"),
        (lambda path: path.mkdir(), "a directory"),
        (lambda _: None, "absent"),
    ],
)
def test_what_the_agent_finds_as_its_settings(tmp_path: Path, make: Any, kind: str) -> None:
    path = tmp_path / "config.yaml"
    make(path)

    assert config_kind(str(path)) == kind


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def test_endpoints_are_tried_and_told_apart(listener: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free = closed.getsockname()[1]

    told = reached([["here", "127.0.0.1", listener], ["shut", "127.0.0.1", free], ["name", "no.invalid", 1]])

    assert [one["result"] for one in told] == ["open", "refused", "no-name"]


def test_the_program_inside_runs_as_one_text_and_tells_each_part(tmp_path: Path) -> None:
    for name in ("home", "workspace", "public"):
        (tmp_path / name).mkdir()
    places = {name: str(tmp_path / name) for name in ("home", "workspace", "public")}
    given = {**places, "port": 1, "endpoints": []}
    packed = base64.b64encode(json.dumps(given).encode()).decode()
    command = [sys.executable, "-I", "-c", program(EXAMINE_FILES, ("examine",)), "examine", packed]

    done = subprocess.run(command, capture_output=True, check=True, text=True)

    answer = json.loads(done.stdout.removeprefix("hermes-bot-answer:"))["ok"]
    seen = guest_evidence(answer, (), None)
    assert seen.untold == {}
    assert (seen.home.mode, seen.home.write, seen.studio) == ("", "ok", Inside.SILENT)
    assert (seen.config, seen.skills_home, seen.endpoints) == ("absent", {}, ())
    assert all(list((tmp_path / name).iterdir()) == [] for name in places)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        dict.fromkeys(("mounts", "resources", "databases", "studio", "skills", "endpoints", "now"), "x"),
        {"listeners": {"9000": "x", "a": [], "99999999999999": [1]}, "log": "x", "untold": [], "uid": True},
        {"mounts": {"home": []}, "skills": {"public": 1, "home": {"a": 1}}, "now": float("1e300")},
    ],
)
def test_a_sandbox_may_answer_anything(answer: dict[str, Any]) -> None:
    seen = guest_evidence(answer, ("m:1",), (0.0, 1.0))

    assert seen.studio is Inside.UNKNOWN
    assert [one.result for one in seen.endpoints] == ["untold"]


@pytest.mark.parametrize(
    "answer", [{}, {"home": 1, "config": {"state": "read", "data": "%"}, "home_disk": []}]
)
def test_a_node_may_answer_anything(answer: dict[str, Any]) -> None:
    seen = node_evidence(answer)

    assert seen.home.kind in ("missing", "")
    assert seen.config.state in ("absent", "unreadable")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.0.0.5:8000", ("10.0.0.5", 8000)),
        ("model.example", ("model.example", 443)),
        ("http://model.example/v1", ("model.example", 80)),
        ("https://model.example:8443/v1", ("model.example", 8443)),
        ("[fd00::1]:9", ("fd00::1", 9)),
        ("fd00::1", ("fd00::1", 443)),
        ("user@host:1", None),
        ("", None),
    ],
)
def test_where_an_endpoint_is_tried(text: str, address: tuple[str, int] | None) -> None:
    assert address_of(text) == address
