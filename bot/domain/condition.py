"""How a sandbox is, in one of ten exact words: decided from what was seen, never from what was remembered."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.sandbox import SandboxState, SandboxView

START_GRACE = timedelta(seconds=120)
"""What a new or just woken sandbox may take until its heartbeat is there."""

WAKE_GRACE = timedelta(seconds=45)
"""A request may just have woken it; its next heartbeat is due within 20 s."""

PAUSE_PATIENCE = timedelta(seconds=180)
"""A pause that takes longer is stuck; the longest that Cube itself waits for one is 120 s."""

OWN_MARGIN = timedelta(seconds=2)
"""Cube notes a use to the second, when the request ends; so long after our own one it may still be ours."""

UNLISTED = "Cube leaves it out of its list and shows it only when asked for it: its node may not answer."

CUT_OFF = "In the last minute it gave a sign of life, but Cube's proxy cannot reach it."


class Condition(StrEnum):
    """Our words for the state of a sandbox."""

    READY = "ready"
    STARTING = "starting"
    DEGRADED = "degraded"
    ASLEEP = "asleep"
    PAUSING = "pausing"
    STUCK = "stuck"
    DARK = "dark"
    UNRESUMABLE = "unresumable"
    GONE = "gone"
    UNKNOWN = "unknown"

    @property
    def troubled(self) -> bool:
        """Whether somebody should look at it. Nobody need for one that sleeps, or is on its way."""
        return self in {Condition.DEGRADED, Condition.STUCK, Condition.DARK, Condition.UNRESUMABLE}


SENTENCES: dict[Condition, str] = {
    Condition.READY: "Studio works.",
    Condition.STARTING: "It runs; Studio is not ready yet.",
    Condition.DEGRADED: "It runs, but something in it does not work.",
    Condition.ASLEEP: "It is paused and keeps its memory; opening its Studio wakes it.",
    Condition.PAUSING: "It is just being paused.",
    Condition.STUCK: "Its pause does not come to an end.",
    Condition.DARK: "Cube says that it runs, but nothing in it answers.",
    Condition.UNRESUMABLE: "It is paused, and Cube has refused to wake it; home and workspace are safe.",
    Condition.GONE: "It does not exist any more; home and workspace are on the node.",
    Condition.UNKNOWN: "It cannot be told how it is.",
}
"""What each word means, when nothing more exact is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What the audit log remembers of a sandbox; facts about what was done, never about how it is."""

    timeout: int | None = None
    """Idle seconds that were last asked for; -1 = never, None = nobody knows."""
    ours: bool = False
    """The bot made it, so it is paused when idle, never destroyed."""
    changed_at: datetime | None = None
    """When it was last made, woken or given a Studio."""
    pause_asked_at: datetime | None = None
    """When a pause was asked for that has not ended well since."""
    pause_given_up: bool = False
    """That pause was waited for, in vain."""
    cannot_resume: bool = False
    """Cube has refused to wake it for good, and nobody has woken it since."""
    resume_undone: bool = False
    """It was woken and went back to sleep at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Everything that was seen of one sandbox at one moment."""

    view: SandboxView | None
    """None: Cube has said twice that it does not exist."""
    now: datetime
    listed: bool = True
    """False: Cube's list left it out, and only a question by id brought it to light."""
    heartbeat: Heartbeat | None = None
    node_answered: bool = True
    """False: the node could not be asked for heartbeats."""
    reached: bool | None = None
    """Whether a request through Cube's proxy reached it; None = none was made, or that cannot be told."""
    studio: bool | None = None
    """What Studio's own answer to that request was worth; None = it was not asked, or did not say."""
    studio_note: str = ""
    """Why Studio's answer was not good, in a few words."""
    probed_at: datetime | None = None
    """When our own last request went through Cube's proxy, which shows as activity too."""
    past: Past = Past()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The word, and the sentence for exactly this case."""

    condition: Condition
    sentence: str


def judge(sight: Sight) -> Judged:
    """The state word and its sentence. What cannot be told is ``unknown``, never rounded up or down."""
    view = sight.view
    if view is None:
        return _judged(Condition.GONE)
    if not sight.listed or not view.listed:
        return _judged(Condition.UNKNOWN, UNLISTED)
    match view.state:
        case SandboxState.PAUSED:
            return _asleep(sight)
        case SandboxState.PAUSING:
            return _pausing(sight, view)
        case SandboxState.RUNNING:
            return _running(sight, view)
        case SandboxState.UNKNOWN:
            return _judged(Condition.UNKNOWN, "Cube itself does not say in which state it is.")


def last_activity(view: SandboxView, past: Past) -> datetime | None:
    """When somebody last used it, as far as its deadline and its idle time tell."""
    deadline = moment(view.end_at)
    if deadline is None or past.timeout is None or past.timeout < 0:
        return None
    return deadline - timedelta(seconds=past.timeout)


def moment(text: str | None) -> datetime | None:
    """One of Cube's times; None for what is none."""
    try:
        read = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return read if read is None or read.tzinfo else None


def _judged(condition: Condition, sentence: str = "") -> Judged:
    return Judged(condition=condition, sentence=sentence or SENTENCES[condition])


def _asleep(sight: Sight) -> Judged:
    if sight.past.cannot_resume:
        return _judged(Condition.UNRESUMABLE)
    if sight.past.resume_undone:
        return _judged(
            Condition.ASLEEP, "It is paused: it was woken, and went back to sleep at once. Wake it again."
        )
    return _judged(Condition.ASLEEP)


def _pausing(sight: Sight, view: SandboxView) -> Judged:
    since = sight.past.pause_asked_at or moment(view.end_at)
    too_long = since is not None and sight.now - since > PAUSE_PATIENCE
    return _judged(Condition.STUCK if too_long or sight.past.pause_given_up else Condition.PAUSING)


def _running(sight: Sight, view: SandboxView) -> Judged:
    beat = _of_now(sight, view)
    if sight.reached is False:
        return _judged(Condition.DARK, CUT_OFF if beat else "")
    if beat is None:
        return _without_sign(sight, view)
    works = beat.studio is Inside.READY if sight.studio is None else sight.studio
    if works and beat.envd is not False:
        return _judged(Condition.READY)
    if _just_changed(sight, view):
        return _judged(Condition.STARTING)
    return _degraded(sight, beat)


def _of_now(sight: Sight, view: SandboxView) -> Heartbeat | None:
    """Its heartbeat, if it is this sandbox's own and tells about now.

    One from before a change tells nothing about afterwards. One that does not say whose it is may have been
    left in the home by the sandbox before, so it counts only if it is younger than this sandbox.
    """
    beat = sight.heartbeat
    if beat is None or not beat.fresh or not _own(beat, view):
        return None
    began = sight.past.changed_at if beat.sandbox else sight.past.changed_at or moment(view.started_at)
    if began is None:
        return beat if beat.sandbox else None
    return beat if sight.now - timedelta(seconds=beat.age) >= began else None


def _own(beat: Heartbeat, view: SandboxView) -> bool:
    return beat.sandbox in ("", view.sandbox_id)


def _without_sign(sight: Sight, view: SandboxView) -> Judged:
    if _just_changed(sight, view) and not sight.studio and (sight.node_answered or sight.studio is False):
        return _judged(Condition.STARTING)
    if not sight.node_answered and sight.studio is not False:
        return _node_silent(sight)
    if sight.studio and _just_made_or_woken(sight, view):
        return _judged(Condition.STARTING, "It has just started; Studio works, and its heartbeat is due.")
    beat = sight.heartbeat if sight.heartbeat and _own(sight.heartbeat, view) else None
    if sight.reached:
        return _judged(Condition.DEGRADED, _answers_without_sign(sight, beat))
    if beat is None and sight.heartbeat is not None:
        return _judged(Condition.UNKNOWN, "Cube says that it runs; the heartbeat in its home is another's.")
    if beat is None:
        return _judged(
            Condition.UNKNOWN, "Cube says that it runs; it has no heartbeat, so nobody can tell how it is."
        )
    if beat.age < 0:
        return _judged(Condition.UNKNOWN, "Its sign of life is dated in the future, so it tells nothing.")
    return _judged(
        Condition.DARK, f"Cube says that it runs, but its last sign of life is {ago(beat.age)} old."
    )


def _node_silent(sight: Sight) -> Judged:
    """A node that cannot be asked says nothing against the sandbox, and nothing for it."""
    if sight.studio:
        return _judged(Condition.READY, "Studio works; its node cannot be asked for its heartbeat.")
    if sight.reached:
        return _judged(
            Condition.UNKNOWN, "It answers; whether Studio in it works, nobody can tell: its node is silent."
        )
    return _judged(Condition.UNKNOWN, "Cube says that it runs; its node cannot be asked how it is.")


def _answers_without_sign(sight: Sight, beat: Heartbeat | None) -> str:
    if sight.studio is False:
        return f"It answers, but Studio in it does not work{_because(sight.studio_note)}."
    who = "Studio works" if sight.studio else "It answers"
    return f"{who}, but its heartbeat has stopped." if beat else f"{who}, but it has no heartbeat."


def _just_changed(sight: Sight, view: SandboxView) -> bool:
    used = last_activity(view, sight.past)
    ours = used is not None and sight.probed_at is not None and used <= sight.probed_at + OWN_MARGIN
    return _just_made_or_woken(sight, view) or (
        used is not None and not ours and abs(sight.now - used) < WAKE_GRACE
    )


def _just_made_or_woken(sight: Sight, view: SandboxView) -> bool:
    changes = [when for when in (moment(view.started_at), sight.past.changed_at) if when]
    return any(abs(sight.now - when) < START_GRACE for when in changes)


def _degraded(sight: Sight, beat: Heartbeat) -> Judged:
    if beat.envd is False:
        return _judged(Condition.DEGRADED, "Cube's command service in it does not answer.")
    if sight.studio is False:
        return _judged(
            Condition.DEGRADED, f"It runs, but Studio in it does not work{_because(sight.studio_note)}."
        )
    if beat.studio is Inside.SILENT:
        return _judged(Condition.DEGRADED, "It runs, but Studio in it does not answer.")
    if beat.studio is Inside.NOT_READY:
        return _judged(Condition.DEGRADED, f"Studio answers, but does not work{_because(beat.note)}.")
    return _judged(Condition.UNKNOWN, "It gives a sign of life that says nothing about Studio.")


def _because(note: str) -> str:
    return f" ({note})" if note else ""


def ago(seconds: float) -> str:
    """A length of time in one unit: ``12 s``, ``3 min``, ``5 h``, ``4 days``."""
    whole = int(seconds)
    for unit, size in (("s", 1), ("min", 60), ("h", 3600)):
        if whole < 2 * size * (24 if unit == "h" else 60):
            return f"{whole // size} {unit}"
    return f"{whole // 86_400} days"
