"""Doubles of the ports for locks, ids and time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta


class MemoryLock:
    """A lock that this process holds."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock: asyncio.Lock | None = lock

    async def release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


class MemoryLocks:
    """Locks among the tasks of one process. ``taken`` simulates another replica's hold."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self.taken: set[str] = set()

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        async with self._lock(name):
            yield

    async def try_hold(self, name: str) -> MemoryLock | None:
        lock = self._lock(name)
        if name in self.taken or lock.locked():
            return None
        await lock.acquire()
        return MemoryLock(lock)

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())


class FixedIds:
    """Ids that a test can predict: ``r-000001``, … and ``00…01``, …"""

    def __init__(self) -> None:
        self._requests = 0
        self._markers = 0

    def request_id(self) -> str:
        self._requests += 1
        return f"r-{self._requests:06d}"

    def marker(self) -> str:
        self._markers += 1
        return f"{self._markers:032x}"


class ManualClock:
    """Time that moves only by ``advance`` and by sleeping: a sleep ends at once and has moved it."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._passed = 0.0
        self.slept: list[float] = []
        self.on_sleep: Callable[[float], Awaitable[None]] | None = None

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        return self._passed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._passed += max(0.0, seconds)
        if self.on_sleep is not None:
            await self.on_sleep(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self._passed += seconds
