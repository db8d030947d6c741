"""How a process ends that may still have calls under way in threads.

The interpreter joins every thread of a pool at its exit, however long the call in it takes: a guest that does
not answer would keep a bot that was told to stop alive for a minute, and an orchestrator kills it after ten
seconds. Nobody waits for such a call any more, and what it was doing stands in the audit log as an intent.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

THREAD_SECONDS = 0.3
"""What threads get to end by themselves once everything is closed."""

INTERRUPTED = 130
"""The shells' code for a program that Ctrl-C has ended."""


def when_told(then: Callable[[], None]) -> None:
    """Call ``then`` in the running loop at the first SIGTERM or SIGINT; later ones change nothing any more.

    The loop's own handlers are gone when it closes, and a second SIGTERM would then kill what is about to end
    by itself, with another exit code.
    """
    loop = asyncio.get_running_loop()

    def told(_number: int, _frame: object) -> None:
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, signal.SIG_IGN)
        loop.call_soon_threadsafe(then)

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, told)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` as ``asyncio.run`` does, and end the process when threads of it would hold it up.

    ``main`` has closed what it opened when it returns. An integer that it gives is the exit code then.
    """

    async def all_of_it() -> T:
        # One of our own, because the loop's is joined, too, and gives no way around it.
        threads = ThreadPoolExecutor(thread_name_prefix="loop")
        asyncio.get_running_loop().set_default_executor(threads)
        try:
            result = await main
        except asyncio.CancelledError:
            threads.shutdown(wait=False)
            _leave(INTERRUPTED)
            raise
        threads.shutdown(wait=False)
        _leave(result if isinstance(result, int) else 0)
        return result

    return asyncio.run(all_of_it())


@contextmanager
def at_the_latest(seconds: float) -> Iterator[None]:
    """End the process with 1 when the body takes longer, whatever it hangs in."""
    timer = threading.Timer(seconds, _give_up, (seconds,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@asynccontextmanager
async def either(stop: asyncio.Event, watch: Coroutine[Any, Any, int]) -> AsyncIterator[asyncio.Task[int]]:
    """A task that ends with 0 at ``stop``, or else with what ``watch`` gives."""

    async def wait() -> int:
        told, watching = asyncio.create_task(stop.wait()), asyncio.create_task(watch)
        try:
            await asyncio.wait({told, watching}, return_when=asyncio.FIRST_COMPLETED)
            return 0 if told.done() else watching.result()
        finally:
            told.cancel()
            watching.cancel()
            await asyncio.gather(told, watching, return_exceptions=True)

    over = asyncio.create_task(wait())
    try:
        yield over
    finally:
        over.cancel()
        await asyncio.gather(over, return_exceptions=True)


async def before(over: asyncio.Task[int], wanted: Awaitable[Any]) -> bool:
    """Whether what is wanted came before the end."""
    waiting = asyncio.ensure_future(wanted)
    await asyncio.wait({over, waiting}, return_when=asyncio.FIRST_COMPLETED)
    came = waiting.done()
    if not came:
        waiting.cancel()
    return came


def _leave(code: int) -> None:
    """Return when the interpreter can end at once; else end the process here."""
    until = time.monotonic() + THREAD_SECONDS
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join(max(0.0, until - time.monotonic()))
    left = [t.name for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]
    if left:
        log.warning("calls that nobody waits for any more are left behind: %s", ", ".join(sorted(left)))
        _end(code)


def _give_up(seconds: float) -> None:
    log.error("not everything could be closed within %g s of being told to stop; it ends as it is", seconds)
    _end(1)


def _end(code: int) -> None:
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
