"""Reading and writing a child's pipes from coroutines.

asyncio's own pipe transports are not used: closing one from inside its resume call loses what it still
holds (CPython 3.11), which a copy through a channel with flow control runs into at once.
"""

import asyncio
import os
from collections.abc import Callable

_PIECE = 1 << 16


async def read_piece(descriptor: int) -> bytes:
    """The next bytes of a non-blocking pipe; empty at its end."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return os.read(descriptor, _PIECE)
        except BlockingIOError:
            await _until(descriptor, loop.add_reader, loop.remove_reader)


async def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a non-blocking pipe. Raises BrokenPipeError when nobody reads any more."""
    loop = asyncio.get_running_loop()
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            await _until(descriptor, loop.add_writer, loop.remove_writer)


async def _until(
    descriptor: int, watch: Callable[[int, Callable[[], None]], None], forget: Callable[[int], bool]
) -> None:
    ready = asyncio.Event()
    watch(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        forget(descriptor)
