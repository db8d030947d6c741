"""When a sandbox may be asked without anybody wanting it, and how much idle time is left."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.condition import Past
from bot.domain.idle import idle_left
from bot.domain.probing import may_probe
from bot.domain.sandbox import SandboxState, SandboxView

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def view(left: float | None, state: SandboxState = SandboxState.RUNNING, **changes: Any) -> SandboxView:
    end_at = None if left is None else (NOW + timedelta(seconds=left)).isoformat()
    return SandboxView(sandbox_id="a" * 32, state=state, end_at=end_at, **changes)


@pytest.mark.parametrize(
    ("allowed", "seen", "past"),
    [
        (True, view(None), Past(timeout=-1)),
        (True, view(None), Past()),
        (False, view(None), Past(timeout=900)),
        (False, view(None, SandboxState.PAUSED), Past(timeout=-1)),
        (False, view(None, SandboxState.PAUSING), Past(timeout=-1)),
        (False, view(None, listed=False), Past(timeout=-1)),
        (True, view(890), Past(timeout=900)),
        (False, view(839), Past(timeout=900)),
        (False, view(890), Past()),
        (False, view(1000), Past(timeout=900)),
        (True, view(96), Past(timeout=100)),
        (False, view(89), Past(timeout=100)),
        (False, view(-5), Past(timeout=900)),
    ],
)
def test_a_probe_is_made_where_it_cannot_alter_the_sandboxs_fate(
    allowed: bool,  # noqa: FBT001 - a table
    seen: SandboxView,
    past: Past,
) -> None:
    assert may_probe(seen, past, now=NOW, probed_at=None) is allowed


@pytest.mark.parametrize(("ago_s", "allowed"), [(5, False), (8, False), (11, False), (13, True)])
def test_our_own_probe_does_not_count_as_somebody_elses_use(
    ago_s: float,
    allowed: bool,  # noqa: FBT001 - a table
) -> None:
    used_10_s_ago = view(890)

    probed = NOW - timedelta(seconds=ago_s)

    assert may_probe(used_10_s_ago, Past(timeout=900), now=NOW, probed_at=probed) is allowed


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (view(None), "never"),
        (view(90), "left"),
        (view(-1), "due"),
        (view(-1, SandboxState.PAUSED), "none"),
        (view(90, SandboxState.PAUSING), "none"),
        (view(90, SandboxState.UNKNOWN), "unknown"),
        (view(90, listed=False), "unknown"),
        (SandboxView(sandbox_id="a", state=SandboxState.RUNNING, end_at="soon"), "unknown"),
    ],
)
def test_idle_time_is_read_from_the_deadline_and_never_guessed(seen: SandboxView, kind: str) -> None:
    assert idle_left(seen, NOW).kind == kind
