"""The threads of the Cube stand-in.

They are its own: the event loop's default pool may be full of callers that wait for this server.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from bot.standin import kernel

P = ParamSpec("P")
T = TypeVar("T")
_DISK_THREADS = 4


class Threads:
    """Blocking work, and visits to the network namespaces of sandboxes."""

    def __init__(self) -> None:
        self._disk = ThreadPoolExecutor(_DISK_THREADS, thread_name_prefix="cube-disk")

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out a blocking call."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._disk, lambda: call(*args, **kwargs))

    async def open_socket(self, namespace: int) -> socket.socket:
        """A TCP socket of the network namespace that a descriptor stands for, not yet connected.

        The thread that goes there ends there: root of a user namespace may enter the namespaces it
        has made, but not come back to the machine's.
        """
        loop = asyncio.get_running_loop()
        made: asyncio.Future[socket.socket] = loop.create_future()
        # A copy, because the original may be closed, and its number used anew, while the thread starts.
        entrance = os.dup(namespace)

        def visit() -> None:
            try:
                opened = kernel.open_socket_in(entrance)
            except OSError as error:
                loop.call_soon_threadsafe(_fail, made, error)
            else:
                loop.call_soon_threadsafe(_deliver, made, opened)
            finally:
                os.close(entrance)

        threading.Thread(target=visit, name="cube-netns", daemon=True).start()
        return await made

    def close(self) -> None:
        """End the threads."""
        self._disk.shutdown()


def _deliver(made: "asyncio.Future[socket.socket]", opened: socket.socket) -> None:
    if made.done():
        opened.close()
    else:
        made.set_result(opened)


def _fail(made: "asyncio.Future[socket.socket]", error: OSError) -> None:
    if not made.done():
        made.set_exception(error)
