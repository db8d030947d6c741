"""``hermes gateway run``: one per home, guarded by a lock file and a pid file.

The guard looks at process ids, so it fails open between process-id namespaces: a second sandbox on the
same home sees the lock held by nobody it knows, removes both files and runs beside the first.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from contextlib import suppress

from .home import ensure_home, log_line
from .place import Place
from .places import complain, hermes_home, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

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
        if not _prepared(home):
            return 1
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
    import json  # noqa: PLC0415 - a gateway that finds its home free is spared what it takes

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


def _prepared(home: Place) -> bool:
    """Write what a running gateway has in its home; whether that went well.

    A process that ends does it, because what it takes to do so would stay with the one that waits.
    """
    this = os.getpid()
    writer = os.fork()
    if not writer:
        _prepare_and_end(home, this)
    return os.waitpid(writer, 0)[1] == 0


def _prepare_and_end(home: Place, gateway: int) -> NoReturn:
    code = 1
    try:
        from .gateway_files import prepare  # noqa: PLC0415 - see above

        prepare(home, gateway, _start_time(gateway))
        code = 0
    except Exception:  # noqa: BLE001 - told just as Python tells what ends a process
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)
