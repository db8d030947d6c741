"""What the audit log's rows say about a sandbox's past."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from installation import Installation, install

from bot.domain.audit import GENESIS, MOST_CHANGES, AuditRow
from bot.domain.condition import Past
from bot.domain.past import recalled
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.past import remembered

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SANDBOX = "a" * 32


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def view(end_at: datetime | None = None) -> SandboxView:
    return SandboxView(
        sandbox_id=SANDBOX, state=SandboxState.RUNNING, end_at=end_at.isoformat() if end_at else None
    )


def row(minute: int, action: str, phase: Any, code: str = "", result: Any = "", **details: Any) -> AuditRow:
    """A row of minute ``minute``."""
    return AuditRow(
        request_id="r", phase=phase, actor="U1", actor_kind="user", action=action, sandbox=SANDBOX,
        result=result, code=code, details=details, seq=minute + 1, at=at(minute), prev_hash=GENESIS,
        hash=GENESIS,
    )  # fmt: skip


MADE = row(0, "create", "intent", timeout=None, idle=900)
ASKED = row(10, "pause", "intent")


def past(*changes: AuditRow, made: AuditRow | None = MADE, end_at: datetime | None = None) -> Past:
    """Of ``changes`` in the order in which they were written."""
    return recalled(view(end_at), made, changes[::-1])


def test_a_create_tells_the_idle_time_and_whose_policy_holds() -> None:
    assert past() == Past(timeout=900, ours=True, changed_at=START)
    assert past(made=row(0, "create", "intent", timeout=3600)).timeout == 3600
    assert past(made=None) == Past()


def test_the_latest_idle_time_that_was_set_counts() -> None:
    kept = row(1, "keep", "outcome", "kept", "ok", timeout=7200, before=900)
    undone = row(2, "keep", "outcome", "keep-undone", "ok", timeout=900)
    refused = row(3, "keep", "outcome", "cube-not-found", "refused")

    assert past(kept, refused).timeout == 7200
    assert past(kept, undone).timeout == 900


def test_an_idle_time_that_may_have_been_set_is_not_known() -> None:
    assert past(row(1, "keep", "outcome", "keep-unknown", "unknown")).timeout is None


def test_an_idle_time_that_may_have_been_set_before_what_is_read_is_not_known() -> None:
    changes = [row(number, "resume", "intent") for number in range(MOST_CHANGES)]

    assert past(*changes).timeout is None
    assert past(*changes[1:], row(50, "keep", "outcome", "kept", "ok", timeout=60)).timeout == 60


def test_an_idle_time_set_on_the_way_to_a_failed_pause_holds() -> None:
    failed = row(11, "pause", "outcome", "cube-node-unreachable", "failed", timeout=-1)

    assert past(ASKED, failed, made=None) == Past(timeout=-1)


@pytest.mark.parametrize(
    ("end", "asked", "given_up"),
    [
        (None, at(10), False),
        (row(12, "pause", "outcome", "pause-unknown", "unknown"), at(10), True),
        (row(12, "pause", "outcome", "interrupted", "unknown"), at(10), False),
        (row(12, "pause", "outcome", "paused", "ok"), None, False),
        (row(12, "pause", "outcome", "cube-bad-request", "failed"), None, False),
        (row(12, "resume", "outcome", "resumed", "ok"), None, False),
        (row(12, "resume", "outcome", "cube-bad-request", "failed"), at(10), False),
    ],
)
def test_a_pause_is_under_way_until_it_is_known_to_have_ended(
    end: AuditRow | None,
    asked: datetime | None,
    given_up: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    found = past(ASKED, *([end] if end else []))

    assert (found.pause_asked_at, found.pause_given_up) == (asked, given_up)


def test_a_pause_has_ended_when_the_sandbox_was_used_since() -> None:
    given_up = row(12, "pause", "outcome", "pause-unknown", "unknown")
    kept = row(13, "keep", "outcome", "kept", "ok", timeout=900)

    assert past(ASKED, given_up, end_at=at(20) + timedelta(seconds=900)).pause_asked_at is None
    assert past(ASKED, given_up, end_at=at(9) + timedelta(seconds=900)).pause_asked_at == at(10)
    # A new idle time moves the deadline, and nobody has used it.
    assert past(ASKED, given_up, kept, end_at=at(13) + timedelta(seconds=900)).pause_given_up


def test_what_cube_cannot_wake_stays_so_until_somebody_has_woken_it() -> None:
    refused = row(20, "resume", "outcome", "cube-unresumable-tap-busy", "failed", for_good=True)
    busy = row(21, "resume", "outcome", "cube-conflict-retry", "failed")
    woken = row(22, "resume", "outcome", "resumed", "ok")

    assert past(refused, busy).cannot_resume
    assert not past(busy).cannot_resume
    assert not past(refused, woken).cannot_resume
    assert past(refused, woken).changed_at == at(22)


def test_a_resume_that_was_undone_is_remembered_until_the_next_change() -> None:
    undone = row(20, "resume", "outcome", "resume-undone", "failed")

    assert past(undone).resume_undone
    assert not past(undone, row(21, "resume", "outcome", "resumed", "ok")).resume_undone
    assert not past(undone, row(21, "pause", "outcome", "paused", "ok")).resume_undone


@pytest.fixture
async def world() -> Installation:
    made = install()
    await made.create("alpha")
    await made.create("beta", timeout=3600)
    return made


async def test_however_many_are_remembered_the_log_is_read_twice(world: Installation) -> None:
    views = [*await world.cube.list(), view()]
    world.log.reads.clear()

    found = await remembered(views, world.deps)

    assert [found[one.sandbox_id].timeout for one in views] == [3600, 900, None]
    assert [found[one.sandbox_id].ours for one in views] == [True, True, False]
    assert sorted(world.log.reads) == ["changes", "created"]
    assert await remembered([], world.deps) == {}
