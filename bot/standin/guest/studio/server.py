"""The process behind ``hermes-web-ui start``: serves one Studio until SIGTERM."""

from __future__ import annotations

import json
import os
import signal
import socketserver
import sqlite3
import sys
import threading
from contextlib import suppress

from .core import Studio
from .places import complain, switched_on, web_home
from .web import Handler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


def serve(port: int) -> int:
    """Serve in the foreground until SIGTERM; 1 when the port or the directory cannot be had."""
    own = web_home()
    try:
        for directory in (own, own / "logs", own / "upload"):
            directory.make_dir()
        server = _Server((os.environ.get("BIND_HOST", "0.0.0.0"), port), Handler, bind_and_activate=False)
        server.server_bind()
        if not _listens_late():
            server.server_activate()
    except OSError as error:
        complain(f"hermes-web-ui: cannot start on port {port}: {error}")
        return 1
    pid_file = own / "server.pid"
    try:
        studio = Studio(port)
        (own / "config.json").write_text(json.dumps({"port": port}) + "\n")
        pid_file.write_text(f"{os.getpid()}\n")
    except (OSError, sqlite3.Error) as error:
        complain(f"hermes-web-ui: cannot start: {error}")
        server.server_close()
        return 1
    if _listens_late():
        studio.wait_until_loaded()
        server.server_activate()
    server.RequestHandlerClass = type("BoundHandler", (Handler,), {"studio": studio})
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    studio.log(f"listening on {port}, pid {os.getpid()}")
    server.serve_forever(poll_interval=0.05)
    server.server_close()
    studio.close()
    _forget(pid_file)
    studio.log("stopped")
    return 0


def _listens_late() -> bool:
    """Whether nobody is to connect before everything is open: how an image is snapshotted.

    Otherwise the port is taken first, so that of two starts at once one does nothing at all.
    """
    return switched_on("HERMES_STANDIN_LISTEN_WHEN_READY")


def _forget(pid_file: Place) -> None:
    with suppress(OSError, ValueError):
        if int(pid_file.read_text()) == os.getpid():
            pid_file.remove()


def main() -> int:
    """``server PORT``, as the launcher calls it."""
    os.chdir("/")
    return serve(int(sys.argv[1]))
