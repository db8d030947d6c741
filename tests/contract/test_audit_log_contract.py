"""What every audit log does: the one in memory, the one in SQLite, the one in PostgreSQL."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from contract.doubles_audit import MemoryAuditLog

from bot.adapters.audit_sql import open_audit_log
from bot.domain.audit import GENESIS, MOST_CHANGES, AuditEvent, AuditUnavailableError, ChainHead
from bot.ports import AuditLog

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

T = TypeVar("T")


class Ticking:
    """A clock that goes one second with every look."""

    def __init__(self) -> None:
        self._ticks = -1

    def __call__(self) -> datetime:
        self._ticks += 1
        return START + timedelta(seconds=self._ticks)


class Masking:
    """Hides one word everywhere, as the real redactor hides secrets."""

    def text(self, text: str) -> str:
        return text.replace("hunter2", "[redacted]")

    def payload(self, value: T) -> T:
        return cast("T", self._masked(value))

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self._masked(item) for name, item in value.items()}
        return [self._masked(item) for item in value] if isinstance(value, list) else value


def event(request: str = "r1", phase: Any = "step", **fields: Any) -> AuditEvent:
    given = {"actor": "U0ONE", "actor_kind": "user", "action": "create", **fields}
    return AuditEvent(request_id=request, phase=phase, **given)


async def rows_of(log: AuditLog, **filters: Any) -> list[int]:
    return [row.seq async for row in log.export(**filters)]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def open_log(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Callable[[], Awaitable[AuditLog]]]:
    """Opens the same log again and again (in memory there is only one to open)."""
    opened: list[AuditLog] = []
    clock, schema, server = Ticking(), f"audit_{uuid.uuid4().hex}", ""
    url = f"sqlite:///{tmp_path}/var/audit.db"
    if request.param == "postgres":
        server = os.environ.get("HERMES_TEST_POSTGRES_URL", "")
        if not server:
            pytest.skip("HERMES_TEST_POSTGRES_URL names no PostgreSQL database to test with")
        psql(server, f"CREATE SCHEMA {schema}")
        url = f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{schema}"
    memory = MemoryAuditLog(clock, Masking())

    async def open_one() -> AuditLog:
        if request.param == "memory":
            return memory
        opened.append(await open_audit_log(url, now=clock, redactor=Masking()))
        return opened[-1]

    yield open_one
    for log in opened:
        await log.close()
    if server:
        psql(server, f"DROP SCHEMA {schema} CASCADE")


def psql(url: str, statement: str) -> None:
    import psycopg  # noqa: PLC0415 - only where PostgreSQL is tested

    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture
async def log(open_log: Callable[[], Awaitable[AuditLog]]) -> AuditLog:
    return await open_log()


async def test_a_row_is_the_event_with_its_place(log: AuditLog) -> None:
    details = {"step": 3, "skipped": False, "none": None, "names": ["ä", "日本"], "deep": {"b": 1, "a": []}}
    full = event(
        channel="C0", thread_ts="1.2", home="alpha", workspace="proj", sandbox="0" * 32, node="n1",
        result="ok", code="mounts-proved", reason="line\nbreak; 'quote'", details=details,
    )  # fmt: skip

    row = await log.append(full)

    assert {name: getattr(row, name) for name in full.__slots__} == {
        name: getattr(full, name) for name in full.__slots__
    }
    assert (row.seq, row.at, row.prev_hash, len(row.hash)) == (1, START, GENESIS, 64)


async def test_rows_follow_each_other(log: AuditLog) -> None:
    first, second = await log.append(event()), await log.append(event())

    assert (second.seq, second.prev_hash) == (2, first.hash)
    assert await log.head() == ChainHead(2, second.hash)


async def test_an_empty_log_has_a_head_and_is_in_order(log: AuditLog) -> None:
    report = await log.verify()

    assert (await log.head(), report.ok, report.rows) == (ChainHead(0, GENESIS), True, 0)


async def test_what_was_read_is_what_was_written(log: AuditLog) -> None:
    written = [await log.append(event("r1", reason="one")), await log.append(event("r2"))]

    assert await log.of_request("r1") == written[:1]
    assert [row async for row in log.export()] == written


async def test_secrets_are_gone_before_they_are_written(log: AuditLog) -> None:
    row = await log.append(
        event(reason="password hunter2", home="hunter2", details={"hunter2": ["x hunter2 y"], "n": 1})
    )

    assert "hunter2" not in repr(row)
    assert [row] == await log.of_request("r1")
    assert row.details == {"[redacted]": ["x [redacted] y"], "n": 1}


async def test_text_that_no_database_takes_is_kept_readable(log: AuditLog) -> None:
    row = await log.append(event(reason="nul \0 and lone \ud800", details={"nul\0": "\udfff"}))

    assert (row.reason, row.details) == ("nul \ufffd and lone \ufffd", {"nul\ufffd": "\ufffd"})
    assert await log.of_request("r1") == [row]


async def test_one_of_many_claims_wins(log: AuditLog) -> None:
    claims = [event("r1", "claim", actor=f"U{number}") for number in range(8)]

    won = await asyncio.gather(*(log.claim(claim) for claim in claims))

    assert [row for row in won if row] == await log.of_request("r1")
    assert len([row for row in won if row]) == 1


async def test_a_lost_claim_takes_nothing_with_it(log: AuditLog) -> None:
    await log.claim(event("r1", "claim"))

    lost, *kept = await asyncio.gather(
        log.claim(event("r1", "claim")),
        log.append(event("r2")),
        log.vote(event("r2", "vote")),
        log.claim(event("r3", "claim")),
        log.append(event("r4")),
    )

    assert lost is None
    assert sorted(row.seq for row in kept if row) == [2, 3, 4, 5]
    assert (await log.verify()).ok


async def test_a_person_votes_once_on_a_request(log: AuditLog) -> None:
    votes = [
        await log.vote(event(request, "vote", actor=actor))
        for request, actor in [("r1", "U1"), ("r1", "U2"), ("r1", "U1"), ("r2", "U1")]
    ]

    assert [row.seq if row else None for row in votes] == [1, 2, None, 3]


@pytest.mark.parametrize(
    ("method", "phase"), [("append", "claim"), ("append", "vote"), ("claim", "vote"), ("vote", "step")]
)
async def test_phases_have_methods_of_their_own(log: AuditLog, method: str, phase: str) -> None:
    with pytest.raises(ValueError, match=phase):
        await getattr(log, method)(event("r1", phase))

    assert await log.head() == ChainHead()


async def test_intents_are_open_until_an_outcome_follows(log: AuditLog) -> None:
    for request, phase in [("r1", "intent"), ("r2", "intent"), ("r1", "step"), ("r3", "intent")]:
        await log.append(event(request, phase))
    await log.append(event("r1", "outcome", result="ok"))
    await log.append(event("r3", "outcome", result="failed"))
    again = await log.append(event("r3", "intent"))

    assert [row.request_id for row in await log.open_intents()] == ["r2", "r3"]
    assert (await log.open_intents())[1] == again


async def test_filters_narrow_and_order_differs(log: AuditLog) -> None:
    for fields in (
        {"home": "a"},
        {"home": "b", "actor": "U2"},
        {"home": "a", "sandbox": "s"},
        {"home": "a", "actor": "U2"},
    ):
        await log.append(event(**fields))
    east = (START + timedelta(seconds=2)).astimezone(timezone(timedelta(hours=3)))

    assert [row.seq for row in await log.recent(home="a")] == [4, 3, 1]
    assert [row.seq for row in await log.recent(limit=2)] == [4, 3]
    assert [row.seq for row in await log.recent(home="a", actor="U2")] == [4]
    assert await rows_of(log, home="a") == [1, 3, 4]
    assert await rows_of(log, sandbox="s") == [3]
    assert await rows_of(log, since=east) == [3, 4]


async def test_who_made_a_sandbox_is_the_last_intent_of_the_request_that_named_it_first(
    log: AuditLog,
) -> None:
    await log.append(event("r1", "intent", code="asked", home="alpha"))
    admitted = await log.append(event("r1", "intent", home="alpha", node="n1", details={"owner": "U9"}))
    await log.append(event("r1", home="alpha", sandbox="s1", code="step-5"))
    await log.append(event("r2", "intent", home="alpha", sandbox="s1", details={"continues": "r1"}))
    await log.append(event("r1", "intent", action="stop", home="alpha", sandbox="s1"))
    await log.append(event("r3", "reveal", action="reveal", home="alpha", sandbox="s2"))

    assert await log.created(["s1", "s2", "s3"]) == {"s1": admitted}
    assert await log.created([]) == {}


async def test_a_create_without_an_intent_still_tells_of_its_sandbox(log: AuditLog) -> None:
    row = await log.append(event("r1", home="alpha", sandbox="s1", code="step-5"))

    assert await log.created(["s1"]) == {"s1": row}
    assert await log.created_on("alpha") == {"s1": row}


async def test_sandboxes_of_a_home_are_known_until_a_row_tells_their_end(log: AuditLog) -> None:
    for number, home in enumerate(["alpha", "alpha", "alpha", "alpha", "beta"], 1):
        await log.append(event(f"r{number}", "intent", home=home))
        await log.append(event(f"r{number}", home=home, sandbox=f"s{number}", code="step-5"))
    ends = {"action": "stop", "home": "alpha", "result": "ok"}
    await log.append(event("x1", "outcome", **ends, sandbox="s1", code="stopped"))
    await log.append(event("x2", "outcome", **ends, sandbox="s2", code="stop-dismissed"))
    await log.append(event("x2", action="stop", home="alpha", sandbox="s2", code="stop-asked"))
    await log.append(event("", "system", action="sandbox-gone", sandbox="s3", code="sandbox-gone"))

    found = await log.created_on("alpha")

    assert {sandbox: row.request_id for sandbox, row in found.items()} == {"s2": "r2", "s4": "r4"}
    assert list(await log.created_on("gamma")) == []
    assert sorted(await log.created(["s1", "s5"])) == ["s1", "s5"]


async def test_what_may_still_live_is_told_without_what_is_known(log: AuditLog) -> None:
    for number in range(1, 6):
        await log.append(event(f"r{number}", "intent", home=f"h{number}"))
        await log.append(event(f"r{number}", home=f"h{number}", sandbox=f"s{number}", code="step-5"))
    await log.append(event("", "system", action="sandbox-gone", sandbox="s5", code="sandbox-gone"))

    found = await log.unended({"s2"}, limit=2)

    assert {sandbox: row.home for sandbox, row in found.items()} == {"s3": "h3", "s4": "h4"}
    assert sorted(await log.unended((), limit=9)) == ["s1", "s2", "s3", "s4"]
    assert await log.unended({"s1", "s2", "s3", "s4"}, limit=9) == {}


async def test_whoever_watches_is_told_of_each_row(log: AuditLog) -> None:
    told: list[object] = []
    log.watch(told.append)

    row = await log.append(event("r1"))

    assert told == [row]


async def test_what_somebody_has_made_is_told_newest_first(log: AuditLog) -> None:
    for number, (actor, home) in enumerate(
        [("U1", "a"), ("U2", "b"), ("U1", "c"), ("U1", "a"), ("U1", "d")], 1
    ):
        await log.append(event(f"r{number}", "intent", actor=actor, home=home, code="asked"))
        await log.append(event(f"r{number}", "intent", actor=actor, home=home, details={"timeout": number}))
        if home != "d":
            await log.append(event(f"r{number}", actor=actor, home=home, sandbox=f"s{number}", code="step-5"))
    await log.append(event("r9", "intent", actor="U1", home="b", sandbox="s2", details={"continues": "r2"}))
    await log.append(
        event("x", "outcome", action="stop", home="a", sandbox="s1", code="stopped", result="ok")
    )

    found = await log.created_by("U1")

    assert [(row.home, row.details) for row in found] == [
        ("a", {"timeout": 4}), ("c", {"timeout": 3}), ("a", {"timeout": 1}),
    ]  # fmt: skip
    assert [row.request_id for row in await log.created_by("U1", limit=2)] == ["r4", "r3"]
    assert await log.created_by("U3") == []


async def test_what_was_asked_of_a_sandbox_is_told_newest_first(log: AuditLog) -> None:
    await log.append(event("r0", "intent", sandbox="s1"))
    asked = await log.append(event("r1", "intent", action="pause", sandbox="s1"))
    await log.append(event("r1", "step", action="pause", sandbox="s1"))
    paused = await log.append(
        event("r1", "outcome", action="pause", sandbox="s1", result="ok", code="paused")
    )
    await log.append(event("r2", "reveal", action="reveal", sandbox="s1"))
    kept = await log.append(event("r3", "outcome", action="keep", sandbox="s2", result="ok"))
    await log.append(event("r4", "intent", action="resume", sandbox="s3"))
    await log.append(event("r5", "outcome", action="stop", sandbox="s1", result="ok", code="stopped"))

    assert await log.changes(["s1", "s2", "s4"]) == {"s1": [paused, asked], "s2": [kept]}
    assert await log.changes([]) == {}


async def test_only_the_latest_changes_of_a_sandbox_are_told(log: AuditLog) -> None:
    for number in range(MOST_CHANGES + 3):
        await log.append(event(f"r{number}", "intent", action="keep", sandbox="s1"))
    await log.append(event("x", "intent", action="keep", sandbox="s2"))

    found = await log.changes(["s1", "s2"])

    assert [row.request_id for row in found["s1"]] == [f"r{n}" for n in range(MOST_CHANGES + 2, 2, -1)]
    assert [row.request_id for row in found["s2"]] == ["x"]


async def test_no_number_of_other_rows_hides_a_sandbox(log: AuditLog) -> None:
    await log.append(event("r1", "intent", home="alpha"))
    await log.append(event("r1", home="alpha", sandbox="s1", code="step-5"))
    opens = event("r2", "reveal", action="reveal", home="alpha", sandbox="s1", code="revealed")

    await asyncio.gather(*(log.append(opens) for _ in range(600)))

    assert list(await log.created_on("alpha")) == ["s1"]


async def test_an_export_is_longer_than_a_page(log: AuditLog) -> None:
    await asyncio.gather(*(log.append(event(f"r{number}")) for number in range(1203)))

    assert await rows_of(log) == list(range(1, 1204))
    assert await log.verify() == replace(await log.verify(), rows=1203, fault=None)


async def test_a_time_without_a_zone_is_refused(log: AuditLog) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        await log.recent(since=datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point


async def test_two_openings_share_one_chain(open_log: Callable[[], Awaitable[AuditLog]]) -> None:
    one, two = await open_log(), await open_log()

    await asyncio.gather(*((one if number % 2 else two).append(event(f"r{number}")) for number in range(40)))
    for number in range(10):
        await one.append(event(f"x{number}"))
        await two.append(event(f"y{number}"))

    assert [(await log.verify()).rows for log in (one, two)] == [60, 60]
    assert (await one.verify()).ok


async def test_claims_hold_between_openings(open_log: Callable[[], Awaitable[AuditLog]]) -> None:
    one, two = await open_log(), await open_log()
    await one.append(event())

    won = await asyncio.gather(*(log.claim(event("r1", "claim")) for log in (one, two, one, two)))

    assert len([row for row in won if row]) == 1
    assert (await two.verify()).ok


async def test_a_closed_log_refuses_to_be_written(log: AuditLog) -> None:
    await log.append(event())

    await log.close()

    with pytest.raises(AuditUnavailableError, match="closed"):
        await log.append(event())


async def test_rows_handed_over_before_closing_are_written(
    open_log: Callable[[], Awaitable[AuditLog]],
) -> None:
    log = await open_log()
    waiting = [asyncio.ensure_future(log.append(event(f"r{number}"))) for number in range(20)]
    await asyncio.sleep(0)

    await log.close()

    assert [row.seq for row in await asyncio.gather(*waiting)] == list(range(1, 21))
