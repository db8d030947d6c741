"""Several processes that append to one log at once: one chain, every acknowledged row, each claim once."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from contract.doubles_audit import Unredacted

import bot
from bot.adapters.audit_sql import open_audit_log
from bot.domain.audit import AuditRow, ChainReport

WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from bot.adapters.audit_sql import open_audit_log
from bot.domain.audit import AuditEvent
from contract.doubles_audit import Unredacted

url, name, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])

def event(request, phase):
    return AuditEvent(request_id=request, phase=phase, actor=name, actor_kind="bot", action="create")

async def main():
    log = await open_audit_log(url, now=lambda: datetime.now(UTC), redactor=Unredacted())
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for number in range(rows):
        row, claim = await asyncio.gather(
            log.append(event(f"{name}-{number}", "step")), log.claim(event(f"request-{number}", "claim"))
        )
        print(row.seq, row.request_id, *([claim.seq, claim.request_id] if claim else []), flush=True)
    await log.close()

asyncio.run(main())
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/audit.db"


@contextmanager
def writers(url: str, count: int, rows: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that have opened the log together and begin together."""
    root = Path(bot.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'tests'}"}
    with ExitStack() as leaving:
        started = []
        for number in range(count):
            argv = [sys.executable, "-c", WRITER, url, f"w{number}", str(rows)]
            process = leaving.enter_context(
                subprocess.Popen(
                    argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
                )
            )
            leaving.callback(process.kill)
            started.append(process)
        for process in started:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.close()
        yield started


def acknowledged(process: subprocess.Popen[str]) -> dict[int, str]:
    """Rows that a process was told are on disk; a line that its death cut short does not count."""
    assert process.stdout is not None
    words = " ".join(line for line in process.stdout if line.endswith("\n")).split()
    return {int(seq): request for seq, request in zip(words[::2], words[1::2], strict=True)}


def examined(url: str) -> tuple[ChainReport, list[AuditRow]]:
    async def read() -> tuple[ChainReport, list[AuditRow]]:
        log = await open_audit_log(url, now=lambda: datetime.now(UTC), redactor=Unredacted(), read_only=True)
        try:
            return await log.verify(), [row async for row in log.export()]
        finally:
            await log.close()

    return asyncio.run(read())


def test_three_processes_write_one_chain_and_claim_each_request_once(url: str) -> None:
    with writers(url, 3, 150) as processes:
        told = [acknowledged(process) for process in processes]
        codes = [process.wait(timeout=60) for process in processes]

    report, rows = examined(url)

    assert codes == [0, 0, 0]
    assert report.ok
    assert report.rows == len(rows) == 3 * 150 + 150
    assert {row.seq: row.request_id for row in rows} == told[0] | told[1] | told[2]
    assert len({row.request_id for row in rows if row.phase == "claim"}) == 150


def test_a_killed_writer_loses_nothing_that_it_was_told_is_written(url: str) -> None:
    with writers(url, 2, 5000) as (victim, other):
        assert victim.stdout is not None
        first = [victim.stdout.readline() for _ in range(40)]
        victim.kill()
        told = acknowledged(victim)
        assert other.stdout is not None
        for _ in range(40):
            assert other.stdout.readline()

    report, rows = examined(url)
    stored = {row.seq: row.request_id for row in rows}

    assert report.ok
    assert len(first) == 40
    assert told.items() <= stored.items()
    assert all(stored[int(line.split()[0])] == line.split()[1] for line in first)
