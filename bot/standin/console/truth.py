"""What really exists behind the messages: sandboxes, node directories, the audit log, armed faults."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.standin.clock import StandInClock
from bot.standin.console.audit_tail import Row, audit_tail
from bot.standin.console.node_tree import Entry, shared_folders
from bot.standin.faults import Faults

_LOOK_EVERY_S = 1.0


def _no_sandboxes() -> dict[str, Any]:
    return {"sandboxes": []}


@dataclass(slots=True)
class Truth:
    """Where to look.

    Attributes:
        clock: the stand-ins' clock.
        faults: the stand-ins' faults.
        report: the sandboxes as Cube's stand-in reports them.
        shared: node id → the directory that is ``/data/shared`` there.
        config_file: the bot's TOML file; its audit log lies beside it.
    """

    clock: StandInClock
    faults: Faults
    report: Callable[[], dict[str, Any]] = _no_sandboxes
    shared: Mapping[str, Path] = field(default_factory=dict)
    config_file: Path | None = None
    rows: list[Row] = field(default_factory=list)
    folders: dict[str, list[Entry]] = field(default_factory=dict)
    _looked_at: float = 0.0

    async def look(self) -> None:
        """Read disks again unless somebody just did; pages that are open together share one look."""
        if time.monotonic() - self._looked_at < _LOOK_EVERY_S:
            return
        self._looked_at = time.monotonic()
        rows, self.folders = await asyncio.to_thread(self._read)
        if rows is not None:
            self.rows = rows

    def sandboxes(self) -> list[dict[str, Any]]:
        """The sandboxes, newest first."""
        found: list[dict[str, Any]] = self.report()["sandboxes"]
        return found

    def _read(self) -> tuple[list[Row] | None, dict[str, list[Entry]]]:
        database = self.config_file.parent / "var" / "audit.db" if self.config_file else None
        rows = audit_tail(database.absolute()) if database else []
        return rows, {node: shared_folders(folder) for node, folder in self.shared.items()}
