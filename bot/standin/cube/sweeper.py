"""The idle clock: looks several times a second who has been idle for too long."""

import asyncio
import contextlib
import itertools
import logging

from bot.standin.cube.errors import CubeError
from bot.standin.cube.lifecycle import Lifecycle, Machinery

log = logging.getLogger(__name__)
# Real seconds between looks. A moved clock is noticed within this.
_INTERVAL_S = 0.2
# Looks between writing what proxied requests have changed.
_FLUSH_EVERY = 10


class Sweeper:
    """Expires sandboxes in the background."""

    def __init__(self, machinery: Machinery, lifecycle: Lifecycle) -> None:
        self._machinery = machinery
        self._lifecycle = lifecycle
        self._task: asyncio.Task[None] | None = None
        self._expiring: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Begin looking."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop looking; what has begun is finished."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._expiring:
            await asyncio.gather(*self._expiring.values())

    async def _run(self) -> None:
        for count in itertools.count():
            self._look()
            if count % _FLUSH_EVERY == 0:
                self._machinery.store.flush()
            await asyncio.sleep(_INTERVAL_S)

    def _look(self) -> None:
        now = self._machinery.clock.time()
        for record in self._machinery.store:
            due = record.deadline is not None and record.deadline <= now
            # Whoever is paused by the timeout already has nothing more to fear from it.
            rests = record.state == "paused" and record.on_timeout == "pause"
            if due and not rests and record.sandbox_id not in self._expiring:
                self._expiring[record.sandbox_id] = asyncio.create_task(self._expire(record.sandbox_id))
        self._lifecycle.forget_gone()

    async def _expire(self, sandbox_id: str) -> None:
        try:
            record = self._machinery.store.get(sandbox_id)
            if record is not None:
                await self._lifecycle.expire(record)
        except CubeError as error:
            log.warning("idle timeout of %s could not be carried out: %s", sandbox_id, error.message)
        finally:
            del self._expiring[sandbox_id]
