"""Which process of this namespace listens on a TCP port."""

import os
import socket
from contextlib import suppress
from pathlib import Path

_LISTEN = "0A"
_CONNECT_S = 1.0


def is_open(port: int) -> bool:
    """Whether something accepts a connection on loopback."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_S):
        return True
    return False


def pid_on(port: int) -> int | None:
    """The process that holds the listening socket, or None (nobody, or nobody we may look into)."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not wanted:
        return None
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):
            for handle in (entry / "fd").iterdir():
                with suppress(OSError):
                    if str(handle.readlink()) in wanted:
                        return int(entry.name)
    return None


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not just waiting to be reaped."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


def _inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(fields[9])
    return found
