import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from contract.doubles_audit import Unredacted
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.audit import (
    COLUMNS,
    GENESIS,
    AuditDamagedError,
    AuditEvent,
    ChainFault,
    ChainHead,
    Columns,
    canonical_bytes,
    chained,
    follow,
    row_hash,
    row_of,
    storable,
    timestamp,
)

AT = datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)


def event(**fields: Any) -> AuditEvent:
    given = {"request_id": "r1", "phase": "step", "actor": "U0ONE", "actor_kind": "user", "action": "create"}
    return AuditEvent(**(given | fields))


def chain(length: int) -> list[Columns]:
    rows: list[Columns] = []
    head = ChainHead()
    for number in range(length):
        rows.append(chained(storable(event(reason=f"row {number + 1}"), AT, Unredacted()), head))
        head = ChainHead(number + 1, str(rows[-1]["hash"]))
    return rows


def walk(rows: list[Columns]) -> ChainHead | ChainFault:
    step: ChainHead | ChainFault = ChainHead()
    for row in rows:
        if isinstance(step, ChainFault):
            break
        step = follow(step, row)
    return step


def rehashed(row: Columns, **changes: str | int) -> Columns:
    changed = row | changes
    return changed | {"hash": row_hash(changed)}


def test_the_hash_is_what_anybody_can_compute() -> None:
    row = chained(storable(event(details={"b": "ä", "a": 1}), AT, Unredacted()), ChainHead())
    texts = dict.fromkeys(COLUMNS, "") | {
        "seq": 1, "at": "2026-03-01T12:00:00.000005Z", "request_id": "r1", "phase": "step", "actor": "U0ONE",
        "actor_kind": "user", "action": "create", "details": '{"a":1,"b":"\\u00e4"}', "prev_hash": "0" * 64,
    }  # fmt: skip
    del texts["hash"]
    expected = b"hermes-sandbox-bot audit row v1\n" + json.dumps(
        texts, sort_keys=True, separators=(",", ":")
    ).encode("ascii")

    assert canonical_bytes(row) == expected
    assert row["hash"] == hashlib.sha256(expected).hexdigest()


def test_rows_as_written_lead_to_their_head() -> None:
    rows = chain(5)

    assert walk(rows) == ChainHead(5, str(rows[-1]["hash"]))


@pytest.mark.parametrize("column", [name for name in COLUMNS if name != "seq"])
def test_a_change_of_any_column_names_its_row(column: str) -> None:
    rows = chain(4)
    rows[2] = rows[2] | {column: f"{rows[2][column]}x"}

    fault = walk(rows)

    assert isinstance(fault, ChainFault)
    assert (fault.seq, fault.fault) == (3, "changed")
    assert str(fault).startswith("row 3: changed: ")


def test_a_row_that_is_not_text_is_changed() -> None:
    rows = chain(2)
    rows[1] = rows[1] | {"reason": b"\xff"}  # type: ignore[dict-item]  # what a database may hand over

    assert getattr(walk(rows), "fault", "") == "changed"


def test_missing_rows_are_named() -> None:
    rows = chain(6)

    one, three, first = walk(rows[:2] + rows[3:]), walk(rows[:1] + rows[4:]), walk(rows[1:])

    assert str(one) == "row 3: missing: it is gone; row 4 comes after row 2"
    assert str(three) == "row 2: missing: rows 2 to 4 are gone; row 5 comes after row 1"
    assert str(first).startswith("row 1: missing")


def test_a_row_rewritten_with_a_new_hash_breaks_the_link_after_it() -> None:
    rows = chain(4)
    rows[1] = rehashed(rows[1], reason="never happened")

    assert str(walk(rows)).startswith("row 3: broken-link: it does not follow row 2")


def test_a_deleted_row_cannot_be_hidden_by_renumbering() -> None:
    rows = chain(4)
    renumbered = [rows[0], rehashed(rows[2], seq=2), rehashed(rows[3], seq=3)]

    assert str(walk(renumbered)).startswith("row 2: broken-link")


def test_a_chain_that_begins_elsewhere_is_no_beginning() -> None:
    assert str(walk([rehashed(chain(1)[0], prev_hash="1" * 64)])).startswith("row 1: broken-link")


@pytest.mark.parametrize("seq", [2, 0, -3])
def test_a_number_that_is_taken_is_a_duplicate(seq: int) -> None:
    rows = chain(2)

    assert str(walk([*rows, rehashed(rows[1], seq=seq)])).startswith(f"row {seq}: duplicate")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"phase": "steps"}, "phase 'steps' is none of"),
        ({"actor_kind": "robot"}, "actor_kind 'robot'"),
        ({"result": "fine"}, "result 'fine'"),
        ({"phase": "outcome"}, "an outcome needs a result"),
        ({"actor": ""}, "needs an actor"),
        ({"request_id": ""}, "needs a request_id"),
        ({"details": {"a": [{"wait_s": 1.5}]}}, r"details\.a\[0\]\.wait_s is 1\.5.*no floats"),
        ({"details": {"a": object()}}, r"details\.a is a object"),
        ({"details": {1: "a"}}, "key 1"),
    ],
)
def test_what_the_log_could_not_keep_is_refused_at_once(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        event(**fields)


def test_an_alert_needs_no_request() -> None:
    assert event(request_id="", phase="alert").request_id == ""


def test_times_are_stored_in_utc_at_one_width() -> None:
    east = datetime(2026, 3, 1, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))

    assert timestamp(east) == "2026-03-01T06:30:00.000000Z"
    with pytest.raises(ValueError, match="no time zone"):
        timestamp(east.replace(tzinfo=None))


@pytest.mark.parametrize(
    "damage", [{"phase": "st"}, {"at": "soon"}, {"details": "{"}, {"reason": None}, {"details": "[1]"}]
)
def test_a_row_that_is_none_any_more_says_which(damage: dict[str, Any]) -> None:
    with pytest.raises(AuditDamagedError, match="audit row 1 cannot be understood"):
        row_of(chain(1)[0] | damage)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values, max_size=5), st.text(), st.datetimes(timezones=st.just(UTC)))
def test_every_row_comes_back_and_holds(details: dict[str, Any], reason: str, at: datetime) -> None:
    columns = chained(storable(event(details=details, reason=reason), at, Unredacted()), ChainHead())

    row = row_of(columns)

    assert (row.at, row.prev_hash, follow(ChainHead(), columns)) == (at, GENESIS, ChainHead(1, row.hash))
    assert columns == chained(
        storable(event(details=row.details, reason=row.reason), at, Unredacted()), ChainHead()
    )
