"""A node's view of the file system: the machine's own, plus ``/data/shared``.

Nothing of it appears on the host: the view is a mount namespace, held by one small process.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bot
from bot.standin import kernel

_BOOT_SECONDS = 20.0
_CODE = Path(bot.__file__).resolve().parents[1]
# The place of our code comes through standard input: a sandbox can read the command line and the
# environment of its first process, and the checkout is none of its business.
_STUB = (
    "import sys;code=sys.stdin.readline().rstrip();sys.path.insert(0,code);"
    "from bot.standin.{module} import main;sys.path.remove(code);main()"
)


class NamespaceError(RuntimeError):
    """Namespaces cannot be made here; the text says what to do about it."""


def boot_argv(module: str) -> list[str]:
    """The command that runs ``bot.standin.<module>.main`` under a bare interpreter.

    The distribution's interpreter is preferred, since it is the one that exists inside sandboxes.
    """
    python = "/usr/bin/python3"
    if not os.access(python, os.X_OK):
        python = os.path.realpath(sys.executable)
    return [python, "-S", "-E", "-s", "-B", "-c", _STUB.format(module=module)]


def boot_environment() -> dict[str, str]:
    """The whole environment of a boot program: nothing of ours is inherited."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def require_namespaces() -> None:
    """Raise NamespaceError, with the remedy, where this process may not make namespaces."""
    if kernel.may_administrate():
        return
    raise NamespaceError(
        "sandboxes need root or a user namespace: run as root, or start with "
        "`unshare --user --map-root-user hermes-bot standin`, or give the container `--cap-add SYS_ADMIN`"
    )


def privileged_argv(argv: Sequence[str]) -> list[str] | None:
    """The command to run instead of ``argv`` so that it may make namespaces; None when it may already.

    An ordinary user gets a user namespace in which it is root: there, files have one owner only and
    freezing is done by signals. Raises NamespaceError, with the remedy, where that is refused too.
    """
    if kernel.may_administrate():
        return None
    prefix = ["unshare", "--user", "--map-root-user", "--"]
    allowed = subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode == 0
    if not allowed:
        require_namespaces()
    return [*prefix, *argv]


async def boot_answer(process: asyncio.subprocess.Process, config: Mapping[str, Any]) -> dict[str, Any]:
    """Hand ``config`` to a boot program and give its first JSON line. Raises NamespaceError."""
    if process.stdin is None or process.stdout is None:
        raise NamespaceError("the boot program was started without pipes")
    process.stdin.write(f"{_CODE}\n{json.dumps(config)}".encode())
    process.stdin.close()
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _BOOT_SECONDS)
    except TimeoutError:
        raise NamespaceError(f"a namespace was not ready within {_BOOT_SECONDS:.0f} s") from None
    if not line:
        raise NamespaceError("a boot program ended without a word; its own error is on standard error")
    answer: dict[str, Any] = json.loads(line)
    return answer


class NodeSpace:
    """The mount namespace of one node.

    ``shared`` is the directory that is ``/data/shared`` inside; it is made when it does not exist.
    ``host_ip`` is the node's other name, as Cube knows it; nothing listens there.
    """

    def __init__(self, node_id: str, shared: Path, host_ip: str = "") -> None:
        self.node_id = node_id
        self.host_ip = host_ip
        self.shared = shared
        self._holder: asyncio.subprocess.Process | None = None
        self._root = shared.with_name(f"{node_id}.view")

    async def start(self) -> None:
        """Build the namespace. Raises NamespaceError where that is not allowed."""
        require_namespaces()
        await asyncio.to_thread(self.shared.mkdir, parents=True, exist_ok=True)
        await asyncio.to_thread(self._root.mkdir, exist_ok=True)
        # Spawned from the event loop's own thread on purpose: the holder dies with that thread.
        self._holder = await asyncio.create_subprocess_exec(
            *boot_argv("node_boot"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=boot_environment(),
            start_new_session=True,
        )
        config = {"shared": str(self.shared.resolve()), "root": str(self._root.resolve())}
        try:
            await self._built(self._holder, config)
        except BaseException:
            await self.stop()
            raise

    async def _built(self, holder: asyncio.subprocess.Process, config: Mapping[str, Any]) -> None:
        answer = await boot_answer(holder, config)
        if "error" in answer:
            raise NamespaceError(f"node {self.node_id} could not be set up: {answer['error']}")

    async def stop(self) -> None:
        """End the holder. The namespace is gone when the last process in it has ended."""
        holder, self._holder = self._holder, None
        if holder is not None:
            with contextlib.suppress(ProcessLookupError):
                holder.kill()
            await holder.wait()
            with contextlib.suppress(FileNotFoundError):
                await asyncio.to_thread(self._root.rmdir)

    @property
    def pid(self) -> int:
        """The holder's process id. Raises NamespaceError before ``start`` and after ``stop``."""
        if self._holder is None:
            raise NamespaceError(f"node {self.node_id} is not started")
        return self._holder.pid

    def enter_argv(self) -> list[str]:
        """What to put before a command so that it runs in this node's view."""
        return ["nsenter", f"--mount=/proc/{self.pid}/ns/mnt", "--"]
