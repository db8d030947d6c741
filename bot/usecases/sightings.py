"""A closer look at some sandboxes: the signs of life on their nodes, what the log knows, a word for each."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain import ids
from bot.domain.audit import AuditUnavailableError
from bot.domain.condition import Judged, Past, Sight, judge
from bot.domain.errors import DomainError
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.idle import Idle, idle_left
from bot.domain.probing import LastProbe, may_probe
from bot.domain.rules import NodeRules
from bot.domain.sandbox import SandboxState, SandboxView
from bot.ports import NodePulse
from bot.usecases.deps import Deps
from bot.usecases.past import remembered
from bot.usecases.probes import Probed, probe

log = logging.getLogger(__name__)

PATIENCE = 8.0
"""Seconds that somebody who only looks waits for a node."""

_NOTHING = Past()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One sandbox, looked at from all sides that do not disturb it."""

    view: SandboxView
    judged: Judged
    idle: Idle
    past: Past | None
    """None: the audit log was not asked, because nothing hung on it, or it did not answer."""
    heartbeat: Heartbeat | None = None
    """As it was found, fresh or not."""
    node_answered: bool = True
    skills_revision: str = ""
    """Of the public Skills on its node."""
    free_bytes: int | None = None
    """On its node."""


def node_of(view: SandboxView, deps: Deps) -> NodeRules | None:
    """The configured node that it is on; where there is but one, that one."""
    only = deps.rules.nodes[0] if len(deps.rules.nodes) == 1 else None
    return deps.rules.node(view.node) or only


async def look_closer(
    views: Sequence[SandboxView], deps: Deps, *, probing: bool = False, forced: bool = False
) -> list[Seen]:
    """One command on each node that has some of them, and two reads of the log at most.

    Args:
        views: from Cube's list, just read.
        deps: the ports.
        probing: whether those may be asked through Cube's proxy whose fate that cannot alter.
        forced: whether those are asked that run, because a person wants it so.
    """
    pulses = await _pulses(views, deps)
    now = deps.clock.now()
    pasts = await _pasts([view for view in views if probing or _asks_the_log(view, pulses, deps)], deps)
    asked = [
        view
        for view in views
        if (forced and view.state is SandboxState.RUNNING)
        or (probing and _may(view, pasts.get(view.sandbox_id, _NOTHING), now, deps))
    ]
    earlier = dict(deps.probed)
    answers = await asyncio.gather(
        *(probe(view, pasts.get(view.sandbox_id, _NOTHING), deps) for view in asked)
    )
    found = {view.sandbox_id: answer for view, answer in zip(asked, answers, strict=True)}
    return [
        _seen(
            view,
            _pulse_of(view, pulses, deps),
            pasts.get(view.sandbox_id),
            found.get(view.sandbox_id, Probed()),
            earlier.get(view.sandbox_id),
            now,
        )
        for view in views
    ]


def _may(view: SandboxView, past: Past, now: datetime, deps: Deps) -> bool:
    last = deps.probed.get(view.sandbox_id)
    return may_probe(view, past, now=now, probed_at=last.at if last else None)


def _seen(
    view: SandboxView,
    pulse: NodePulse | None,
    past: Past | None,
    answer: Probed,
    earlier: LastProbe | None,
    now: datetime,
) -> Seen:
    beat = pulse.heartbeats.get(view.home) if pulse else None
    unreached = answer.reached is None and earlier and earlier.still_unreached(now, past or _NOTHING)
    sight = Sight(
        view=view,
        now=now,
        heartbeat=beat,
        node_answered=pulse is not None,
        reached=False if unreached else answer.reached,
        studio=answer.studio,
        studio_note=answer.note,
        probed_at=earlier.at if earlier else None,
        past=past or _NOTHING,
    )
    return Seen(
        view=view,
        judged=judge(sight),
        idle=idle_left(replace(view, end_at=answer.end_at or view.end_at), now),
        past=past,
        heartbeat=beat,
        node_answered=pulse is not None,
        skills_revision=pulse.skills_revision if pulse else "",
        free_bytes=pulse.free_bytes if pulse else None,
    )


def _asks_the_log(view: SandboxView, pulses: Mapping[str, NodePulse | None], deps: Deps) -> bool:
    """Whether its past may change the word for it: not while a fresh heartbeat says that all is well."""
    if view.state is not SandboxState.RUNNING:
        return True
    pulse = _pulse_of(view, pulses, deps)
    beat = pulse.heartbeats.get(view.home) if pulse else None
    return beat is None or not beat.fresh or beat.studio is not Inside.READY


async def _pasts(views: Sequence[SandboxView], deps: Deps) -> Mapping[str, Past]:
    if not views:
        return {}
    try:
        known = await remembered(views, deps)
    except AuditUnavailableError as error:
        log.warning("sandboxes are shown without what the audit log knows of them: %s", error)
        return {}
    return {view.sandbox_id: known.get(view.sandbox_id, _NOTHING) for view in views}


def _pulse_of(view: SandboxView, pulses: Mapping[str, NodePulse | None], deps: Deps) -> NodePulse | None:
    node = node_of(view, deps)
    return pulses.get(node.id) if node else None


async def _pulses(views: Sequence[SandboxView], deps: Deps) -> dict[str, NodePulse | None]:
    """By node; None for one that did not answer."""
    homes: dict[str, list[str]] = {}
    for view in views:
        node = node_of(view, deps)
        if node is None or node.id not in deps.nodes:
            continue
        of_node = homes.setdefault(node.id, [])
        if ids.home_id(view.home) and view.state is not SandboxState.PAUSED:
            of_node.append(view.home)
    found = await asyncio.gather(*(_pulse(node_id, wanted, deps) for node_id, wanted in homes.items()))
    return dict(zip(homes, found, strict=True))


async def _pulse(node_id: str, homes: Sequence[str], deps: Deps) -> NodePulse | None:
    rules = deps.rules.node(node_id)
    assert rules is not None  # noqa: S101 - the caller has found it there
    try:
        async with asyncio.timeout(PATIENCE):
            return await deps.nodes[node_id].pulse(rules.shared_root, homes)
    except (DomainError, TimeoutError) as error:
        log.warning("node %s cannot be asked for heartbeats: %s", node_id, error or type(error).__name__)
        return None
