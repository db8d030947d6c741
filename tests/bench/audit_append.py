"""Durable audit rows per second, as a ratio to a bare sqlite3 loop in the same run.

The floor writes rows of the same columns and size, one commit each, WAL and FULL, without hashes, indexes,
triggers or redaction. Floor and log take turns within a round, and the median of the rounds' ratios counts.
"""

import asyncio
import contextlib
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import bot
from bot.adapters.audit_sql import SqlAuditLog, open_audit_log
from bot.domain.audit import COLUMNS, GENESIS, AuditEvent, Redactor

ROUNDS = 7
ROWS = 600
CALLERS = 16
EACH_OF_TWO = 400

T = TypeVar("T")


class Untouched:
    """Changes nothing: what redaction costs is measured where redaction is."""

    def text(self, text: str) -> str:
        return text

    def payload(self, value: T) -> T:
        return value


def event(number: int, actor: str = "U0EXAMPLE") -> AuditEvent:
    """A step of a provisioning, as the bot writes most."""
    return AuditEvent(
        request_id=f"req-{number:08d}",
        phase="step",
        actor=actor,
        actor_kind="user",
        channel="C0EXAMPLE",
        thread_ts="1790000000.000100",
        action="create",
        home="alpha",
        workspace="proj",
        sandbox="0123456789abcdef0123456789abcdef",
        node="node-1",
        result="ok",
        code="mounts-proved",
        reason="three mounts, markers read back on both sides",
        details={"step": 7, "of": 10, "wait_ms": 212, "mounts": ["home", "workspace", "skills"]},
    )


def bare_rows_per_second(path: Path, rows: int = ROWS) -> float:
    """The floor."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    texts = ", ".join(f"{name} TEXT NOT NULL" for name in COLUMNS[1:])
    connection.execute(f"CREATE TABLE IF NOT EXISTS bare (seq INTEGER PRIMARY KEY, {texts})")
    insert = f"INSERT INTO bare ({', '.join(COLUMNS[1:])}) VALUES ({', '.join('?' * 18)})"  # noqa: S608 - our own names
    sample = event(0)
    values = [
        "2026-01-01T00:00:00.000000Z",
        *(getattr(sample, name) for name in COLUMNS[2:16]),
        json.dumps(dict(sample.details)),
        GENESIS,
        GENESIS,
    ]
    started = time.perf_counter()
    for _ in range(rows):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(insert, values)
        connection.execute("COMMIT")
    taken = time.perf_counter() - started
    connection.close()
    return rows / taken


async def log_rows_per_second(log: SqlAuditLog, callers: int, rows: int = ROWS) -> float:
    """Rows of the real log, by so many callers of which each waits for its row before the next."""

    async def caller() -> None:
        for number in range(rows // callers):
            await log.append(event(number))

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return rows // callers * callers / (time.perf_counter() - started)


async def _ratios(folder: Path, redactor: Redactor) -> dict[str, Any]:
    log = await open_audit_log(
        f"sqlite:///{folder / 'audit.db'}", now=lambda: datetime.now(UTC), redactor=redactor
    )
    try:
        await log_rows_per_second(log, CALLERS)
        rounds = []
        for _ in range(ROUNDS):
            floor = bare_rows_per_second(folder / "bare.db")
            one = await log_rows_per_second(log, 1)
            many = await log_rows_per_second(log, CALLERS)
            floor = (floor + bare_rows_per_second(folder / "bare.db")) / 2
            rounds.append((floor, one / floor, many / floor))
        report = await log.verify()
    finally:
        await log.close()
    floors, ones, manys = zip(*rounds, strict=True)
    return {
        "floor_rows_per_second": round(statistics.median(floors)),
        "one_caller_ratio": round(statistics.median(ones), 2),
        "sixteen_callers_ratio": round(statistics.median(manys), 2),
        "chain_ok": report.ok,
        "rows": report.rows,
    }


def two_processes(folder: Path, rows: int = EACH_OF_TWO) -> dict[str, Any]:
    """Two processes that append to one log at the same time: is it one valid chain with every row?"""
    url = f"sqlite:///{folder / 'two.db'}"
    argv = [sys.executable, __file__, "--writer", url, str(rows)]
    environment = {**os.environ, "PYTHONPATH": str(Path(bot.__file__).parents[1])}
    with contextlib.ExitStack() as leaving:
        writers = []
        for actor in ("U0ONE", "U0TWO"):
            writer = leaving.enter_context(
                subprocess.Popen(
                    [*argv, actor], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
                )
            )
            leaving.callback(writer.kill)
            writers.append(writer)
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.close()  # the sign to begin
        for writer in writers:
            writer.wait(timeout=60)
    return asyncio.run(_examined(url, 2 * rows, [writer.returncode for writer in writers]))


async def _examined(url: str, expected: int, codes: list[int]) -> dict[str, Any]:
    log = await open_audit_log(url, now=lambda: datetime.now(UTC), redactor=Untouched(), read_only=True)
    try:
        report = await log.verify()
        writers = [row.actor async for row in log.export()]
    finally:
        await log.close()
    turns = sum(1 for before, after in pairwise(writers) if before != after)
    valid = report.ok and report.rows == expected and codes == [0, 0]
    return {"valid": valid, "rows": report.rows, "expected": expected, "changes_of_writer": turns}


def bench_audit(redactor: Redactor | None = None) -> dict[str, Any]:
    """Ratios for one and sixteen callers, and whether two processes at once write one valid chain."""
    with tempfile.TemporaryDirectory(prefix="audit-bench-") as name:
        folder = Path(name)
        figures = asyncio.run(_ratios(folder, redactor or Untouched()))
        figures["two_processes"] = two_processes(folder)
        return figures


async def _write(url: str, rows: int, actor: str, ready: Callable[[], Awaitable[None]]) -> None:
    log = await open_audit_log(url, now=lambda: datetime.now(UTC), redactor=Untouched())
    try:
        await ready()
        for number in range(rows):
            await log.append(event(number, actor))
    finally:
        await log.close()


async def _wait_for_go() -> None:
    print("ready", flush=True)  # noqa: T201 - read by the parent
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--writer", url, rows, actor]:
            asyncio.run(_write(url, int(rows), actor, _wait_for_go))
        case _:
            print(json.dumps(bench_audit(), indent=2))  # noqa: T201 - a script's answer
