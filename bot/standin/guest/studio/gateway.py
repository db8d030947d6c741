"""``hermes gateway run``: one per home, guarded by a lock file and a pid file.

The guard looks at process ids, so it fails open between process-id namespaces: a second sandbox on the
same home sees the lock held by nobody it knows, removes both files and runs beside the first.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sqlite3
import time
from contextlib import suppress

from .home import ensure_home, log_line
from .place import Place
from .places import complain, hermes_home, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEARTBEAT_S = 10.0
_REPLACE_WAIT_S = 15.0


def status(home: Place) -> None:
    """Print whether a gateway runs. The exit code says nothing, as with the real command."""
    pid = _live_pid(home)
    say(f"Gateway is running (PID {pid})" if pid else "Gateway is not running")


def run(*, replace: bool) -> int:
    """Run until SIGTERM or SIGINT; 1 when another one has the home."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    home = hermes_home()
    ensure_home(home)
    lock = _acquire(home, replace=replace)
    if lock is None:
        return 1
    try:
        _write_runtime_files(home)
        _make_databases(home)
        log_line(home, "gateway", f"gateway started, pid {os.getpid()}")
        while signal.sigtimedwait({signal.SIGTERM, signal.SIGINT}, _HEARTBEAT_S) is None:
            # Another directory may have been mounted over the home since.
            with suppress(OSError):
                (home / "state/gateway.heartbeat").write_text(f"{time.time():.3f}\n")
        log_line(home, "gateway", "gateway stopped")
        (home / ".clean_shutdown").write_text("")
        (home / "gateway.pid").remove()
    finally:
        os.close(lock)
    return 0


def _acquire(home: Place, *, replace: bool) -> int | None:
    handle = _lock(home)
    if handle is not None:
        return handle
    pid = _live_pid(home)
    if pid and not replace:
        complain(f"Another gateway instance is already running (PID {pid})")
        return None
    if pid:
        _terminate(pid)
    else:
        # Held by a process of another namespace: what the real guard does here is to fail open.
        for name in ("gateway.pid", "gateway.lock"):
            (home / name).remove()
    handle = _lock(home)
    if handle is None:
        complain("The gateway lock could not be taken")
    return handle


def _lock(home: Place) -> int | None:
    handle = os.open(home / "gateway.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _live_pid(home: Place) -> int | None:
    """The pid in gateway.pid when that very process (same start time) still lives here."""
    try:
        found = json.loads((home / "gateway.pid").read_text())
        pid = int(found["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if _start_time(pid) == found.get("start_time") else None


def _start_time(pid: int) -> int | None:
    try:
        stat = Place(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def _terminate(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _REPLACE_WAIT_S
    while _start_time(pid) is not None:
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _write_runtime_files(home: Place) -> None:
    (home / ".clean_shutdown").remove()
    (home / "state").make_dir()
    now = time.time()
    pid_file: dict[str, Any] = {
        "pid": os.getpid(),
        "kind": "hermes-gateway",
        "argv": ["hermes", "gateway", "run", "--replace"],
        "start_time": _start_time(os.getpid()),
    }
    (home / "gateway.pid").write_text(json.dumps(pid_file))
    os.chmod(home / "gateway.pid", 0o755)  # noqa: S103 - as the real one leaves it
    state = {"state": "running", "pid": os.getpid(), "updated_at": now, "platforms": {}}
    (home / "gateway_state.json").write_text(json.dumps(state))
    (home / "channel_directory.json").write_text("{}\n")
    (home / "state/gateway.heartbeat").write_text(f"{now:.3f}\n")
    (home / "gateway-starts.log").append_text(f"{now:.3f} {os.getpid()}\n")


def _make_databases(home: Place) -> None:
    for name, table in (
        ("kanban.db", "cards (id INTEGER PRIMARY KEY, title TEXT)"),
        ("cron/executions.db", "executions (id INTEGER PRIMARY KEY, job TEXT, at REAL)"),
    ):
        db = sqlite3.connect(home / name, timeout=1.0)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        finally:
            db.close()
