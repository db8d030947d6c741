"""In the sandbox: what stands in the home where a directory or a file of a certain name must be.

The owner of a home is root in it and may have put anything there. A link, a pipe or a file in the wrong place
does not go away by trying again, so it is told by its path and its kind, before anything opens it: opening a
pipe may wait for ever.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from bot.adapters.programs.beneath import OWNER_ONLY, Refusal, make_dir, open_dir

KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISREG, "a file"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)
SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite opens beside a database, without looking at its kind."""

_WRONG_KIND = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)


def kind_of(mode: int) -> str:
    """The kind of an entry in words."""
    return next((words for is_it, words in KINDS if is_it(mode)), "a device")


def is_wrong_kind(error: OSError) -> bool:
    """Whether an error says that something else stands where a file or a directory was meant."""
    return error.errno in _WRONG_KIND


def unsafe_entry(path: str, found: str, needed: str) -> Refusal:
    """What is wrong, with the path as the sandbox sees it."""
    return Refusal("unsafe-home-entry", f"{path} is {found} and must be {needed}")


def home_dir(parent: int, name: str, path: str, *, make: bool) -> int:
    """The directory ``name``, made 0700 when it is missing and ``make`` says so; else FileNotFoundError."""
    try:
        return make_dir(parent, name, OWNER_ONLY)[0] if make else open_dir(parent, name)
    except Refusal:
        found = kind_of(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        raise unsafe_entry(path, found, "a directory") from None


def file_or_nothing(path: str, *, follow: bool = False) -> bool:
    """Whether a regular file stands there; False when nothing does. Anything else is refused, unopened.

    With ``follow`` a link counts as what it leads to: for files that only the agent and Studio use.
    """
    try:
        mode = (Path(path).stat() if follow else Path(path).lstat()).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        if is_wrong_kind(error):
            raise unsafe_entry(path, "a link that leads nowhere", "a file") from None
        raise
    if not stat.S_ISREG(mode):
        raise unsafe_entry(path, kind_of(mode), "a file")
    return True


def odd_side_file(database: str) -> str:
    """The path of a side file of a database that is no regular file; empty when all are well."""
    for ending in SIDE_FILES:
        try:
            mode = os.lstat(database + ending).st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            return database + ending
    return ""
