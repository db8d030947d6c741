"""Appending to the audit table: one transaction for whatever is to be written, one chain for all writers.

Everything here blocks and belongs to one thread.
"""

import contextlib
import random
import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from bot.adapters.audit_schema import (
    TABLE,
    begin,
    engine_for,
    ensure_schema,
    parsed,
    plain_reason,
    prepare_file,
    sqlite_file,
)
from bot.domain.audit import AuditRow, AuditUnavailableError, ChainHead, Columns, chained, row_of

_ATTEMPTS: Final = 20
_BACKOFF_S: Final = 0.002

_APPEND: Final = sa.insert(TABLE)
_HEAD: Final = sa.select(TABLE.c.seq, TABLE.c.hash).order_by(TABLE.c.seq.desc()).limit(1)


class NewRow(NamedTuple):
    """A row to write. ``once`` names the rule by which there may be one like it already."""

    columns: dict[str, str]
    once: Literal["", "claim", "vote"] = ""


class _HeadMovedError(Exception):
    """Another writer has added rows since we looked; nothing of ours was written."""


class Appender:
    """The writing connection, the newest row that it knows, and what is wrong with the file, if anything."""

    def __init__(self, url: str) -> None:
        self._url = parsed(url)
        self._file = sqlite_file(self._url)
        self._identity: tuple[int, int] | None = None
        self._engine: Engine = engine_for(self._url, writing=True)
        self._connection: Connection | None = None
        self._head: ChainHead | None = None
        self._damage: str | None = None
        self._examined = self._file is None

    def open(self) -> None:
        """Make the file and its schema where they are missing, and connect.

        Raises:
            AuditUnavailableError: the database cannot be opened for writing.
        """
        if self._file:
            prepare_file(self._file)
        try:
            ensure_schema(self._connected())
        except SQLAlchemyError as error:
            self.close()
            raise AuditUnavailableError(
                f"the audit database cannot be opened: {plain_reason(error)}"
            ) from error
        except AuditUnavailableError:
            self.close()
            raise
        self._identity = _identity(self._file)

    def close(self) -> None:
        """Give the connection up; the next use connects again."""
        connection, self._connection, self._head = self._connection, None, None
        with contextlib.suppress(SQLAlchemyError):  # a connection is often closed because it is broken
            if connection is not None:
                connection.close()
        self._engine.dispose()

    def ready(self) -> None:
        """Connect again if need be.

        Raises:
            AuditUnavailableError: rows would be lost, or would be written into a damaged file.
        """
        if _identity(self._file) != self._identity:
            self.close()
            raise AuditUnavailableError(
                f"{self._file} was removed or replaced while the bot ran, so new rows would be lost;"
                " put it back, or restart the bot to go on with what is there now"
            )
        try:
            connection = self._connected()
        except SQLAlchemyError as error:
            self.close()
            raise AuditUnavailableError(
                f"the audit database does not answer: {plain_reason(error)}"
            ) from error
        if not self._examined:
            self._damage, self._examined = _examine(connection), True
        if self._damage:
            raise AuditUnavailableError(
                f"the audit database is damaged ({self._damage}) and nothing is written to it;"
                " run hermes-bot audit verify, put back a backup of the file and restart"
            )

    def append(self, new: Sequence[NewRow]) -> list[AuditRow | None]:
        """All rows in one transaction, on disk when this returns; None for each that was there already.

        Raises:
            AuditUnavailableError: none was written. (If a connection to PostgreSQL broke during the commit,
                they may have been: the next look at the log tells.)
        """
        self.ready()
        attempt = 0
        while True:
            try:
                return self._transaction(new)
            except _HeadMovedError as moved:
                attempt += 1
                self._head = None
                if attempt == _ATTEMPTS:
                    raise AuditUnavailableError(
                        f"the audit log cannot be written: {_ATTEMPTS} times something else was added first"
                    ) from moved
                time.sleep(random.uniform(0, _BACKOFF_S * attempt))  # noqa: S311 - jitter, not a secret
            except SQLAlchemyError as error:
                self.close()
                raise AuditUnavailableError(
                    f"the audit log cannot be written: {plain_reason(error)}"
                ) from error

    def _transaction(self, new: Sequence[NewRow]) -> list[AuditRow | None]:
        connection = self._connected()
        begin(connection)
        try:
            head = self._head or _read_head(connection)
            written: list[Columns | None] = []
            for once, same in groupby(new, key=lambda row: row.once):
                add = _append_once if once else _append
                head = add(connection, list(same), head, written)
            connection.exec_driver_sql("COMMIT")
        except IntegrityError as error:
            connection.exec_driver_sql("ROLLBACK")
            raise _HeadMovedError(plain_reason(error)) from error
        except BaseException:
            with contextlib.suppress(SQLAlchemyError):  # the first error is the one to tell
                connection.exec_driver_sql("ROLLBACK")
            raise
        self._head = head
        return [None if row is None else row_of(row) for row in written]

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection


def _append(
    connection: Connection, new: Iterable[NewRow], head: ChainHead, written: list[Columns | None]
) -> ChainHead:
    rows = []
    for columns, _ in new:
        row = chained(columns, head)
        head = ChainHead(int(row["seq"]), str(row["hash"]))
        rows.append(row)
    connection.execute(_APPEND, rows)
    written.extend(rows)
    return head


def _append_once(
    connection: Connection, new: Iterable[NewRow], head: ChainHead, written: list[Columns | None]
) -> ChainHead:
    """Each in a savepoint, so that one that comes too late takes nothing of the others with it."""
    for row in new:
        connection.exec_driver_sql("SAVEPOINT once")
        try:
            head = _append(connection, [row], head, written)
        except IntegrityError:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT once")
            if not _taken(connection, row):
                raise
            written.append(None)
        connection.exec_driver_sql("RELEASE SAVEPOINT once")
    return head


def _taken(connection: Connection, row: NewRow) -> bool:
    same = [TABLE.c.phase == row.once, TABLE.c.request_id == row.columns["request_id"]]
    if row.once == "vote":
        same.append(TABLE.c.actor == row.columns["actor"])
    return connection.execute(sa.select(TABLE.c.seq).where(*same)).first() is not None


def _read_head(connection: Connection) -> ChainHead:
    found = connection.execute(_HEAD).first()
    return ChainHead(found.seq, found.hash) if found else ChainHead()


def _examine(connection: Connection) -> str | None:
    """SQLite's own look at the file. Not at opening, because for a long log it takes seconds."""
    try:
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    except SQLAlchemyError as error:
        return plain_reason(error)
    return None if found == "ok" else " ".join(str(found).replace("*** in database main ***", "").split())


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Which file a path means just now; None for PostgreSQL and for a missing file."""
    try:
        found = path.stat() if path else None
    except FileNotFoundError:
        return None
    return (found.st_dev, found.st_ino) if found else None
