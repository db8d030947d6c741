"""The corpus of pausing, waking, idle times and warnings."""

from collections.abc import Iterator
from datetime import timedelta

from bot.domain.actors import Action
from bot.domain.outcome import Done, Failed, Unknown
from bot.usecases.bulk import Item
from bot.usecases.keeping import Kept
from bot.usecases.pausing import Paused
from bot.usecases.resuming import Resumed, StudioNow
from bot.usecases.warnings import PauseWarning
from handlers.render import bulk, interrupted_change, keep, leaving, sleep, warning
from tests.golden import values
from tests.golden.corpus import Sample, sample
from tests.golden.values import ANGRY, AT, LONGEST_ID, LONGEST_PERSON, PERSON, REQUEST, SANDBOX

_CHANGES = (Action.PAUSE, Action.RESUME, Action.KEEP)


def sleep_samples() -> Iterator[Sample]:
    """Everything that is said of them."""
    yield from _pauses()
    yield from _resumes()
    yield from _keeps()
    yield from _bulk()
    yield from _warnings()
    for action in _CHANGES:
        yield sample(leaving.change_leaving_message, action.value, PERSON, action, "atlas")
        for known in (True, False):
            broken = values.interrupted(action=action, sandbox_known=known, recorded_sandbox=SANDBOX)
            yield sample(
                interrupted_change.interrupted_change_message, f"{action.value}-{known}".lower(), broken
            )
    yield sample(leaving.change_leaving_message, "worst", LONGEST_PERSON, Action.PAUSE, LONGEST_ID)


def _pauses() -> Iterator[Sample]:
    for action in (Action.PAUSE, Action.RESUME):
        yield sample(sleep.going_on, action.value, action, PERSON, "atlas")
        yield sample(sleep.going_on, f"{action.value}-worst", action, LONGEST_PERSON, ANGRY)
    for action in _CHANGES:
        yield sample(sleep.asked_for, action.value, action, LONGEST_PERSON, ANGRY)
    usual = Paused(sandbox_id=SANDBOX, home="atlas", owner=PERSON, seconds=2.4)
    yield sample(sleep.paused_message, "usual", usual, PERSON, REQUEST)
    already = Paused(sandbox_id=SANDBOX, home="atlas", owner=PERSON, already=True, wakes_on_use=False)
    yield sample(sleep.paused_message, "already", already, PERSON, REQUEST)
    foreign = Paused(sandbox_id=SANDBOX, home="", owner="", seconds=61, kept_for_ever=True)
    yield sample(sleep.paused_message, "foreign", foreign, PERSON, REQUEST)
    forged = Paused(sandbox_id=SANDBOX, home=ANGRY, owner=ANGRY, seconds=1e6, kept_for_ever=True)
    yield sample(sleep.paused_message, "forged", forged, LONGEST_PERSON, REQUEST)


def _resumes() -> Iterator[Sample]:
    for studio in StudioNow:
        woken = Resumed(sandbox_id=SANDBOX, home="atlas", owner=PERSON, seconds=3.6, studio=studio)
        yield sample(sleep.resumed_message, studio.value, woken, PERSON, REQUEST)
    already = Resumed(sandbox_id=SANDBOX, home="atlas", owner=PERSON, already=True)
    yield sample(sleep.resumed_message, "already", already, PERSON, REQUEST)
    forged = Resumed(sandbox_id=SANDBOX, home=ANGRY, owner=ANGRY, seconds=1e6, notes=(ANGRY,))
    yield sample(sleep.resumed_message, "forged", forged, LONGEST_PERSON, REQUEST)


def _keeps() -> Iterator[Sample]:
    yield sample(keep.setting, "usual", PERSON, "atlas", 7200)
    yield sample(keep.setting, "never", LONGEST_PERSON, ANGRY, -1)
    given = {"request_id": REQUEST, "sandbox_id": SANDBOX}
    for label, kept in {
        "usual": Kept(**given, home="atlas", timeout=7200, before=900, until=AT + timedelta(hours=2)),
        "never": Kept(**given, home="atlas", timeout=-1, before=900),
        "asleep": Kept(**given, home="atlas", timeout=7200, before=900, asleep=True),
        "asleep-never": Kept(**given, home="atlas", timeout=-1, before=900, asleep=True),
        "foreign": Kept(**given, home="", timeout=7200, until=AT, dies=True),
        "guessed": Kept(**given, home="atlas", timeout=900, until=AT, guessed=True),
        "forged": Kept(**given, home=ANGRY, timeout=31_536_000, until=AT, dies=True, guessed=True),
    }.items():
        yield sample(keep.kept_message, label, kept, PERSON)
        yield sample(keep.undone_message, label, kept, PERSON)


def _bulk() -> Iterator[Sample]:
    for action in (Action.PAUSE, Action.RESUME):
        yield sample(bulk.looking_for_mine, action.value, action, PERSON)
        yield sample(bulk.nothing_mine, action.value, action, PERSON)
    slept = Paused(sandbox_id=SANDBOX, home="atlas", owner=PERSON, seconds=2.4)
    woken = Resumed(sandbox_id=SANDBOX, home="atlas", owner=PERSON, seconds=2.4)
    some = [
        Item(sandbox_id=SANDBOX, home="atlas", outcome=Done("paused", slept)),
        Item(sandbox_id=SANDBOX, home="beta", outcome=values.not_done(Failed)),
        Item(sandbox_id=SANDBOX, home="gamma", outcome=values.not_done(Unknown)),
        Item(sandbox_id=SANDBOX, home=""),
    ]
    yield sample(bulk.bulk_message, "under-way", Action.PAUSE, PERSON, some)
    yield sample(bulk.bulk_message, "partly", Action.PAUSE, PERSON, some[:3])
    yield sample(bulk.bulk_message, "well", Action.PAUSE, PERSON, some[:1])
    awake = [Item(sandbox_id=SANDBOX, home="atlas", outcome=Done("resumed", woken))]
    yield sample(bulk.bulk_message, "awake", Action.RESUME, PERSON, awake)
    angry = values.not_done(Failed, what=ANGRY, todo=ANGRY)
    worst = [Item(sandbox_id=SANDBOX, home=LONGEST_ID, outcome=angry) for _ in range(50)]
    yield sample(bulk.bulk_message, "worst", Action.PAUSE, LONGEST_PERSON, worst)


def _warnings() -> Iterator[Sample]:
    for label, home in {"usual": "atlas", "foreign": "", "forged": ANGRY}.items():
        due = PauseWarning(
            mark="w", owner=PERSON, sandbox_id=SANDBOX, home=home, workspace=home, node="node-1",
            deadline=AT + timedelta(minutes=9),
        )  # fmt: skip
        yield sample(warning.warning_message, label, due, AT)
