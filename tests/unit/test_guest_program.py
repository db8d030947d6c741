"""Decisions of the programs that run inside a sandbox, and the making of program texts."""

import ast
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.guest import plan_after
from bot.adapters.programs import assemble
from bot.adapters.programs.guest_facts import (
    check_database,
    database_facts,
    databases,
    lacks_wal_guard,
    version_of,
)
from bot.adapters.programs.guest_login import generation_of
from bot.adapters.programs.guest_mounts import mount_mode
from bot.adapters.programs.guest_processes import is_studio
from bot.adapters.programs.guest_skills import apply, inventory
from bot.adapters.programs.guest_studio import judge, printable_tail, studio_env
from bot.domain.skills import OverlayPlan

MOUNTS = """\
22 1 0:20 / / rw,relatime - overlay overlay rw,lowerdir=/l
30 22 8:1 /srv/homes/a /root/.hermes rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=continue
31 22 8:1 /srv/common /opt/hermes-common-skills ro,relatime - ext4 /dev/sda1 rw
32 22 8:1 /srv/ws /work\\040space rw - virtiofs ws ro
33 22 0:9 / /workspace ro - tmpfs tmpfs rw
34 22 0:9 / /workspace rw master:2 propagate_from:3 - tmpfs tmpfs rw
35 22 0:9 / /short rw
"""


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("/root/.hermes", "rw"),
        ("/opt/hermes-common-skills", "ro"),
        ("/work space", "ro"),
        ("/workspace", "rw"),
        ("/root", ""),
        ("/short", ""),
    ],
)
def test_the_mode_of_a_mount(path: str, mode: str) -> None:
    assert mount_mode(MOUNTS, path) == mode


@pytest.mark.parametrize(
    ("text", "version", "unguarded"),
    [
        ("Hermes Agent v0.19.0 (2026.7.20)", "0.19.0", True),
        ("v0.18.2", "0.18.2", True),
        ("v0.20.0", "0.20.0", False),
        ("1.0", "1.0", False),
        ("", "", True),
        ("unknown", "", True),
    ],
)
def test_which_agents_lack_the_wal_guard(text: str, version: str, *, unguarded: bool) -> None:
    assert version_of(text) == version
    assert lacks_wal_guard(text) is unguarded


@pytest.mark.parametrize(
    ("auth", "version", "status", "token", "generation"),
    [
        ("auto", "0.6.23", None, True, "users"),
        ("auto", "v0.6.0", None, False, "users"),
        ("auto", "1.2.0", None, False, "users"),
        ("auto", "0.5.35", {"hasUsers": True}, True, "token"),
        ("auto", "", {"hasUsers": False}, True, "users"),
        ("auto", "", {"error": "Unauthorized"}, True, "token"),
        ("auto", "", None, False, ""),
        ("token", "0.6.23", {"hasUsers": True}, False, "token"),
        ("users", "0.5.35", None, True, "users"),
    ],
)
def test_how_a_studio_signs_in(auth: str, version: str, status: Any, *, token: bool, generation: str) -> None:
    assert generation_of(auth, version, status, token_there=token) == generation


@pytest.mark.parametrize(
    ("health", "missing"),
    [
        ({"version": "v0.19.0", "agent_bridge": {"ready": True}}, ""),
        ({"version": "", "agent_bridge": {"ready": True}}, "the agent does not tell its version"),
        ({"status": "ok", "version": "v0.19.0"}, "the agent bridge is not ready ('absent')"),
        (None, "/health has not answered with JSON"),
    ],
)
def test_when_a_studio_works(health: Any, missing: str) -> None:
    assert judge(health) == missing


def test_what_must_be_so_wins_over_what_was_asked_for_and_that_over_the_sandbox_s_own() -> None:
    env = studio_env(
        {"PATH": "/bin", "A": "0"}, {"A": "1", "HERMES_HOME": "/x"}, "/root/.hermes", "/workspace"
    )

    assert (env["PATH"], env["A"], env["HERMES_HOME"]) == ("/bin", "1", "/root/.hermes")
    assert env["HERMES_WEB_UI_HOME"] == "/root/.hermes/.hermes-bot/web-ui"
    assert env["HERMES_WEB_UI_DISABLE_MCP_AUTOINJECT"] == "1"


@pytest.mark.parametrize(
    ("argv", "studio"),
    [
        (["/usr/bin/node", "/usr/lib/node_modules/hermes-web-ui/dist/server/index.js"], True),
        (["python3", "/x/agent-bridge/python/hermes_bridge.py"], True),
        (["/usr/bin/python3", "/usr/local/bin/hermes", "gateway", "run", "--replace"], True),
        (["python3", "-I", "-c", "# hermes-web-ui" + "x" * 300], False),
        (["/usr/local/bin/hermes", "chat"], False),
        (["vim", "gateway"], False),
        (["vim", "/workspace/hermes-web-ui/README.md"], False),
        (["/usr/bin/python3", "-ISB", "/usr/local/lib/hermes-studio/server", "9000"], True),
        (["/usr/local/bin/hermes", "gateway", "run"], True),
        (["python3"], False),
        ([], False),
    ],
)
def test_which_processes_are_studio_s(argv: list[str], *, studio: bool) -> None:
    assert is_studio(argv) is studio


def test_a_log_s_tail_is_short_printable_and_without_tokens() -> None:
    token, jwt = "ab" * 32, "eyJh.eyJz.c2ln"
    text = f"one\n\n\x1b[31mtwo\x1b[0m\n{token}\nhttp://x/#/?token={token} {jwt}\nlast"

    lines = printable_tail(text.encode())

    assert len(lines) == 4
    assert lines[-1] == "last"
    assert not [line for line in lines if token in line or jwt in line or "\x1b" in line]


def test_databases_are_regular_files_with_the_main_one_first(tmp_path: Path) -> None:
    for name in ("a.db", "state.db"):
        sqlite3.connect(tmp_path / name).close()
        (tmp_path / name).touch()
    (tmp_path / "link.db").symlink_to("/etc/passwd")
    (tmp_path / "dir.db").mkdir()

    assert databases(str(tmp_path)) == ["state.db", "a.db"]


def test_looking_at_a_database_leaves_no_file_behind(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "state.db") as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
    connection.close()

    facts = database_facts(str(tmp_path))

    assert facts == {"journal_mode": "wal", "ok": True, "notes": []}
    assert [p.name for p in tmp_path.iterdir()] == ["state.db"]


def test_a_live_wal_database_is_checked_too(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()

    facts = database_facts(str(tmp_path))

    connection.close()
    assert facts == {"journal_mode": "wal", "ok": True, "notes": []}


def test_what_is_no_database_is_not_ok(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"not a database at all" * 100)

    assert database_facts(str(tmp_path))["ok"] is False


def test_a_database_that_takes_too_long_is_not_judged(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "state.db") as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(str(n) * 50,) for n in range(20_000)])
    connection.close()

    verdict, _, note = check_database(tmp_path / "state.db", time.monotonic() - 1)

    assert verdict is None
    assert "could not be checked" in note


def test_an_empty_home_has_no_verdict(tmp_path: Path) -> None:
    assert database_facts(str(tmp_path)) == {"journal_mode": "", "ok": None, "notes": []}


@pytest.fixture
def skills(tmp_path: Path) -> dict[str, Any]:
    for name in ("one", "two"):
        (tmp_path / "public" / name).mkdir(parents=True)
        (tmp_path / "public" / name / "SKILL.md").write_text("# x")
    (tmp_path / "home").mkdir()
    return {"public": str(tmp_path / "public"), "home": str(tmp_path / "home"), "link": [], "remove": []}


def test_an_inventory_names_each_kind(skills: dict[str, Any], tmp_path: Path) -> None:
    public = tmp_path / "public"
    (public / "category/inner").mkdir(parents=True)
    (public / "category/inner/SKILL.md").write_text("# x")
    (public / "latin").mkdir()
    (public / "latin/SKILL.md").write_bytes(b"\xe4")
    (public / "linked").mkdir()
    (public / "linked/SKILL.md").symlink_to("/etc/hostname")
    (public / "note.txt").write_text("x")
    os.mkfifo(public / "pipe")
    (tmp_path / "home/skills").mkdir()
    (tmp_path / "home/skills/away").symlink_to("/nowhere")

    found = inventory(skills)

    assert found["public"]["one"] == {"type": "dir", "skill": True, "nested": []}
    assert found["public"]["category"] == {"type": "dir", "skill": False, "nested": ["inner"]}
    assert not found["public"]["latin"]["skill"]
    assert not found["public"]["linked"]["skill"]
    assert found["public"]["note.txt"] == {"type": "file"}
    assert found["public"]["pipe"] == {"type": "other"}
    assert found["home"] == {"away": {"type": "link", "target": "/nowhere", "exists": False}}


def test_links_are_made_kept_and_removed_as_is_true_now(skills: dict[str, Any], tmp_path: Path) -> None:
    public, home = tmp_path / "public", tmp_path / "home/skills"
    home.mkdir()
    (home / "two").mkdir()
    for name in ("gone-link", "back"):
        (home / name).symlink_to(f"{public}/{name}")
    (home / "foreign").symlink_to("/nowhere")
    (public / "back").mkdir()
    remove = ["gone-link", "back", "foreign", "never"]

    fates = apply({**skills, "link": ["one", "two", "missing", "../up", "UPPER"], "remove": remove})["fates"]

    assert fates == {
        "one": "linked",
        "two": "private",
        "missing": "gone",
        "../up": "gone",
        "UPPER": "gone",
        "gone-link": "removed",
        "back": "already",
        "foreign": "private",
        "never": "removed",
    }
    assert str((home / "one").readlink()) == f"{public}/one"
    assert sorted(p.name for p in home.iterdir()) == ["back", "foreign", "one", "two"]


def test_the_plan_afterwards_believes_no_name_that_was_not_planned() -> None:
    plan = OverlayPlan(
        link=("a", "b", "c"),
        keep_private=("p",),
        already=("x",),
        remove_dangling=("d", "e"),
        conflict=("C",),
        ignored=(".i",),
    )
    fates = {"a": "linked", "b": "private", "c": "gone", "d": "removed", "e": "already", "evil": "linked"}

    done = plan_after(plan, fates)

    assert done == OverlayPlan(
        link=("a",),
        keep_private=("b", "p"),
        already=("e", "x"),
        remove_dangling=("d",),
        conflict=("C",),
        ignored=(".i", "c"),
    )


PROGRAMS = {
    "node": (assemble.NODE_FILES, assemble.NODE_VERBS),
    "mounts": (assemble.MOUNTS_FILES, ("check_mounts",)),
    "skills": (assemble.SKILLS_FILES, ("inventory", "apply")),
    "studio": (assemble.STUDIO_FILES, ("start", "stop")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_s_text_parses_on_python_3_8_and_needs_nothing_of_ours(name: str) -> None:
    text = assemble.program(*PROGRAMS[name])

    parsed = ast.parse(text, feature_version=(3, 8))

    imported = [node.module or "" for node in ast.walk(parsed) if isinstance(node, ast.ImportFrom)]
    assert not [module for module in imported if module.startswith("bot")]
    assert len(text.encode()) < 100_000  # one argument of execve holds 128 KiB


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_files_of_a_program_do_not_take_each_other_s_names(name: str) -> None:
    parsed = ast.parse(assemble.program(*PROGRAMS[name]))
    names = [n.name for n in parsed.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    names += [
        t.id for n in parsed.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
    ]

    assert len(names) == len(set(names))
