"""The audit log in a SQL database: SQLite for one bot, PostgreSQL for several replicas."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from bot.adapters.audit_append import NewRow
from bot.adapters.audit_created import changes_of, made_by, made_for, made_on, rows_by_sandbox, unended
from bot.adapters.audit_schema import TABLE, engine_for, parsed, plain_reason, require_schema, sqlite_file
from bot.adapters.audit_writer import AuditWriter
from bot.domain.audit import (
    AuditEvent,
    AuditRow,
    AuditUnavailableError,
    ChainFault,
    ChainHead,
    ChainReport,
    Redactor,
    follow,
    row_of,
    storable,
    timestamp,
)

_PAGE: Final = 500
_VERIFY_PAGE: Final = 2000
_READERS: Final = 2

T = TypeVar("T")


class SqlAuditLog:
    """The ``AuditLog`` port. Make one with `open_audit_log`; it belongs to no particular event loop."""

    def __init__(
        self,
        reader: Engine,
        writer: AuditWriter | None,
        now: Callable[[], datetime],
        redactor: Redactor,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._now = now
        self._redactor = redactor
        self._closed = False
        self._watchers: list[Callable[[AuditRow], None]] = []
        self._threads = ThreadPoolExecutor(_READERS, thread_name_prefix="audit-reader")

    async def append(self, event: AuditEvent) -> AuditRow:
        """Add a row; it is on disk when this returns.

        Raises:
            AuditUnavailableError: the log cannot be written.
            ValueError: the event is a claim or a vote, which have methods of their own.
        """
        if event.phase in {"claim", "vote"}:
            raise ValueError(f"a {event.phase} is made with {event.phase}(), which tells whether it won")
        row = await self._writing().write(NewRow(self._storable(event)))
        assert row is not None  # noqa: S101 - only a claim or a vote can come too late
        for told in self._watchers:
            told(row)
        return row

    def watch(self, told: Callable[[AuditRow], None]) -> None:
        """Have ``told`` called, on the caller's thread, with each row that `append` has made durable."""
        self._watchers.append(told)

    async def claim(self, event: AuditEvent) -> AuditRow | None:
        """Take the request for this caller alone; None when it is taken. Raises as `append` does."""
        if event.phase != "claim":
            raise ValueError(f"a claim has the phase claim, not {event.phase}")
        return await self._writing().write(NewRow(self._storable(event), "claim"))

    async def vote(self, event: AuditEvent) -> AuditRow | None:
        """Count the actor's vote; None when the actor has voted on this request. Raises as `append` does."""
        if event.phase != "vote":
            raise ValueError(f"a vote has the phase vote, not {event.phase}")
        return await self._writing().write(NewRow(self._storable(event), "vote"))

    async def check(self) -> None:
        """Return when the log can be written now.

        Raises:
            AuditUnavailableError: it cannot, and why.
        """
        await self._writing().check()

    async def check_schema(self) -> None:
        """Return when the database holds an audit log that this bot can read; else raises as `check` does."""
        await self._read(require_schema)

    async def of_request(self, request_id: str) -> list[AuditRow]:
        """The request's rows, oldest first."""
        query = sa.select(TABLE).where(TABLE.c.request_id == request_id).order_by(TABLE.c.seq)
        return await self._rows(query)

    async def open_intents(self) -> list[AuditRow]:
        """Intents whose request has no outcome after them, oldest first."""
        later = TABLE.alias("later")
        outcome = sa.exists().where(
            later.c.request_id == TABLE.c.request_id, later.c.phase == "outcome", later.c.seq > TABLE.c.seq
        )
        query = sa.select(TABLE).where(TABLE.c.phase == "intent", ~outcome).order_by(TABLE.c.seq)
        return await self._rows(query)

    async def created(self, sandbox_ids: Collection[str]) -> dict[str, AuditRow]:
        """The last intent of the request that made each; sandboxes that no create has made are left out."""
        return await self._by_sandbox(made_by(sandbox_ids)) if sandbox_ids else {}

    async def created_on(self, home: str) -> dict[str, AuditRow]:
        """The same for the sandboxes of a home of which no row tells the end."""
        return await self._by_sandbox(made_on(home))

    async def created_by(self, actor: str, *, limit: int = 100) -> list[AuditRow]:
        """The last intents behind the latest sandboxes of this actor's creates, newest first."""
        made = await self._by_sandbox(made_for(actor, limit))
        return [*made.values()][::-1]

    async def unended(self, besides: Collection[str], *, limit: int) -> dict[str, AuditRow]:
        """The last intents behind the latest sandboxes that may still live, without ``besides``."""
        known = frozenset(besides)

        def fetch(connection: Connection) -> dict[str, AuditRow]:
            found = [name for name in connection.execute(unended()).scalars() if name not in known][-limit:]
            if not found:
                return {}
            rows = connection.execute(made_by(found)).mappings()
            return rows_by_sandbox([dict(row) for row in rows])

        return await self._read(fetch)

    async def changes(self, sandbox_ids: Collection[str]) -> dict[str, list[AuditRow]]:
        """The pauses, resumes and keeps of each, newest first."""
        found: dict[str, list[AuditRow]] = {}
        for row in await self._rows(changes_of(sandbox_ids)) if sandbox_ids else ():
            found.setdefault(row.sandbox, []).append(row)
        return found

    async def recent(
        self,
        *,
        home: str | None = None,
        sandbox: str | None = None,
        actor: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
    ) -> list[AuditRow]:
        """The newest rows that match every given filter, newest first."""
        matches = _matching(home, sandbox, actor, since)
        query = sa.select(TABLE).where(*matches).order_by(TABLE.c.seq.desc()).limit(limit)
        return await self._rows(query)

    async def export(
        self,
        *,
        home: str | None = None,
        sandbox: str | None = None,
        actor: str | None = None,
        since: datetime | None = None,
    ) -> AsyncIterator[AuditRow]:
        """Every row that matches, oldest first, read page by page as it is asked for."""
        matches = _matching(home, sandbox, actor, since)
        seq = 0
        while True:
            page = sa.select(TABLE).where(TABLE.c.seq > seq, *matches).order_by(TABLE.c.seq).limit(_PAGE)
            rows = await self._rows(page)
            for row in rows:
                yield row
            if len(rows) < _PAGE:
                return
            seq = rows[-1].seq

    async def head(self) -> ChainHead:
        """The newest row's number and hash."""
        query = sa.select(TABLE.c.seq, TABLE.c.hash).order_by(TABLE.c.seq.desc()).limit(1)
        found = await self._read(lambda connection: connection.execute(query).first())
        return ChainHead(found.seq, found.hash) if found else ChainHead()

    async def verify(self) -> ChainReport:
        """Walk the whole chain; the report ends at the first row that is not as it was written."""
        head = ChainHead()
        while True:
            size, step = await self._read(_walk(head))
            if isinstance(step, ChainReport):
                return step
            head = step
            if size < _VERIFY_PAGE:
                return ChainReport(head.seq, head)

    async def close(self) -> None:
        """Write what was handed over, then close every connection. Harmless when repeated."""
        self._closed = True
        if self._writer is not None:
            await self._writer.stop()
        await asyncio.to_thread(self._threads.shutdown)
        self._reader.dispose()

    def _storable(self, event: AuditEvent) -> dict[str, str]:
        return storable(event, self._now(), self._redactor)

    def _writing(self) -> AuditWriter:
        if self._writer is None:
            raise AuditUnavailableError("the audit log was opened for reading only")
        return self._writer

    async def _by_sandbox(self, query: sa.Select[Any]) -> dict[str, AuditRow]:
        def fetch(connection: Connection) -> dict[str, AuditRow]:
            return rows_by_sandbox([dict(row) for row in connection.execute(query).mappings()])

        return await self._read(fetch)

    async def _rows(self, query: sa.Select[Any]) -> list[AuditRow]:
        def fetch(connection: Connection) -> list[AuditRow]:
            return [row_of(row) for row in connection.execute(query).mappings()]  # type: ignore[arg-type]  # RowMapping's keys are str here

        return await self._read(fetch)

    async def _read(self, ask: Callable[[Connection], T]) -> T:
        def answer() -> T:
            try:
                with self._reader.connect() as connection:
                    return ask(connection)
            except SQLAlchemyError as error:
                raise AuditUnavailableError(f"the audit log cannot be read: {plain_reason(error)}") from error

        if self._closed:
            raise AuditUnavailableError("the audit log is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, answer)


async def open_audit_log(
    url: str, *, now: Callable[[], datetime], redactor: Redactor, read_only: bool = False
) -> SqlAuditLog:
    """Open the log at a ``sqlite:////path`` or ``postgresql+psycopg://`` URL and make it if need be.

    ``now`` gives aware times. Everything that is written passes ``redactor`` first. A log that was opened
    with ``read_only`` must exist, is changed in no way and refuses to be written. Whether the file is
    sound is found out on the writing thread: ask `SqlAuditLog.check`, or see the first append refused.

    Raises:
        AuditUnavailableError: it cannot be opened, and why.
    """
    parts = parsed(url)
    reader = engine_for(parts, writing=False)
    if not read_only:
        writer = AuditWriter(url)
        await writer.start()
        return SqlAuditLog(reader, writer, now, redactor)
    file = sqlite_file(parts)
    if file and not file.exists():
        raise AuditUnavailableError(f"there is no audit log at {file}; name another one with --database")
    log = SqlAuditLog(reader, None, now, redactor)
    try:
        await log.check_schema()
    except AuditUnavailableError:
        await log.close()
        raise
    return log


def _matching(
    home: str | None, sandbox: str | None, actor: str | None, since: datetime | None
) -> Sequence[sa.ColumnElement[bool]]:
    wanted = {"home": home, "sandbox": sandbox, "actor": actor}
    matches = [TABLE.c[name] == value for name, value in wanted.items() if value is not None]
    return [*matches, TABLE.c.at >= timestamp(since)] if since is not None else matches


def _walk(head: ChainHead) -> Callable[[Connection], tuple[int, ChainHead | ChainReport]]:
    """One page of the walk from ``head``: the number of rows read, and the new head or the end.

    A page begins with the row at which the one before it ended, so that nothing hides between two pages.
    """
    query = sa.select(TABLE).order_by(TABLE.c.seq).limit(_VERIFY_PAGE)
    if head.seq:
        query = query.where(TABLE.c.seq >= head.seq)

    def walk(connection: Connection) -> tuple[int, ChainHead | ChainReport]:
        at, size = head, 0
        try:
            for row in connection.execute(query).mappings():
                size += 1
                if size == 1 and row["seq"] == head.seq and row["hash"] == head.hash:
                    continue
                step = follow(at, row)  # type: ignore[arg-type]  # RowMapping's keys are str here
                if isinstance(step, ChainFault):
                    return size, ChainReport(at.seq, at, step)
                at = step
        except DatabaseError as error:
            fault = ChainFault(at.seq + 1, "unreadable", plain_reason(error))
            return size, ChainReport(at.seq, at, fault)
        return size, at

    return walk
