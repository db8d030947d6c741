"""The fork server of the Cube stand-in: asks it for first processes of sandboxes."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Mapping
from typing import Any

from bot.standin.node_space import NamespaceError, boot_answer, boot_argv, boot_environment
from bot.standin.pipes import read_piece


class Answers:
    """The JSON lines that come back about one sandbox."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held = b""

    async def next(self, seconds: float) -> dict[str, Any] | None:
        """The next one; None when the first process ended without a word. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while b"\n" not in self._held:
                piece = await read_piece(self._descriptor)
                if not piece:
                    return None
                self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Stop listening."""
        os.close(self._descriptor)


class ForkServer:
    """The process of :mod:`bot.standin.fork_server`. Like the sandboxes it ends with who started it."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._channel: socket.socket | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Start it. Raises NamespaceError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel = ours
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *boot_argv("fork_server"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env=boot_environment(),
                start_new_session=True,
            )
            await boot_answer(self._process, {"channel": theirs.fileno()})

    async def ready(self) -> None:
        """Start another one where it has ended, and its sandboxes with it. Raises NamespaceError."""
        async with self._starting:
            if self._process is not None and self._process.returncode is not None:
                await self.stop()
                await self.start()

    async def stop(self) -> None:
        """End it, and with it what it has forked."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def fork(self, config: Mapping[str, Any]) -> Answers:
        """Have the first process of a sandbox forked. Raises NamespaceError when there is no fork server."""
        if self._channel is None:
            raise NamespaceError("the fork server is not running")
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        file = os.memfd_create("sandbox")
        try:
            with os.fdopen(os.dup(file), "w", encoding="utf-8") as told:
                json.dump(config, told)
            os.lseek(file, 0, os.SEEK_SET)
            socket.send_fds(self._channel, [b"!"], [file, writing])
        except OSError as error:
            os.close(reading)
            raise NamespaceError(f"the fork server does not answer: {error}") from error
        finally:
            os.close(file)
            os.close(writing)
        return Answers(reading)
