"""A running sandbox: its processes, its namespaces, and the way to a port inside."""

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.standin.cube.freezer import CgroupFreezer, SignalFreezer
from bot.standin.cube.threads import Threads
from bot.standin.node_space import NamespaceError, NodeSpace, boot_answer, boot_argv, boot_environment
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

    def __init__(self, boot: Boot, freezer: CgroupFreezer | SignalFreezer, threads: Threads) -> None:
        self._boot = boot
        self._freezer = freezer
        self._threads = threads
        self._outer: asyncio.subprocess.Process | None = None
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
        # Spawned from the event loop's own thread on purpose: the sandbox dies with that thread.
        self._outer = await asyncio.create_subprocess_exec(
            *boot_argv("sandbox_boot"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=boot_environment(),
            start_new_session=True,
        )
        try:
            answer = await boot_answer(self._outer, self._boot.config(groups))
        except NamespaceError as error:
            raise BootError(str(error)) from error
        self._raise_for(answer)
        self.pid = int(answer["pid"])
        # A first process that could not finish is gone by now; its last line says why.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            self._network = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        stdout = self._outer.stdout
        if stdout is None:
            raise BootError("the boot program was started without pipes")
        line = await asyncio.wait_for(stdout.readline(), _READY_SECONDS)
        if not line:
            raise BootError("the sandbox's first process ended while it was booting")
        answer = json.loads(line)
        self._raise_for(answer)
        if self._network is None:
            raise BootError("the sandbox's first process ended as soon as it was up")
        self.volatile = bool(answer.get("volatile"))

    def _raise_for(self, answer: Mapping[str, Any]) -> None:
        if "mount" in answer:
            raise MountSourceMissingError(int(answer["mount"]), str(answer["error"]))
        if "error" in answer:
            raise BootError(str(answer["error"]))

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
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        if self._outer is not None:
            if not self.pid:
                with contextlib.suppress(ProcessLookupError):
                    self._outer.kill()
            # A frozen process dies only when it is thawed.
            await self.thaw()
            await self._outer.wait()
        if self._network is not None:
            os.close(self._network)
            self._network = None
        self.pid = 0
        await self._freezer.forget(self._boot.sandbox_id)


def _make_layers(home: Path) -> None:
    for name in ("root", "upper", "upper.work", "usr", "usr.work", "volatile"):
        (home / name).mkdir(parents=True, exist_ok=True)
        (home / name).chmod(0o755)
