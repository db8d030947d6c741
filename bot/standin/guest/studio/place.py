"""Paths, as lean as a process may be that waits in every sandbox."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Place(str):
    """A path: a text that can do the few things of ``pathlib.Path`` which are needed here.

    pathlib itself, with what it imports, takes a megabyte of each process. Texts are UTF-8.
    """

    __slots__ = ()

    def __truediv__(self, name: str) -> Place:
        return Place(os.path.join(self, name))

    @property
    def name(self) -> str:
        """The last part."""
        return os.path.basename(self)

    @property
    def parent(self) -> Place:
        """The directory it is in."""
        return Place(os.path.dirname(self))

    def resolve(self) -> Place:
        """Where it really is, all links followed."""
        return Place(os.path.realpath(self))

    def children(self) -> Iterator[Place]:
        """What is in a directory, in the order of the names; nothing when it cannot be looked at."""
        try:
            names = sorted(os.listdir(self))
        except OSError:
            return
        for name in names:
            yield self / name

    def exists(self) -> bool:
        """Whether something is there."""
        return os.path.exists(self)

    def is_file(self) -> bool:
        """Whether a file is there."""
        return os.path.isfile(self)

    def is_dir(self) -> bool:
        """Whether a directory is there."""
        return os.path.isdir(self)

    def read_bytes(self) -> bytes:
        """What a file holds."""
        with open(self, "rb") as file:
            return file.read()

    def read_text(self, encoding: str = "utf-8") -> str:
        """What a text file holds."""
        with open(self, encoding=encoding) as file:
            return file.read()

    def write_bytes(self, raw: bytes) -> None:
        """Make a file that holds this."""
        with open(self, "wb") as file:
            file.write(raw)

    def write_text(self, text: str) -> None:
        """Make a text file that holds this."""
        with open(self, "w", encoding="utf-8") as file:
            file.write(text)

    def append_text(self, text: str) -> None:
        """Add to the end of a text file."""
        with open(self, "a", encoding="utf-8") as file:
            file.write(text)

    def make_dir(self) -> None:
        """Make the directory, and those it is in, where they are missing."""
        os.makedirs(self, exist_ok=True)

    def remove(self) -> None:
        """Remove a file that may already be gone."""
        try:
            os.unlink(self)
        except FileNotFoundError:
            return
