"""A look at the audit database that leaves nothing behind: where it lies, and whether it can be written."""

import asyncio
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from bot.adapters.audit_schema import (
    TABLE,
    begin,
    engine_for,
    network_file_system,
    parsed,
    plain_reason,
    require_schema,
    sqlite_file,
)
from bot.domain.audit import AuditUnavailableError, ChainHead

_MOUNTS = Path("/proc/self/mountinfo")
_OTHERS = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFile:
    """The file of a SQLite log. Permissions are those of whoever asks."""

    path: Path
    exists: bool
    writable: bool
    """The file and its directory; while it does not exist, the nearest directory that does."""
    nearest: Path
    """That directory."""
    open_to_others: bool
    network: str = ""
    """The type of its file system when that is shared with other machines."""


def look_at_file(url: str) -> DatabaseFile | None:
    """The file of the database at ``url``; None for PostgreSQL.

    Raises:
        AuditUnavailableError: the URL is none that an audit log may live at.
    """
    path = sqlite_file(parsed(url))
    if path is None:
        return None
    nearest = next(parent for parent in path.parents if parent.exists())
    exists = path.exists()
    writable = nearest.is_dir() and _takes_files(nearest)
    kind = network_file_system(_MOUNTS.read_text(), nearest.resolve()) if _MOUNTS.exists() else None
    return DatabaseFile(
        path=path,
        exists=exists,
        writable=writable and (not exists or (path.is_file() and os.access(path, os.W_OK))),
        nearest=nearest,
        open_to_others=exists and bool(path.stat().st_mode & _OTHERS),
        network=kind or "",
    )


async def try_to_write(url: str) -> None:
    """Write a row and take it back within one transaction; of the attempt nothing can be read by anybody.

    Raises:
        AuditUnavailableError: it cannot be written, holds no log, or one of another revision; and why.
    """
    await asyncio.to_thread(_try_to_write, url)


def _try_to_write(url: str) -> None:
    engine = engine_for(parsed(url), writing=True)
    try:
        with engine.connect() as connection:
            require_schema(connection)
            begin(connection)
            try:
                _insert(connection)
            finally:
                connection.exec_driver_sql("ROLLBACK")
    except SQLAlchemyError as error:
        raise AuditUnavailableError(f"the audit log cannot be written: {plain_reason(error)}") from error
    finally:
        engine.dispose()


def _insert(connection: Connection) -> None:
    """A row behind the last one, because the database takes none elsewhere."""
    last = connection.execute(
        sa.select(TABLE.c.seq, TABLE.c.hash).order_by(TABLE.c.seq.desc()).limit(1)
    ).first()
    head = ChainHead(last.seq, last.hash) if last else ChainHead()
    row: dict[str, str | int] = {column.name: "" for column in TABLE.columns}
    row |= {"seq": head.seq + 1, "prev_hash": head.hash, "hash": "probe"}
    connection.execute(sa.insert(TABLE).values(**row))


def _takes_files(directory: Path) -> bool:
    """Found out with a file without a name: to root everything seems writable, also what is not."""
    try:
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False
