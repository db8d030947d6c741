"""The heartbeats of paper sandboxes: nothing runs in them, so the stand-in writes what they would write."""

import asyncio
import contextlib
import datetime as dt
import json
import logging
import os
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.domain.heartbeat import BEAT_SECONDS, HEARTBEAT_FILE
from bot.domain.ids import home_id
from bot.standin.cube.lifecycle import Machinery
from bot.standin.cube.record import Record
from bot.standin.node_space import NodeSpace

log = logging.getLogger(__name__)
HOME_KEY = "hermes-home"
_OWN = ".hermes-bot"
_MIB = 1024 * 1024
_LOOK_SECONDS = 1.0
_AT_ONCE = 200


def write(record: Record, shared: Path, told: Mapping[str, Any], *, age: float = 0.0) -> None:
    """The heartbeat of one that has a home, ``age`` seconds old. Blocking; makes what is missing.

    ``told`` takes the place of what a healthy sandbox would tell. Metadata may say anything, as with
    sandboxes of strangers; what is no home-id makes no path.
    """
    home = home_id(record.metadata.get(HOME_KEY, ""))
    if home is None:
        return
    directory = shared / "hermes-homes" / home / _OWN
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    _replace(directory, record, told, time.time() - age)


def beat(records: Collection[Record], spaces: Mapping[str, Path]) -> None:
    """Let these give a sign of life, where their home still is. Blocking."""
    for record in records:
        home, shared = home_id(record.metadata.get(HOME_KEY, "")), spaces.get(record.node_id)
        if home is None or shared is None:
            continue
        directory = shared / "hermes-homes" / home / _OWN
        if directory.is_dir() and not directory.is_symlink():
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                _replace(directory, record, record.heartbeat or {}, time.time())


def _replace(directory: Path, record: Record, told: Mapping[str, Any], when: float) -> None:
    # The machine's own time, not the stand-ins' clock: so do the heartbeats of sandboxes that are real.
    at = dt.datetime.fromtimestamp(when, tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    healthy = {
        "sandbox": record.sandbox_id,
        "at": at,
        "studio": "ready",
        "note": "",
        "version": "v0.19.0 (2026.7.20)",
        "envd": True,
        "gateway": True,
        "load": 0.05,
        "memory_free": record.memory_mb * _MIB // 2,
        "memory_total": record.memory_mb * _MIB,
        "disk_free": 20_000 * _MIB,
        "pid": 38,
    }
    scratch = directory / f"{HEARTBEAT_FILE}.new"
    scratch.unlink(missing_ok=True)
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({**healthy, **told}, file)
    os.utime(scratch, (when, when))
    scratch.replace(directory / HEARTBEAT_FILE)


class PaperBeats:
    """Lets paper sandboxes beat while they run and this does."""

    def __init__(self, machinery: Machinery, nodes: Sequence[NodeSpace]) -> None:
        self._machinery = machinery
        self._spaces = {node.node_id: node.shared for node in nodes}
        self._beaten: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; whoever runs from before beats at once."""
        self._task = asyncio.create_task(self._run())

    def note(self, records: Collection[Record]) -> None:
        """These have beaten just now."""
        self._beaten |= dict.fromkeys((record.sandbox_id for record in records), time.monotonic())

    async def stop(self) -> None:
        """No more beats."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            try:
                await self._look()
            except OSError as error:
                log.warning("paper sandboxes could not give a sign of life: %s", error)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self) -> None:
        before = time.monotonic() - BEAT_SECONDS
        beating = [
            record for record in self._machinery.store if record.paper and record.heartbeat is not None
        ]
        known = {record.sandbox_id for record in beating}
        self._beaten = {name: when for name, when in self._beaten.items() if name in known}
        due = [
            record
            for record in beating
            if record.state == "running" and self._beaten.get(record.sandbox_id, before) <= before
        ]
        for start in range(0, len(due), _AT_ONCE):
            some = [record for record in due[start : start + _AT_ONCE] if record.state == "running"]
            self.note(some)
            await self._machinery.threads.run(beat, some, self._spaces)
