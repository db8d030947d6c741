"""The one thread that appends to the audit log.

Async callers hand their rows over and wait. Whatever is waiting when the thread looks goes into one
transaction, so that sixteen callers share one sync to disk and one caller waits for no more than his own.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.adapters.audit_append import Appender, NewRow
from bot.domain.audit import AuditRow, AuditUnavailableError

_GROUP: Final = 256


@dataclass(frozen=True, slots=True)
class _Job:
    """What one caller waits for: a row, or, without one, the news that a row could be written."""

    row: NewRow | None
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[AuditRow | None]


class AuditWriter:
    """Use `start` once, then `write` and `check` from any event loop, and finally `stop`."""

    def __init__(self, url: str) -> None:
        self._appender = Appender(url)
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="audit-writer", daemon=True)
        self._gate = threading.Lock()
        self._accepting = False

    async def start(self) -> None:
        """Open the database, make or migrate its schema, start the thread.

        Raises:
            AuditUnavailableError: it cannot be opened for writing.
        """
        await asyncio.to_thread(self._appender.open)
        self._accepting = True
        self._thread.start()

    async def write(self, row: NewRow) -> AuditRow | None:
        """Append a row; None when it may be there only once and is there already.

        Raises:
            AuditUnavailableError: see `Appender.append`.
        """
        return await self._hand_over(row)

    async def check(self) -> None:
        """Return when a row could be written now.

        Raises:
            AuditUnavailableError: it could not.
        """
        await self._hand_over(None)

    async def stop(self) -> None:
        """Write what was handed over and close the connection. Harmless when repeated."""
        with self._gate:
            if self._accepting:
                self._accepting = False
                self._queue.put(None)
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

    async def _hand_over(self, row: NewRow | None) -> AuditRow | None:
        loop = asyncio.get_running_loop()
        job = _Job(row, loop, loop.create_future())
        with self._gate:  # nothing may get in behind the stop sign, where nobody would answer it
            if not self._accepting:
                raise AuditUnavailableError("the audit log is closed")
            self._queue.put(job)
        return await job.answer

    def _run(self) -> None:
        going = True
        while going:
            waiting = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while len(waiting) < _GROUP:
                    waiting.append(self._queue.get_nowait())
            going = None not in waiting
            jobs = [job for job in waiting if job is not None]
            if jobs:
                _answer(jobs, self._written(jobs))
        self._appender.close()

    def _written(self, jobs: Sequence[_Job]) -> list[AuditRow | None] | AuditUnavailableError:
        try:
            self._appender.ready()
            rows = [job.row for job in jobs if job.row is not None]
            found = iter(self._appender.append(rows) if rows else ())
            return [None if job.row is None else next(found) for job in jobs]
        except AuditUnavailableError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the thread must live, and whoever waits must hear of it
            self._appender.close()
            failure = AuditUnavailableError(f"the audit log failed: {error!r}")
            failure.__cause__ = error
            return failure


def _answer(jobs: Sequence[_Job], answers: list[AuditRow | None] | AuditUnavailableError) -> None:
    """Wake the callers: one wake-up for each event loop, not one for each caller."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Job, AuditRow | None]]] = {}
    failure = answers if isinstance(answers, AuditUnavailableError) else None
    for place, job in enumerate(jobs):
        answer = None if isinstance(answers, AuditUnavailableError) else answers[place]
        by_loop.setdefault(job.loop, []).append((job, answer))
    for loop, theirs in by_loop.items():
        with contextlib.suppress(RuntimeError):  # that loop is closed, and its callers are gone with it
            loop.call_soon_threadsafe(_settle, theirs, failure)


def _settle(answers: Sequence[tuple[_Job, AuditRow | None]], failure: AuditUnavailableError | None) -> None:
    for job, row in answers:
        if job.answer.done():
            continue  # the caller was cancelled; his row stands all the same
        if failure is None:
            job.answer.set_result(row)
        else:
            copy = AuditUnavailableError(str(failure))  # a shared one would collect every caller's traceback
            copy.__cause__ = failure.__cause__
            job.answer.set_exception(copy)
