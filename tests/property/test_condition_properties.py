"""Laws of the words for a sandbox's state, whatever was seen of it."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.condition import Condition, Past, Sight, judge
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.probing import may_probe
from bot.domain.sandbox import SandboxState, SandboxView
from bot.domain.sensible import sensible

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ME = "a" * 32

MOMENTS = st.floats(-90_000, 90_000).map(lambda seconds: NOW + timedelta(seconds=seconds))
TEXTS = st.one_of(
    MOMENTS.map(datetime.isoformat), st.sampled_from(["", "soon", "2026-01-01", "9999-12-31T23:59:59Z"])
)
VIEWS = st.builds(
    SandboxView,
    sandbox_id=st.just(ME),
    state=st.sampled_from(SandboxState),
    started_at=TEXTS,
    end_at=st.none() | TEXTS,
    listed=st.booleans(),
)
BEATS = st.builds(
    Heartbeat,
    age=st.floats(-200, 10_000),
    sandbox=st.sampled_from(["", ME, "b" * 32]),
    studio=st.sampled_from(Inside),
    note=st.sampled_from(["", "no bridge"]),
    envd=st.none() | st.booleans(),
)
PASTS = st.builds(
    Past,
    timeout=st.none() | st.integers(-1, 90_000),
    ours=st.booleans(),
    changed_at=st.none() | MOMENTS,
    pause_asked_at=st.none() | MOMENTS,
    pause_given_up=st.booleans(),
    cannot_resume=st.booleans(),
    resume_undone=st.booleans(),
)
MAYBE = st.none() | st.booleans()
SIGHTS = st.builds(
    Sight,
    view=st.none() | VIEWS,
    now=st.just(NOW),
    listed=st.booleans(),
    heartbeat=st.none() | BEATS,
    node_answered=st.booleans(),
    reached=MAYBE,
    studio=MAYBE,
    probed_at=st.none() | MOMENTS,
    past=PASTS,
)


@given(SIGHTS)
def test_whatever_was_seen_has_one_word_and_one_sentence(sight: Sight) -> None:
    judged = judge(sight)

    assert isinstance(judged.condition, Condition)
    assert judged.sentence.endswith(".")


@given(SIGHTS)
def test_ready_needs_a_fresh_heartbeat_of_this_very_sandbox_or_studio_s_own_answer(sight: Sight) -> None:
    beat = sight.heartbeat
    if judge(sight).condition is not Condition.READY:
        return

    if not sight.node_answered and sight.studio:
        return  # Studio has answered itself, and nobody can ask for its heartbeat
    assert beat is not None
    assert beat.fresh
    assert beat.sandbox in ("", ME)
    assert beat.envd is not False
    assert sight.view is not None
    assert sight.view.state is SandboxState.RUNNING
    assert sight.listed
    assert sight.view.listed
    assert sight.reached is not False
    assert sight.studio or (sight.studio is None and beat.studio is Inside.READY)


@given(SIGHTS)
def test_gone_is_what_cube_has_denied_and_nothing_else(sight: Sight) -> None:
    assert (judge(sight).condition is Condition.GONE) == (sight.view is None)


@given(SIGHTS)
def test_what_the_list_leaves_out_is_unknown(sight: Sight) -> None:
    if sight.view is None or (sight.listed and sight.view.listed):
        return

    assert judge(sight).condition is Condition.UNKNOWN


@given(SIGHTS)
def test_asleep_unresumable_and_stuck_are_cubes_own_word_first(sight: Sight) -> None:
    states = {
        Condition.ASLEEP: SandboxState.PAUSED,
        Condition.UNRESUMABLE: SandboxState.PAUSED,
        Condition.PAUSING: SandboxState.PAUSING,
        Condition.STUCK: SandboxState.PAUSING,
    }
    wanted = states.get(judge(sight).condition, SandboxState.RUNNING)

    assert sight.view is None or judge(sight).condition is Condition.UNKNOWN or sight.view.state is wanted


@given(VIEWS, PASTS, st.none() | MOMENTS)
def test_no_probe_can_alter_a_sandboxs_fate(
    view: SandboxView, past: Past, probed_at: datetime | None
) -> None:
    if not may_probe(view, past, now=NOW, probed_at=probed_at):
        return

    assert view.state is SandboxState.RUNNING
    assert view.listed
    if view.end_at is not None:
        assert past.timeout is not None
        used = datetime.fromisoformat(view.end_at) - timedelta(seconds=past.timeout)
        assert timedelta() <= NOW - used < timedelta(seconds=min(60, past.timeout / 10))
        assert probed_at is None or used > probed_at + timedelta(seconds=2)


@given(SIGHTS)
def test_there_is_an_answer_to_what_can_be_done_in_every_case(sight: Sight) -> None:
    state = sight.view.state if sight.view else SandboxState.UNKNOWN

    acts = sensible(judge(sight).condition, state, listed=sight.listed)

    assert len(set(acts)) == len(acts)
