"""The audit table, and how a database that holds it is opened: safe SQLite, or PostgreSQL."""

import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlmodel import Field, SQLModel

from bot.domain.audit import AuditUnavailableError

REVISION: Final = "0003"
"""The newest migration; a database that says so is opened without importing Alembic."""

NAMES_ITS_SANDBOX: Final = "action = 'create' AND sandbox <> '' AND (phase <> 'step' OR code = 'step-5')"
"""Rows of a create with its sandbox. Of the steps, the fifth names it first; later ones repeat it."""

TELLS_AN_END: Final = "code IN ('stopped', 'sandbox-gone')"
"""Rows after which a sandbox is no more: the domain's ``ENDINGS``. A query with this text is indexed."""

TELLS_A_CHANGE: Final = "action IN ('pause', 'resume', 'keep') AND phase IN ('intent', 'outcome')"
"""Rows of what was asked of a sandbox that exists; the domain's ``CHANGES``."""

MIGRATIONS: Final = Path(__file__).with_name("migrations")

ADVISORY_KEY: Final = 0x6865726D6573
"""PostgreSQL advisory lock of whoever appends or migrates, for one transaction."""

_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
_BUSY_S: Final = 10.0
_FOREIGN: Final = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "drvfs", "fuse", "gfs2", "glusterfs", "gpfs", "lustre"}
    | {"nfs", "nfs4", "ocfs2", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
_LOCAL_FUSE: Final = frozenset({"fuse.fuse-overlayfs"})


class AuditRecord(SQLModel, table=True):
    """One stored row; the columns, their order and their meaning are those of the domain's ``COLUMNS``."""

    __tablename__ = "audit"
    __table_args__ = (
        sa.Index("audit_one_successor", "prev_hash", unique=True),
        sa.Index("audit_request", "request_id"),
        sa.Index(
            "audit_one_claim",
            "request_id",
            unique=True,
            sqlite_where=sa.text("phase = 'claim'"),
            postgresql_where=sa.text("phase = 'claim'"),
        ),
        sa.Index(
            "audit_one_vote",
            "request_id",
            "actor",
            unique=True,
            sqlite_where=sa.text("phase = 'vote'"),
            postgresql_where=sa.text("phase = 'vote'"),
        ),
        sa.Index(
            "audit_created",
            "sandbox",
            "seq",
            sqlite_where=sa.text(NAMES_ITS_SANDBOX),
            postgresql_where=sa.text(NAMES_ITS_SANDBOX),
        ),
        sa.Index(
            "audit_created_on",
            "home",
            "sandbox",
            "seq",
            sqlite_where=sa.text(NAMES_ITS_SANDBOX),
            postgresql_where=sa.text(NAMES_ITS_SANDBOX),
        ),
        sa.Index(
            "audit_ended",
            "sandbox",
            sqlite_where=sa.text(TELLS_AN_END),
            postgresql_where=sa.text(TELLS_AN_END),
        ),
        sa.Index(
            "audit_changes",
            "sandbox",
            "seq",
            sqlite_where=sa.text(TELLS_A_CHANGE),
            postgresql_where=sa.text(TELLS_A_CHANGE),
        ),
    )

    seq: int = Field(
        sa_column=sa.Column(
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=False
        )
    )
    at: str = Field(sa_type=sa.Text)
    request_id: str = Field(sa_type=sa.Text)
    phase: str = Field(sa_type=sa.Text)
    actor: str = Field(sa_type=sa.Text)
    actor_kind: str = Field(sa_type=sa.Text)
    channel: str = Field(sa_type=sa.Text)
    thread_ts: str = Field(sa_type=sa.Text)
    action: str = Field(sa_type=sa.Text)
    home: str = Field(sa_type=sa.Text)
    workspace: str = Field(sa_type=sa.Text)
    sandbox: str = Field(sa_type=sa.Text)
    node: str = Field(sa_type=sa.Text)
    result: str = Field(sa_type=sa.Text)
    code: str = Field(sa_type=sa.Text)
    reason: str = Field(sa_type=sa.Text)
    details: str = Field(sa_type=sa.Text)
    prev_hash: str = Field(sa_type=sa.Text)
    hash: str = Field(sa_type=sa.Text)


TABLE: Final[sa.Table] = AuditRecord.metadata.tables["audit"]


def parsed(url: str) -> URL:
    """The URL of an audit database.

    Raises:
        AuditUnavailableError: it is none that an audit log may live in, with an example of one that is.
    """
    try:
        parts = make_url(url)
    except ArgumentError as error:
        raise AuditUnavailableError(
            "the audit database URL cannot be read; write it like sqlite:////var/lib/hermes-bot/audit.db"
        ) from error
    if parts.drivername in {"sqlite", "sqlite+pysqlite"}:
        if not parts.database or parts.database.startswith((":memory:", "file:")):
            raise AuditUnavailableError(
                "an audit log needs a file of its own, for example sqlite:////var/lib/hermes-bot/audit.db"
            )
        return parts
    if parts.drivername == "postgresql+psycopg":
        return parts
    raise AuditUnavailableError(
        f"an audit log cannot live in {parts.drivername}; use sqlite:////path/audit.db"
        " or postgresql+psycopg://user@host/database"
    )


def sqlite_file(url: URL) -> Path | None:
    """The absolute path of a SQLite database, None for PostgreSQL."""
    return Path(str(url.database)).absolute() if url.get_backend_name() == "sqlite" else None


def network_file_system(mountinfo: str, path: Path) -> str | None:
    """The type of the file system that holds ``path`` when its files may be shared with another machine.

    ``mountinfo`` is the text of ``/proc/self/mountinfo`` (proc(5)). The names in it tell virtiofs from
    other FUSE file systems, which the number in statfs(2) does not.
    """
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].encode().decode("unicode_escape").encode("latin-1").decode()
        if path.is_relative_to(point) and len(point) >= best:  # a later mount covers an earlier one
            best, kind = len(point), after.split(" ", 1)[0]
    foreign = kind in _FOREIGN or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)
    return kind if foreign else None


def prepare_file(path: Path) -> None:
    """Create the database file for its owner only, on a file system whose locks and syncs are real.

    Raises:
        AuditUnavailableError: the file system is shared over a network or with a host, or refuses.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mounts = Path("/proc/self/mountinfo")
        kind = network_file_system(mounts.read_text(), path.resolve()) if mounts.exists() else None
        if kind:
            raise AuditUnavailableError(
                f"{path} lies on {kind}, where SQLite's write-ahead log loses or corrupts data;"
                " put HERMES_BOT_DATABASE_URL on a local disk, or use postgresql+psycopg://"
            )
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise AuditUnavailableError(
            f"the audit database {path} cannot be opened: {error.strerror}"
        ) from error


def engine_for(url: URL, *, writing: bool) -> Engine:
    """An engine whose connections are in autocommit mode: this log writes its BEGIN and COMMIT itself.

    Connections of a reading engine refuse to write.
    """
    options: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "hide_parameters": True, "pool_size": 2}
    if url.get_backend_name() == "sqlite":
        options["connect_args"] = {"timeout": _BUSY_S, "check_same_thread": False, "cached_statements": 32}
        statements = ["PRAGMA synchronous = FULL" if writing else "PRAGMA query_only = ON"]
    else:
        options["connect_args"] = {
            "connect_timeout": 5,
            "keepalives_idle": 30,
            "application_name": "hermes-bot",
        }
        statements = [
            "SET statement_timeout = '15s'",
            "SET lock_timeout = '10s'",
            _DURABLE,
        ]
        if not writing:
            statements = ["SET default_transaction_read_only = on"]
    engine = sa.create_engine(url, **options)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        if url.get_backend_name() == "sqlite":
            # A byte that is no UTF-8 must show as a changed row, not stop the walk that looks for it.
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            if writing:
                _use_write_ahead_log(connection)
        else:
            connection.autocommit = True
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()

    return engine


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a new file over. SQLite does not wait for another process that is at it, so we do."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.02))  # noqa: S311 - jitter, not a secret
        else:
            return


def ensure_schema(connection: Connection) -> None:
    """Bring the database to `REVISION`; two processes that do it at once do it once.

    Raises:
        AuditUnavailableError: a newer bot has changed the database in a way that this one does not know.
    """
    if _revision(connection) == REVISION:
        return
    # First opening only: Alembic costs a tenth of a second that no other start should pay.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    begin(connection)
    try:
        if _revision(connection) != REVISION:
            command.upgrade(config, "head")
        connection.exec_driver_sql("COMMIT")
    except CommandError as error:
        connection.exec_driver_sql("ROLLBACK")
        raise AuditUnavailableError(
            f"the audit database is at revision {_revision(connection)}, which this bot does not know"
            f" (it knows {REVISION}); run the newer bot that made it"
        ) from error
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise


def require_schema(connection: Connection) -> None:
    """Make sure that there is an audit log to read, without changing anything.

    Raises:
        AuditUnavailableError: there is none, or it is of another revision.
    """
    revision = _revision(connection)
    if revision is None:
        raise AuditUnavailableError("this database holds no audit log; the bot makes it when it first starts")
    if revision != REVISION:
        raise AuditUnavailableError(
            f"the audit database is at revision {revision} and this bot reads {REVISION};"
            " start the newer of the two bots once"
        )


def begin(connection: Connection) -> None:
    """Start a write transaction that no other writer's transaction overlaps."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_KEY})")


def _revision(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return found


def plain_reason(error: SQLAlchemyError) -> str:
    """The database's own words, without SQL and parameters."""
    origin = getattr(error, "orig", None)
    return " ".join(str(origin or type(error).__name__).split())
