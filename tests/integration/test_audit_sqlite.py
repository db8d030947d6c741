"""What is special about the log in a SQLite file: its safety, its damage, its neighbours."""

import asyncio
import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from contract.doubles_audit import Unredacted
from sqlalchemy.dialects import sqlite

import bot
from bot.adapters import audit_schema
from bot.adapters.audit_created import changes_of, made_by, made_for, made_on, unended
from bot.adapters.audit_schema import (
    MIGRATIONS,
    NAMES_ITS_SANDBOX,
    REVISION,
    TELLS_A_CHANGE,
    TELLS_AN_END,
    AuditRecord,
    network_file_system,
)
from bot.adapters.audit_sql import SqlAuditLog, open_audit_log
from bot.domain.audit import (
    CHANGES,
    COLUMNS,
    ENDINGS,
    NAMING_STEP,
    AuditDamagedError,
    AuditEvent,
    AuditUnavailableError,
)
from bot.domain.provisioning import Step

SAME = ", ".join(COLUMNS)
INDEXES = {"audit_changes", "audit_created", "audit_created_on", "audit_ended"}
"""Those of the second revision."""


def event(number: int = 0, phase: Any = "step", **fields: Any) -> AuditEvent:
    given = {"actor": "U0ONE", "actor_kind": "user", "action": "create", "reason": f"row {number}"} | fields
    return AuditEvent(request_id=f"r{number}", phase=phase, **given)


async def opened(path: Path, *, read_only: bool = False) -> SqlAuditLog:
    return await open_audit_log(
        f"sqlite:///{path}", now=lambda: datetime.now(UTC), redactor=Unredacted(), read_only=read_only
    )


async def filled(path: Path, rows: int) -> None:
    log = await opened(path)
    await asyncio.gather(*(log.append(event(number)) for number in range(1, rows + 1)))
    await log.close()


def tamper(path: Path, *statements: str) -> None:
    """Change the file as somebody does who may: without the triggers."""
    with sqlite3.connect(path, isolation_level=None) as connection:
        for name in ("audit_no_update", "audit_no_delete", "audit_no_replace"):
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "var" / "audit.db"


@pytest.fixture
async def log(path: Path) -> AsyncIterator[SqlAuditLog]:
    log = await opened(path)
    yield log
    await log.close()


async def test_only_its_owner_may_read_it(log: SqlAuditLog, path: Path) -> None:
    await log.append(event())

    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_file_that_others_may_read_is_closed_to_them(path: Path) -> None:
    await filled(path, 1)
    path.chmod(0o644)

    await (await opened(path)).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET reason = 'other' WHERE seq = 1",
        "DELETE FROM audit WHERE seq = 2",
        "DELETE FROM audit",
        f"INSERT OR REPLACE INTO audit SELECT {SAME.replace('reason', '0')} FROM audit WHERE seq = 1",  # noqa: S608 - fixed text
        f"REPLACE INTO audit SELECT {SAME.replace('seq', '9')} FROM audit WHERE seq = 1",  # noqa: S608 - fixed text
    ],
)
async def test_the_database_refuses_changes(path: Path, statement: str) -> None:
    await filled(path, 2)
    connection = sqlite3.connect(path)

    with pytest.raises(sqlite3.IntegrityError, match="audit rows are"):
        connection.execute(statement)

    connection.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE audit SET reason = 'row 71' WHERE seq = 17", "row 17: changed: "),
        ("UPDATE audit SET at = replace(at, 'Z', 'z') WHERE seq = 17", "row 17: changed: "),
        ("UPDATE audit SET reason = CAST(X'ff' AS TEXT) WHERE seq = 17", "row 17: changed: "),
        ("UPDATE audit SET details = X'7b7d' WHERE seq = 17", "row 17: changed: "),
        ("UPDATE audit SET prev_hash = replace(prev_hash, '0', 'f') WHERE seq = 17", "row 17: changed: "),
        ("DELETE FROM audit WHERE seq = 17", "row 17: missing: it is gone"),
        ("DELETE FROM audit WHERE seq BETWEEN 17 AND 2400", "row 17: missing: rows 17 to 2400 are gone"),
        ("UPDATE audit SET seq = -4 WHERE seq = 17", "row -4: duplicate: "),
        ("UPDATE audit SET reason = 'x' WHERE seq = 2001", "row 2001: changed: "),
        ("UPDATE audit SET hash = 'x' WHERE seq = 2000", "row 2000: changed: "),
    ],
)
async def test_the_walk_names_the_row(path: Path, statement: str, words: str) -> None:
    await filled(path, 2500)
    tamper(path, statement)
    log = await opened(path, read_only=True)

    report = await log.verify()

    await log.close()
    assert str(report.fault).startswith(words)


async def test_one_byte_of_the_file_is_enough(path: Path) -> None:
    await filled(path, 30)
    raw = path.read_bytes()
    place = raw.index(b"row 17") + 4
    path.write_bytes(raw[:place] + b"\xf7" + raw[place + 1 :])
    log = await opened(path, read_only=True)

    report = await log.verify()

    await log.close()
    assert (report.rows, str(report.fault)[:16]) == (16, "row 17: changed:")


async def test_a_torn_file_is_read_as_far_as_it_goes_and_never_written(path: Path) -> None:
    await filled(path, 400)
    raw = bytearray(path.read_bytes())
    raw[12 * 4096 : 16 * 4096] = os.urandom(4 * 4096)
    path.write_bytes(raw)
    log = await opened(path)

    report = await log.verify()

    assert report.fault is not None
    with pytest.raises(AuditUnavailableError, match=r"damaged .* nothing is written"):
        await log.append(event())
    with pytest.raises(AuditUnavailableError, match="damaged"):
        await log.check()
    await log.close()


async def test_a_row_that_was_changed_into_nonsense_is_not_listed_as_if_it_were_fine(path: Path) -> None:
    await filled(path, 3)
    tamper(path, "UPDATE audit SET details = '{' WHERE seq = 2")
    log = await opened(path, read_only=True)

    with pytest.raises(AuditDamagedError, match=r"audit row 2 .* audit verify"):
        await log.recent()

    await log.close()


async def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"Dear diary, " * 1000)

    with pytest.raises(AuditUnavailableError, match="cannot be opened: file is not a database"):
        await opened(path)


async def test_a_file_that_went_away_takes_no_rows_with_it(log: SqlAuditLog, path: Path) -> None:
    await log.append(event())
    elsewhere = path.rename(path.with_suffix(".old"))

    with pytest.raises(AuditUnavailableError, match=r"removed or replaced.*put it back"):
        await log.append(event())

    elsewhere.rename(path)
    assert (await log.append(event())).seq == 2


async def test_a_locked_log_says_so_and_goes_on_later(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(audit_schema, "_BUSY_S", 0.05)
    log = await opened(path)
    await log.append(event())
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(AuditUnavailableError, match="cannot be written: database is locked"):
        await log.append(event())

    assert len(await log.recent()) == 1
    other.execute("ROLLBACK")
    other.close()
    assert (await log.append(event())).seq == 2
    await log.close()


async def test_a_full_disk_refuses_all_of_a_group_and_leaves_a_valid_chain(path: Path) -> None:
    log = await opened(path)
    await log.append(event())
    connection = log._writer._appender._connection  # type: ignore[union-attr]  # the limit belongs to the connection
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar()  # type: ignore[union-attr]
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")  # type: ignore[union-attr]

    refused = await asyncio.gather(
        *(log.append(event(number, reason="x" * 9000)) for number in range(5)), return_exceptions=True
    )

    assert {str(error) for error in refused} == {"the audit log cannot be written: database or disk is full"}
    assert (await log.append(event())).seq == 2
    assert (await log.verify()).ok
    await log.close()


async def test_a_closed_log_is_not_read_either(path: Path) -> None:
    log = await opened(path)

    await log.close()
    await log.close()

    with pytest.raises(AuditUnavailableError, match="closed"):
        await log.head()


async def test_a_caller_who_leaves_takes_nobody_with_him(log: SqlAuditLog) -> None:
    tasks = [asyncio.ensure_future(log.append(event(number))) for number in range(10)]
    await asyncio.sleep(0)
    tasks[3].cancel()

    answers = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(answers[3], asyncio.CancelledError)
    assert len([row for row in answers if not isinstance(row, BaseException)]) == 9
    assert (await log.verify()).ok


async def test_a_redactor_that_fails_costs_its_own_row_only(path: Path) -> None:
    class Failing(Unredacted):
        def text(self, text: str) -> str:
            if text == "bad":
                raise RuntimeError("pattern")
            return text

    log = await open_audit_log(f"sqlite:///{path}", now=lambda: datetime.now(UTC), redactor=Failing())

    bad, good = await asyncio.gather(
        log.append(event(1, reason="bad")), log.append(event(2)), return_exceptions=True
    )

    assert isinstance(bad, RuntimeError)
    assert getattr(good, "seq", None) == 1
    await log.close()


async def test_reading_only_changes_nothing(path: Path) -> None:
    await filled(path, 3)
    before = path.read_bytes()
    log = await opened(path, read_only=True)

    assert [row.seq for row in await log.recent()] == [3, 2, 1]
    with pytest.raises(AuditUnavailableError, match="reading only"):
        await log.append(event())

    await log.close()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["audit.db"]  # noqa: PTH208 - names are what is compared


async def test_reading_only_makes_no_log(path: Path) -> None:
    with pytest.raises(AuditUnavailableError, match="there is no audit log at"):
        await opened(path, read_only=True)

    path.parent.mkdir()
    path.touch()
    with pytest.raises(AuditUnavailableError, match="holds no audit log"):
        await opened(path, read_only=True)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite://", "a file of its own"),
        ("sqlite:///:memory:", "a file of its own"),
        ("mysql://h/d", "cannot live in mysql"),
        ("nonsense", "cannot be read; write it like sqlite:////"),
    ],
)
async def test_urls_that_hold_no_log_are_refused(url: str, words: str) -> None:
    with pytest.raises(AuditUnavailableError, match=words):
        await open_audit_log(url, now=lambda: datetime.now(UTC), redactor=Unredacted())


async def test_a_newer_bots_database_is_left_alone(path: Path) -> None:
    await filled(path, 1)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()

    for read_only, words in ((False, "which this bot does not know"), (True, "start the newer")):
        with pytest.raises(AuditUnavailableError, match=f"revision 9999.*{words}"):
            await opened(path, read_only=read_only)


async def test_the_migrations_make_what_the_model_describes(log: SqlAuditLog, path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{path}")
    metadata = sa.MetaData()
    AuditRecord.metadata.tables["audit"].to_metadata(metadata)

    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)

    engine.dispose()
    assert differences == []


def test_the_newest_migration_is_the_one_that_is_looked_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))

    assert ScriptDirectory.from_config(config).get_current_head() == REVISION


async def test_a_log_of_the_first_revision_is_brought_up_to_date_with_its_rows(path: Path) -> None:
    await filled(path, 3)
    with sqlite3.connect(path) as connection:
        for name in sorted(INDEXES):
            connection.execute(f"DROP INDEX {name}")
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()

    log = await opened(path)
    report = await log.verify()
    await log.close()

    with sqlite3.connect(path) as connection:
        names = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")
        }
    connection.close()
    assert (report.ok, report.rows) == (True, 3)
    assert names >= INDEXES


def test_the_indexes_hold_the_codes_of_the_domain() -> None:
    assert f"'step-{Step.CREATE.value}'" in NAMES_ITS_SANDBOX
    assert Step.CREATE.value == int(NAMING_STEP.removeprefix("step-"))
    assert set(re.findall(r"'([a-z-]+)'", TELLS_AN_END)) == ENDINGS
    assert set(re.findall(r"'([a-z-]+)'", TELLS_A_CHANGE)) == CHANGES | {"intent", "outcome"}


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        (made_on("alpha"), {"audit_created_on", "audit_ended", "audit_request"}),
        (made_by(["a" * 32, "b" * 32]), {"audit_created", "audit_request"}),
        (changes_of(["a" * 32, "b" * 32]), {"audit_changes"}),
    ],
)
async def test_what_is_known_of_sandboxes_is_read_without_a_walk_through_the_log(
    log: SqlAuditLog, path: Path, query: sa.Select[Any], indexes: set[str]
) -> None:
    text = str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    with sqlite3.connect(path) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
    connection.close()

    walks = re.findall(r"SCAN (audit\w*)", " ".join(plan))
    assert set(walks) <= {"audit_first", "audit_told"}, "only what a query has already found"
    assert set(re.findall(r"INDEX (audit_\w+)", " ".join(plan))) == indexes


async def test_what_somebody_has_made_is_read_from_creates_alone(log: SqlAuditLog, path: Path) -> None:
    text = str(made_for("U1", 99).compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    with sqlite3.connect(path) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
    connection.close()

    scans = [step for step in plan if "SCAN audit" in step and "audit_first" not in step]
    assert all("INDEX audit_created" in step or "audit_latest" in step for step in scans), plan


async def test_what_may_still_live_is_read_from_creates_and_ends_alone(log: SqlAuditLog, path: Path) -> None:
    text = str(unended().compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    with sqlite3.connect(path) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
    connection.close()

    assert all("INDEX audit_created" in step for step in plan if "SCAN audit" in step and "first" not in step)
    assert any("INDEX audit_ended" in step for step in plan), plan


def test_opening_again_needs_no_alembic(path: Path) -> None:
    asyncio.run(filled(path, 1))
    program = f"""
import asyncio, sys
from datetime import UTC, datetime
from bot.adapters.audit_sql import open_audit_log
from contract.doubles_audit import Unredacted

async def main():
    log = await open_audit_log("sqlite:///{path}", now=lambda: datetime.now(UTC), redactor=Unredacted())
    print((await log.append((await log.recent())[0])).seq, "alembic" in sys.modules)
    await log.close()

asyncio.run(main())
"""
    root = Path(bot.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'tests'}"}

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout == "2 False\n"


def mountinfo(*mounts: tuple[str, str]) -> str:
    return "\n".join(
        f"{number} 1 0:{number} / {point} rw,relatime shared:1 - {kind} source rw"
        for number, (point, kind) in enumerate(mounts, 20)
    )


@pytest.mark.parametrize(
    ("mounts", "path", "found"),
    [
        ([("/", "ext4")], "/var/audit.db", None),
        ([("/", "ext4"), ("/var", "virtiofs")], "/var/audit.db", "virtiofs"),
        ([("/", "ext4"), ("/var", "virtiofs")], "/variety/audit.db", None),
        ([("/", "ext4"), ("/var", "nfs4"), ("/var/lib", "xfs")], "/var/lib/a.db", None),
        ([("/", "ext4"), ("/var", "xfs"), ("/var", "nfs")], "/var/a.db", "nfs"),
        ([("/", "overlay"), ("/mnt/my\\040share", "cifs")], "/mnt/my share/a.db", "cifs"),
        ([("/", "ext4"), ("/m", "fuse.sshfs")], "/m/a.db", "fuse.sshfs"),
        ([("/", "fuse.fuse-overlayfs")], "/a.db", None),
        ([("/", "ext4"), ("/m", "9p")], "/m/a.db", "9p"),
    ],
)
def test_shared_file_systems_are_known(mounts: list[tuple[str, str]], path: str, found: str | None) -> None:
    assert network_file_system(mountinfo(*mounts), Path(path)) == found


async def test_a_shared_file_system_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Callable[[str, Path], str] = lambda _text, _path: "virtiofs"  # noqa: E731 - a one-line stand-in
    monkeypatch.setattr(audit_schema, "network_file_system", seen)

    with pytest.raises(AuditUnavailableError, match=r"lies on virtiofs.*local disk"):
        await opened(path)

    assert not path.exists()
