"""What faults have done to sandboxes, and what that means for them until it is repaired."""

import asyncio
from collections.abc import Callable

from bot.standin.cube import errors
from bot.standin.cube.record import Record, Store
from bot.standin.cube.runtime import Runtime
from bot.standin.faults import Faults

_STUCK_PAUSING, _TAP_HELD, _DARK = "stuck-pausing", "tap-held", "dark"
_RESUME_FAULTS = {"resume-tap-busy": errors.TAP_BUSY, "resume-already-created": errors.ALREADY_CREATED}


class Afflictions:
    """The marks on sandboxes. Disarming the faults repairs all but a VM that has exited.

    ``runtimes`` are the processes by sandbox; ``break_connections`` is told whose connections end.
    """

    def __init__(
        self,
        faults: Faults,
        store: Store,
        runtimes: dict[str, Runtime],
        break_connections: Callable[[str], None],
    ) -> None:
        self._faults = faults
        self._store = store
        self._runtimes = runtimes
        self._break_connections = break_connections
        self._deaths: set[asyncio.Task[None]] = set()
        faults.watch(self._match)

    async def close(self) -> None:
        """Look at the faults no more; VMs that are ending have ended then."""
        self._faults.unwatch(self._match)
        await asyncio.gather(*self._deaths)

    def is_stuck_pausing(self, record: Record) -> bool:
        """Whether its pause will never end."""
        return record.state == "pausing" and self._faults.marked(_STUCK_PAUSING, record.sandbox_id)

    def get_stuck_pausing(self, record: Record) -> None:
        """Let its pause never end."""
        self._faults.mark(_STUCK_PAUSING, record.sandbox_id)

    def is_dark(self, record: Record) -> bool:
        """Whether it runs and cannot be reached."""
        return self._faults.marked(_DARK, record.sandbox_id)

    def is_tap_held(self, record: Record) -> bool:
        """Whether its network device is taken, so that it cannot be resumed."""
        return self._faults.marked(_TAP_HELD, record.sandbox_id)

    def is_cut_off(self, record: Record) -> bool:
        """Whether Cube cannot reach the node that it is on."""
        return self._faults.peek("cube", "node-gone", node=record.node_id) is not None

    def locked(self, record: Record, operation: str) -> bool:
        """Whether an operation on its way is to be found here; that uses one up."""
        match = {"sandbox": record.sandbox_id, "operation": operation}
        return self._faults.take("cube", "lifecycle-locked", **match) is not None

    def tap_words(self, record: Record, **match: object) -> str:
        """Why it cannot be resumed, now and until that is repaired; empty when it can."""
        for kind, words in _RESUME_FAULTS.items():
            if self._faults.take("cube", kind, **match):
                self._faults.mark(_TAP_HELD, record.sandbox_id)
                return words
        return errors.TAP_BUSY if self.is_tap_held(record) else ""

    def _match(self) -> None:
        """Afflict what runs as it is asked for, and let a repaired pause come to its end."""
        for record in self._store:
            if record.state == "pausing" and record.was_paused and not self.is_stuck_pausing(record):
                record.state = "paused"
                self._store.save(record)
            if record.state == "running":
                self._afflict(record)
        for kind in ("running-but-dark", "vm-exited"):
            for fault in self._faults.armed("cube", kind):
                fault.met = True  # what is made later is not concerned

    def _afflict(self, record: Record) -> None:
        name, match = record.sandbox_id, {"sandbox": record.sandbox_id, "node": record.node_id}
        dark = self._faults.peek("cube", "running-but-dark", **match)
        if dark and not dark.met:
            self._faults.mark(_DARK, name)
            self._break_connections(name)
        exits = self._faults.peek("cube", "vm-exited", **match)
        if exits and not exits.met:
            record.heartbeat = None
        runtime = self._runtimes.pop(name, None) if exits and not exits.met else None
        if runtime is not None:
            self._break_connections(name)
            death = asyncio.get_running_loop().create_task(runtime.kill())
            self._deaths.add(death)
            death.add_done_callback(self._deaths.discard)
