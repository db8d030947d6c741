# pathlib would cost every sandbox a seventh of its boot time.
# ruff: noqa: PTH110, PTH112

"""WatchDir: changes of one directory, through inotify."""

import ctypes
import os
import select
import struct

from bot.standin.guest.wire import Answer, RpcError

_IN_MODIFY, _IN_ATTRIB, _IN_MOVED_FROM, _IN_MOVED_TO = 0x2, 0x4, 0x40, 0x80
_IN_CREATE, _IN_DELETE, _IN_NONBLOCK, _IN_CLOEXEC = 0x100, 0x200, 0o4000, 0o2000000
_NAMES = {
    _IN_CREATE: "EVENT_TYPE_CREATE",
    _IN_MODIFY: "EVENT_TYPE_WRITE",
    _IN_DELETE: "EVENT_TYPE_REMOVE",
    _IN_MOVED_FROM: "EVENT_TYPE_RENAME",
    _IN_MOVED_TO: "EVENT_TYPE_CREATE",
    _IN_ATTRIB: "EVENT_TYPE_CHMOD",
}
_RECORD = struct.Struct("iIII")
KEEPALIVE_S = 20.0


def follow(path: str, answer: Answer) -> None:
    """Stream events until the client goes away. Raises RpcError before the stream has begun."""
    if not os.path.exists(path):
        raise RpcError("not_found", f"path {path} not found")
    if not os.path.isdir(path):
        raise RpcError("invalid_argument", f"path {path} not a directory")
    libc = ctypes.CDLL(None, use_errno=True)
    watcher: int = libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
    if watcher < 0:
        raise RpcError("internal", f"error creating watcher: {os.strerror(ctypes.get_errno())}")
    try:
        if libc.inotify_add_watch(watcher, os.fsencode(path), sum(_NAMES)) < 0:
            raise RpcError("internal", f"error watching {path}: {os.strerror(ctypes.get_errno())}")
        answer.start_stream()
        answer.frame({"start": {}})
        while True:
            ready, _, _ = select.select([watcher], [], [], KEEPALIVE_S)
            if not ready:
                answer.frame({"keepalive": {}})
                continue
            _tell(os.read(watcher, 64 * 1024), answer)
    finally:
        os.close(watcher)


def _tell(data: bytes, answer: Answer) -> None:
    while data:
        _, mask, _, length = _RECORD.unpack_from(data)
        name = data[_RECORD.size : _RECORD.size + length].rstrip(b"\0").decode("utf-8", "surrogateescape")
        data = data[_RECORD.size + length :]
        for bit, kind in _NAMES.items():
            if mask & bit and name:
                answer.frame({"filesystem": {"name": name, "type": kind}})
