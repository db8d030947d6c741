"""``hermes-bot audit list|export|verify``: reading the log and proving that it is as it was written."""

import asyncio
import csv
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, TextIO, TypeVar

import typer

from bot.domain.audit import (
    COLUMNS,
    AuditRow,
    AuditUnavailableError,
    ChainFault,
    ChainHead,
    ChainReport,
)
from bot.domain.audit_table import cells, plain_row
from bot.domain.ids import home_id
from bot.ports import AuditLog

OpenLog = Callable[[str | None], Awaitable[AuditLog]]

BROKEN: Final = 1
"""Exit code: the log was read and is not as it was written."""
UNREADABLE: Final = 3
"""Exit code: the log could not be read, or the output not be written. (2 is a wrong command line.)"""

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

T = TypeVar("T")


class Format(StrEnum):
    """Of an export."""

    csv = "csv"
    jsonl = "jsonl"


Database = Annotated[
    str | None,
    typer.Option(
        help="URL of the audit database. Default: HERMES_BOT_DATABASE_URL, else var/audit.db beside the"
        " TOML file named by HERMES_BOT_CONFIG.",
        metavar="URL",
    ),
]


def _home(text: str | None) -> str | None:
    if text and text != "default" and not home_id(text):
        raise typer.BadParameter("that is no home-id; it looks like --home atlas")
    return text


Home = Annotated[
    str | None, typer.Option(help="Only rows about this home-id.", metavar="HOME-ID", callback=_home)
]
Sandbox = Annotated[str | None, typer.Option(help="Only rows about this sandbox.", metavar="SANDBOX-ID")]
User = Annotated[
    str | None, typer.Option(help="Only rows of this actor: a Slack user id or cli:LOGIN.", metavar="ID")
]
Since = Annotated[
    str | None,
    typer.Option(
        help="Only rows from then on: 30m, 12h, 7d, 2w ago, or 2026-01-31 or 2026-01-31T08:00+01:00 (UTC"
        " unless an offset is given).",
        metavar="WHEN",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def audit_app(open_log: OpenLog, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> typer.Typer:
    """The sub-commands. ``open_log`` gets the value of ``--database`` and opens that log for reading.

    It raises ``AuditUnavailableError`` when it cannot; ``now`` is what ``--since 2h`` counts back from.
    """
    app = typer.Typer(no_args_is_help=True, help="Read the audit log and prove that it is unchanged.")
    _add_list(app, open_log, now)
    _add_export(app, open_log, now)
    _add_verify(app, open_log)
    return app


def _add_list(app: typer.Typer, open_log: OpenLog, now: Callable[[], datetime]) -> None:
    @app.command("list")
    def list_rows(
        *,
        database: Database = None,
        home: Home = None,
        sandbox: Sandbox = None,
        user: User = None,
        since: Since = None,
        limit: Annotated[int, typer.Option(help="At most so many rows.", min=1, max=100_000)] = 50,
        as_json: AsJson = False,
    ) -> None:
        """Show the newest rows, newest first."""
        start = _moment(since, now)

        async def fetch(log: AuditLog) -> list[AuditRow]:
            return await log.recent(home=home, sandbox=sandbox, actor=_user(user), since=start, limit=limit)

        rows = _with_log(open_log, database, fetch)
        if as_json:
            typer.echo(json.dumps([plain_row(row) for row in rows], ensure_ascii=False))
        else:
            for row in rows:
                typer.echo(_line(row))


def _add_export(app: typer.Typer, open_log: OpenLog, now: Callable[[], datetime]) -> None:
    @app.command("export")
    def export_rows(
        *,
        database: Database = None,
        home: Home = None,
        sandbox: Sandbox = None,
        user: User = None,
        since: Since = None,
        format_: Annotated[
            Format, typer.Option("--format", help="csv, or one JSON object a line.")
        ] = Format.jsonl,
        out: Annotated[
            Path | None,
            typer.Option(help="A new file, readable by its owner only. Default: print.", metavar="FILE"),
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
    ) -> None:
        """Write every row, oldest first. CSV cells that a spreadsheet would run begin with an apostrophe."""
        start = _moment(since, now)
        write = _write_jsonl if as_json or format_ is Format.jsonl else _write_csv

        async def copy(log: AuditLog) -> int:
            rows = log.export(home=home, sandbox=sandbox, actor=_user(user), since=start)
            with _new_file(out) if out else nullcontext(sys.stdout) as file:
                return await write(rows, file)

        count = _with_log(open_log, database, copy)
        if out:
            typer.echo(f"{count} rows written to {out}", err=True)


def _add_verify(app: typer.Typer, open_log: OpenLog) -> None:
    @app.command()
    def verify(
        *,
        database: Database = None,
        head: Annotated[
            str | None,
            typer.Option(
                help="A head as it was posted to the audit channel: the log must still contain it. Shows"
                " newest rows that were cut off.",
                metavar="SEQ:HASH",
            ),
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        """Walk the whole chain; name the first row that was changed, removed or moved."""
        posted = _posted(head)

        async def walk(log: AuditLog) -> ChainReport:
            report = await log.verify()
            if posted is None or not report.ok:
                return report
            return replace(report, fault=await _posted_fault(log, report.head, posted))

        report = _with_log(open_log, database, walk)
        if as_json:
            typer.echo(json.dumps(_verdict(report)))
        elif report.ok:
            typer.echo(f"ok: {report.rows} rows, each as it was written and in its place; head {report.head}")
        else:
            typer.echo(str(report.fault))
            typer.echo(f"The log is not as it was written. In order: {report.rows} rows, up to {report.head}")
        if not report.ok:
            raise typer.Exit(BROKEN)


def default_database_url(environ: Mapping[str, str]) -> str:
    """Where the log is when nothing else is said: ``HERMES_BOT_DATABASE_URL``, else beside the TOML file."""
    given = environ.get("HERMES_BOT_DATABASE_URL", "")
    config = Path(environ.get("HERMES_BOT_CONFIG") or "hermes-bot.toml").absolute()
    return given or f"sqlite:///{config.parent / 'var' / 'audit.db'}"


def _with_log(open_log: OpenLog, database: str | None, use: Callable[[AuditLog], Awaitable[T]]) -> T:
    async def run() -> T:
        async with _opened(open_log, database) as log:
            return await use(log)

    try:
        return asyncio.run(run())
    except BrokenPipeError:
        raise
    except (AuditUnavailableError, OSError) as error:
        typer.echo(f"hermes-bot audit: {error}", err=True)
        raise typer.Exit(UNREADABLE) from error


@asynccontextmanager
async def _opened(open_log: OpenLog, database: str | None) -> AsyncIterator[AuditLog]:
    log = await open_log(database)
    try:
        yield log
    finally:
        await log.close()


async def _write_jsonl(rows: AsyncIterator[AuditRow], file: TextIO) -> int:
    count = 0
    async for row in rows:
        file.write(json.dumps(plain_row(row), ensure_ascii=False) + "\n")
        count += 1
    return count


async def _write_csv(rows: AsyncIterator[AuditRow], file: TextIO) -> int:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(COLUMNS)
    count = 0
    async for row in rows:
        table.writerow(cells(plain_row(row)))
        count += 1
    return count


async def _posted_fault(log: AuditLog, head: ChainHead, posted: ChainHead) -> ChainFault | None:
    """Why a log that is in order up to ``head`` is not the one whose head was posted; None when it is."""
    if posted.seq > head.seq:
        return ChainFault(posted.seq, "missing", f"the log ends at row {head.seq}; newer rows were cut off")
    async for row in log.export():
        if row.seq == posted.seq and row.hash == posted.hash:
            return None
    return ChainFault(posted.seq, "changed", "its hash is not the posted one; a whole new log was written")


def _verdict(report: ChainReport) -> dict[str, Any]:
    fault = report.fault
    return {
        "ok": report.ok,
        "rows": report.rows,
        "head": {"seq": report.head.seq, "hash": report.head.hash},
        "bad_row": fault.seq if fault else None,
        "fault": fault.fault if fault else None,
        "problem": str(fault) if fault else None,
    }


def _line(row: AuditRow) -> str:
    """One row for a terminal, on one line and without anything that a terminal would obey."""
    about = [
        f"{name}={getattr(row, name)}"
        for name in ("home", "workspace", "sandbox", "node")
        if getattr(row, name)
    ]
    verdict = "/".join(part for part in (row.result, row.code) if part)
    parts = [
        f"{row.seq:>6}",
        f"{row.at:%Y-%m-%d %H:%M:%S} UTC",
        f"{row.actor} ({row.actor_kind})",
        f"{row.action} {row.phase}",
        verdict,
        *about,
        f"request={row.request_id}" if row.request_id else "",
        f"- {row.reason}" if row.reason else "",
    ]
    text = "  ".join(part for part in parts if part)
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def _new_file(path: Path) -> TextIO:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise OSError(f"{path} exists; name a new file for the export") from error
    return os.fdopen(file, "w", encoding="utf-8", newline="")


def _moment(text: str | None, now: Callable[[], datetime]) -> datetime | None:
    if text is None:
        return None
    if ago := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        return now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is no time; write 12h, 7d, 2026-01-31 or 2026-01-31T08:00+01:00", param_hint="--since"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _user(text: str | None) -> str | None:
    """The actor meant by a user id, given bare or as Slack writes a mention."""
    mention = re.fullmatch(r"<@([A-Z0-9_]+)(\|[^>]*)?>", text or "")
    return mention[1] if mention else text


def _posted(text: str | None) -> ChainHead | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())
    if not found or not int(found[1]):
        raise typer.BadParameter("write it as it was posted, for example 120:9f86d0…", param_hint="--head")
    return ChainHead(int(found[1]), found[2])
