"""What happens to a sandbox between its creation and its end."""

import asyncio
import logging
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from bot.standin.clock import StandInClock
from bot.standin.cube import errors
from bot.standin.cube.errors import CubeError
from bot.standin.cube.forks import ForkServer
from bot.standin.cube.freezer import CgroupFreezer, SignalFreezer
from bot.standin.cube.platform import Platform
from bot.standin.cube.record import Record, Store
from bot.standin.cube.runtime import BootError, Runtime
from bot.standin.cube.threads import Threads
from bot.standin.faults import Faults

log = logging.getLogger(__name__)
# How long CubeProxy answers 410 for a sandbox that the sweeper has ended.
_GONE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Machinery:
    """What all parts of the stand-in work with."""

    platform: Platform
    clock: StandInClock
    faults: Faults
    store: Store
    freezer: CgroupFreezer | SignalFreezer
    threads: Threads
    forks: ForkServer


class Lifecycle:
    """Pauses, resumes and ends sandboxes, one operation per sandbox at a time.

    ``make_runtime`` gives the unbooted processes of a record; ``break_connections`` is told the id
    of a sandbox whose proxied connections end.
    """

    def __init__(
        self,
        machinery: Machinery,
        make_runtime: Callable[[Record], Runtime],
        break_connections: Callable[[str], None],
    ) -> None:
        self._platform = machinery.platform
        self._clock = machinery.clock
        self._faults = machinery.faults
        self._store = machinery.store
        self._threads = machinery.threads
        self._make_runtime = make_runtime
        self._break_connections = break_connections
        self._gone: dict[str, float] = {}
        self.runtimes: dict[str, Runtime] = {}

    def require(self, sandbox_id: str) -> Record:
        """The record. Raises the 404 of every sandbox call."""
        record = self._store.get(sandbox_id)
        if record is None or record.state == "killing":
            raise errors.not_found(sandbox_id)
        return record

    def lock(self, record: Record, *, code: int = 0) -> asyncio.Lock:
        """The free lifecycle lock. Raises 409 when an operation is on its way."""
        lock = self._store.lock(record.sandbox_id)
        if lock.locked():
            raise errors.master(409, code, errors.LOCKED) if code else CubeError(409, errors.LOCKED)
        return lock

    def is_gone(self, sandbox_id: str) -> bool:
        """Whether the proxy still remembers that this sandbox was ended for being idle."""
        ended = self._gone.get(sandbox_id)
        return ended is not None and self._clock.time() - ended < _GONE_SECONDS

    async def pause(self, record: Record) -> None:
        """Pause on request."""
        async with self.lock(record):
            if record.state == "paused":
                raise self._already_paused(record)
            await self._pause(record, by="api")

    def _already_paused(self, record: Record) -> CubeError:
        if self._platform.delete_paused == "direct":
            text = (
                f"begin pause snapshot: sandbox {record.sandbox_id} already has pause snapshot "
                f"snap-{record.sandbox_id[:12]}"
            )
            return errors.bad_parameters(self._platform, text)
        return errors.master(500, 130490, "sandbox is already paused")

    async def _pause(self, record: Record, *, by: str) -> None:
        record.state = "pausing"
        runtime = self.runtimes.get(record.sandbox_id)
        try:
            if runtime is not None:
                await runtime.freeze()
        except (OSError, TimeoutError) as error:
            record.state = "running"
            raise errors.master(500, 130588, f"pause vm failed: {error}") from error
        record.state = "paused"
        record.was_paused = True
        record.paused_by = "idle" if by == "idle" else "api"
        if self._platform.pause_ends_connections:
            self._break_connections(record.sandbox_id)
        self._store.save(record)

    async def resume(self, record: Record) -> None:
        """Resume a paused sandbox. The caller holds the lock."""
        if self._faults.take("cube", "resume-tap-busy", sandbox=record.sandbox_id):
            raise errors.master(500, 130589, errors.TAP_BUSY)
        if not record.paper:
            try:
                await self._bring_back(record)
            except (BootError, OSError) as error:
                raise errors.master(500, 130589, f"Resume vm failed:{error}") from error
        record.state = "running"
        record.paused_by = ""
        record.guest_ip = new_address()
        record.touch(self._clock.time())
        self._store.save(record)

    async def _bring_back(self, record: Record) -> None:
        runtime = self.runtimes.get(record.sandbox_id)
        if runtime is not None:
            await runtime.thaw()
            return
        # Paused before the stand-in was restarted: its memory is gone, its disk is there.
        runtime = self._make_runtime(record)
        await runtime.boot()
        self.runtimes[record.sandbox_id] = runtime

    async def wake(self, record: Record) -> bool:
        """Resume for a request at the proxy's gate. False when that does not work out."""
        async with self._store.lock(record.sandbox_id):
            if record.state == "running":
                return True
            if record.state != "paused" or not record.auto_resume:
                return False
            try:
                await self.resume(record)
            except CubeError as error:
                log.warning("auto resume of %s failed: %s", record.sandbox_id, error.message)
                return False
            return True

    async def delete(self, record: Record) -> None:
        """End a sandbox on request."""
        lock = self._store.lock(record.sandbox_id)
        if lock.locked():
            raise errors.master(503, 130490, errors.LOCKED, retry_after=2)
        async with lock:
            if record.state == "paused":
                self._refuse_deletion_of_paused(record)
            await self._end(record)

    def _refuse_deletion_of_paused(self, record: Record) -> None:
        if self._platform.delete_paused == "refuse":
            raise errors.master(500, 130593, "sandbox not in normal state")
        if self._platform.delete_paused == "resume-first" and self._faults.take(
            "cube", "resume-tap-busy", sandbox=record.sandbox_id
        ):
            raise errors.master(503, 130589, errors.TAP_BUSY, retry_after=5)

    async def _end(self, record: Record) -> None:
        record.state = "killing"
        self._break_connections(record.sandbox_id)
        runtime = self.runtimes.pop(record.sandbox_id, None)
        if runtime is not None:
            await runtime.kill()
        self._store.remove(record)
        if not record.paper:
            await self._threads.run(shutil.rmtree, self._store.home_of(record.sandbox_id), ignore_errors=True)

    async def expire(self, record: Record) -> None:
        """Do what the idle timeout asks for. Nothing when an operation is on its way."""
        lock = self._store.lock(record.sandbox_id)
        if lock.locked():
            return
        async with lock:
            if record.state == "killing" or record.deadline is None or record.deadline > self._clock.time():
                return
            if record.on_timeout == "kill":
                # Also a sandbox that somebody paused: the timeout does not look at the state.
                self._gone[record.sandbox_id] = self._clock.time()
                await self._end(record)
            elif record.state == "running":
                await self._pause(record, by="idle")

    def forget_gone(self) -> None:
        """Drop what the proxy needs to remember no longer."""
        self._gone = {key: ended for key, ended in self._gone.items() if self.is_gone(key)}


def new_address() -> str:
    """A guest address on the node; every resume gets another one."""
    return f"192.168.{secrets.randbelow(250) + 1}.{secrets.randbelow(250) + 2}"
