"""The agent bridge: the process that Studio's web server hands every chat to, over a Unix socket.

One JSON line in, one JSON line out. It ends with its standard input, that is, with the web server.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import socketserver
import sqlite3
import sys
import threading
import time

from .place import Place
from .places import complain, hermes_home, standin_options, start_delay
from .run_agent import Agent, BadRequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ANSWER_S = 10.0


def socket_path() -> Place:
    """Where the bridge listens. The override serves tests that run several Studios in one namespace."""
    return Place(os.environ.get("HERMES_STANDIN_BRIDGE_SOCKET", "/tmp/hermes-agent-bridge.sock"))


def ask(operation: str, **fields: object) -> dict[str, Any]:
    """Ask the bridge. Raises OSError when nobody answers."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_ANSWER_S)
        connection.connect(socket_path())
        connection.sendall(json.dumps({"op": operation, **fields}).encode() + b"\n")
        with connection.makefile("rb") as file:
            line = file.readline()
    if not line:
        raise ConnectionResetError("the agent bridge closed the connection")
    answer = json.loads(line)
    return answer if isinstance(answer, dict) else {}


class _Bridge:
    """The broker's state: not ready until its agent has been loaded."""

    def __init__(self) -> None:
        self._agent: Agent | None = None
        self._stopping = threading.Event()

    def load(self) -> None:
        """Load the agent after the start delay; on any of the known failures stay not ready."""
        root = os.environ.get("HERMES_AGENT_ROOT")
        if root and not (Place(root) / "run_agent.py").is_file():
            complain(f"bridge: run_agent.py not found in HERMES_AGENT_ROOT={root}")
            return
        if standin_options().get("studio") == "never-ready":
            complain("bridge: the worker was started and never reported back")
            return
        if self._stopping.wait(start_delay()):
            return
        try:
            self._agent = Agent(hermes_home())
        except (OSError, sqlite3.Error) as error:
            complain(f"bridge: the agent could not be loaded: {error}")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request, with an HTTP status for what is not plain success."""
        agent = self._agent
        if request.get("op") == "ping":
            return {"status": 200, "ready": agent is not None}
        if agent is None:
            return {"status": 503, "error": "the agent bridge is not ready"}
        operations: dict[str, Callable[[], dict[str, Any]]] = {
            "chat": lambda: {"status": 200, **agent.chat(request.get("session"), request.get("text"))},
            "sessions": lambda: {"status": 200, "sessions": agent.sessions()},
            "messages": lambda: _found(agent.messages(str(request.get("session")))),
        }
        try:
            return operations[str(request.get("op"))]()
        except BadRequestError as error:
            return {"status": 400, "error": str(error)}
        except sqlite3.Error as error:
            return {"status": 500, "error": f"state.db: {error}"}

    def stop(self) -> None:
        """Close what is open."""
        self._stopping.set()
        if self._agent:
            self._agent.close()


def _found(messages: list[dict[str, Any]] | None) -> dict[str, Any]:
    if messages is None:
        return {"status": 404, "error": "no such session"}
    return {"status": 200, "messages": messages}


def _server(bridge: _Bridge, path: Place) -> socketserver.ThreadingUnixStreamServer:
    class OneRequest(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            line = self.rfile.readline()
            if line:
                self.wfile.write(json.dumps(bridge.answer(json.loads(line))).encode() + b"\n")

    path.remove()
    server = socketserver.ThreadingUnixStreamServer(path, OneRequest)
    server.daemon_threads = True
    os.chmod(path, 0o600)
    return server


def main() -> int:
    """Serve until SIGTERM or the end of standard input."""
    bridge = _Bridge()
    path = socket_path()
    server = _server(bridge, path)
    ours = os.stat(path).st_ino

    def end() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    threading.Thread(target=end, daemon=True).start()
    threading.Thread(target=bridge.load, daemon=True).start()
    complain(f"bridge: listening on {path}, pid {os.getpid()}, {time.strftime('%H:%M:%S')}")
    server.serve_forever(poll_interval=0.05)
    server.server_close()
    bridge.stop()
    if path.exists() and os.stat(path).st_ino == ours:
        path.remove()
    return 0
