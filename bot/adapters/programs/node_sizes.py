"""On the node: how much a home and a workspace take, as ``du`` counts it, within bounds.

Sandboxes go on writing meanwhile and may have built a labyrinth; what cannot be counted to its end in time is
not told at all, because half a sum would look like a small home.
"""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING, Any

from bot.adapters.programs.beneath import Refusal, open_dir
from bot.adapters.programs.node_prepare import open_home, open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK = 512
MOST_COUNTED = 1_000_000
MOST_DEEP = 200
SHARE = 0.4
"""Of the allowed seconds, for each side."""


class Unfinished(Exception):  # noqa: N818 - it is a state, not an error
    """Not everything was counted."""

    def __init__(self) -> None:
        super().__init__("it cannot be counted to its end")


def sizes(args: dict[str, Any]) -> dict[str, Any]:
    """Bytes by side: 0 where there is no such directory, None where there was not enough time."""
    seconds = float(args["seconds"]) * SHARE
    return {side: _side(opened, args, seconds) for side, opened in _OPENERS}


def _side(opened: Callable[[dict[str, Any]], int], args: dict[str, Any], seconds: float) -> int | None:
    try:
        directory = opened(args)
    except FileNotFoundError:
        return 0
    try:
        return Tally(directory, seconds).of(directory, 0)
    except Unfinished:
        return None
    finally:
        os.close(directory)


class Tally:
    """Counts one tree: its own file system only, no link followed, a file with several names once."""

    def __init__(self, root: int, seconds: float, most: int = MOST_COUNTED) -> None:
        self._device = os.fstat(root).st_dev
        self._deadline = time.monotonic() + seconds
        self._left = most
        self._several_names: set[int] = set()

    def of(self, directory: int, depth: int) -> int:
        """Bytes on the disk of a directory and all that is in it. Raises Unfinished."""
        if depth > MOST_DEEP:
            raise Unfinished
        total = os.fstat(directory).st_blocks * BLOCK
        with os.scandir(directory) as listing:
            for entry in listing:
                self._tick()
                total += self._entry(directory, entry.name, depth)
        return total

    def _tick(self) -> None:
        self._left -= 1
        if self._left < 0 or time.monotonic() > self._deadline:
            raise Unfinished

    def _entry(self, parent: int, name: str, depth: int) -> int:
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if found.st_dev != self._device:
                return 0
            if not stat.S_ISDIR(found.st_mode):
                return self._file(found)
            inner = open_dir(parent, name)
        except (FileNotFoundError, Refusal):
            return 0  # it has gone, or become something else, since it was listed
        except OSError as error:
            raise Unfinished from error
        try:
            return self.of(inner, depth + 1) if os.fstat(inner).st_dev == self._device else 0
        finally:
            os.close(inner)

    def _file(self, found: os.stat_result) -> int:
        if found.st_nlink > 1:
            if found.st_ino in self._several_names:
                return 0
            self._several_names.add(found.st_ino)
        return found.st_blocks * BLOCK


_OPENERS = (("home", open_home), ("workspace", open_workspace))
