"""Reading the audit log in Slack: who may, where it is told, and that it is noted first."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from slack_desk import Desk, open_desk, shown

from bot.domain.audit import COLUMNS, AuditEvent
from handlers.auditing import moment_of

DM = "D_U_APPROVER"


@pytest.fixture
async def desk() -> Desk:
    made = open_desk()
    await made.command("U_OPERATOR", "create home=alpha")
    await made.command("U_OPERATOR2", "create home=beta")
    return made


def table(desk: Desk) -> list[dict[str, str]]:
    [file] = desk.chat.files
    assert file.name == "audit.csv"
    return list(csv.DictReader(io.StringIO(file.text)))


async def test_an_approver_reads_it_in_direct_messages_with_every_row_as_a_table(desk: Desk) -> None:
    await desk.command("U_APPROVER", "audit")

    [told] = [message for message in desk.chat.messages if message.channel == DM]
    [here] = desk.chat.seen_by("U_APPROVER")
    rows = await desk.world.log.recent(limit=1000)
    assert "<@U_OPERATOR> made it (home `alpha`)" in shown(told)
    assert "in a direct message" in here.text
    assert "alpha" not in shown(here)
    assert [int(row["seq"]) for row in table(desk)] == sorted(row.seq for row in rows[1:])
    assert list(table(desk)[0]) == list(COLUMNS)


async def test_reading_it_is_noted_before_it_is_shown(desk: Desk) -> None:
    await desk.command("U_APPROVER", "audit home=alpha since=2h")

    [noted] = await desk.world.log.recent(actor="U_APPROVER")
    assert (noted.action, noted.phase, noted.code, noted.home) == ("audit", "reveal", "audit-read", "alpha")
    assert noted.details["rows"] == len(table(desk))
    assert {row["home"] for row in table(desk)} == {"alpha"}


async def test_what_cannot_be_noted_is_not_shown(desk: Desk) -> None:
    desk.world.log.broken = "disk full"

    await desk.command("U_APPROVER", "audit")

    assert "Nothing was shown" in shown(desk.chat.seen_by("U_APPROVER")[0])
    assert desk.chat.files == []


async def test_operators_may_not_read_it(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "audit home=alpha")

    assert "to read the audit log you need to be an approver" in shown(desk.chat.seen_by("U_OPERATOR")[0])
    assert desk.chat.files == []


async def test_it_can_be_narrowed_to_a_person(desk: Desk) -> None:
    await desk.command("U_ADMIN", "audit user=<@U_OPERATOR2|boreas>")

    assert {row["actor"] for row in table(desk)} == {"U_OPERATOR2"}
    assert {row["home"] for row in table(desk)} == {"", "beta"}


async def test_nothing_found_is_said(desk: Desk) -> None:
    await desk.command("U_ADMIN", "audit home=gamma")

    [told] = [message for message in desk.chat.messages if message.channel == "D_U_ADMIN"]
    assert "The audit log has nothing about home *gamma*." in told.text
    assert desk.chat.files == []


async def test_no_cell_of_the_table_is_a_formula(desk: Desk) -> None:
    await desk.world.log.append(
        AuditEvent(
            request_id="r-evil", phase="outcome", actor="U_OPERATOR", actor_kind="user", action="create",
            home="alpha", result="failed", code="internal-error", reason="=HYPERLINK(1)",
        )
    )  # fmt: skip

    await desk.command("U_ADMIN", "audit home=alpha")

    assert table(desk)[-1]["reason"] == "'=HYPERLINK(1)"


async def test_in_the_audit_channel_it_stands_there() -> None:
    desk = open_desk(audit_channel="C_OPS")
    await desk.command("U_OPERATOR", "create home=alpha")

    await desk.command("U_APPROVER", "audit")

    assert "made it" in shown(desk.parents()[-1])
    assert desk.chat.seen_by("U_APPROVER") == []


@pytest.mark.parametrize(
    ("since", "begins"),
    [
        ("", None),
        ("86400", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2025-12-24", datetime(2025, 12, 24, tzinfo=UTC)),
    ],
)
def test_since_is_a_date_or_so_many_seconds_ago(since: str, begins: datetime | None) -> None:
    assert moment_of(since, datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=1)) == begins
