"""One command on the node: an SSH channel on one side, a process in the node's view on the other.

As with OpenSSH's sshd, the shell of the login user runs the command without a terminal, the answer is
complete when the process has ended and nobody holds its output open any more, and a command goes on
when its connection is lost.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import asyncssh

from bot.standin.faults import Faults
from bot.standin.node_space import NamespaceError, NodeSpace

# What sshd on Debian gives root for a command; nothing of the stand-in's own environment is inherited.
_ENVIRONMENT = {
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/sh",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}
_LOGIN_SHELL = ("/bin/sh", "-c", 'cd "$HOME" && unset OLDPWD && exec "$SHELL" -c "$1"', "sh")

# A full disk, for one command only: its own mount namespace, where /data/shared is an overlay whose
# upper layer is a tiny tmpfs with neither a block nor an inode left. What was there can be read, statfs
# says that nothing is free, and everything that would need space gets ENOSPC from the kernel. Unlike on
# a real full disk nothing can be deleted either, because the overlay would have to write that down.
_FULL_DISK = (
    "unshare",
    "--mount",
    "--propagation",
    "private",
    "/bin/sh",
    "-c",
    """set -e
mount -t tmpfs -o size=64k,nr_inodes=16 full /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay -o lowerdir=/data/shared,upperdir=/mnt/upper,workdir=/mnt/work full /data/shared
cat /dev/zero >/mnt/filler 2>/dev/null || true
n=0
while true 2>/dev/null >"/mnt/none-$n"; do n=$((n + 1)); done
umount -l /mnt
exec "$@"
""",
    "sh",
)


class Command(asyncssh.SSHServerSession[bytes]):
    """A session channel that may run one command. ``drop`` cuts the connection it came over."""

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
        self._starting: asyncio.Task[None] | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._early_input: list[bytes] = []
        self._input_ended = False
        self._answer_withheld = False
        self._streams = False
        self._channel_lost = False

    # The channel's side.

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """The channel is open."""
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        """Start the command. Shells, subsystems and terminals are not offered."""
        if self._faults.peek("node", "ssh-down"):
            self._drop()
            return True
        # A protocol that talks back and forth has to be let through until its end; a plain answer is kept.
        self._answer_withheld = self._faults.take("node", "drop-after-write") is not None
        self._streams = command.lstrip().startswith("rsync --server")
        slow = self._faults.take("node", "ssh-slow")
        full = self._faults.take("node", "disk-full") is not None
        delay_s = slow.number("delay_s", 2.0) if slow else 0.0
        self._starting = asyncio.get_running_loop().create_task(self._start(command, delay_s, full_disk=full))
        return True

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Standard input, kept until there is a process."""
        del datatype
        target = self._stdin()
        if target is None:
            self._early_input.append(data)
        else:
            target.write(data)

    def eof_received(self) -> bool:
        """Close the process's standard input; the channel stays open for its answer."""
        self._input_ended = True
        if target := self._stdin():
            target.close()
        return True

    def signal_received(self, signal: str) -> None:
        """Pass a signal on to the command and its children."""
        self._kill(f"SIG{signal}")

    def pause_writing(self) -> None:
        """The client reads slowly: stop reading from the process."""
        for pipe in self._outputs():
            pipe.pause_reading()

    def resume_writing(self) -> None:
        """The client has caught up."""
        for pipe in self._outputs():
            pipe.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """The channel is gone. The command goes on without it, as under sshd."""
        del exc
        self._channel_lost = True
        if self._transport is not None:
            for number in (0, 1, 2):
                if pipe := self._transport.get_pipe_transport(number):
                    pipe.close()
        elif self._starting is None:
            self._finish()

    # The process's side.

    def output(self, number: int, data: bytes) -> None:
        """Standard output (1) or error (2) of the process."""
        if self._channel is None or self._channel_lost or (self._answer_withheld and not self._streams):
            return
        if number == 1:
            self._channel.write(data)
        else:
            self._channel.write_stderr(data)

    def input_full(self, *, full: bool) -> None:
        """The process reads slowly, or has caught up."""
        if self._channel is not None and not self._channel_lost:
            (self._channel.pause_reading if full else self._channel.resume_reading)()

    def process_ended(self) -> None:
        """The process has ended and its output is closed: answer, or lose the connection instead."""
        code = self._transport.get_returncode() if self._transport else None
        if self._answer_withheld:
            self._drop()
        elif self._channel is not None and not self._channel_lost:
            if code is not None and code < 0:
                self._channel.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
            else:
                self._channel.exit(255 if code is None else code)
        self._finish()

    def kill(self) -> None:
        """End the command and its children now."""
        if self._starting is not None and self._transport is None:
            self._starting.cancel()
            self._finish()
        self._kill("SIGKILL")

    async def _start(self, command: str, delay_s: float, *, full_disk: bool) -> None:
        if delay_s:
            await asyncio.sleep(delay_s)
        wrapper = _FULL_DISK if full_disk else ()
        try:
            argv = [*self._space.enter_argv(), *wrapper, *_LOGIN_SHELL, command]
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Process(self), *argv, env=_ENVIRONMENT, cwd="/", start_new_session=True
            )
        except (OSError, NamespaceError) as error:
            self.output(2, f"sshd: cannot run the command: {error}\n".encode())
            self.process_ended()
            return
        self._transport = transport
        if self._channel_lost:
            self.connection_lost(None)
            return
        if target := self._stdin():
            target.writelines(self._early_input)
            if self._input_ended:
                target.close()
        self._early_input.clear()

    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        return cast("asyncio.WriteTransport", pipe) if pipe else None

    def _outputs(self) -> list[asyncio.ReadTransport]:
        pipes = (self._transport.get_pipe_transport(number) for number in (1, 2)) if self._transport else ()
        return [cast("asyncio.ReadTransport", pipe) for pipe in pipes if pipe and not pipe.is_closing()]

    def _kill(self, name: str) -> None:
        number = getattr(signal, name, None)
        if self._transport is None or number is None:
            return
        # The group's id is the process's: it leads a session of its own.
        with suppress(ProcessLookupError):
            os.killpg(self._transport.get_pid(), number)

    def _finish(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self._ended(self)


class _Process(asyncio.SubprocessProtocol):
    """Hands what a process does to its command."""

    def __init__(self, command: Command) -> None:
        self._command = command

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        self._command.output(fd, cast("bytes", data))

    def pause_writing(self) -> None:
        self._command.input_full(full=True)

    def resume_writing(self) -> None:
        self._command.input_full(full=False)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._command.process_ended()
