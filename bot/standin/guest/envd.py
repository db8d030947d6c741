"""The agent inside a sandbox: processes and files over HTTP on port 49983.

It sleeps, as no process at all, until somebody connects (see :mod:`bot.standin.fork_server`). Standard
library only; the wire is the part of envd that the official SDK uses.
"""

import contextlib
import os
import queue
import select
import signal
import socket
import threading
import time

from bot.standin.guest import accounts, files, watch
from bot.standin.guest.processes import Feed, Processes, Running
from bot.standin.guest.wire import STREAM_TYPE, UNARY_TYPE, Answer, HttpError, Request, RpcError

PORT = 49983
_KEEPALIVE_S = 50.0
_STREAMS = {"/process.Process/Start", "/process.Process/Connect", "/filesystem.Filesystem/WatchDir"}
_REAP_S = 1.0
_IDLE_S = 3.0
"""An agent that nobody has needed for so long ends; the next connection brings another one."""


class Agent:
    """Answers requests; every connection has its own thread."""

    def __init__(self, listener: socket.socket, environment: dict[str, str]) -> None:
        self._listener = listener
        self._environment = environment
        self._connections = 0
        self._counted = threading.Lock()
        self.processes = Processes(environment)

    def run(self) -> None:
        """Accept connections and collect ended children, until nobody has needed either for a while."""
        wake, poke = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(poke, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(poke, warn_on_full_buffer=False)
        idle_since = time.monotonic()
        while time.monotonic() - idle_since < _IDLE_S:
            ready, _, _ = select.select([wake, self._listener.fileno()], [], [], _REAP_S)
            if wake in ready:
                os.read(wake, 4096)
            if self._listener.fileno() in ready:
                connection, _ = self._listener.accept()
                self._count(1)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
            self.processes.reap()
            if self._connections or self.processes.running:
                idle_since = time.monotonic()

    def _count(self, change: int) -> None:
        with self._counted:
            self._connections += change

    def _serve(self, connection: socket.socket) -> None:
        try:
            self._converse(connection)
        finally:
            self._count(-1)

    def _converse(self, connection: socket.socket) -> None:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answer = Answer(connection)
            # A client that goes away in the middle of a stream is no error of ours.
            with contextlib.suppress(ConnectionError, EOFError):
                try:
                    self._route(Request(connection), answer)
                except ValueError as error:
                    answer.json(400, {"code": 400, "message": f"malformed request: {error}"})
                connection.shutdown(socket.SHUT_WR)

    def _route(self, request: Request, answer: Answer) -> None:
        try:
            if request.path == "/files":
                self._files(request, answer)
            elif request.path == "/health" and request.method == "GET":
                answer.whole(204, b"", "")
            elif request.path == "/envs" and request.method == "GET":
                answer.json(200, self._environment)
            elif request.path.startswith(("/process.Process/", "/filesystem.Filesystem/")):
                self._call(request, answer)
            else:
                answer.whole(404, b"404 page not found\n", "text/plain; charset=utf-8")
        except HttpError as error:
            if answer.started:
                return
            for _ in request.pieces:  # a client that is still sending would miss the answer
                pass
            answer.json(error.status, {"code": error.status, "message": error.message})

    def _files(self, request: Request, answer: Answer) -> None:
        if request.method == "GET":
            files.download(request, answer)
        elif request.method == "POST":
            files.upload(request, answer)
        else:
            answer.whole(405, b"", "text/plain", allow="GET, POST")

    def _call(self, request: Request, answer: Answer) -> None:
        if request.method != "POST":
            answer.whole(405, b"", "text/plain", allow="POST")
            return
        wanted = STREAM_TYPE if request.path in _STREAMS else UNARY_TYPE
        if request.content_type() != wanted:
            answer.whole(415, b"", "text/plain", accept_post=wanted)
            return
        try:
            self._answer_call(request, answer)
        except RpcError as error:
            if wanted == UNARY_TYPE:
                answer.json(error.status(), error.body())
                return
            # The protocol puts the error of a stream into its last envelope, whatever the status.
            if not answer.started:
                answer.start_stream()
            answer.end_stream(error)

    def _answer_call(self, request: Request, answer: Answer) -> None:
        message = request.message()
        user = accounts.named_in(request)
        service, method = request.path[1:].split("/", 1)
        if service == "filesystem.Filesystem":
            account = accounts.look_up(user)
            if method == "WatchDir":
                watch.follow(accounts.resolve(str(message.get("path", "")), account), answer)
            else:
                answer.json(200, files.call(method, message, account))
        elif method in {"Start", "Connect"}:
            limit = request.headers.get("connect-timeout-ms", "")
            deadline = time.monotonic() + int(limit) / 1000 if limit.isdigit() else None
            if method == "Start":
                running = self.processes.start(message, user)
                self._stream(running, running.opening, answer, deadline, kill=True)
            else:
                running = self.processes.find(message)
                self._stream(running, running.listen(), answer, deadline, kill=False)
        else:
            answer.json(200, self._process_call(method, message))

    def _process_call(self, method: str, message: dict[str, object]) -> dict[str, object]:
        table = self.processes
        changes = {
            "SendInput": table.send_input,
            "SendSignal": table.send_signal,
            "Update": table.update,
            "CloseStdin": table.close_input,
        }
        if method == "List":
            return {"processes": table.listing()}
        if method not in changes:
            raise RpcError("unimplemented", f"process.Process.{method} is not implemented")
        changes[method](message)
        return {}

    def _stream(
        self, running: Running, feed: Feed, answer: Answer, deadline: float | None, *, kill: bool
    ) -> None:
        try:
            answer.start_stream()
            answer.frame({"event": {"start": {"pid": running.pid}}})
            while True:
                left = _KEEPALIVE_S if deadline is None else min(_KEEPALIVE_S, deadline - time.monotonic())
                try:
                    event = feed.get(max(left, 0.0))
                except queue.Empty:
                    if deadline is not None and time.monotonic() >= deadline:
                        if kill and not running.ended.is_set():
                            os.kill(running.pid, signal.SIGKILL)
                        raise RpcError("deadline_exceeded", "context deadline exceeded") from None
                    answer.frame({"event": {"keepalive": {}}})
                    continue
                if event is None:
                    answer.end_stream()
                    return
                answer.frame(event)
        finally:
            running.leave(feed)


def listen(port: int = PORT) -> socket.socket:
    """The agent's listening socket, on all interfaces of its sandbox."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen(256)
    return listener
