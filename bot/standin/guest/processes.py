# pathlib would cost every sandbox a seventh of its boot time.
# ruff: noqa: PTH112

"""The processes that the agent has started."""

import base64
import contextlib
import errno
import fcntl
import os
import pty
import queue
import select
import signal
import struct
import subprocess
import termios
import threading
from typing import Any

from bot.standin.guest import accounts
from bot.standin.guest.wire import RpcError

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PIECE = 32 * 1024
# Chunks a subscriber may lag behind before the process is held back, as a pipe would hold it.
_BACKLOG = 64

Event = dict[str, Any]


class Feed:
    """Events on their way to one listener, closed by None."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Event | None] = queue.Queue(_BACKLOG)
        self.left = False

    def put(self, event: Event | None) -> None:
        """Hand over one event; waits for a slow listener, gives up on one that left."""
        while not self.left:
            with contextlib.suppress(queue.Full):
                self._queue.put(event, timeout=0.5)
                return

    def get(self, timeout_s: float) -> Event | None:
        """The next event. Raises queue.Empty after ``timeout_s`` seconds."""
        return self._queue.get(timeout=timeout_s)


class Running:
    """One started process and those who listen to it."""

    def __init__(self, pid: int, config: Event, tag: str | None) -> None:
        self.pid = pid
        self.config = config
        self.tag = tag
        self.terminal: int | None = None
        self.stdin: int | None = None
        self.ended = threading.Event()
        self.status = 0
        self._lock = threading.Lock()
        self._last: Event | None = None
        # The one who starts a process listens before its first output is read.
        self.opening = Feed()
        self._feeds = [self.opening]

    def listen(self) -> Feed:
        """A feed of events from now on."""
        feed = Feed()
        with self._lock:
            if self._last is None:
                self._feeds.append(feed)
                return feed
        feed.put(self._last)
        feed.put(None)
        return feed

    def leave(self, feed: Feed) -> None:
        """Stop listening; the process goes on."""
        feed.left = True
        with self._lock:
            if feed in self._feeds:
                self._feeds.remove(feed)

    def publish(self, event: Event) -> None:
        """Give an event to everybody who listens."""
        with self._lock:
            feeds = list(self._feeds)
        for feed in feeds:
            feed.put(event)

    def finish(self, event: Event) -> None:
        """Give the end event, also to those who listen only later."""
        with self._lock:
            self._last = event
            feeds, self._feeds = self._feeds, []
        for feed in feeds:
            feed.put(event)
            feed.put(None)


class Processes:
    """The table of started processes."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._table: dict[int, Running] = {}
        # Held while starting, so that a process cannot be reaped before it is in the table.
        self._lock = threading.Lock()

    def start(self, message: Event, user: str) -> Running:
        """Start ``message["process"]``. Raises RpcError where it cannot be."""
        account = accounts.look_up(user)
        config: Event = message.get("process") or {}
        cwd = accounts.resolve(config.get("cwd") or "", account)
        if not os.path.isdir(cwd):
            raise RpcError("invalid_argument", f"cwd '{cwd}' does not exist")
        options: dict[str, Any] = {
            "cwd": cwd,
            "env": {
                "PATH": _PATH,
                "HOME": account.pw_dir,
                "USER": user,
                "LOGNAME": user,
                "SHELL": account.pw_shell or "/bin/bash",
                **self._environment,
                **(config.get("envs") or {}),
            },
        }
        if account.pw_uid != 0:
            groups = os.getgrouplist(user, account.pw_gid)
            options |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": groups}
        argv = [str(config.get("cmd", "")), *map(str, config.get("args") or [])]
        if "pty" in message:
            return self._start_terminal(argv, options, config, message)
        return self._start_pipes(argv, options, config, message)

    def _start_pipes(self, argv: list[str], options: Event, config: Event, message: Event) -> Running:
        wants_input = message.get("stdin", True)
        with self._lock:
            child = self._spawn(
                argv,
                options,
                stdin=subprocess.PIPE if wants_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            running = self._enter(child, config, message)
        if child.stdin is not None:
            running.stdin = os.dup(child.stdin.fileno())
            child.stdin.close()
        streams = {"stdout": child.stdout, "stderr": child.stderr}
        kinds = {stream.fileno(): kind for kind, stream in streams.items() if stream is not None}
        self._follow(running, kinds, child)
        return running

    def _start_terminal(self, argv: list[str], options: Event, config: Event, message: Event) -> Running:
        master, slave = pty.openpty()
        _resize(master, message["pty"])

        def take_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        try:
            with self._lock:
                child = self._spawn(
                    argv,
                    options,
                    stdin=slave,
                    stdout=slave,
                    stderr=slave,
                    preexec_fn=take_terminal,
                )
                running = self._enter(child, config, message)
        except RpcError:
            os.close(master)
            raise
        finally:
            os.close(slave)
        running.terminal = master
        self._follow(running, {master: "pty"}, child)
        return running

    def _spawn(self, argv: list[str], options: Event, **streams: Any) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(argv, start_new_session=True, bufsize=0, **options, **streams)
        except (OSError, ValueError) as error:
            raise RpcError("invalid_argument", f"error starting process: {error}") from None

    def _enter(self, child: "subprocess.Popen[bytes]", config: Event, message: Event) -> Running:
        running = Running(child.pid, config, message.get("tag"))
        self._table[child.pid] = running
        return running

    def _follow(self, running: Running, kinds: dict[int, str], child: "subprocess.Popen[bytes]") -> None:
        threading.Thread(target=self._pump, args=(running, kinds, child), daemon=True).start()

    def _pump(self, running: Running, kinds: dict[int, str], child: "subprocess.Popen[bytes]") -> None:
        """Publish output until every writer has closed it, then the end.

        A background child that kept the pipe keeps the stream open, as it does with the real envd.
        """
        open_ones = dict(kinds)
        while open_ones:
            readable, _, _ = select.select(list(open_ones), [], [])
            for descriptor in readable:
                data = _read(descriptor)
                if not data:
                    del open_ones[descriptor]
                    continue
                text = base64.b64encode(data).decode()
                running.publish({"event": {"data": {kinds[descriptor]: text}}})
        running.ended.wait()
        # The reaper has the status; without one of its own, Popen would go and wait for the number,
        # which may be somebody else's by then.
        child.returncode = running.status
        with self._lock:
            self._table.pop(running.pid, None)
            for stream in (child.stdout, child.stderr):
                if stream is not None:
                    stream.close()
            for held in (running.terminal, running.stdin):
                if held is not None:
                    os.close(held)
            running.terminal = running.stdin = None
        running.finish({"event": {"end": _end_of(running.status)}})

    @property
    def running(self) -> bool:
        """Whether one of them has not ended, or somebody still reads what it said."""
        return bool(self._table)

    def find(self, message: Event) -> Running:
        """The process that a selector (``pid`` or ``tag``) means. Raises RpcError."""
        selector: Event = message.get("process") or {}
        for running in list(self._table.values()):
            if "pid" in selector and running.pid == int(selector["pid"]):
                return running
            if selector.get("tag") and running.tag == selector["tag"]:
                return running
        if "pid" in selector:
            raise RpcError("not_found", f"process with pid {selector['pid']} not found")
        raise RpcError("not_found", f"process with tag {selector.get('tag', '')} not found")

    def listing(self) -> list[Event]:
        """The table, as the List call gives it."""
        return [
            {"config": running.config, "pid": running.pid, **({"tag": running.tag} if running.tag else {})}
            for running in list(self._table.values())
        ]

    def send_input(self, message: Event) -> None:
        """Write to a process's standard input or terminal."""
        running = self.find(message)
        given: Event = message.get("input") or {}
        kind = "pty" if "pty" in given else "stdin"
        data = base64.b64decode(given.get(kind, ""))
        with self._lock:
            target = running.terminal if kind == "pty" else running.stdin
            held = None if target is None else os.dup(target)
        if held is None:
            what = "tty not assigned to process" if kind == "pty" else "stdin not enabled or closed"
            raise RpcError("failed_precondition", what)
        try:
            while data:
                data = data[os.write(held, data) :]
        except OSError as error:
            raise RpcError("internal", f"error writing to {kind}: {error.strerror}") from None
        finally:
            os.close(held)

    def close_input(self, message: Event) -> None:
        """Close a process's standard input."""
        running = self.find(message)
        with self._lock:
            if running.stdin is not None:
                os.close(running.stdin)
                running.stdin = None

    def send_signal(self, message: Event) -> None:
        """SIGNAL_SIGKILL or SIGNAL_SIGTERM to a process."""
        running = self.find(message)
        number = {"SIGNAL_SIGKILL": signal.SIGKILL, "SIGNAL_SIGTERM": signal.SIGTERM}.get(
            message.get("signal", "")
        )
        if number is None:
            raise RpcError("invalid_argument", f"invalid signal: {message.get('signal')}")
        if running.ended.is_set():
            raise RpcError("not_found", f"process with pid {running.pid} not found")
        os.kill(running.pid, number)

    def update(self, message: Event) -> None:
        """A new terminal size."""
        running = self.find(message)
        with self._lock:
            if running.terminal is None:
                raise RpcError("failed_precondition", "tty not assigned to process")
            _resize(running.terminal, message.get("pty") or {})

    def reap(self) -> None:
        """Collect every child that has ended."""
        while True:
            with self._lock:
                try:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                except ChildProcessError:
                    return
                if pid == 0:
                    return
                running = self._table.get(pid)
                if running is not None:
                    running.status = status
                    running.ended.set()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _PIECE)
    except OSError as error:
        if error.errno == errno.EIO:  # a terminal whose last user is gone
            return b""
        raise


def _resize(terminal: int, wanted: Event) -> None:
    size = wanted.get("size") or {}
    packed = struct.pack("HHHH", int(size.get("rows", 24)), int(size.get("cols", 80)), 0, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, packed)


def _end_of(status: int) -> Event:
    if os.WIFSIGNALED(status):
        name = signal.strsignal(os.WTERMSIG(status)) or str(os.WTERMSIG(status))
        said = f"signal: {name.lower()}"
        return {"exitCode": -1, "exited": False, "status": said, "error": said}
    code = os.waitstatus_to_exitcode(status)
    end: Event = {"exitCode": code, "exited": True, "status": f"exit status {code}"}
    if code:
        end["error"] = f"exit status {code}"
    return end
