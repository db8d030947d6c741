"""In the sandbox: was the window of the first login open in this start of Studio, or closed long before?

A Studio without accounts takes the first one who signs in with the password that every Studio ships with.
Accounts that stood in the home before the start are its owner's, whatever their password is now. Accounts
that came after it, and do not open with ours, may be anybody's. A file says that the window was opened, until
it is known to be closed: a start that was taken over is not taken for the owner's change the next time.
"""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote

from bot.adapters.programs.beneath import exists, remove, replace_file
from bot.adapters.programs.guest_entries import file_or_nothing, odd_side_file, unsafe_entry

OPEN_FILE = "first-login.open"
ACCOUNTS_SECONDS = 5.0


def open_window(own: int, web_home: int, path: str) -> bool:
    """Whether nobody had signed in before this start, so that anybody can be first. ``path``: web home's."""
    if not exists(own, OPEN_FILE) and not accounts_in(web_home, path):
        replace_file(own, OPEN_FILE, b"", 0o600)
    return exists(own, OPEN_FILE)


def close_window(own: int) -> None:
    """The sign-in is ours."""
    remove(own, OPEN_FILE)


def accounts_in(web_home: int, path: str) -> bool:
    """Whether a database of Studio holds an account. One that cannot be read counts as one that does."""
    found = False
    for name in sorted(os.listdir(web_home)):
        database = f"{path}/{name}"
        if name.endswith(".db") and file_or_nothing(database):
            odd = odd_side_file(database)
            if odd:
                raise unsafe_entry(odd, "no regular file", "one")
            found = found or has_accounts(database)
    return found


def has_accounts(database: str) -> bool:
    """Whether the table ``users`` of a database has a row."""
    try:
        connection = sqlite3.connect(f"file:{quote(database)}?mode=ro", uri=True, timeout=ACCOUNTS_SECONDS)
    except sqlite3.Error:
        return True
    try:
        table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'users'"
        if connection.execute(table).fetchone() is None:
            return False
        return connection.execute("SELECT 1 FROM users LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return True
    finally:
        connection.close()
