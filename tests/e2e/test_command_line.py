"""What an administrator runs on the bot's host: audit log, check of all settings, default home."""

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio
from e2e.installed import OPERATOR, Installed

from bot.demo.processes import environment

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lived_in(everything: Installed) -> AsyncIterator[Installed]:
    """An installation in which something has happened."""
    thread = await everything.create(OPERATOR, "home=history workspace=papers")
    await thread.press("hermes.stop.ask")
    await thread.press("hermes.stop.confirm")
    await thread.saying("is gone")
    yield everything
    await everything.tidy()


def copied(site: Installed, name: str) -> Path:
    """The audit database in a file of its own, complete and without a journal."""
    copy = site.folder / name
    with closing(sqlite3.connect(f"file:{site.database}?mode=ro", uri=True)) as base:
        base.execute("VACUUM INTO ?", (str(copy),))
    return copy


async def test_verify_passes_and_counts_the_rows(lived_in: Installed) -> None:
    code, printed = await lived_in.run("audit", "verify")

    assert code == 0
    assert f"ok: {len(lived_in.rows())} rows" in printed


async def test_one_changed_byte_is_named(lived_in: Installed) -> None:
    copy = copied(lived_in, "one-byte.db")
    raw = copy.read_bytes()
    at = raw.index(b"provisioned")
    copy.write_bytes(raw[:at] + b"P" + raw[at + 1 :])
    with closing(sqlite3.connect(copy)) as base:
        [(changed,)] = base.execute("SELECT seq FROM audit WHERE code = 'Provisioned'")

    code, printed = await lived_in.run("audit", "verify", "--database", f"sqlite:///{copy}")

    assert code != 0
    assert re.search(rf"\brow {changed}\b", printed), printed


async def test_removed_row_is_named(lived_in: Installed) -> None:
    copy = copied(lived_in, "one-row.db")
    with closing(sqlite3.connect(copy)) as base, base:
        for (trigger,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            base.execute(f'DROP TRIGGER "{trigger}"')
        base.execute("DELETE FROM audit WHERE seq = 3")

    code, printed = await lived_in.run("audit", "verify", "--json", "--database", f"sqlite:///{copy}")

    verdict = json.loads(printed)
    assert code != 0
    assert (verdict["ok"], verdict["bad_row"]) == (False, 3)


async def test_triggers_refuse_a_change(lived_in: Installed) -> None:
    copy = copied(lived_in, "guarded.db")

    for change in ("UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"):
        with closing(sqlite3.connect(copy)) as base, pytest.raises(sqlite3.DatabaseError):
            base.execute(change)


async def test_list_shows_who_did_what(lived_in: Installed) -> None:
    code, printed = await lived_in.run("audit", "list", "--home", "history")

    assert code == 0
    assert "create intent" in printed
    assert "stop outcome  ok/stopped" in printed
    assert "U_OPERATOR (user)" in printed


async def test_export_writes_every_row_for_its_owner_only(lived_in: Installed) -> None:
    out = lived_in.folder / "export.jsonl"

    code, _ = await lived_in.run("audit", "export", "--out", str(out))

    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert code == 0
    assert [row["hash"] for row in rows] == [row["hash"] for row in lived_in.rows()]
    assert oct(out.stat().st_mode & 0o777) == "0o600"


async def test_check_of_a_right_installation_finds_nothing(lived_in: Installed) -> None:
    code, printed = await lived_in.run("check", "--json")

    findings = json.loads(printed)
    assert [finding for finding in findings if not finding["ok"]] == []
    assert code == 0
    subjects = {finding["subject"] for finding in findings}
    assert {"Slack bot token", "Slack app token", "Audit chain", "CubeAPI", "Node node-a login"} <= subjects


async def test_check_on_a_terminal_leaves_no_word_out(lived_in: Installed) -> None:
    code, printed = await lived_in.run("check")

    assert code == 0
    assert "REDACTED" not in printed


async def test_check_names_everything_that_is_wrong(lived_in: Installed) -> None:
    config = lived_in.folder / "wrong.toml"
    config.write_text(lived_in.config().replace('"C_ALERTS"', '"C_NOWHERE"'), encoding="utf-8")
    token = environment(lived_in.env_file)["SLACK_BOT_TOKEN"]
    settings = {
        "CUBE_TEMPLATE_ID": "hermes-nowhere",
        "HERMES_BOT_CONFIG": str(config),
        "HERMES_BOT_DATABASE_URL": f"sqlite:///{lived_in.database}",
    }
    unreachable = {"CUBE_API_URL": "http://127.0.0.1:9", "SLACK_BOT_TOKEN": token[:-6] + "EXAMPL"}

    first, second = await asyncio.gather(
        lived_in.run("check", "--json", settings=settings),
        lived_in.run("check", "--json", settings=unreachable),
    )

    assert (first[0], second[0]) == (1, 1)
    assert {"Template", "Channel alerts"} == wrong_in(first[1])
    assert {"Slack bot token", "CubeAPI"} <= wrong_in(second[1])
    assert token[:-6] not in second[1]


def wrong_in(printed: str) -> set[str]:
    """The subjects of the findings that are not ok, each of which must say what cures it."""
    wrong = [finding for finding in json.loads(printed) if finding["ok"] is False]
    assert all(finding["cure"] for finding in wrong), wrong
    return {finding["subject"] for finding in wrong}


async def test_absent_settings_are_named_with_the_way_to_set_them(site: Installed) -> None:
    code, printed = await site.run("check", settings={"HERMES_BOT_CONFIG": "/nonexistent/absent.toml"})

    assert code == 1
    assert "absent.toml does not exist; set HERMES_BOT_CONFIG" in printed
    assert "→ Set HERMES_BOT_CONFIG to" in printed


async def test_template_seed_makes_the_default_home_that_a_create_lacks(site: Installed) -> None:
    default = site.home("default")
    aside = default.rename(default.with_name("aside"))
    try:
        thread = await site.type(OPERATOR, "create home=first-ever")
        refused = await thread.ended(":x:")
        seeded = await site.run("template", "seed")
        again = await site.run("template", "seed")
        await thread.press("hermes.create.continue")
        told = await thread.ended(":white_check_mark:")
        notes = site.home("first-ever") / "skills/image-notes/SKILL.md"

        assert "hermes-bot template seed" in refused
        assert "No sandbox was made" in refused
        assert seeded[0] == 0
        assert "Made /data/shared/hermes-homes/default on node-a" in seeded[1]
        assert again[0] == 1
        assert "exists already" in again[1]
        assert "filled from the team's default home" in told
        assert notes.exists()
        assert await site.sandboxes("first-ever") == await site.sandboxes()
    finally:
        shutil.rmtree(default, ignore_errors=True)
        aside.rename(default)
