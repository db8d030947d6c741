"""Values of the domain for the corpus: what a usual day brings, and the worst that may come."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.domain.actors import Action, Actor, Role
from bot.domain.audit import AuditRow
from bot.domain.condition import Condition
from bot.domain.cube_errors import CubeFault, FaultClass
from bot.domain.diagnosis import Finding, diagnose
from bot.domain.errors import CubeError, DomainError, GuestError, NodeError
from bot.domain.evidence import ConfigFile, Evidence, Unseen
from bot.domain.explanations import CUBE_ADVICE, GUEST_CODES, NODE_CODES, code_of, sentences
from bot.domain.heartbeat import Inside
from bot.domain.ids import MAX_ID_LENGTH
from bot.domain.illnesses import ILLNESSES
from bot.domain.outcome import Failed, NotDone, Refused, Unknown
from bot.domain.provisioning import (
    AgentFacts,
    CreateRequest,
    Generation,
    PortHealth,
    Provisioned,
    Seeding,
    Step,
    StepEvent,
    StepState,
)
from bot.domain.skills import OverlayPlan
from bot.usecases.access import Access
from bot.usecases.audit import AuditQuery, Reading, Story
from bot.usecases.diagnose import Examined
from bot.usecases.lifecycle import Stopped, StopPlan
from bot.usecases.recovery import Interrupted
from bot.usecases.untold import Untold
from bot.usecases.whoami import WhoAmI
from handlers.render.progress import Progress
from tests.golden import evidence_kit

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
SANDBOX = "0123456789abcdef0123456789abcdef"
PERSON = "U_OPERATOR"
LONGEST_PERSON = "U" + "X" * 40
LONGEST_ID = "h" * MAX_ID_LENGTH
REQUEST = "r-20260101-120000-abcdef"
ANGRY = "<!channel> & `*_~ <https://example.com|here> " + "long words " * 1000
"""Foreign text that wants to ring everybody, to close our markup, and to be longer than anything allowed."""
MANY = tuple(f"skill-{number:03d}-{'x' * 50}" for number in range(300))

WHO = {
    role: WhoAmI(
        actor_id=PERSON,
        role=role,
        may=() if role is Role.NONE else ("create", "stop (your own)", "open a Studio (your own)", "cancel"),
        may_not=(("create", "You have no role in this bot."), ("stop", "You have no role in this bot."))
        if role is Role.NONE
        else (),
    )
    for role in Role
}
WHO_WORST = WhoAmI(
    actor_id=LONGEST_PERSON, role=Role.ADMIN, may=MANY, may_not=tuple((name, ANGRY) for name in MANY)
)


def request(**changes: Any) -> CreateRequest:
    """A wish for a Studio."""
    given: dict[str, Any] = {
        "request_id": REQUEST,
        "actor": Actor(PERSON),
        "home": "atlas",
        "workspace": "atlas",
    }
    return CreateRequest(**(given | changes))


def provisioned(**changes: Any) -> Provisioned:
    """A working Studio."""
    given: dict[str, Any] = {
        "request_id": REQUEST,
        "sandbox_id": SANDBOX,
        "home": "atlas",
        "workspace": "project",
        "template": "hermes-studio",
        "node": "node-1",
        "owner": PERSON,
        "url": f"https://9000-{SANDBOX}.cube.example",
        "generation": Generation.USERS,
        "seeding": Seeding.SEEDED,
        "overlay": OverlayPlan(("deploy-check",), ("my-notes",), ("log-triage",), (), (), ()),
        "ports": (
            PortHealth(port=9000, name="Web UI", ok=True),
            PortHealth(port=49983, name="envd", ok=None, note="no answer within 2 s"),
            PortHealth(port=8642, name="API server", ok=False, note="switched off"),
        ),
        "agent": AgentFacts(version="0.19.0", lacks_wal_guard=True),
        "durations": {step: 0.4 * step for step in Step},
    }
    return Provisioned(**(given | changes))


WORST_PROVISIONED = provisioned(
    home=LONGEST_ID,
    workspace=LONGEST_ID,
    template=ANGRY,
    node=ANGRY,
    owner=LONGEST_PERSON,
    url="https://9000-" + SANDBOX + "." + "d" * 3000,
    overlay=OverlayPlan(MANY, MANY, MANY, MANY, MANY, MANY),
    ports=tuple(PortHealth(port=port, name=ANGRY, ok=False, note=ANGRY) for port in range(60)),
    agent=AgentFacts(version=ANGRY, lacks_wal_guard=True),
    durations=dict.fromkeys(Step, 86_399.0),
    adopted=True,
    notes=(ANGRY,) * 60,
)


def not_done(kind: type[Refused] | type[Failed] | type[Unknown] = Failed, **changes: Any) -> NotDone:
    """A refusal, a failure or an unknown end."""
    given: dict[str, Any] = {
        "code": "node-unreachable",
        "what": "The node does not answer over SSH.",
        "safe": "Home `atlas` and workspace `atlas` are on the node; no sandbox was made.",
        "todo": "Press Continue, or type `/hermes create home=atlas` again.",
    }
    return kind(**(given | changes))


def listed_codes() -> Iterator[tuple[str, NotDone]]:
    """Every code of docs/errors.md with the sentences that stand there, as the kind of end it may have."""
    kinds = (Refused, Failed, Unknown)
    rows = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8").splitlines()
    for number, row in enumerate(row for row in rows if re.match(r"\| `[^`]+` \|", row)):
        code, *cells = (cell.strip() for cell in row.strip("| ").split(" | "))
        what, safe, todo = [*cells, "", ""][:3]
        name = code.strip("`")
        yield name, not_done(kinds[number % 3], code=name, what=what, safe=safe, todo=todo)


def explained_errors() -> Iterator[tuple[str, NotDone]]:
    """Every error of Cube, a node and a sandbox, in the words that the use cases take for it."""
    errors: list[tuple[str, DomainError]] = [
        *((f"cube-{advice}", CubeError(_fault(advice))) for advice in sorted(CUBE_ADVICE)),
        *((f"node-{code}", NodeError(code, ANGRY[:400])) for code in sorted(NODE_CODES)),
        *((f"guest-{code}", GuestError(code, ANGRY[:400])) for code in sorted(GUEST_CODES)),
    ]
    for name, error in errors:
        what, todo = sentences(error)
        yield name, not_done(code=code_of(error), what=what, todo=todo, detail=str(error))


def _fault(advice: str) -> CubeFault:
    return CubeFault(
        kind=FaultClass.UNAVAILABLE,
        retryable=True,
        advice_key=advice,
        message="130597: no <node> with enough `memory` & CPU",
    )


def access(**changes: Any) -> Access:
    """A way into a Studio."""
    url = f"https://9000-{SANDBOX}.cube.example"
    given: dict[str, Any] = {
        "sandbox_id": SANDBOX,
        "home": "atlas",
        "url": url,
        "link": f"{url}/",
        "username": "hermes",
        "password": "EXAMPLE-password",
    }
    return Access(**(given | changes))


WORST_ACCESS = access(
    home=LONGEST_ID,
    link="https://x.example/#/?token=" + "EXAMPLE" * 1000,
    username="<a>&`" + "u" * 4000,
    password="<!channel>`&" + "p" * 4000,
    paused=True,
)


def audit_row(**changes: Any) -> AuditRow:
    """A row of the audit log."""
    given: dict[str, Any] = {
        "seq": 7, "at": AT, "prev_hash": "0" * 64, "hash": "1" * 64, "request_id": REQUEST,
        "phase": "outcome", "actor": PERSON, "actor_kind": "user", "action": "create", "home": "atlas",
        "result": "ok", "code": "provisioned",
    }  # fmt: skip
    return AuditRow(**(given | changes))


def readings() -> dict[str, Reading]:
    """What reading the audit log may give."""
    begun = audit_row(phase="intent", result="", code="")
    failed = audit_row(action="pause", result="unknown", code="pause-unknown")
    told = [
        (begun, audit_row()),
        (begun,),
        (failed,),
        (audit_row(action="keep", details={"timeout": 7200}),),
        (audit_row(action="reveal", actor="cli:<anna>", actor_kind="cli", home="", sandbox=SANDBOX),),
        (audit_row(action="audit", phase="reveal", home="", code="audit-read"),),
        (audit_row(action="head-posted", phase="system", actor_kind="bot", home="", code="head-posted"),),
    ]  # fmt: skip
    angry = audit_row(
        action=ANGRY, actor="cli:" + ANGRY, home=LONGEST_ID, result="failed", code="c" * 300, sandbox=ANGRY
    )
    query = AuditQuery(actor=Actor(PERSON), home="atlas", user=LONGEST_PERSON, since=AT)
    usual = Reading(
        query=AuditQuery(actor=Actor(PERSON)), at=AT, rows=tuple(row for rows in told for row in rows),
        more=False, stories=tuple(Story(rows) for rows in told), requests=len(told),
    )  # fmt: skip
    return {
        "usual": usual,
        "nothing": replace(usual, query=query, rows=(), stories=(), requests=0),
        "worst": replace(
            usual, query=query, rows=(angry,) * 15, more=True, stories=(Story((angry,)),) * 15, requests=4000
        ),
    }


def interrupted(**changes: Any) -> Interrupted:
    """A request whose process died."""
    given: dict[str, Any] = {
        "request_id": REQUEST,
        "action": Action.CREATE,
        "owner": PERSON,
        "home": "atlas",
        "workspace": "atlas",
        "channel": "C_OPS",
        "thread_ts": "1.1",
        "progress_ts": "1.2",
        "after": Step.SEED,
        "sandbox_id": SANDBOX,
        "sandbox_known": True,
    }
    return Interrupted(**(given | changes))


def progress(note: str = "", state: StepState = StepState.RUNNING, until: Step = Step.STUDIO) -> Progress:
    """A create on its way: the steps before ``until`` are done, that one is in ``state``."""
    done = {step: StepEvent(step, StepState.DONE, note, 1.5) for step in Step if step < until}
    return Progress(
        request_id=REQUEST, home="atlas", steps={**done, until: StepEvent(until, state, note, 3.0)}
    )


def stop_plan(**changes: Any) -> StopPlan:
    """What stopping means."""
    given: dict[str, Any] = {
        "request_id": REQUEST,
        "sandbox_id": SANDBOX,
        "home": "atlas",
        "workspace": "project",
        "owner": PERSON,
        "state": "running",
        "lost": ("running programs and open terminals", "packages installed outside the home"),
        "kept": ("home `atlas`", "workspace `project`"),
    }
    return StopPlan(**(given | changes))


def stopped(**changes: Any) -> Stopped:
    """A sandbox that is gone."""
    given: dict[str, Any] = {
        "sandbox_id": SANDBOX,
        "home": "atlas",
        "workspace": "project",
        "seconds": 3.2,
        "studio_closed": True,
    }
    return Stopped(**(given | changes))


def examined(seen: Evidence, **changes: Any) -> Examined:
    """An examination that saw this."""
    given: dict[str, Any] = {
        "request_id": REQUEST,
        "sandbox_id": SANDBOX,
        "home": seen.home,
        "woken": False,
        "diagnosis": diagnose(seen),
        "evidence": seen,
        "seconds": 0.4,
    }
    return Examined(**(given | changes))


def examinations() -> dict[str, Examined]:
    """What examinations come to, and the worst that one could."""
    dead = {"studio": Inside.SILENT, "listeners": {}, "studio_processes": ()}
    broken = {"config": ConfigFile(state="broken", problem="line 3 is not YAML")}
    blind = Unseen(why=ANGRY, code="node-unreachable")
    every = tuple(
        Finding(code=one.code, sentence=ANGRY, cure=one.cure, weight=one.weight, remedies=one.remedies)
        for one in ILLNESSES
    )
    worst = evidence_kit.evidence(
        home=LONGEST_ID, node=blind, inside=Unseen(why=ANGRY), heartbeat=blind, studio=blind,
        cube=evidence_kit.cube(view=None, others=("f" * 32,) * 500),
        judged=evidence_kit.judged(Condition.GONE),
    )  # fmt: skip
    return {
        "healthy": examined(evidence_kit.evidence()),
        "asleep": examined(evidence_kit.asleep()),
        "woken": examined(evidence_kit.evidence(), woken=True),
        "ill": examined(evidence_kit.evidence(node=broken, inside=dead)),
        "untold": examined(evidence_kit.evidence(heartbeat=Unseen(why="No answer."))),
        "no-home": examined(evidence_kit.evidence(home="", inside=dead)),
        "worst": examined(worst, diagnosis=replace(diagnose(worst), headline=ANGRY, findings=every)),
    }


def untold(**changes: Any) -> Untold:
    """An end that a process before could not tell any more."""
    given: dict[str, Any] = {
        "request": request(),
        "well": True,
        "reason": "",
        "after": Step.SEED,
        "progress_ts": "1.2",
        "sandbox_id": SANDBOX,
    }
    return Untold(**(given | changes))
