"""What the console's side panel reads from disks: directories that sandboxes write in, and the audit log."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.standin.console.audit_tail import audit_tail
from bot.standin.console.node_tree import Entry, shared_folders
from bot.standin.console.panel import span


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    for name in ("hermes-homes", "hermes-workspaces", "hermes-common-skills"):
        (tmp_path / "shared" / name).mkdir(parents=True)
    return tmp_path / "shared"


def found(entries: list[Entry] | tuple[Entry, ...], *path: str) -> Entry:
    entry = next(one for one in entries if one.name == path[0])
    return found(entry.entries, *path[1:]) if path[1:] else entry


def test_homes_are_read_two_levels_deep(shared: Path) -> None:
    inner = shared / "hermes-homes/alpha/skills/mine"
    inner.mkdir(parents=True)
    (inner / "deep.txt").write_text("too deep to be read")
    (shared / "hermes-homes/alpha/config.yaml").write_text("12345")

    folders = shared_folders(shared)

    assert found(folders, "hermes-homes", "alpha", "config.yaml").octets == 5
    assert found(folders, "hermes-homes", "alpha", "skills", "mine").entries == ()


def test_a_link_out_of_a_home_is_a_name_and_nothing_else(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/inside").touch()
    (shared / "hermes-homes/alpha").symlink_to(tmp_path / "secret")

    link = found(shared_folders(shared), "hermes-homes", "alpha")

    assert (link.kind, link.entries) == ("link", ())


def test_a_link_in_place_of_a_whole_folder_is_not_followed(shared: Path, tmp_path: Path) -> None:
    (shared / "hermes-workspaces").rmdir()
    (shared / "hermes-workspaces").symlink_to(tmp_path)

    assert found(shared_folders(shared), "hermes-workspaces").entries == ()


def test_a_pipe_does_not_hold_the_reader_up(shared: Path) -> None:
    os.mkfifo(shared / "hermes-homes/alpha")

    assert found(shared_folders(shared), "hermes-homes", "alpha").kind == "other"


def test_a_name_that_is_no_text_can_be_shown(shared: Path) -> None:
    (shared / "hermes-homes" / os.fsdecode(b"\xff\xfe")).touch()

    shown = found(shared_folders(shared), "hermes-homes").entries[0].name

    assert shown.encode() == b"\xef\xbf\xbd" * 2


def test_a_crowded_directory_is_cut(shared: Path) -> None:
    for number in range(70):
        (shared / f"hermes-homes/home-{number:02}").mkdir()

    homes = found(shared_folders(shared), "hermes-homes")

    assert (len(homes.entries), homes.more) == (60, 10)


def test_what_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert shared_folders(tmp_path / "nowhere") == []
    assert audit_tail(tmp_path / "nowhere.db") == []


def test_the_newest_twenty_rows_are_told_as_they_are_stored(tmp_path: Path) -> None:
    columns = "seq, at, phase, actor, action, home, sandbox, result, code, reason"
    rows = [(number, "", "step", "U", "create", "alpha", "", "ok", "", "(redacted)") for number in range(30)]
    with closing(sqlite3.connect(tmp_path / "audit.db")) as base:
        base.execute(f"CREATE TABLE audit ({columns})")
        base.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        base.commit()

    tail = audit_tail(tmp_path / "audit.db")

    assert tail is not None
    assert [row.seq for row in tail] == list(range(29, 9, -1))
    assert tail[0].reason == "(redacted)"


def test_a_database_that_is_not_ready_is_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "audit.db").touch()

    assert audit_tail(tmp_path / "audit.db") is None


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(59, "under a minute"), (60, "1 min"), (3600, "1 h"), (5400, "1 h 30 min"), (90_000, "1 d 1 h")],
)
def test_lengths_of_time_are_told_in_their_largest_units(seconds: float, shown: str) -> None:
    assert span(seconds) == shown
