"""How a process ends that may still have calls under way in threads.

The interpreter joins every thread of a pool at its exit, however long the call in it takes: a guest that does
not answer would keep a bot that was told to stop alive for a minute, and an orchestrator kills it after ten
seconds. Nobody waits for such a call any more, and what it was doing stands in the audit log as an intent.
"""

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

THREAD_SECONDS = 0.3
"""What threads get to end by themselves once everything is closed."""

INTERRUPTED = 130
"""The shells' code for a program that Ctrl-C has ended."""


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
