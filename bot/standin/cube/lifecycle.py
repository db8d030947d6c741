"""What happens to a sandbox between its creation and its end."""

import asyncio
import logging
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from bot.standin.clock import StandInClock
from bot.standin.cube import errors
from bot.standin.cube.afflictions import Afflictions
from bot.standin.cube.errors import CubeError, EmptyAnswerError
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
_ROUTE_SECONDS = 30.0
"""CubeAPI gives up on a route after this long, and the work goes on behind it."""


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
        self.ills = Afflictions(machinery.faults, machinery.store, self.runtimes, break_connections)

    async def close(self) -> None:
        """Look at the faults no more; VMs that are ending have ended then."""
        await self.ills.close()

    def _require_node(self, record: Record) -> None:
        if self.ills.is_cut_off(record):
            raise errors.master(500, 130596, errors.NO_ROUTE)

    def require(self, sandbox_id: str) -> Record:
        """The record. Raises the 404 of every sandbox call."""
        record = self._store.get(sandbox_id)
        if record is None or record.state == "killing":
            raise errors.not_found(sandbox_id)
        return record

    def lock(self, record: Record, operation: str, *, code: int = 0) -> asyncio.Lock:
        """The free lifecycle lock. Raises 409 when an operation is on its way."""
        self._require_node(record)
        lock = self._store.lock(record.sandbox_id)
        if lock.locked() or self.ills.locked(record, operation):
            raise errors.master(409, code, errors.LOCKED) if code else CubeError(409, errors.LOCKED)
        return lock

    def is_gone(self, sandbox_id: str) -> bool:
        """Whether the proxy still remembers that this sandbox was ended for being idle."""
        ended = self._gone.get(sandbox_id)
        return ended is not None and self._clock.time() - ended < _GONE_SECONDS

    async def pause(self, record: Record) -> None:
        """Pause on request."""
        async with self.lock(record, "pause"):
            if record.state == "paused" or self.ills.is_stuck_pausing(record):
                raise self._already_paused(record)
            stuck = self._faults.peek("cube", "stuck-pausing", sandbox=record.sandbox_id)
            await self._pause(record, by="api")
            if stuck is not None:
                await asyncio.sleep(stuck.number("delay_s", _ROUTE_SECONDS))
                raise EmptyAnswerError(408)

    async def pause_again(self, record: Record, operation: str) -> None:
        """Let a pause that waited in line come right after a resume, where that fault is armed."""
        fault = self._faults.take(
            "cube", "resume-then-paused", sandbox=record.sandbox_id, operation=operation
        )
        if fault is not None:
            await self._pause(record, by="idle")

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
        if self._faults.peek("cube", "stuck-pausing", sandbox=record.sandbox_id) is None:
            record.state = "paused"
        else:
            # The VM rests; only the state that is told never gets there. The mark comes first: using a fault
            # up ends the pauses of those that have been paused before and bear none.
            self.ills.get_stuck_pausing(record)
            self._faults.take("cube", "stuck-pausing", sandbox=record.sandbox_id)
        record.was_paused = True
        record.paused_by = "idle" if by == "idle" else "api"
        if self._platform.pause_ends_connections:
            self._break_connections(record.sandbox_id)
        self._store.save(record)

    async def resume(self, record: Record, operation: str) -> None:
        """Resume a paused sandbox. The caller holds the lock."""
        self._meet_resume_faults(record, operation)
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

    def _meet_resume_faults(self, record: Record, operation: str) -> None:
        match = {"sandbox": record.sandbox_id, "operation": operation}
        if self.ills.is_stuck_pausing(record):
            raise self._not_paused_yet()
        if self._faults.take("cube", "resume-no-room", **match):
            words = errors.NO_ROOM.format(need=record.memory_mb, quota=record.memory_mb // 2)
            raise CubeError(409, words)
        words = self.ills.tap_words(record, **match)
        if words:
            raise errors.master(500, 130589, words)

    def _not_paused_yet(self) -> CubeError:
        if self._platform.delete_paused == "direct":
            return errors.bad_parameters(self._platform, errors.STILL_PAUSING)
        return errors.master(500, 130490, errors.LOCKED)

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
            if record.state != "paused" or not record.auto_resume or self.ills.is_cut_off(record):
                return False
            try:
                await self.resume(record, "auto-resume")
            except CubeError as error:
                log.warning("auto resume of %s failed: %s", record.sandbox_id, error.message)
                return False
            return True

    async def delete(self, record: Record) -> None:
        """End a sandbox on request."""
        self._require_node(record)
        lock = self._store.lock(record.sandbox_id)
        if lock.locked() or self.ills.locked(record, "kill"):
            raise errors.master(503, 130490, errors.LOCKED, retry_after=2)
        async with lock:
            if record.state == "paused":
                self._refuse_deletion_of_paused(record)
            if self.ills.is_stuck_pausing(record):
                raise self._not_normal()
            await self._end(record)

    def _not_normal(self) -> CubeError:
        if self._platform.delete_paused == "refuse":
            return errors.master(500, 130593, "sandbox not in normal state")
        return errors.master(503, 130490, errors.LOCKED, retry_after=2)

    def _refuse_deletion_of_paused(self, record: Record) -> None:
        if self._platform.delete_paused == "refuse":
            raise errors.master(500, 130593, "sandbox not in normal state")
        if self._platform.delete_paused == "resume-first":
            words = self.ills.tap_words(record, sandbox=record.sandbox_id, operation="kill")
            if words:
                raise errors.master(503, 130589, words, retry_after=5)

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
