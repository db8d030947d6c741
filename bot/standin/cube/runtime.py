"""A running sandbox: its processes, its namespaces, and the way to a port inside."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.standin.cube.forks import Answers, ForkServer
from bot.standin.cube.freezer import CgroupFreezer, SignalFreezer
from bot.standin.cube.threads import Threads
from bot.standin.node_space import NamespaceError, NodeSpace
from bot.standin.sandbox_boot import Config, Mount

# Every guest has this address, in its own network (CubeSandbox, guest NIC).
GUEST_ADDRESS = "169.254.68.6"
_READY_SECONDS = 30.0


class BootError(RuntimeError):
    """A sandbox could not be booted."""


class MountSourceMissingError(BootError):
    """The source of mount number ``index`` is not a directory on the node; ``reason`` says why."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Boot:
    """What a sandbox is booted from. ``home`` keeps its layers and outlives its processes."""

    sandbox_id: str
    node: NodeSpace
    home: Path
    rootfs: Path
    skeleton: Path
    mounts: tuple[Mount, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    start_port: int = 0

    def config(self, freezer: list[str]) -> Config:
        """The boot program's input."""
        name = self.sandbox_id[:12]
        known = {
            "/etc/hostname": f"{name}\n",
            "/etc/hosts": f"127.0.0.1 localhost\n::1 localhost\n{GUEST_ADDRESS} {name}\n",
        }
        return Config(
            namespace=f"/proc/{self.node.pid}/ns/mnt",
            freezer=freezer,
            home=str(self.home),
            template=str(self.rootfs),
            skeleton=str(self.skeleton),
            hidden=list(self.hidden),
            hostname=name,
            guest_address=GUEST_ADDRESS,
            mounts=list(self.mounts),
            files={**known, **self.files},
            environment=dict(self.environment),
            start=list(self.start),
            start_port=self.start_port,
        )


class Runtime:
    """The processes of one sandbox. Ends with the server, whatever happens to the server."""

    def __init__(
        self, boot: Boot, freezer: CgroupFreezer | SignalFreezer, threads: Threads, forks: ForkServer
    ) -> None:
        self._boot = boot
        self._freezer = freezer
        self._threads = threads
        self._forks = forks
        self._first: int | None = None
        self._network: int | None = None
        self.pid = 0
        self.volatile = False

    async def boot(self) -> None:
        """Make namespaces and root and start the agent. Raises BootError and leaves nothing then."""
        await self._threads.run(_make_layers, self._boot.home)
        try:
            await self._launch()
        except BaseException:
            await self.kill()
            raise

    async def _launch(self) -> None:
        groups = self._freezer.prepare(self._boot.sandbox_id)
        try:
            await self._forks.ready()
            answers = self._forks.fork(self._boot.config(groups))
        except NamespaceError as error:
            raise BootError(str(error)) from error
        try:
            self.pid = int((await self._answer(answers))["pid"])
            # A first process that could not finish is gone by now; its last line says why.
            with contextlib.suppress(ProcessLookupError):
                self._first = os.pidfd_open(self.pid)
            ready = await self._answer(answers)
            # Only a process that lives on keeps the namespace, so this comes after its own word.
            with contextlib.suppress(FileNotFoundError, PermissionError):
                self._network = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            answers.close()
        if self._network is None:
            raise BootError("the sandbox's first process ended as soon as it was up")
        self.volatile = bool(ready.get("volatile"))

    async def _answer(self, answers: Answers) -> dict[str, Any]:
        try:
            answer = await answers.next(_READY_SECONDS)
        except TimeoutError:
            raise BootError(f"a sandbox was not ready within {_READY_SECONDS:.0f} s") from None
        if answer is None:
            raise BootError("the sandbox's first process ended while it was booting")
        if "mount" in answer:
            raise MountSourceMissingError(int(answer["mount"]), str(answer["error"]))
        if "error" in answer:
            raise BootError(str(answer["error"]))
        return answer

    async def connect(self, port: int) -> socket.socket:
        """Open a TCP connection to a port inside. Raises OSError where that is refused."""
        if self._network is None:
            raise ConnectionRefusedError
        made = await self._threads.open_socket(self._network)
        try:
            await asyncio.get_running_loop().sock_connect(made, (GUEST_ADDRESS, port))
        except BaseException:
            made.close()
            raise
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    async def freeze(self) -> None:
        """Stop every process where it is."""
        await self._freezer.freeze(self._boot.sandbox_id, self.pid)

    async def thaw(self) -> None:
        """Let every process go on."""
        await self._freezer.thaw(self._boot.sandbox_id, self.pid)

    async def kill(self) -> None:
        """End every process; mounts and namespaces go with the last one."""
        if self._first is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            # A frozen process dies only when it is thawed.
            await self.thaw()
            await _ended(self._first)
            os.close(self._first)
            self._first = None
        if self._network is not None:
            os.close(self._network)
            self._network = None
        self.pid = 0
        await self._freezer.forget(self._boot.sandbox_id)


async def _ended(process: int) -> None:
    """Wait for the end of a process. A sandbox's first one ends after all its others."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process)


def _make_layers(home: Path) -> None:
    for name in ("root", "upper", "upper.work", "usr", "usr.work", "volatile"):
        (home / name).mkdir(parents=True, exist_ok=True)
        (home / name).chmod(0o755)
