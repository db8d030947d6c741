"""``hermes-web-ui.db``: Studio's accounts, in SQLite with a write-ahead log."""

from __future__ import annotations

import os
import sqlite3
import threading
import time

from .digests import password_hash, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place

FIRST_NAME = "admin"
FIRST_PASSWORD = "123456"  # noqa: S105 - the real first login, known to everybody; replacing it is the point
_TABLE = """
CREATE TABLE IF NOT EXISTS users (
    id INTEGER PRIMARY KEY AUTOINCREMENT, username TEXT NOT NULL UNIQUE, role TEXT NOT NULL,
    salt BLOB NOT NULL, password_hash BLOB NOT NULL, must_change INTEGER NOT NULL, created_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS logins (
    id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL, at REAL NOT NULL);
"""


class User:
    """An account, without its password."""

    __slots__ = ("id", "must_change", "role", "username")

    def __init__(self, row: tuple[int, str, str, int]) -> None:
        self.id, self.username, self.role, must_change = row
        self.must_change = bool(must_change)


class UsersDb:
    """The open accounts database; thread-safe."""

    def __init__(self, path: Place) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, timeout=5.0, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.executescript(_TABLE)
        os.chmod(path, 0o600)

    def has_users(self) -> bool:
        """Whether the first login has happened."""
        with self._lock:
            return bool(self._db.execute("SELECT count(*) FROM users").fetchone()[0])

    def login(self, name: str, password: str) -> User | None:
        """The account for right credentials. The first login must be the default one."""
        with self._lock:
            if not self._db.execute("SELECT 1 FROM users").fetchone():
                if (name, password) != (FIRST_NAME, FIRST_PASSWORD):
                    return None
                self._insert_first()
            row = self._db.execute(
                "SELECT id, salt, password_hash FROM users WHERE username = ?", (name,)
            ).fetchone()
            if row is None or not same(password_hash(password, row[1]), row[2]):
                return None
            self._db.execute("INSERT INTO logins (user_id, at) VALUES (?, ?)", (row[0], time.time()))
        return self.find(row[0])

    def find(self, user_id: int) -> User | None:
        """The account with that id."""
        with self._lock:
            row = self._db.execute(
                "SELECT id, username, role, must_change FROM users WHERE id = ?", (user_id,)
            ).fetchone()
        return User(row) if row else None

    def change_password(self, user: User, current: str, new: str) -> bool:
        """Replace a password; False when the current one is wrong."""
        with self._lock:
            row = self._db.execute(
                "SELECT salt, password_hash FROM users WHERE id = ?", (user.id,)
            ).fetchone()
            if row is None or not same(password_hash(current, row[0]), row[1]):
                return False
            salt = os.urandom(16)
            self._db.execute(
                "UPDATE users SET salt = ?, password_hash = ?, must_change = 0 WHERE id = ?",
                (salt, password_hash(new, salt), user.id),
            )
        return True

    def reset_first_login(self) -> None:
        """Forget all accounts, so that the next login is a first login again."""
        with self._lock:
            self._db.execute("DELETE FROM users")

    def close(self) -> None:
        """Fold the log back and close."""
        with self._lock:
            self._db.close()

    def _insert_first(self) -> None:
        salt = os.urandom(16)
        self._db.execute(
            "INSERT INTO users (username, role, salt, password_hash, must_change, created_at)"
            " VALUES (?, 'super_admin', ?, ?, 1, ?)",
            (FIRST_NAME, salt, password_hash(FIRST_PASSWORD, salt), time.time()),
        )
