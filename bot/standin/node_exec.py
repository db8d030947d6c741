"""One command on the node: an SSH channel on one side, a process in the node's view on the other.

As with OpenSSH's sshd, the shell of the login user runs the command without a terminal, the answer is
complete when the process has ended and nobody holds its output open any more, and a command goes on
when its connection is lost.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import asyncssh

from bot.standin.faults import Fault, Faults
from bot.standin.node_mounts import FULL_DISK, NO_RSYNC
from bot.standin.node_space import NamespaceError, NodeSpace
from bot.standin.pipes import read_piece, write_all

# What sshd on Debian gives root for a command; nothing of the stand-in's own environment is inherited.
_ENVIRONMENT = {
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/sh",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}
_WAITING_PIECES = 16
_LOGIN_SHELL = ("/bin/sh", "-c", 'cd "$HOME" && unset OLDPWD && exec "$SHELL" -c "$1"', "sh")


class Command(asyncssh.SSHServerSession[bytes]):
    """A session channel that may run one command.

    ``drop`` cuts the connection it came over; ``ended`` is told when nothing of the command runs any more.
    """

    def __init__(
        self,
        *,
        space: NodeSpace,
        faults: Faults,
        drop: Callable[[], None],
        ended: Callable[["Command"], None],
    ) -> None:
        self.closed = asyncio.Event()
        self._space = space
        self._faults = faults
        self._drop = drop
        self._ended = ended
        self._channel: asyncssh.SSHServerChannel[bytes] | None = None
        self._run: asyncio.Task[None] | None = None
        self._child: asyncio.subprocess.Process | None = None
        self._pumps: list[asyncio.Task[None]] = []
        self._input: deque[bytes | None] = deque()
        self._input_arrived = asyncio.Event()
        self._client_reads = asyncio.Event()
        self._client_reads.set()
        self._answer_kept = False

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """The channel is open."""
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        """Start the command. Shells, subsystems and terminals are not offered."""
        self._faults.count("node", "command")
        if self._faults.peek("node", "ssh-down", node=self._space.node_id) or self._take(
            "reset-before-command"
        ):
            self._drop()
            return True
        dropped = self._take("drop-after-write") is not None
        cut = self._take("reset-during-command")
        slow = self._take("ssh-slow")
        # rsync's two ends talk all the time: there, only the end of the talk can be lost.
        self._answer_kept = cut is not None or (dropped and not command.lstrip().startswith("rsync --server"))
        delay_s = slow.number("delay_s", 2.0) if slow else 0.0
        argv = [*self._spoiled_view(), *_LOGIN_SHELL, command]
        loop = asyncio.get_running_loop()
        self._run = loop.create_task(self._carry_out(argv, delay_s, dropped=dropped or cut is not None))
        if cut is not None:
            loop.call_later(delay_s + cut.number("delay_s", 0.05), self._drop)
        return True

    def _take(self, kind: str) -> Fault | None:
        return self._faults.take("node", kind, node=self._space.node_id)

    def _spoiled_view(self) -> list[str]:
        """What to put before a command for which the disk is full, or rsync not installed."""
        view = [*FULL_DISK] if self._take("disk-full") else []
        return [*view, *NO_RSYNC] if self._take("rsync-missing") else view

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Standard input; the client is held back while much of it waits."""
        del datatype
        self._input.append(data)
        self._input_arrived.set()
        if self._channel and len(self._input) > _WAITING_PIECES:
            self._channel.pause_reading()

    def eof_received(self) -> bool:
        """The end of standard input; the channel stays open for the answer."""
        self._input.append(None)
        self._input_arrived.set()
        return True

    def signal_received(self, signal: str) -> None:
        """Pass a signal on to the command and its children."""
        self._kill(f"SIG{signal}")

    def pause_writing(self) -> None:
        """The client reads slowly: stop reading from the process."""
        self._client_reads.clear()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._client_reads.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The channel is gone. Its pipes are closed and the command goes on, as under sshd."""
        del exc
        self._channel = None
        self._close_pipes()
        if self._run is None:
            self._finish()

    def kill(self) -> None:
        """End the command and its children now."""
        if self._child is None and self._run is not None:
            self._run.cancel()
        self._kill("SIGKILL")
        self._close_pipes()

    async def _carry_out(self, argv: list[str], delay_s: float, *, dropped: bool) -> None:
        code = 255
        try:
            if delay_s:
                await asyncio.sleep(delay_s)
            code = await self._run_child([*self._space.enter_argv(), *argv])
        except (OSError, NamespaceError) as error:
            self._write(2, f"sshd: cannot run the command: {error}\n".encode())
        finally:
            if dropped:
                self._drop()
            elif self._channel is not None and code < 0:
                self._channel.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
            elif self._channel is not None:
                self._channel.exit(code)
            self._finish()

    async def _run_child(self, argv: list[str]) -> int:
        """Run to the end: the process is gone and its output closed. Gives its code, -N for signal N."""
        stdin, stdout, stderr = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
        theirs = (stdin[0], stdout[1], stderr[1])
        ours = (stdin[1], stdout[0], stderr[0])
        for descriptor in ours:
            os.set_blocking(descriptor, False)
        try:
            self._child = await asyncio.create_subprocess_exec(
                *argv,
                stdin=theirs[0],
                stdout=theirs[1],
                stderr=theirs[2],
                env=_ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        loop = asyncio.get_running_loop()
        feed = loop.create_task(self._feed(ours[0]))
        outputs = [loop.create_task(self._pump(number, ours[number])) for number in (1, 2)]
        self._pumps = [feed, *outputs]
        for pump, descriptor in zip(self._pumps, ours, strict=True):
            # Not in the task itself: one that is cancelled before its first step never gets there.
            pump.add_done_callback(partial(_close, descriptor))
        if self._channel is None:
            self._close_pipes()
        code = await self._child.wait()
        await asyncio.wait(outputs)
        feed.cancel()
        await asyncio.wait([feed])
        return code

    async def _feed(self, descriptor: int) -> None:
        """Standard input, until its end or until the process no longer reads."""
        with suppress(BrokenPipeError):
            while True:
                await self._input_arrived.wait()
                piece = self._input.popleft()
                if not self._input:
                    self._input_arrived.clear()
                if piece is None:
                    return
                await write_all(descriptor, piece)
                if self._channel and len(self._input) <= _WAITING_PIECES:
                    self._channel.resume_reading()

    async def _pump(self, number: int, descriptor: int) -> None:
        """Standard output (1) or error (2), no faster than the client reads."""
        while piece := await read_piece(descriptor):
            self._write(number, piece)
            await self._client_reads.wait()

    def _write(self, number: int, data: bytes) -> None:
        if self._channel is None or self._channel.is_closing() or self._answer_kept:
            return
        if number == 1:
            self._channel.write(data)
        else:
            self._channel.write_stderr(data)

    def _close_pipes(self) -> None:
        for pump in self._pumps:
            pump.cancel()

    def _kill(self, name: str) -> None:
        number = getattr(signal, name, None)
        if self._child is None or self._child.returncode is not None or number is None:
            return
        # The group's id is the process's: it leads a session of its own.
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, number)

    def _finish(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self._ended(self)


def _close(descriptor: int, pump: asyncio.Task[None]) -> None:
    del pump
    os.close(descriptor)
