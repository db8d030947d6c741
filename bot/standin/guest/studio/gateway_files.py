"""What a gateway that has just started writes into its home."""

from __future__ import annotations

import json
import os
import sqlite3
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .place import Place

_DATABASES = {
    "kanban.db": "cards (id INTEGER PRIMARY KEY, title TEXT)",
    "cron/executions.db": "executions (id INTEGER PRIMARY KEY, job TEXT, at REAL)",
}


def prepare(home: Place, gateway: int, start_time: int | None) -> None:
    """Write everything. ``start_time`` is when process ``gateway`` began, in clock ticks since boot.

    Raises OSError or sqlite3.Error.
    """
    _write_runtime_files(home, gateway, start_time)
    for name, table in _DATABASES.items():
        db = sqlite3.connect(home / name, timeout=1.0)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        finally:
            db.close()


def _write_runtime_files(home: Place, gateway: int, start_time: int | None) -> None:
    (home / ".clean_shutdown").remove()
    (home / "state").make_dir()
    now = time.time()
    pid_file: dict[str, Any] = {
        "pid": gateway,
        "kind": "hermes-gateway",
        "argv": ["hermes", "gateway", "run", "--replace"],
        "start_time": start_time,
    }
    (home / "gateway.pid").write_text(json.dumps(pid_file))
    os.chmod(home / "gateway.pid", 0o755)  # noqa: S103 - as the real one leaves it
    state = {"state": "running", "pid": gateway, "updated_at": now, "platforms": {}}
    (home / "gateway_state.json").write_text(json.dumps(state))
    (home / "channel_directory.json").write_text("{}\n")
    (home / "state/gateway.heartbeat").write_text(f"{now:.3f}\n")
    (home / "gateway-starts.log").append_text(f"{now:.3f} {gateway}\n")
