"""Which owners to tell that their sandbox is about to go to sleep: once per deadline, disturbing nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.actors import Actor, ActorKind
from bot.domain.audit import AuditEvent
from bot.domain.condition import Past, moment
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.deps import Deps
from bot.usecases.occupancy import labelled
from bot.usecases.past import remembered

WARNER = Actor("schedule:warnings", ActorKind.SCHEDULE)
WARNED = "pause-warned"
"""The code of the ``alert`` row that keeps a deadline from being told twice."""

SECONDS_BETWEEN = 60.0
"""Between two looks, or less where warnings come late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseWarning:
    """One sandbox that goes to sleep at ``deadline`` unless somebody uses it."""

    mark: str
    """Names sandbox and deadline: a moved deadline is another one."""
    owner: str
    sandbox_id: str
    home: str
    workspace: str
    node: str
    deadline: datetime
    dies: bool = False
    """Not made by this bot: Cube may destroy it then instead of pausing it."""
    wakes_on_use: bool = True
    """Opening its Studio wakes it."""


def pace(lead: int) -> float:
    """Seconds between two looks, so that a warning comes well within its time."""
    return min(SECONDS_BETWEEN, max(2.0, lead / 5))


async def due_warnings(deps: Deps) -> list[PauseWarning]:
    """One list call. No sandbox is touched: none is woken and no deadline moves.

    Never for one that does not time out, that sleeps, or whose owner nobody can write to. A warning comes
    at the earliest after half of the idle time, so that nobody is warned while they work.
    """
    lead, now = deps.rules.lifecycle.warn_before, deps.clock.now()
    if lead <= 0:
        return []
    near = [view for view in await deps.cube.list() if _near(view, now, timedelta(seconds=lead))]
    if not near:
        return []
    views = await labelled(near, deps)
    pasts = await remembered(views, deps)
    found = [
        _warning(view, pasts[view.sandbox_id], deps)
        for view in views
        if _soon(view, pasts[view.sandbox_id], now, deps)
    ]
    return [one for one in found if one and not await deps.log.of_request(one.mark)]


async def record_warned(warning: PauseWarning, deps: Deps) -> None:
    """Before it is told, so that no crash and no second replica tells it again. Raises as ``append`` does."""
    await deps.log.append(
        AuditEvent(
            request_id=warning.mark, phase="alert", actor=WARNER.id, actor_kind=WARNER.kind.value,
            action="warn", home=warning.home, workspace=warning.workspace, sandbox=warning.sandbox_id,
            node=warning.node, code=WARNED,
            details={"owner": warning.owner, "deadline": warning.deadline.isoformat()},
        )
    )  # fmt: skip


def _near(view: SandboxView, now: datetime, lead: timedelta) -> bool:
    deadline = moment(view.end_at)
    running = view.state is SandboxState.RUNNING
    return running and deadline is not None and timedelta() < deadline - now <= lead


def _soon(view: SandboxView, past: Past, now: datetime, deps: Deps) -> bool:
    """Whether at least half of its idle time is over."""
    idle = past.timeout if past.timeout is not None and past.timeout > 0 else deps.rules.lifecycle.idle
    deadline = moment(view.end_at)
    return deadline is not None and (idle < 0 or deadline - now <= timedelta(seconds=idle / 2))


def _warning(view: SandboxView, past: Past, deps: Deps) -> PauseWarning | None:
    deadline = moment(view.end_at)
    if deadline is None or not view.owner or view.owner.startswith("cli:"):
        return None
    return PauseWarning(
        mark=f"w-{view.sandbox_id}-{int(deadline.timestamp())}", owner=view.owner, sandbox_id=view.sandbox_id,
        home=view.home, workspace=view.workspace, node=view.node, deadline=deadline,
        dies=not past.ours, wakes_on_use=deps.rules.lifecycle.auto_resume,
    )  # fmt: skip
