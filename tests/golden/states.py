"""Sandboxes as they may be found, for the list, the card and the App Home."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from bot.domain.actors import Action, Role
from bot.domain.audit import GENESIS, AuditRow
from bot.domain.condition import SENTENCES, Condition, Judged, Past
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.idle import Idle, IdleKind
from bot.domain.sandbox import SandboxState, SandboxView
from bot.ports import Sizes
from bot.usecases.card import Card
from bot.usecases.overview import Overview, Own, Team, Unfinished
from bot.usecases.sightings import Seen
from bot.usecases.status import Scope, Survey
from bot.usecases.whoami import WhoAmI
from handlers.render.status import pages
from tests.golden import values
from tests.golden.values import ANGRY, AT, LONGEST_ID, LONGEST_PERSON, PERSON, REQUEST, SANDBOX

MIB = 1024**2
STATES = {
    Condition.ASLEEP: SandboxState.PAUSED,
    Condition.UNRESUMABLE: SandboxState.PAUSED,
    Condition.PAUSING: SandboxState.PAUSING,
    Condition.STUCK: SandboxState.PAUSING,
}
BEAT = Heartbeat(
    age=12.0, sandbox=SANDBOX, studio=Inside.READY, load=0.25, memory_free=900 * MIB, memory_total=2048 * MIB
)
EVERY_ACT = (
    Action.RESUME,
    Action.REVEAL,
    Action.CHECK,
    Action.KEEP,
    Action.PAUSE,
    Action.STOP,
    Action.DIAGNOSE,
)


def view(**changes: Any) -> SandboxView:
    """A sandbox as Cube lists it."""
    labels = {
        "hermes-home": changes.pop("home", "atlas"),
        "hermes-workspace": changes.pop("workspace", "project"),
        "hermes-owner": changes.pop("owner", PERSON),
        "hermes-node": changes.pop("node", "node-1"),
        "hermes-request": REQUEST,
    }
    given: dict[str, Any] = {
        "sandbox_id": SANDBOX,
        "state": SandboxState.RUNNING,
        "template": "tpl-4f0c2d9e8b7a6c5d4e3f2a1b",
        "metadata": labels,
        "started_at": AT.isoformat(),
        "mounts": (("/root/.hermes", False), ("/workspace", False), ("/opt/hermes-common-skills", True)),
    }
    return SandboxView(**(given | changes))


def seen(condition: Condition = Condition.READY, sentence: str = "", **changes: Any) -> Seen:
    """A sandbox that was looked at."""
    of = changes.pop("view", view(state=STATES.get(condition, SandboxState.RUNNING)))
    given: dict[str, Any] = {
        "view": of,
        "judged": Judged(condition=condition, sentence=sentence or SENTENCES[condition]),
        "idle": Idle(IdleKind.LEFT, 754.0),
        "past": Past(ours=True, timeout=900),
        "heartbeat": BEAT,
        "skills_revision": "5f1d0c2a9b",
        "free_bytes": 81_234 * MIB,
    }
    return Seen(**(given | changes))


WORST_VIEW = view(
    home=LONGEST_ID, workspace=LONGEST_ID, owner=LONGEST_PERSON, node=ANGRY, template=ANGRY,
    labels_from_log=True,
)  # fmt: skip
WORST = seen(
    Condition.DEGRADED,
    ANGRY,
    view=WORST_VIEW,
    heartbeat=Heartbeat(age=1e9, sandbox=SANDBOX, studio=Inside.NOT_READY, note=ANGRY),
    node_answered=False,
    skills_revision=ANGRY,
)
STRANGE = seen(
    Condition.UNKNOWN,
    view=SandboxView(sandbox_id=SANDBOX, state=SandboxState.UNKNOWN, started_at=ANGRY),
    idle=Idle(IdleKind.UNKNOWN),
    past=None,
    heartbeat=None,
    node_answered=False,
    skills_revision="",
    free_bytes=None,
)


def survey(views: tuple[SandboxView, ...], **changes: Any) -> Survey:
    """What is there."""
    mine = sum(one.owner == PERSON for one in views)
    given: dict[str, Any] = {
        "scope": Scope.ALL, "views": views, "mine": mine, "everything": len(views), "at": AT,
    }  # fmt: skip
    return Survey(**(given | changes))


def lists() -> Iterator[tuple[str, Survey, list[Seen]]]:
    """Lists that fit on one page, or the first page of those that do not."""
    each = [seen(one) for one in Condition]
    kinds = [seen(idle=Idle(kind, 59.0 * number)) for number, kind in enumerate(IdleKind)]
    yield "none", survey(()), []
    yield "one", survey((view(),)), [seen()]
    yield "every-state", survey(tuple(one.view for one in each)), each
    yield "every-idle", survey(tuple(one.view for one in kinds)), kinds
    yield "strange", survey((STRANGE.view,), log_answered=False, more_left_out=True), [STRANGE]
    yield "none-mine", survey((), scope=Scope.MINE, everything=3), []
    for label, one in (("full", seen()), ("worst", WORST)):
        found = survey((one.view,) * 300)
        start, end = pages(found)[0]
        yield label, found, [one] * (end - start)


def middle_page() -> tuple[Survey, list[Seen], int, int]:
    """A page with one before it and one after it, of one's own alone."""
    found = survey((view(),) * 300, scope=Scope.MINE, everything=1234)
    cuts = pages(found)
    return found, [seen()] * (cuts[1][1] - cuts[1][0]), 2, len(cuts)


def event(**changes: Any) -> AuditRow:
    """A row of the log."""
    given: dict[str, Any] = {
        "request_id": REQUEST, "phase": "outcome", "actor": PERSON, "actor_kind": "user", "action": "create",
        "result": "ok", "code": "provisioned", "sandbox": SANDBOX, "seq": 1, "at": AT,
        "prev_hash": GENESIS, "hash": GENESIS,
    }  # fmt: skip
    return AuditRow(**(given | changes))


EVENTS = (
    event(action="keep", code="kept", details={"timeout": 7200}),
    event(action="keep", code="kept", details={"timeout": -1}),
    event(action="pause", result="unknown", code="pause-unknown", actor="hermes-bot", actor_kind="bot"),
    event(action="reveal", phase="reveal", result="refused", code="not-owner", actor=LONGEST_PERSON),
    event(action="sandbox-gone", phase="system", result="", code="sandbox-gone", actor="cli:<anna>"),
)


def card(**changes: Any) -> Card:
    """One sandbox from all sides."""
    given: dict[str, Any] = {
        "seen": seen(), "template": "hermes-studio", "mounts": view().mounts, "mounts_told": True,
        "sizes": Sizes(home=5 * MIB, workspace=123_456 * MIB), "events": EVENTS, "acts": EVERY_ACT[1:],
    }  # fmt: skip
    return Card(**(given | changes))


def cards() -> Iterator[tuple[str, Card]]:
    """A card of every state, and the best and the worst of everything else."""
    for condition in Condition:
        yield condition.value, card(seen=seen(condition))
    yield "may-be-destroyed", card(may_be_destroyed=True, may_keep=True)
    yield "may-be-destroyed-colleague", card(may_be_destroyed=True, acts=())
    yield "checked", card(asked_inside=True)
    yield "worst", card(
        seen=WORST, template=ANGRY, mounts=((ANGRY, True),) * 20, mounts_told=False, sizes=None,
        events=(event(action=ANGRY, code=ANGRY, actor=ANGRY),) * 5,
        acts=EVERY_ACT, may_be_destroyed=True, may_keep=True,
    )  # fmt: skip
    yield "strange", card(seen=STRANGE, mounts=(), sizes=None, events=None, template="", acts=())
    yield "no-events", card(events=(), sizes=Sizes(home=None, workspace=0))


def overviews() -> Iterator[tuple[str, WhoAmI, Overview]]:
    """What the App Home may have to show."""
    operator, approver = values.WHO[Role.OPERATOR], values.WHO[Role.APPROVER]
    own = tuple(Own(seen=seen(one), acts=EVERY_ACT[1:]) for one in Condition)
    unfinished = Unfinished(request_id=REQUEST, home="atlas", at=AT - timedelta(hours=1), code="interrupted")
    yield "none", operator, Overview(at=AT, mine=(), unfinished=())
    yield "own", operator, Overview(at=AT, mine=own, mine_count=99, unfinished=(unfinished,) * 5)
    missing = ("the sandboxes", "unfinished creates")
    yield "silent", operator, Overview(at=AT, mine=None, unfinished=None, missing=missing)
    team = Team(
        total=1234, states={"running": 1200, "paused": 34}, judged=False,
        owners=dict.fromkeys([LONGEST_PERSON, "", *(f"U{number}" for number in range(20))], 3),
        troubled=(WORST,) * 30,
    )  # fmt: skip
    worst = (Own(seen=WORST, acts=EVERY_ACT),) * 20
    yield (
        "worst",
        values.WHO_WORST,
        Overview(at=AT, mine=worst, mine_count=500, unfinished=(unfinished,) * 5, team=team, missing=missing),
    )
    calm = Team(total=1, states={"ready": 1}, judged=True, owners={PERSON: 1}, troubled=())
    yield "team", approver, Overview(at=AT, mine=(), unfinished=(), team=calm)
