import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from bot.checkup.finding import Finding, bad, clocks, good, guarded, unknown
from bot.checkup.report import as_json, as_table, exit_code
from bot.domain.errors import NodeError

GOOD, BAD = good("CubeAPI", "answers"), bad("Slack scopes", "missing files:write", "Reinstall the app.")
UNKNOWN = unknown("Template ports", "not told", "Look on the platform.")
NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("found", "code"), [([GOOD], 0), ([GOOD, UNKNOWN], 3), ([UNKNOWN, BAD, GOOD], 1), ([], 0)]
)
def test_the_exit_code_tells_proved_from_wrong_and_from_unknown(found: list[Finding], code: int) -> None:
    assert exit_code(found) == code


def test_the_table_has_a_cure_below_each_line_that_is_not_ok() -> None:
    table = as_table([GOOD, BAD, UNKNOWN])

    assert table.splitlines() == [
        "CubeAPI         ok       answers",
        "Slack scopes    bad      missing files:write",
        "                         → Reinstall the app.",
        "Template ports  unknown  not told",
        "                         → Look on the platform.",
        "1 ok, 1 bad, 1 unknown",
    ]


def test_the_terminal_obeys_nothing_that_another_system_says() -> None:
    table = as_table([bad("Cube key", "\x1b[2Jgone\nok", "Set it.")])

    assert "\x1b" not in table
    assert len(table.splitlines()) == 3


def test_json_is_one_list() -> None:
    told = json.loads(as_json([GOOD, UNKNOWN]))

    assert told[0] == {"subject": "CubeAPI", "ok": True, "note": "answers", "cure": ""}
    assert told[1]["ok"] is None


async def test_a_look_that_takes_too_long_is_left() -> None:
    async def slow() -> AsyncIterator[Finding]:
        yield GOOD
        await asyncio.Event().wait()
        yield BAD

    found = [finding async for finding in guarded("Slow", slow, 0.05)]

    assert found[0] == GOOD
    assert [(f.subject, f.ok) for f in found[1:]] == [("Slow", None)]
    assert found[1].cure


@pytest.mark.parametrize("error", [NodeError("node-timeout", "it hung"), RuntimeError("a slip")])
async def test_a_look_that_breaks_is_a_finding(error: Exception) -> None:
    async def broken() -> AsyncIterator[Finding]:
        raise error
        yield GOOD

    found = [finding async for finding in guarded("Broken", broken)]

    assert [(f.ok, str(error) in f.note) for f in found] == [(None, True)]


@pytest.mark.parametrize(("seconds", "ok"), [(0, True), (-29, True), (31, True), (33, False), (-600, False)])
def test_clocks_may_be_half_a_minute_apart(seconds: int, ok: bool) -> None:  # noqa: FBT001 - the expectation
    finding = clocks("Clock", NOW + timedelta(seconds=seconds), NOW, within=2, cure="Set it.")

    assert finding.ok is ok
    assert bool(finding.cure) is not ok
