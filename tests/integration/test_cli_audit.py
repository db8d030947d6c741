"""``hermes-bot audit``, run as a command over a real log."""

import asyncio
import csv
import io
import json
import os
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from contract.doubles_audit import Unredacted
from typer.testing import CliRunner, Result

from bot.adapters.audit_sql import SqlAuditLog, open_audit_log
from bot.cli_audit import BROKEN, UNREADABLE, audit_app, default_database_url
from bot.domain.audit import AuditEvent

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NOW = START + timedelta(hours=24)


async def open_log(url: str | None) -> SqlAuditLog:
    place = url or default_database_url(os.environ)
    return await open_audit_log(place, now=lambda: NOW, redactor=Unredacted(), read_only=True)


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(audit_app(open_log, now=lambda: NOW), arguments)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty rows, one an hour, in the place where the command looks by default."""
    config = tmp_path / "conf" / "hermes-bot.toml"
    monkeypatch.setenv("HERMES_BOT_CONFIG", str(config))
    monkeypatch.delenv("HERMES_BOT_DATABASE_URL", raising=False)
    path = config.parent / "var" / "audit.db"
    asyncio.run(fill(path))
    return path


async def fill(path: Path) -> None:
    ticks = iter(range(20))
    log = await open_audit_log(
        f"sqlite:///{path}",
        now=lambda: START + timedelta(hours=next(ticks)),
        redactor=Unredacted(),
    )
    for number in range(20):
        await log.append(
            AuditEvent(
                request_id=f"r{number}",
                phase="outcome",
                actor="U0ONE" if number % 2 else "cli:root",
                actor_kind="user" if number % 2 else "cli",
                action="create",
                home="alpha" if number < 5 else "beta",
                result="failed" if number == 19 else "ok",
                code="disk-low" if number == 19 else "",
                reason="=1+1 \x1b]0;pwned\x07\nnext" if number == 19 else "",
                details={"free_gib": number, "ä": "ö"},
            )
        )
    await log.close()


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for name in ("audit_no_update", "audit_no_delete", "audit_no_replace"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    connection.close()


def test_an_unchanged_log_passes(database: Path) -> None:
    result = audit("verify")

    assert result.exit_code == 0
    assert result.output.startswith("ok: 20 rows, each as it was written and in its place; head 20:")


def test_one_changed_byte_names_its_row(database: Path) -> None:
    change(database, "UPDATE audit SET home = 'betb' WHERE seq = 17")

    result = audit("verify")

    assert result.exit_code == BROKEN
    assert result.output.startswith("row 17: changed: its content and its hash do not belong together\n")


def test_verify_as_json_says_the_same(database: Path) -> None:
    good = audit("verify", "--json")
    change(database, "DELETE FROM audit WHERE seq = 17")
    bad = audit("verify", "--json")

    assert (good.exit_code, bad.exit_code) == (0, BROKEN)
    assert {**json.loads(good.output), "head": None} == {
        "ok": True, "rows": 20, "head": None, "bad_row": None, "fault": None, "problem": None,
    }  # fmt: skip
    found = json.loads(bad.output)
    assert (found["ok"], found["rows"], found["bad_row"], found["fault"]) == (False, 16, 17, "missing")
    assert found["problem"] == "row 17: missing: it is gone; row 18 comes after row 16"


def test_a_posted_head_shows_newest_rows_that_were_cut_off(database: Path) -> None:
    head = json.loads(audit("verify", "--json").output)["head"]
    posted = f"{head['seq']}:{head['hash']}"
    assert audit("verify", "--head", posted).exit_code == 0
    change(database, "DELETE FROM audit WHERE seq > 15")

    alone, compared = audit("verify"), audit("verify", "--head", posted)

    assert alone.exit_code == 0
    assert compared.exit_code == BROKEN
    assert compared.output.startswith("row 20: missing: the log ends at row 15; newer rows were cut off")


def test_a_posted_head_shows_a_log_that_was_written_anew(database: Path) -> None:
    result = audit("verify", "--head", f"7:{'ab' * 32}")

    assert result.exit_code == BROKEN
    assert result.output.startswith("row 7: changed: its hash is not the posted one")


def test_a_list_is_one_line_a_row_newest_first_with_the_zone(database: Path) -> None:
    result = audit("list", "--limit", "2")

    newest, older = result.output.splitlines()
    assert newest == (
        "    20  2026-03-02 07:00:00 UTC  U0ONE (user)  create outcome  failed/disk-low  home=beta"
        "  request=r19  - =1+1 \\x1b]0;pwned\\x07\\x0anext"
    )
    assert older.startswith("    19  2026-03-02 06:00:00 UTC  cli:root (cli)")


@pytest.mark.parametrize(
    ("filters", "seqs"),
    [
        (("--home", "alpha"), [5, 4, 3, 2, 1]),
        (("--home", "alpha", "--user", "<@U0ONE>"), [4, 2]),
        (("--user", "cli:root", "--limit", "2"), [19, 17]),
        (("--since", "6h"), [20, 19]),
        (("--since", "2026-03-02T07:00"), [20]),
        (("--since", "2026-03-02T07:00+01:00"), [20, 19]),
        (("--since", "2026-03-03"), []),
    ],
)
def test_filters_narrow_a_list(database: Path, filters: tuple[str, ...], seqs: list[int]) -> None:
    result = audit("list", "--json", *filters)

    assert [row["seq"] for row in json.loads(result.output)] == seqs


def test_an_export_is_complete_and_in_order(database: Path) -> None:
    result = audit("export", "--format", "jsonl")

    rows = [json.loads(line) for line in result.output.splitlines()]
    assert [row["seq"] for row in rows] == list(range(1, 21))
    assert list(rows[0]) == [
        "seq", "at", "request_id", "phase", "actor", "actor_kind", "channel", "thread_ts", "action", "home",
        "workspace", "sandbox", "node", "result", "code", "reason", "details", "prev_hash", "hash",
    ]  # fmt: skip
    assert (rows[3]["at"], rows[3]["details"]) == ("2026-03-01T15:00:00.000000Z", {"free_gib": 3, "ä": "ö"})


def test_an_export_to_a_file_is_private_and_new(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "audit.csv"

    first = audit("export", "--format", "csv", "--out", str(out))
    second = audit("export", "--format", "csv", "--out", str(out))

    assert (first.exit_code, first.stdout, first.stderr) == (0, "", f"20 rows written to {out}\n")
    assert out.stat().st_mode & 0o777 == 0o600
    assert second.exit_code == UNREADABLE
    assert "exists; name a new file" in second.stderr
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert len(rows) == 20
    assert rows[19]["reason"].startswith("'=1+1")
    assert json.loads(rows[19]["details"]) == {"free_gib": 19, "ä": "ö"}


@pytest.mark.parametrize("command", ["list", "export", "verify"])
def test_a_log_that_is_not_there_fails_and_says_where(tmp_path: Path, command: str) -> None:
    result = audit(command, "--database", f"sqlite:///{tmp_path}/none.db")

    assert result.exit_code == UNREADABLE
    assert f"there is no audit log at {tmp_path}/none.db" in result.stderr
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "--since", "yesterday"), "write 12h, 7d"),
        (("verify", "--head", "12"), "write it as it was posted"),
        (("verify", "--head", f"0:{'0' * 64}"), "write it as it was posted"),
        (("list", "--limit", "0"), "--limit"),
        (("export", "--format", "xml"), "--format"),
    ],
)
def test_a_wrong_option_is_explained(database: Path, arguments: tuple[str, ...], words: str) -> None:
    result = audit(*arguments)

    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize("command", ["list", "export", "verify"])
def test_every_command_has_help(command: str) -> None:
    result = audit(command, "--help")

    assert result.exit_code == 0
    assert "--database" in result.output


def test_the_default_place_is_beside_the_configuration() -> None:
    assert default_database_url({"HERMES_BOT_CONFIG": "/etc/bot/b.toml"}) == "sqlite:////etc/bot/var/audit.db"
    assert default_database_url({}) == f"sqlite:///{Path.cwd()}/var/audit.db"
    assert default_database_url({"HERMES_BOT_DATABASE_URL": "sqlite:////x.db"}) == "sqlite:////x.db"
