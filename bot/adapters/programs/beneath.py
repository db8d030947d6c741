"""Files below a root on hostile ground: one component at a time, no symbolic link, bounded.

Every directory is opened relative to the descriptor of its parent with ``O_NOFOLLOW``, and everything else
happens relative to that descriptor. Who swaps a component for a link meanwhile makes the next step fail; no
step follows it.
"""

from __future__ import annotations

import errno
import os
import stat

BOT_DIRECTORY = ".hermes-bot"
OWNER_ONLY = 0o700
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Refusal(Exception):  # noqa: N818 - it is one
    """Nothing more is done; ``code`` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_name(name: str) -> str:
    """One path component, or a refusal."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise Refusal("unsafe-path", f"{name[:80]!r} is not the name of one file")
    return name


def open_root(path: str) -> int:
    """The root itself. It comes from our configuration, so links above and at it are the operator's."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Refusal("program-failed", f"the directory {path} does not exist") from None


def open_dir(parent: int, name: str) -> int:
    """A directory that is there. Raises FileNotFoundError; a link or anything else is refused."""
    try:
        return os.open(check_name(name), _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refusal("unsafe-path", f"{name} is a symbolic link or not a directory") from None
        raise


def make_dir(parent: int, name: str, mode: int) -> tuple[int, bool]:
    """A directory, made when it is missing, and whether it was made."""
    try:
        os.mkdir(check_name(name), 0o700, dir_fd=parent)
        created = True
    except FileExistsError:
        created = False
    fd = open_dir(parent, name)
    if created:
        os.fchmod(fd, mode)
    return fd, created


def bot_dir(home: int) -> int:
    """The bot's own directory of a home, 0700."""
    fd, _ = make_dir(home, BOT_DIRECTORY, OWNER_ONLY)
    if stat.S_IMODE(os.fstat(fd).st_mode) != OWNER_ONLY:
        os.fchmod(fd, OWNER_ONLY)
    return fd


def exists(parent: int, name: str) -> bool:
    """Whether anything stands at this name, a dangling link included."""
    try:
        os.stat(check_name(name), dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def open_regular(path: str, directory: int | None = None) -> int:
    """A regular file for reading, without waiting for anybody at the other end of what is none."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Refusal("unsafe-path", f"{path} is a symbolic link or no regular file") from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Refusal("unsafe-path", f"{path} is not a regular file")
    return fd


def read_file(parent: int, name: str, limit: int) -> bytes | None:
    """A regular file of at most ``limit`` bytes; None when there is none. Anything else is refused."""
    try:
        fd = open_regular(check_name(name), parent)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Refusal("unsafe-path", f"{name} is longer than {limit} bytes")
    return data


def create_file(parent: int, name: str, data: bytes, mode: int) -> None:
    """A new file, durable when this returns. Raises FileExistsError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(check_name(name), flags, 0o600, dir_fd=parent)
    with os.fdopen(fd, "wb") as file:
        os.fchmod(fd, mode)
        file.write(data)
        file.flush()
        os.fsync(fd)


def replace_file(parent: int, name: str, data: bytes, mode: int) -> None:
    """Write a file so that a reader sees the old one or the new one, whole."""
    scratch = f".{check_name(name)}.{os.getpid()}.new"
    remove(parent, scratch)
    try:
        create_file(parent, scratch, data, mode)
        os.replace(scratch, name, src_dir_fd=parent, dst_dir_fd=parent)
    except IsADirectoryError:
        remove(parent, scratch)
        raise Refusal("unsafe-path", f"{name} is a directory") from None
    except OSError:
        remove(parent, scratch)
        raise
    os.fsync(parent)


def remove(parent: int, name: str) -> bool:
    """Remove a file or link, never a directory. False when there is nothing to remove."""
    try:
        os.unlink(check_name(name), dir_fd=parent)
    except (FileNotFoundError, IsADirectoryError):
        return False
    return True
