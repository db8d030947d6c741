"""The bot's own machine: its audit log, its locks, rsync, and a clock that nothing moves."""

import asyncio
import os
import shlex
import shutil
from pathlib import Path

from bot.adapters.audit_probe import DatabaseFile, look_at_file, try_to_write
from bot.adapters.audit_sql import open_audit_log
from bot.checkup.finding import Finding, Findings, bad, good
from bot.domain.audit import AuditUnavailableError
from bot.ports import Clock, Redactor
from bot.settings import Settings

LOG = "Audit log"
_RSYNC_SECONDS = 5.0
UNSET_OFFSET = "Unset HERMES_BOT_CLOCK_OFFSET_FILE: it is for tests only."


async def look_at_log(settings: Settings, clock: Clock, redactor: Redactor) -> Findings:
    """Its place, its schema, a row that is written and taken back, and the whole chain."""
    url = settings.database_url
    try:
        file = await asyncio.to_thread(look_at_file, url)
    except (AuditUnavailableError, OSError) as error:
        yield bad(LOG, str(error), "Set HERMES_BOT_DATABASE_URL to sqlite:////var/lib/hermes-bot/audit.db.")
        return
    if file is not None:
        wrong = _file_problem(file)
        if wrong:
            yield wrong
        if wrong and not file.writable:
            return
        if not file.exists:
            if not wrong:
                yield good(LOG, f"{file.path} is not there yet; the bot makes it when it first starts")
            return
    try:
        await try_to_write(url)
        log = await open_audit_log(url, now=clock.now, redactor=redactor, read_only=True)
    except AuditUnavailableError as error:
        yield bad(LOG, str(error), _unusable(str(error), file))
        return
    yield good(LOG, "of this bot's revision, and a row can be written")
    try:
        report = await log.verify()
    finally:
        await log.close()
    if report.fault:
        cure = (
            "Keep a copy of the database, run `hermes-bot audit verify`, and find out who could write to it."
        )
        yield bad("Audit chain", str(report.fault), cure)
    else:
        yield good("Audit chain", f"{report.rows} rows, each as it was written")


def _file_problem(file: DatabaseFile) -> Finding | None:
    quoted = shlex.quote(str(file.path))
    elsewhere = "Set HERMES_BOT_DATABASE_URL to a file on a local disk, in a directory that the bot may write"
    if file.network:
        note = f"{file.path} lies on {file.network}, where SQLite loses or corrupts data"
        return bad(LOG, note, f"{elsewhere}, or use postgresql+psycopg://.")
    if not file.writable:
        note = f"{file.path} cannot be written by this user in {file.nearest}"
        return bad(LOG, note, f"{elsewhere}, such as sqlite:////var/lib/hermes-bot/audit.db.")
    if file.open_to_others:
        return bad("Audit log file", f"{file.path} can be read by others", f"Run `chmod 600 {quoted}` here.")
    return None


def _unusable(words: str, file: DatabaseFile | None) -> str:
    if "revision" in words or "holds no audit log" in words:
        return "Start the newest bot of this installation once: it brings its database up to date."
    if file is None:
        return "Set HERMES_BOT_DATABASE_URL to a database that answers, such as postgresql+psycopg://user@host/name."
    return "Make room on its disk, or bring back the newest backup of the file."


async def look_at_locks(settings: Settings) -> Findings:
    """The directory of lock files beside a SQLite log; PostgreSQL keeps its locks itself."""
    try:
        file = look_at_file(settings.database_url)
    except (AuditUnavailableError, OSError):
        return
    if file is None or not file.writable:
        return
    locks = file.path.parent / "locks"
    if locks.exists() and not (locks.is_dir() and os.access(locks, os.W_OK | os.X_OK)):
        cure = f"Run `mv {shlex.quote(str(locks))} {shlex.quote(str(locks) + '.old')}` here."
        yield bad("Locks", f"{locks} is no directory that this user can write", cure)
        return
    yield good("Locks", f"in {locks}")


async def look_at_rsync() -> Findings:
    """The rsync of this machine; that of a node is looked at there."""
    found = shutil.which("rsync")
    if not found:
        yield bad("rsync here", "not found", "Run `apt-get install -y rsync` on this machine.")
        return
    program = await asyncio.create_subprocess_exec(
        found, "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(_RSYNC_SECONDS):
        said, _ = await program.communicate()
    if program.returncode != 0:
        cure = "Run `apt-get install -y --reinstall rsync` on this machine."
        yield bad("rsync here", f"{found} does not run", cure)
        return
    yield good("rsync here", " ".join(said.decode("utf-8", "replace").split()[:3]))


async def look_at_offset(file: Path | None) -> Findings:
    """The file that moves the clock, which only stand-ins want to be there."""
    if file is None:
        return
    subject, cure = "Clock of the bot", UNSET_OFFSET
    try:
        offset = float(await asyncio.to_thread(file.read_text, "ascii"))
    except (OSError, ValueError) as error:
        yield bad(subject, f"HERMES_BOT_CLOCK_OFFSET_FILE cannot be read: {error}", cure)
        return
    if offset:
        yield bad(subject, f"{file} moves it by {offset:g} s", cure)
    else:
        yield good(subject, f"{file} does not move it")
