"""Reading the audit log in Slack: by whom, where it is shown, and what a spreadsheet gets."""

import csv
import io
import json
from datetime import timedelta

import pytest
from slack_desk import Desk, open_desk, shown

from bot.domain.audit import COLUMNS, AuditEvent, AuditUnavailableError
from bot.usecases import audit as usecase

SECRET = "EXAMPLE-" + "s3cret-" * 3


@pytest.fixture
async def desk() -> Desk:
    made = open_desk()
    await made.command("U_OPERATOR", "create home=alpha workspace=proj")
    await made.command("U_OPERATOR2", "create home=beta")
    return made


async def write(desk: Desk, **changes: object) -> None:
    given: dict[str, object] = {
        "request_id": "r-extra", "phase": "reveal", "actor": "U_OPERATOR", "actor_kind": "user",
        "action": "reveal", "home": "gamma", "result": "ok", "code": "revealed",
    }  # fmt: skip
    await desk.world.log.append(AuditEvent(**(given | changes)))  # type: ignore[arg-type]  # fields of one event


def told(desk: Desk, user: str = "U_APPROVER") -> str:
    """The words of the latest thread in a person's direct messages."""
    channel = f"D_{user}"
    return shown(desk.thread(channel, len(desk.parents(channel)) - 1)[0])


async def test_it_is_told_in_the_readers_own_messages_and_not_in_the_channel(desk: Desk) -> None:
    before = len(desk.chat.messages)

    await desk.command("U_APPROVER", "audit")

    new = desk.chat.messages[before:]
    assert [(m.channel, m.ephemeral_for) for m in new] == [
        ("D_U_APPROVER", ""),
        ("C_OPS", "U_APPROVER"),
        ("D_U_APPROVER", ""),
    ]
    assert "in your direct messages" in new[1].text
    assert "alpha" not in new[1].text
    assert "<@U_OPERATOR> made `alpha`" in told(desk)
    assert "<@U_OPERATOR2> made `beta`" in told(desk)
    assert told(desk).index("`beta`") < told(desk).index("`alpha`")


async def test_one_request_is_one_line_and_its_rows_are_in_the_table(desk: Desk) -> None:
    await desk.command("U_APPROVER", "audit home=alpha")

    assert told(desk).count("made `alpha`") == 2  # once in the text, once in the blocks
    [file] = desk.chat.files
    rows = list(csv.DictReader(io.StringIO(file.text)))
    assert file.name.startswith("audit-")
    assert file.name.endswith(".csv")
    assert tuple(rows[0]) == COLUMNS
    assert {row["home"] for row in rows} == {"alpha"}
    assert [row["seq"] for row in rows] == sorted((row["seq"] for row in rows), key=int, reverse=True)
    assert len(rows) == len(await desk.world.log.recent(home="alpha", limit=999))


async def test_in_the_audit_channel_the_thread_is_there(desk: Desk) -> None:
    await desk.command("U_ADMIN", "audit user=<@U_OPERATOR2>", channel="C_AUDIT")

    assert desk.parents("D_U_ADMIN") == []
    [parent] = desk.parents("C_AUDIT")
    assert "<@U_ADMIN> reads the audit log, by <@U_OPERATOR2>" in parent.text
    assert "`beta`" in shown(desk.thread("C_AUDIT")[0])
    assert "`alpha`" not in shown(desk.thread("C_AUDIT")[0])
    [file] = desk.chat.files
    assert (file.channel, file.thread_ts) == ("C_AUDIT", parent.ts)


@pytest.mark.parametrize("user", ["U_OPERATOR", "U_OUTSIDER"])
async def test_others_are_refused_alone_and_the_attempt_is_recorded(desk: Desk, user: str) -> None:
    await desk.command(user, "audit home=beta")

    assert "you need to be an approver" in desk.told(user)
    assert desk.parents(f"D_{user}") == []
    assert desk.chat.files == []
    [row] = await desk.world.log.recent(limit=1)
    assert (row.action, row.actor, row.result, row.code) == ("audit", user, "refused", "role-needed")
    assert row.details == {"home": "beta"}


async def test_the_reading_is_recorded_before_it_is_shown(desk: Desk) -> None:
    order: list[str] = []
    desk.world.log.watch(lambda row: order.append(f"row {row.action} {row.code}"))
    direct = desk.chat.direct

    async def watched(*given: object, **named: object) -> object:
        order.append("shown")
        return await direct(*given, **named)  # type: ignore[arg-type]  # passed on as it came

    desk.chat.direct = watched  # type: ignore[assignment, method-assign]  # to see the order of both

    await desk.command("U_APPROVER", "audit home=alpha user=<@U_OPERATOR> since=2026-01-01")

    assert order == ["row audit audit-read", "shown"]
    [row] = await desk.world.log.recent(limit=1)
    count = len(await desk.world.log.recent(home="alpha", actor="U_OPERATOR", limit=999))
    assert row.details == {
        "home": "alpha",
        "user": "U_OPERATOR",
        "since": "2026-01-01T00:00:00+00:00",
        "rows": count,
        "more": False,
    }


async def test_what_cannot_be_recorded_is_not_shown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(_: AuditEvent) -> None:
        raise AuditUnavailableError("the disk is full")

    monkeypatch.setattr(desk.world.log, "append", full)

    await desk.command("U_APPROVER", "audit")

    assert "it cannot be recorded that you read it" in desk.told("U_APPROVER")
    assert desk.parents("D_U_APPROVER") == []
    assert desk.chat.files == []


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
async def test_no_cell_of_the_table_is_a_formula(desk: Desk, start: str) -> None:
    await write(desk, reason=f'{start}HYPERLINK("http://x.example")')

    await desk.command("U_APPROVER", "audit home=gamma")

    [file] = desk.chat.files
    [row] = csv.DictReader(io.StringIO(file.text, newline=""))
    assert row["reason"] == f'\'{start}HYPERLINK("http://x.example")'
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())


async def test_a_secret_learnt_later_is_in_neither(desk: Desk) -> None:
    await write(desk, reason=f"it said {SECRET}", home="gamma")
    desk.world.deps.redactor.learn(SECRET)

    await desk.command("U_APPROVER", "audit home=gamma")

    assert SECRET not in repr(desk.chat.messages)
    assert SECRET not in desk.chat.files[0].text
    assert len(next(csv.reader(io.StringIO(desk.chat.files[0].text)))) == len(COLUMNS)


@pytest.mark.parametrize(
    "reason", ["Authorization: Bearer", "-----BEGIN PRIVATE KEY-----", 'API_KEY=abc"def']
)
async def test_what_looks_like_half_a_secret_hides_no_other_cell(desk: Desk, reason: str) -> None:
    await write(desk, reason=reason, details={"note": reason, "token": "x"})

    await desk.command("U_APPROVER", "audit home=gamma")

    [row] = csv.DictReader(io.StringIO(desk.chat.files[0].text))
    assert (row["code"], len(row["hash"])) == ("revealed", 64)
    assert json.loads(row["details"])["token"] != "x"


async def test_more_rows_than_fit_are_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usecase, "MOST", 4)

    await desk.command("U_APPROVER", "audit home=alpha")

    rows = list(csv.reader(io.StringIO(desk.chat.files[0].text)))
    assert len(rows) == 1 + 4
    assert "There are more than" in told(desk)
    [row] = await desk.world.log.recent(limit=1)
    assert (row.details["rows"], row.details["more"]) == (4, True)


async def test_events_that_are_not_told_in_words_are_counted(desk: Desk) -> None:
    for number in range(usecase.TOLD + 3):
        await write(desk, request_id=f"r-{number}")

    await desk.command("U_APPROVER", "audit home=gamma")

    assert "3 older events stand in the table only" in told(desk)
    assert told(desk).count("opened `gamma`") == 2 * usecase.TOLD


async def test_since_leaves_out_what_was_before(desk: Desk) -> None:
    desk.world.clock.advance(timedelta(hours=3).total_seconds())
    await write(desk)

    await desk.command("U_APPROVER", "audit since=2h")

    assert "`gamma`" in told(desk)
    assert "`alpha`" not in told(desk)


async def test_nothing_found_says_so_and_brings_no_file(desk: Desk) -> None:
    await desk.command("U_APPROVER", "audit home=nowhere")

    assert "Nothing in the audit log of home `nowhere`" in told(desk)
    assert desk.chat.files == []


async def test_where_direct_messages_are_off_nothing_is_shown(desk: Desk) -> None:
    desk.chat.no_direct = True

    await desk.command("U_APPROVER", "audit")

    assert "Nothing was shown" in desk.told("U_APPROVER")
    assert "`alpha`" not in desk.told("U_APPROVER")
    assert desk.chat.files == []


async def test_what_did_not_end_well_is_told_with_its_code(desk: Desk) -> None:
    await write(desk, phase="intent", action="pause", result="", code="")
    await write(desk, phase="outcome", action="pause", result="unknown", code="pause-unknown")
    await write(desk, request_id="r-open", phase="intent", action="resume", result="", code="")

    await desk.command("U_APPROVER", "audit home=gamma")

    assert "wanted to pause `gamma`: it is not known how it ended (`pause-unknown`)" in told(desk)
    assert "wants to wake `gamma`: it has not ended" in told(desk)
