"""Which process of this namespace listens on a TCP port."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress

from .place import Place

_LISTEN = "0A"
_CONNECT_S = 1.0
_ANSWER_S = 5.0


def is_open(port: int) -> bool:
    """Whether something accepts a connection on loopback."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_S):
        return True
    return False


def is_healthy(port: int) -> bool:
    """Whether a Studio answers there that calls itself well."""
    with suppress(OSError, ValueError), socket.create_connection(("127.0.0.1", port), _ANSWER_S) as studio:
        studio.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
        with studio.makefile("rb") as answer:
            _, _, body = answer.read().partition(b"\r\n\r\n")
        return bool(json.loads(body).get("status") == "ok")
    return False


def pid_on(port: int) -> int | None:
    """The process that holds the listening socket, or None (nobody, or nobody we may look into)."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not wanted:
        return None
    for process in Place("/proc").children():
        if process.name.isdecimal():
            for handle in (process / "fd").children():
                with suppress(OSError):
                    if os.readlink(handle) in wanted:
                        return int(process.name)
    return None


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not just waiting to be reaped."""
    try:
        os.kill(pid, 0)
        state = Place(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


def _inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        with suppress(OSError):
            for line in Place(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(fields[9])
    return found
