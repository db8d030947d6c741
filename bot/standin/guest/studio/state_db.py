"""``state.db`` of a home: conversations, in SQLite with a write-ahead log.

Schema (version 22): ``sessions(id, source, title, started_at, message_count)`` and
``messages(id, session_id, role, content, timestamp)``; times in seconds since the epoch.
"""

from __future__ import annotations

import sqlite3
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

SCHEMA_VERSION = 22
_TABLES = """
CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, title TEXT NOT NULL,
    started_at REAL NOT NULL, message_count INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL, content TEXT NOT NULL, timestamp REAL NOT NULL);
CREATE INDEX IF NOT EXISTS messages_by_session ON messages(session_id, id);
"""
_TITLE_CHARS = 60


class StateDb:
    """An open ``state.db``. Closing it folds the write-ahead log back into the file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, timeout=1.0, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(_TABLES)
        if self._db.execute("SELECT count(*) FROM schema_version").fetchone()[0] == 0:
            self._db.execute("INSERT INTO schema_version VALUES (?)", (SCHEMA_VERSION,))

    def add_turn(self, session: str, text: str, reply: str, source: str) -> int:
        """Store what was said and answered; gives how many messages the session now holds."""
        now = time.time()
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute(
                    "INSERT INTO sessions VALUES (?, ?, ?, ?, 0) ON CONFLICT(id) DO NOTHING",
                    (session, source, text[:_TITLE_CHARS], now),
                )
                self._db.executemany(
                    "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
                    [(session, "user", text, now), (session, "assistant", reply, now)],
                )
                self._db.execute(
                    "UPDATE sessions SET message_count = message_count + 2 WHERE id = ?", (session,)
                )
                self._db.execute("COMMIT")
            except sqlite3.Error:
                self._db.execute("ROLLBACK")
                raise
        return self.message_count(session)

    def message_count(self, session: str) -> int:
        """Messages stored for a session; 0 when there is no such session."""
        rows = self._rows("SELECT message_count FROM sessions WHERE id = ?", (session,))
        return int(rows[0]["message_count"]) if rows else 0

    def sessions(self) -> list[dict[str, Any]]:
        """All sessions, newest first."""
        return self._rows("SELECT * FROM sessions ORDER BY started_at DESC, id")

    def messages(self, session: str) -> list[dict[str, Any]] | None:
        """The messages of a session, oldest first; None when there is no such session."""
        if not self._rows("SELECT id FROM sessions WHERE id = ?", (session,)):
            return None
        return self._rows(
            "SELECT id, role, content, timestamp FROM messages WHERE session_id = ? ORDER BY id", (session,)
        )

    def close(self) -> None:
        """Fold the log back and close."""
        with self._lock:
            self._db.close()

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
        with self._lock:
            return [dict(row) for row in self._db.execute(statement, values).fetchall()]
