"""The end of the bot's audit log, read from its file without a way to change it."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

ROWS = 20
_COLUMNS = "seq, at, phase, actor, action, home, sandbox, result, code, reason"


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it is stored, redacted when it was written. ``at`` is UTC in ISO form."""

    seq: int
    at: str
    phase: str
    actor: str
    action: str
    home: str
    sandbox: str
    result: str
    code: str
    reason: str


def audit_tail(database: Path) -> list[Row] | None:
    """The newest rows, newest first; empty before the bot has made the log, None when it is held just now."""
    if not database.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=0.5)) as base:
            found = base.execute(f"SELECT {_COLUMNS} FROM audit ORDER BY seq DESC LIMIT {ROWS}")  # noqa: S608 - constants of this module
            return [Row(*row) for row in found]
    except sqlite3.OperationalError:  # the bot holds the file for a moment, or is about to make the table
        return None
