"""The threads of the Cube stand-in.

They are its own: the event loop's default pool may be full of callers that wait for this server.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from bot.standin import kernel

P = ParamSpec("P")
T = TypeVar("T")
_DISK_THREADS = 4


class Threads:
    """Blocking work, and one thread that visits the network namespaces of sandboxes."""

    def __init__(self) -> None:
        self._disk = ThreadPoolExecutor(_DISK_THREADS, thread_name_prefix="cube-disk")
        self._visitor = ThreadPoolExecutor(1, thread_name_prefix="cube-netns")
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out a blocking call."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._disk, lambda: call(*args, **kwargs))

    async def open_socket(self, namespace: int) -> socket.socket:
        """A TCP socket of the network namespace that a descriptor stands for, not yet connected."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._visitor, kernel.open_socket_in, namespace, self._home)

    def close(self) -> None:
        """End the threads."""
        self._disk.shutdown()
        self._visitor.shutdown()
        os.close(self._home)
