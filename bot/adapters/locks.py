"""Locks of one installation: lock files beside a SQLite database, advisory locks in a PostgreSQL one.

Both end with the process that holds them: the kernel closes its files, the server its connections.
"""

import asyncio
import contextlib
import fcntl
import os
import random
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote

from bot.domain.locks import LockUnavailableError, advisory_key, lock_file_name

if TYPE_CHECKING:
    import psycopg

_FIRST_LOOK_S: Final = 0.001
_NEXT_LOOK_S: Final = 0.02
_CONNECT_S: Final = 5


class _Hold(Protocol):
    """What is held outside this process."""

    async def end(self) -> None: ...


class _Keeper(Protocol):
    """Where locks are kept between processes."""

    async def take(self, name: str, *, wait: bool) -> _Hold | None: ...


class KeptLock:
    """A lock that is held. `release` may be called more than once."""

    def __init__(self, turns: "_Turns", name: str, hold: _Hold) -> None:
        self._turns = turns
        self._name = name
        self._hold: _Hold | None = hold

    async def release(self) -> None:
        """Let go; the next in line has it at once."""
        hold, self._hold = self._hold, None
        if hold is None:
            return
        try:
            await hold.end()
        finally:
            self._turns.leave(self._name)


class _Turns:
    """Who is next within this process: first come, first served."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def enter_now(self, name: str) -> bool:
        """Take the turn if nobody has it."""
        return name not in self._waiting and self._waiting.setdefault(name, deque()) is not None

    async def enter(self, name: str) -> None:
        """Wait for the turn."""
        if self.enter_now(name):
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[name].append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self.leave(name)  # the turn came together with the cancellation: hand it on
            raise

    def leave(self, name: str) -> None:
        """Give the turn to the next who still waits."""
        waiting = self._waiting[name]
        while waiting:
            following = waiting.popleft()
            if not following.done():
                following.set_result(None)
                return
        del self._waiting[name]


class SharedLocks:
    """The ``Locks`` port. Make one with `open_locks`; use it from one event loop."""

    def __init__(self, keeper: _Keeper) -> None:
        self._keeper = keeper
        self._turns = _Turns()

    @contextlib.asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Wait for the lock, hold it for the body.

        Raises:
            LockUnavailableError: where locks are kept cannot be reached.
        """
        await self._turns.enter(name)
        lock = await self._taken(name, wait=True)
        assert lock is not None  # noqa: S101 - who waits gets it
        try:
            yield
        finally:
            await lock.release()

    async def try_hold(self, name: str) -> KeptLock | None:
        """The lock, or None when anybody else holds it or waits for it. Raises as `hold` does."""
        return await self._taken(name, wait=False) if self._turns.enter_now(name) else None

    async def _taken(self, name: str, *, wait: bool) -> KeptLock | None:
        try:
            hold = await self._keeper.take(name, wait=wait)
        except BaseException:
            self._turns.leave(name)
            raise
        if hold is None:
            self._turns.leave(name)
            return None
        return KeptLock(self._turns, name, hold)


class LockFiles:
    """Lock files in a directory: flock(2), which ends when the last descriptor of an open file closes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def take(self, name: str, *, wait: bool) -> "_LockedFile | None":
        """The lock as an open file; None when it is taken and ``wait`` is false.

        The file stays for the next time: removing it would let a third process lock another file of the
        same name.
        """
        file = self._open(name)
        pause = _FIRST_LOOK_S
        try:
            while not _flocked(file):
                if not wait:
                    os.close(file)
                    return None
                await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - jitter, not a secret
                pause = min(pause * 2, _NEXT_LOOK_S)
        except BaseException:
            os.close(file)
            raise
        return _LockedFile(file)

    def _open(self, name: str) -> int:
        path = self._directory / lock_file_name(name)
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise LockUnavailableError(f"the lock file {path} cannot be opened: {error.strerror}") from error


class _LockedFile:
    def __init__(self, file: int) -> None:
        self._file = file

    async def end(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)  # a child between fork and exec may have the file open too
        os.close(self._file)


def _flocked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class AdvisoryLocks:
    """Advisory locks of PostgreSQL sessions; a connection of its own for each lock that is held."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)

    async def take(self, name: str, *, wait: bool) -> "_Session | None":
        """The lock as an open session; None when it is taken and ``wait`` is false."""
        import psycopg  # noqa: PLC0415 - costs a tenth of a second that a bot on SQLite need not pay

        key = advisory_key(name)
        try:
            session = await psycopg.AsyncConnection.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_S,
                keepalives_idle=30,
                application_name="hermes-bot lock",
            )
        except psycopg.Error as error:
            raise LockUnavailableError(f"the lock database does not answer: {_one_line(error)}") from error
        try:
            if wait:
                await session.execute("SELECT pg_advisory_lock(%s)", [key])
                return _Session(session)
            answer = await (await session.execute("SELECT pg_try_advisory_lock(%s)", [key])).fetchone()
            if answer == (True,):
                return _Session(session)
        except psycopg.Error as error:
            await session.close()
            raise LockUnavailableError(f"the lock database failed: {_one_line(error)}") from error
        except BaseException:
            await session.close()
            raise
        await session.close()
        return None


class _Session:
    def __init__(self, connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        self._connection = connection

    async def end(self) -> None:
        """Unlock, so that it is free when this returns, and hang up."""
        import psycopg  # noqa: PLC0415 - loaded already by whoever took the lock

        try:
            with contextlib.suppress(psycopg.Error):  # a session that broke has lost its lock already
                await self._connection.execute("SELECT pg_advisory_unlock_all()")
        finally:
            await self._connection.close()


def open_locks(database_url: str) -> SharedLocks:
    """Locks that go with an audit database: in ``locks`` beside a SQLite file, or in PostgreSQL itself."""
    if database_url.startswith("postgresql+psycopg://"):
        return SharedLocks(AdvisoryLocks(database_url))
    file = unquote(database_url.partition("://")[2].removeprefix("/").partition("?")[0])
    return SharedLocks(LockFiles(Path(file).absolute().parent / "locks"))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
