"""What lies in the shared directories of the nodes, read without following anything a sandbox could plant."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

FOLDERS = ("hermes-homes", "hermes-workspaces", "hermes-common-skills")
_MOST_ENTRIES = 60
_MOST_COUNTED = 1000
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory: a file's size in ``octets``, a directory's ``entries`` and how many ``more``."""

    name: str
    kind: str
    octets: int
    modified: float
    entries: tuple["Entry", ...] = field(default=())
    more: int = 0


def shared_folders(shared: Path) -> list[Entry]:
    """The homes, workspaces and public Skills of a node, two levels below each.

    Roots of sandboxes write there while this reads: every directory is opened by its parent's
    descriptor, and a symbolic link is a name and nothing else.
    """
    try:
        root = os.open(shared, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return [entry for name in FOLDERS if (entry := _read(root, name, _LEVELS))]
    finally:
        os.close(root)


def _read(parent: int, name: str, levels: int) -> Entry | None:
    try:
        facts = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return None
    shown = os.fsencode(name).decode("utf-8", "replace")
    kind = {stat.S_IFDIR: "dir", stat.S_IFREG: "file", stat.S_IFLNK: "link"}.get(
        stat.S_IFMT(facts.st_mode), "other"
    )
    entries: tuple[Entry, ...] = ()
    more = 0
    if kind == "dir" and levels:
        listed = _names(parent, name)
        more = max(0, len(listed) - _MOST_ENTRIES)
        entries = tuple(_below(parent, name, listed[:_MOST_ENTRIES], levels - 1))
    return Entry(shown, kind, facts.st_size, facts.st_mtime, entries, more)


def _names(parent: int, name: str) -> list[str]:
    handle = _open(parent, name)
    if handle is None:
        return []
    try:
        with os.scandir(handle) as listed:
            return sorted(entry.name for entry in islice(listed, _MOST_COUNTED))
    except OSError:
        return []
    finally:
        os.close(handle)


def _below(parent: int, name: str, listed: list[str], levels: int) -> Iterator[Entry]:
    handle = _open(parent, name)
    if handle is None:
        return
    try:
        for one in listed:
            if entry := _read(handle, one, levels):
                yield entry
    finally:
        os.close(handle)


def _open(parent: int, name: str) -> int | None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(name, flags, dir_fd=parent)
    except OSError:  # it has gone, or has become something else
        return None
