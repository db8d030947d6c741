"""Starting another program, without the megabyte that ``subprocess`` takes of a process that stays."""

from __future__ import annotations

import os
import select
import signal
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# For the C library: one heap for all threads, and memory that was needed once goes back at once.
THRIFT = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "131072"}

_NOTHING = "/dev/null"
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_POLL_S = 0.01
_PIECE = 4096


class Child:
    """A running program. Raises OSError when it cannot be started. Safe in threads.

    ``output`` is the file that standard output and error are appended to, or the descriptor that takes
    standard output alone. Standard input is empty unless a descriptor is given.
    """

    def __init__(
        self,
        argv: list[str],
        *,
        output: str | int,
        stdin: int | None = None,
        env: Mapping[str, str] = os.environ,
        leads_session: bool = False,
    ) -> None:
        self._lock = threading.Lock()
        self._code: int | None = None
        self.pid = os.posix_spawnp(
            argv[0],
            argv,
            env,
            file_actions=[_input(stdin), *_outputs(output)],
            setsid=leads_session,
            # What this process blocks or ignores is no matter of the child's.
            setsigmask=(),
            setsigdef=(signal.SIGPIPE,),
        )

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        with self._lock:
            if self._code is None:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                if ended:
                    self._code = os.waitstatus_to_exitcode(status)
            return self._code

    def wait(self, seconds: float) -> int | None:
        """The exit code; None when it still runs after so many seconds."""
        deadline = time.monotonic() + seconds
        while (code := self.poll()) is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        return code

    def stop(self, patience: float) -> None:
        """End it, by force after so many seconds."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.send(number)
            if self.wait(patience) is not None:
                return

    def send(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        with self._lock:
            # Until it is collected, and here only is it, its number cannot be another's.
            if self._code is None:
                os.kill(self.pid, number)


def output_of(argv: list[str], seconds: float) -> str | None:
    """What a program that ends well prints, or None. Raises OSError when it cannot be started."""
    reading, writing = os.pipe()
    try:
        try:
            child = Child(argv, output=writing)
        finally:
            os.close(writing)
        raw = _read_all(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
    if raw is None or child.wait(seconds) is None:
        child.stop(seconds)
        return None
    return raw.decode("utf-8", "replace") if child.poll() == 0 else None


def _read_all(handle: int, deadline: float) -> bytes | None:
    raw = b""
    while select.select([handle], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(handle, _PIECE)
        if not piece:
            return raw
        raw += piece
    return None


def _input(handle: int | None) -> tuple[int, ...] | tuple[int, int, str, int, int]:
    if handle is None:
        return os.POSIX_SPAWN_OPEN, 0, _NOTHING, os.O_RDONLY, 0
    return os.POSIX_SPAWN_DUP2, handle, 0


def _outputs(output: str | int) -> list[tuple[int, ...] | tuple[int, int, str, int, int]]:
    if isinstance(output, int):
        return [(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_OPEN, 2, _NOTHING, os.O_WRONLY, 0)]
    return [(os.POSIX_SPAWN_OPEN, 1, output, _APPEND, 0o666), (os.POSIX_SPAWN_DUP2, 1, 2)]
