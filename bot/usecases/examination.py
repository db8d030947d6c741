"""The four sides of an examination, looked at all at once; what fails is told as not seen.

The sandbox itself is asked only when Cube says that it runs, as any question would wake it.
"""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TypeVar

from bot.domain.audit import AuditUnavailableError
from bot.domain.condition import Past, Sight, judge
from bot.domain.errors import CubeError, DomainError, NodeError
from bot.domain.evidence import (
    CubeEvidence,
    Evidence,
    GuestEvidence,
    NodeEvidence,
    StudioEvidence,
    Unseen,
)
from bot.domain.explanations import code_of, sentences
from bot.domain.heartbeat import Heartbeat
from bot.domain.rules import NodeRules
from bot.domain.sandbox import Places, SandboxState, SandboxView
from bot.usecases.deps import Deps
from bot.usecases.launch_secrets import learn
from bot.usecases.occupancy import confirmed, labelled
from bot.usecases.past import remembered
from bot.usecases.resuming import for_good

log = logging.getLogger(__name__)
T = TypeVar("T")

SPARE_SECONDS = 5.0
"""What a side may take beyond the deadline of its adapter, which knows better what it has waited for."""

WITHHELD = "not shown: the secrets of this home could not be read, so they could not be taken out of it"
ASLEEP = Unseen(why="it is not running, and looking would wake it", asleep=True)
NOT_SURE = Unseen(why="Cube could not be asked whether it runs, and looking could wake it")


@dataclass(frozen=True, slots=True)
class Waking:
    """What came of waking it; nothing when that was not asked for."""

    woken: bool = False
    refused: CubeError | None = None


async def examine_all(view: SandboxView, waking: Waking, deps: Deps) -> Evidence:
    """All four sides. The inside and the ports only when neither list nor GET says that it does not run."""
    cube = await _side("Cube", _cube(view, waking, deps), deps.rules.deadlines.control * 2)
    current = view if isinstance(cube, Unseen) else cube.view
    kept_out = _kept_out(cube)
    rules = deps.rules.node(view.node) or (deps.rules.nodes[0] if len(deps.rules.nodes) == 1 else None)
    node, beat, inside, studio = await asyncio.gather(
        _side("the node", _node(view, rules, deps), deps.rules.deadlines.node * 2),
        _side("the heartbeat", _beat(view, rules, deps), deps.rules.deadlines.node * 2),
        _side("the inside", _inside(view, rules, deps), deps.rules.deadlines.guest)
        if kept_out is None
        else _left_out(kept_out),
        _side("Studio", _studio(view, deps), deps.rules.deadlines.guest)
        if kept_out is None
        else _left_out(kept_out),
    )
    now = deps.clock.now()
    past = Past() if isinstance(cube, Unseen) else cube.past
    reached = _reached(inside, studio)
    web_ui = studio.web_ui if reached and isinstance(studio, StudioEvidence) else None
    sight = Sight(
        view=current,
        now=now,
        listed=isinstance(cube, Unseen) or cube.listed,
        heartbeat=beat if isinstance(beat, Heartbeat) else None,
        node_answered=not isinstance(node, Unseen),
        reached=reached,
        studio=web_ui.ok if web_ui else None,
        studio_note=web_ui.note if web_ui else "",
        past=past,
    )
    return Evidence(
        home=view.home,
        sandbox_id=view.sandbox_id,
        at=now,
        judged=judge(sight),
        cube=cube,
        node=node,
        heartbeat=beat,
        inside=inside,
        studio=studio,
        studio_port=deps.rules.studio.port,
        min_free=int(deps.rules.limits.min_free_gib * 1024**3),
    )


def _reached(inside: GuestEvidence | Unseen, studio: StudioEvidence | Unseen) -> bool | None:
    """Whether anything in it answered through the proxy; None when nothing was asked."""
    if isinstance(inside, GuestEvidence):
        return True
    if isinstance(studio, Unseen):
        return None
    answers = (studio.web_ui.reached, studio.envd.reached)
    return True if any(answers) else False if all(answer is False for answer in answers) else None


async def _cube(view: SandboxView, waking: Waking, deps: Deps) -> CubeEvidence:
    """By list and by id: only a list has a word for a pause on its way, and only an id proves absence."""
    listed, got, template, past = await asyncio.gather(
        _listed(deps), confirmed(deps, view.sandbox_id), _template(view, deps), _past(view, deps)
    )
    row = next((one for one in listed if one.sandbox_id == view.sandbox_id), None)
    current = None if got is None else replace(view, state=_state(row, got), end_at=got.end_at)
    refused = waking.refused
    lasting = refused is not None and bool(for_good(refused))
    others = [one for one in listed if view.home and one.home == view.home]
    return CubeEvidence(
        view=current,
        list_state=row.state.value if row else "",
        get_state=got.state.value if got else "",
        listed=row is not None,
        others=tuple(sorted(one.sandbox_id for one in others if one.sandbox_id != view.sandbox_id)),
        template_status=template,
        past=replace(past, cannot_resume=past.cannot_resume or lasting),
        wake_refused="" if refused is None else str(refused) or code_of(refused),
        wake_for_good=lasting,
    )


async def _listed(deps: Deps) -> list[SandboxView]:
    """All sandboxes, with what the audit log knows where Cube has lost their labels."""
    listed = await deps.cube.list()
    try:
        return await labelled(listed, deps)
    except AuditUnavailableError:
        return listed


def _state(row: SandboxView | None, got: SandboxView) -> SandboxState:
    return SandboxState.PAUSING if row and row.state is SandboxState.PAUSING else got.state


async def _template(view: SandboxView, deps: Deps) -> str | None:
    """Its status; empty when Cube does not know it, None when that cannot be told."""
    if not view.template:
        return None
    try:
        template = await deps.cube.template(view.template)
    except CubeError:
        return None
    return template.status if template else ""


async def _past(view: SandboxView, deps: Deps) -> Past:
    """What the audit log remembers of it; nothing when it cannot be read, as looking goes on without it."""
    try:
        return (await remembered([view], deps)).get(view.sandbox_id, Past())
    except AuditUnavailableError:
        return Past()


async def _node(view: SandboxView, rules: NodeRules | None, deps: Deps) -> NodeEvidence | Unseen:
    if rules is None or not view.home:
        return Unseen(why="which node and home it has is not known")
    before = deps.clock.now().timestamp()
    seen = await deps.nodes[rules.id].examine(_places(view, rules))
    return replace(seen, asked=(before, deps.clock.now().timestamp()))


async def _beat(view: SandboxView, rules: NodeRules | None, deps: Deps) -> Heartbeat | Unseen | None:
    if rules is None or not view.home:
        return Unseen(why="which node and home it has is not known")
    return (await deps.nodes[rules.id].pulse(rules.shared_root, [view.home])).heartbeats.get(view.home)


def _places(view: SandboxView, rules: NodeRules) -> Places:
    return Places(shared_root=rules.shared_root, home_id=view.home, workspace_id=view.workspace or view.home)


async def _inside(view: SandboxView, rules: NodeRules | None, deps: Deps) -> GuestEvidence:
    seen, known = await asyncio.gather(
        deps.guest.examine(
            view.sandbox_id,
            port=deps.rules.studio.port,
            endpoints=deps.rules.endpoints,
            now=lambda: deps.clock.now().timestamp(),
        ),
        _learn_secrets(view, rules, deps),
    )
    if seen.log_tail and not known:
        return replace(seen, log_tail=(WITHHELD,))
    return seen


async def _learn_secrets(view: SandboxView, rules: NodeRules | None, deps: Deps) -> bool:
    """Whether the redactor knows the secrets of this home, so that a log of it may be shown."""
    if rules is None or not view.home:
        return False
    node, places = deps.nodes[rules.id], _places(view, rules)
    try:
        env, access = await asyncio.gather(node.launch_env(places), node.read_access(places))
    except NodeError:
        return False
    learn(env or {}, deps.redactor)
    if access is not None:
        deps.redactor.learn(*(secret for secret in (access.token, access.password) if secret))
    return True


async def _studio(view: SandboxView, deps: Deps) -> StudioEvidence:
    web_ui, envd = await asyncio.gather(
        deps.studio.web_ui(view.sandbox_id), deps.studio.envd(view.sandbox_id)
    )
    return StudioEvidence(web_ui=web_ui, envd=envd)


def _kept_out(cube: CubeEvidence | Unseen) -> Unseen | None:
    """Why nothing may be asked of the sandbox itself; None when it runs."""
    if isinstance(cube, Unseen):
        return NOT_SURE
    running = cube.get_state == SandboxState.RUNNING and cube.list_state in ("", SandboxState.RUNNING)
    return None if running else ASLEEP


async def _left_out(why: Unseen) -> Unseen:
    return why


async def _side(name: str, looking: Awaitable[T], seconds: float) -> T | Unseen:
    """One side, or why it could not be examined. Whatever breaks in it, the other sides go on."""
    try:
        async with asyncio.timeout(seconds + SPARE_SECONDS):
            return await looking
    except TimeoutError:
        return Unseen(
            why=f"{name} did not answer within {seconds + SPARE_SECONDS:g} s.", code="took-too-long"
        )
    except DomainError as error:
        return Unseen(why=str(error) or sentences(error)[0], code=code_of(error))
    except Exception:
        log.exception("looking at %s broke", name)
        return Unseen(
            why=f"looking at {name} broke inside the bot; its log says more.", code="internal-error"
        )
