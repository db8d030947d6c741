"""The clock of the stand-ins: the machine's, plus what ``POST /clock`` has added."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path


class StandInClock:
    """Seconds since the epoch, movable forwards.

    The offset is written to a file that a bot started with ``env_file`` reads too, so that both
    live in the same time.
    """

    def __init__(self, offset_file: Path) -> None:
        self.offset_file = offset_file
        self._offset = float(offset_file.read_text()) if offset_file.exists() else 0.0
        self._moved = asyncio.Event()
        self._write()

    @property
    def offset(self) -> float:
        """How many seconds this clock is ahead of the machine's."""
        return self._offset

    def time(self) -> float:
        """Now, in seconds since the epoch."""
        return time.time() + self._offset

    def advance(self, seconds: float) -> float:
        """Move the clock and give the new offset in seconds."""
        self._offset += seconds
        self._write()
        self._moved.set()
        self._moved = asyncio.Event()
        return self._offset

    async def reach(self, moment: float) -> None:
        """Wait until the clock shows that time, in seconds since the epoch; moving it ends the wait too."""
        while (left := moment - self.time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._moved.wait()

    def _write(self) -> None:
        scratch = self.offset_file.with_suffix(".new")
        scratch.write_text(f"{self._offset}\n")
        scratch.replace(self.offset_file)
