"""In the sandbox: what the agent and the databases of the home say of themselves."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bot.adapters.programs.beneath import Refusal, open_regular
from bot.adapters.programs.guest_entries import odd_side_file

MAX_DATABASES = 20
MAX_DATABASE_BYTES = 1024 * 1024 * 1024
CHECK_SECONDS = 20.0
PROGRESS_STEPS = 20_000
LAST_WITHOUT_GUARD = (0, 19)


def version_of(text: str) -> str:
    """The number in ``Hermes Agent v0.19.0 (2026.7.20)`` or ``v0.6.23``; empty when there is none."""
    found = re.search(r"\bv?([0-9]+(?:\.[0-9]+)+)", text)
    return found.group(1) if found else ""


def lacks_wal_guard(version: str) -> bool:
    """Whether an agent switches WAL on without looking at the file system. One that does not say, does."""
    numbers = tuple(int(part) for part in version_of(version).split(".")[:2] if part)
    return not numbers or numbers <= LAST_WITHOUT_GUARD


def databases(home: str) -> list[str]:
    """The databases of a home, ``state.db`` first: paths relative to it, regular files only."""
    names = [path.name for path in Path(home).iterdir() if path.suffix == ".db"] + ["cron/executions.db"]
    found = []
    for name in sorted(names, key=lambda name: (name != "state.db", name)):
        try:
            mode = Path(home, name).lstat().st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode):
            found.append(name)
    return found[:MAX_DATABASES]


def database_facts(home: str) -> dict[str, Any]:
    """Result of ``quick_check`` over the databases, read-only, and the journal mode of ``state.db``."""
    notes: list[str] = []
    verdicts = []
    journal_mode = ""
    deadline = time.monotonic() + CHECK_SECONDS
    for name in databases(home):
        path = Path(home, name)
        odd = odd_side_file(str(path))
        if odd:
            notes.append(f"{name} was not checked, because {Path(odd).name} beside it is no regular file")
            continue
        if path.stat().st_size > MAX_DATABASE_BYTES:
            notes.append(f"{name} is too large to be checked here")
            continue
        verdict, mode, note = check_database(path, deadline)
        verdicts.append(verdict)
        journal_mode = mode if name == "state.db" else journal_mode
        if note:
            notes.append(f"{name}: {note}")
    known = [verdict for verdict in verdicts if verdict is not None]
    return {"journal_mode": journal_mode, "ok": all(known) if known else None, "notes": notes}


def check_database(path: Path, deadline: float) -> tuple[bool | None, str, str]:
    """Verdict (None = cannot be told), journal mode, and what there is to say.

    A read-only look at a WAL database makes its ``-wal`` and ``-shm`` files and cannot remove them again.
    Where there is no ``-wal``, nobody has the database open in that mode, so it is read as a file that does
    not change; should it have changed after all, a second look tells.
    """
    if not path.with_name(f"{path.name}-wal").exists():
        verdict, mode, note = _look(f"file:{quote(str(path))}?mode=ro&immutable=1", deadline)
        if verdict:
            return verdict, "wal" if _says_wal(path) else mode, note
    return _look(f"file:{quote(str(path))}?mode=ro", deadline)


def _says_wal(path: Path) -> bool:
    """The write version in the header is 2 for WAL (SQLite file format, offset 18)."""
    try:
        fd = open_regular(str(path))
    except (OSError, Refusal):
        return False
    with os.fdopen(fd, "rb") as file:
        return file.read(19)[18:] == b"\x02"


def _look(uri: str, deadline: float) -> tuple[bool | None, str, str]:
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=5.0)
    except sqlite3.Error as error:
        return None, "", f"could not be opened ({error})"
    try:
        connection.set_progress_handler(lambda: time.monotonic() > deadline, PROGRESS_STEPS)
        mode = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
        rows = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    except sqlite3.OperationalError as error:
        # Locked, interrupted, or not readable at this moment: nothing is known of its contents.
        return None, "", f"could not be checked ({error})"
    except sqlite3.DatabaseError as error:
        return False, "", str(error)
    finally:
        connection.close()
    return (True, mode, "") if rows == ["ok"] else (False, mode, "; ".join(rows)[:300])
