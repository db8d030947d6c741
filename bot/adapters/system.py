"""The machine's own clock and its randomness."""

import asyncio
import secrets
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path


class SystemClock:
    """The machine's time, plus the seconds that stand in ``offset_file``.

    The file belongs to the stand-ins, whose clock it moves together with ours; it is read at each call, so
    that time moves while the bot runs. Without a file, or while it cannot be read as a number, the offset
    is the last one known, at first zero.
    """

    def __init__(self, offset_file: Path | None = None) -> None:
        self._offset_file = offset_file
        self._offset = 0.0

    def now(self) -> datetime:
        """Aware UTC."""
        return datetime.now(UTC) + timedelta(seconds=self._read_offset())

    def monotonic(self) -> float:
        """Seconds, for durations. A moved clock does not move it: work takes the time it takes."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(seconds)

    def _read_offset(self) -> float:
        if self._offset_file is not None:
            try:
                self._offset = float(self._offset_file.read_text(encoding="ascii"))
            except (OSError, ValueError):
                return self._offset
        return self._offset


class RandomIds:
    """Fresh identifiers from the system's randomness."""

    def request_id(self) -> str:
        """``r-``, eleven hex digits of milliseconds since 1970, ten random ones; sorts by time until 2527."""
        return f"r-{time.time_ns() // 1_000_000:011x}-{secrets.token_hex(5)}"

    def marker(self) -> str:
        """32 hex digits."""
        return secrets.token_hex(16)
