"""On the node: fill a home that has no ``config.yaml`` from the default home, whatever happened before.

Each file is written in full in a staging directory and then linked to its place, which fails when something
stands there; so nothing is overwritten and no half file is ever seen. ``config.yaml`` comes last. The staging
directory stands from the first file to the last: when it is there at the start, an earlier seeding was
interrupted, and this one completes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import posixpath
import stat
import time
from typing import Any

from bot.adapters.programs.beneath import (
    BOT_DIRECTORY,
    Refusal,
    bot_dir,
    exists,
    make_dir,
    open_dir,
    open_root,
    remove,
)
from bot.adapters.programs.node_prepare import HOMES, check_id

CONFIG = "config.yaml"
DEFAULT = "default"
STAGING = "seeding"
MAX_DEPTH = 48
MAX_ENTRIES = 200_000
MAX_REPORTED = 20
CHUNK = 1024 * 1024


def seed(args: dict[str, Any]) -> dict[str, Any]:
    """Seed once, under a lock on the home's directory."""
    homes = open_dir(open_root(args["shared_root"]), HOMES)
    home = open_dir(homes, check_id(args["home_id"]))
    _lock(home, float(args["seconds"]))
    try:
        return _seed(homes, home, args["shared_root"])
    finally:
        os.close(home)


def _seed(homes: int, home: int, shared_root: str) -> dict[str, Any]:
    own = bot_dir(home)
    interrupted = exists(own, STAGING)
    if exists(home, CONFIG):
        if interrupted:
            _drop_staging(own)
        return {"outcome": "already initialised", "files": 0, "skipped": []}
    default = _open_default(homes, shared_root)
    _survey(default, home, 0)
    copy = _Copy(own)
    copy.tree(default, home, "", 0)
    copy.file(default, home, CONFIG)
    if not exists(home, CONFIG):
        raise Refusal("program-failed", "config.yaml could not be put in its place")
    os.fsync(home)
    _drop_staging(own)
    outcome = "completed" if interrupted else "seeded"
    return {"outcome": outcome, "files": copy.files, "skipped": copy.skipped[:MAX_REPORTED]}


def _lock(home: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(home, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Refusal("node-timeout", "another seeding of this home has not ended") from None
            time.sleep(0.05)
        else:
            return


def _open_default(homes: int, shared_root: str) -> int:
    try:
        default = open_dir(homes, DEFAULT)
        config = os.stat(CONFIG, dir_fd=default, follow_symlinks=False)
    except FileNotFoundError:
        config = None
    if config is None or not stat.S_ISREG(config.st_mode):
        where = f"{shared_root}/{HOMES}/{DEFAULT}"
        raise Refusal("default-home-missing", f"{where} with a config.yaml does not exist on the node")
    return default


def _survey(source: int, target: int, depth: int) -> None:
    """Refuse before the first change when something in the home stands where a directory must be."""
    for entry in _entries(source, depth):
        if entry.is_dir(follow_symlinks=False) and not _is_own(entry.name, depth):
            try:
                inner = open_dir(target, entry.name)
            except FileNotFoundError:
                continue
            outer = open_dir(source, entry.name)
            _survey(outer, inner, depth + 1)
            os.close(outer)
            os.close(inner)


def _entries(directory: int, depth: int) -> list[os.DirEntry[str]]:
    if depth > MAX_DEPTH:
        raise Refusal("program-failed", f"the default home is more than {MAX_DEPTH} directories deep")
    with os.scandir(directory) as listing:
        return sorted(listing, key=lambda entry: entry.name)


def _is_own(name: str, depth: int) -> bool:
    """What is not copied from the top of the default home: the bot's directory, and the last file."""
    return depth == 0 and name in (BOT_DIRECTORY, CONFIG)


def stays_inside(directory: str, target: str) -> bool:
    """Whether a link in ``directory`` (relative to the home) with this text points below the home."""
    if not target or target.startswith("/"):
        return False
    path = posixpath.normpath(posixpath.join(directory, target))
    return path != ".." and not path.startswith("../")


class _Copy:
    """One pass over the default home."""

    def __init__(self, own: int) -> None:
        self._staging, _ = make_dir(own, STAGING, 0o700)
        _empty(self._staging)
        self._entries = 0
        self.files = 0
        self.skipped: list[str] = []

    def tree(self, source: int, target: int, path: str, depth: int) -> None:
        """Everything below ``source``, apart from the top's own names."""
        for entry in _entries(source, depth):
            self._entries += 1
            if self._entries > MAX_ENTRIES:
                raise Refusal("program-failed", f"the default home has more than {MAX_ENTRIES} entries")
            if _is_own(entry.name, depth):
                continue
            here = posixpath.join(path, entry.name)
            if entry.is_symlink():
                self._link(source, target, entry.name, here)
            elif entry.is_dir(follow_symlinks=False):
                self._directory(source, target, entry.name, here, depth)
            elif entry.is_file(follow_symlinks=False):
                self.file(source, target, entry.name)
            else:
                self.skipped.append(here)

    def file(self, source: int, target: int, name: str) -> None:
        """One file, unless something stands at its place."""
        if exists(target, name):
            return
        staged = str(self.files)
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source)
        with os.fdopen(fd, "rb") as original:
            self._stage(original, staged)
        try:
            os.link(staged, name, src_dir_fd=self._staging, dst_dir_fd=target, follow_symlinks=False)
            self.files += 1
        except FileExistsError:
            pass  # made in this instant by somebody else, and theirs
        finally:
            remove(self._staging, staged)

    def _stage(self, original: Any, staged: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(staged, flags, 0o600, dir_fd=self._staging)
        try:
            with os.fdopen(fd, "wb") as copy:
                for chunk in iter(lambda: original.read(CHUNK), b""):
                    copy.write(chunk)
                copy.flush()
                _same_attributes(fd, os.fstat(original.fileno()))
                os.fsync(fd)
        except OSError:
            remove(self._staging, staged)
            raise

    def _directory(self, source: int, target: int, name: str, here: str, depth: int) -> None:
        outer = open_dir(source, name)
        inner, created = make_dir(target, name, 0o700)
        self.tree(outer, inner, here, depth + 1)
        if created:
            _same_attributes(inner, os.fstat(outer))
        os.close(outer)
        os.close(inner)

    def _link(self, source: int, target: int, name: str, here: str) -> None:
        text = os.readlink(name, dir_fd=source)
        if not stays_inside(posixpath.dirname(here), text):
            self.skipped.append(here)
            return
        try:
            os.symlink(text, name, dir_fd=target)
        except FileExistsError:
            return


def _same_attributes(fd: int, like: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.fchown(fd, like.st_uid, like.st_gid)
    os.fchmod(fd, stat.S_IMODE(like.st_mode))
    os.utime(fd, ns=(like.st_atime_ns, like.st_mtime_ns))


def _empty(directory: int) -> None:
    for name in os.listdir(directory):
        remove(directory, name)


def _drop_staging(own: int) -> None:
    staging = open_dir(own, STAGING)
    _empty(staging)
    os.close(staging)
    try:
        os.rmdir(STAGING, dir_fd=own)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            raise
