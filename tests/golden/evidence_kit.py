"""The evidence of an examination in which everything is well, to be changed in one part."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot.domain.condition import Condition, Judged
from bot.domain.evidence import CubeEvidence, Evidence, StudioEvidence, Unseen
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.provisioning import PortHealth
from bot.domain.sandbox import LABELS, Places, SandboxState, SandboxView
from tests.contract.double_evidence import well_guest, well_node

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = AT.timestamp()
SANDBOX = "0123456789abcdef0123456789abcdef"
PLACES = Places(shared_root="/data/shared", home_id="atlas", workspace_id="project")
ASLEEP = Unseen(why="it is not running, and looking would wake it", asleep=True)


def view(**changes: Any) -> SandboxView:
    labels = dict.fromkeys(LABELS, "x") | {"hermes-home": "atlas"}
    made = SandboxView(
        sandbox_id=SANDBOX, state=SandboxState.RUNNING, template="hermes-studio", metadata=labels
    )
    return replace(made, **changes)


def cube(**changes: Any) -> CubeEvidence:
    seen = CubeEvidence(view=view(), list_state="running", get_state="running", template_status="READY")
    return replace(seen, **changes)


def ports(web_ui: bool | None = True, envd: bool | None = True, note: str = "") -> StudioEvidence:  # noqa: FBT001, FBT002 - three states
    return StudioEvidence(
        web_ui=PortHealth(port=9000, name="Web UI", ok=web_ui, note=note),
        envd=PortHealth(port=49983, name="envd", ok=envd, note=note),
    )


def judged(condition: Condition) -> Judged:
    return Judged(condition=condition, sentence="As it was seen.")


def evidence(*, node: Any = None, inside: Any = None, **changes: Any) -> Evidence:
    """All well, apart from ``changes``; ``node`` and ``inside`` may be dicts of changed parts."""
    seen = Evidence(
        home="atlas",
        sandbox_id=SANDBOX,
        at=AT,
        judged=judged(Condition.READY),
        cube=cube(),
        node=node
        if isinstance(node, Unseen)
        else well_node(PLACES, **{"now": NOW, "asked": (NOW, NOW), **(node or {})}),
        heartbeat=Heartbeat(age=5.0, sandbox=SANDBOX, studio=Inside.READY, envd=True),
        inside=inside if isinstance(inside, Unseen) else well_guest(**{"now": NOW, **(inside or {})}),
        studio=ports(),
    )
    return replace(seen, **changes)


def asleep(**changes: Any) -> Evidence:
    """A paused one, at which nobody has looked from inside."""
    paused = cube(view=view(state=SandboxState.PAUSED), list_state="paused", get_state="paused")
    given = {"cube": paused, "inside": ASLEEP, "studio": ASLEEP, "judged": judged(Condition.ASLEEP)}
    return evidence(**{**given, **changes})
