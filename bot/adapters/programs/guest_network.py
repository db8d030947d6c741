"""In the sandbox: who listens on which port, and whether an endpoint outside can be reached."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

from bot.adapters.programs.guest_processes import LISTENING, command_lines

CONNECT_SECONDS = 3.0
ALL_SECONDS = 8.0
"""For all endpoints together, names included: a resolver may take its time."""

MAX_ENDPOINTS = 20
MAX_PORTS = 200
RESULTS = {
    errno.ECONNREFUSED: "refused",
    errno.ETIMEDOUT: "timeout",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.EACCES: "refused",
    errno.EPERM: "refused",
    errno.ECONNRESET: "refused",
}


def listening() -> dict[str, list[str]]:
    """Port → the names of the programs that listen there on TCP."""
    inodes: dict[str, str] = {}
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        try:
            rows = [line.split() for line in Path(table).read_text(encoding="ascii").splitlines()[1:]]
        except OSError:
            continue
        inodes.update(
            {row[9]: str(int(row[1].rpartition(":")[2], 16)) for row in rows if row[3] == LISTENING}
        )
    found: dict[str, list[str]] = {port: [] for port in sorted(inodes.values(), key=int)[:MAX_PORTS]}
    for pid, argv in command_lines():
        for inode in _sockets(pid):
            port = inodes.get(inode)
            if port in found:
                name = Path(argv[0]).name[:40] if argv else "?"
                found[port] = sorted({*found[port], name})[:8]
    return found


def _sockets(pid: int) -> list[str]:
    """Inodes of the sockets that a process holds; none for one that may not be looked into."""
    found = []
    try:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            # Path.readlink came with Python 3.9.
            target = os.readlink(handle)  # noqa: PTH115
            if target.startswith("socket:["):
                found.append(target[8:-1])
    except OSError:
        return found
    return found


def reached(endpoints: list[list[Any]]) -> list[dict[str, Any]]:
    """A TCP connection to each ``[name, host, port]``, all at once; what takes too long is told so."""
    results = [{"endpoint": str(name), "result": "timeout"} for name, _, _ in endpoints[:MAX_ENDPOINTS]]
    tries = [
        # A name that nobody resolves may keep its thread for minutes: it does not keep the program.
        threading.Thread(target=_try, args=(str(host), int(port), result), daemon=True)
        for (_, host, port), result in zip(endpoints, results)  # noqa: B905 - strict= came with Python 3.10
    ]
    deadline = time.monotonic() + ALL_SECONDS
    for one in tries:
        one.start()
    for one in tries:
        one.join(max(0.0, deadline - time.monotonic()))
    return [dict(result) for result in results]


def _try(host: str, port: int, result: dict[str, Any]) -> None:
    began = time.monotonic()
    try:
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS):
            told = "open"
    except socket.gaierror:
        told = "no-name"
    except socket.timeout:  # noqa: UP041 - they are one only since Python 3.10
        told = "timeout"
    except OSError as error:
        told = RESULTS.get(error.errno or 0, "unreachable")
    result.update(result=told, seconds=round(time.monotonic() - began, 3))
