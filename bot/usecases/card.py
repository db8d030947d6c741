"""One sandbox from all sides, for one person; and a look into it when that person wants one now."""

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bot.domain import ids
from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import DomainError
from bot.domain.explanations import code_of, sentences
from bot.domain.idle import TWO_HOURS, IdleKind
from bot.domain.outcome import Done, Offer, Outcome, Refused
from bot.domain.sandbox import MOUNTS_KEY, Places, SandboxState, SandboxView
from bot.domain.sensible import sensible
from bot.ports import Sizes
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal
from bot.usecases.sightings import PATIENCE, Seen, look_closer, node_of
from bot.usecases.targets import NOTHING_CHANGED, Found, find

T = TypeVar("T")

TOLD = 5
"""Audit events on a card."""

MOST_NAMED = 8
"""Homes that are offered for one that is not there."""

LOOKED_BACK = 60
"""Rows of the log among which they are looked for: most rows of a create are its steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Everything that is shown of one sandbox. A part that could not be read in time is None."""

    seen: Seen
    template: str
    """Its alias, where Cube tells one; else its id."""
    mounts: tuple[tuple[str, bool], ...]
    """(path in the sandbox, read-only)."""
    mounts_told: bool
    """Cube itself tells them; else they are as they were asked for."""
    sizes: Sizes | None
    events: tuple[AuditRow, ...] | None
    """The latest that people care for, newest first."""
    acts: tuple[Action, ...]
    """What makes sense now, and this person may."""
    may_be_destroyed: bool = False
    """It times out, and nobody knows that it is paused then and not destroyed."""
    may_keep: bool = False
    """This person may change its idle time, whatever state it is in."""
    asked_inside: bool = False
    """A person has had it asked through Cube's proxy."""


async def card(target: str, actor: Actor, deps: Deps) -> Outcome[Card]:
    """The card of a home's sandbox, or of one by its id. Wakes nothing and prolongs nothing."""
    try:
        found = await _allowed(Action.STATUS, target, actor, deps)
        if isinstance(found, Refused):
            return await _with_own_homes(found, actor, deps)
        return Done("seen", await _card(found, actor, deps))
    except DomainError as error:
        return _not_read(error)


async def check_now(sandbox_id: str, actor: Actor, channel: str, deps: Deps) -> Outcome[Card]:
    """Ask it through Cube's proxy, because somebody wants it so. That counts as use, and is recorded."""
    try:
        found = await _allowed(Action.CHECK, sandbox_id, actor, deps)
        if isinstance(found, Refused):
            return found
        if found.view.state is not SandboxState.RUNNING:
            return _would_wake(found.view)
        journal = Journal(
            log=deps.log, request_id=deps.ids.request_id(), action=Action.CHECK, actor=actor,
            channel=channel, home=found.home, workspace=found.workspace,
        )  # fmt: skip
        await journal.write("step", sandbox=sandbox_id, node=found.node, result="ok", code="check-asked")
        made = await _card(found, actor, deps, forced=True)
        return Done("checked", made)
    except DomainError as error:
        return _not_read(error)


def allowed_acts(seen: Seen, actor: Actor, deps: Deps) -> tuple[Action, ...]:
    """What makes sense on it now, and this person may. No shorter idle time is offered as a longer one."""
    role = deps.roster.role_of(actor)
    longer = seen.past.timeout if seen.past and seen.past.timeout else 0
    endless = seen.idle.kind is IdleKind.NEVER or longer >= TWO_HOURS
    return tuple(
        action
        for action in sensible(seen.judged.condition, seen.view.state, listed=seen.view.listed)
        if not (endless and action is Action.KEEP)
        and decide(action, actor, role, owner=seen.view.owner) is None
    )


async def _allowed(action: Action, target: str, actor: Actor, deps: Deps) -> Found | Refused:
    role = deps.roster.role_of(actor)
    denied = decide(action, actor, role)
    found = None if denied else await find(target, deps)
    if isinstance(found, Refused):
        return found
    denied = denied or decide(action, actor, role, owner=found.owner if found else None)
    if denied is None and found is not None:
        return found
    assert denied is not None  # noqa: S101 - without a sandbox there was a denial
    todo = (
        "Ask an administrator for a role; `/hermes whoami` shows what you have."
        if denied.code == "role-needed"
        else "Ask the owner or an approver to do it."
    )
    return Refused(code=denied.code, what=denied.why, safe=NOTHING_CHANGED, todo=todo)


async def _card(found: Found, actor: Actor, deps: Deps, *, forced: bool = False) -> Card:
    view = found.view
    [seen], sizes, template, events = await asyncio.gather(
        look_closer([view], deps, probing=True, forced=forced),
        _sizes(view, deps),
        _template(view, deps),
        _events(view, deps),
    )
    told = bool(view.mounts)
    role = deps.roster.role_of(actor)
    return Card(
        seen=seen,
        template=template,
        mounts=view.mounts if told else _asked_mounts(view),
        mounts_told=told,
        sizes=sizes,
        events=events,
        acts=allowed_acts(seen, actor, deps),
        may_be_destroyed=_may_be_destroyed(seen),
        may_keep=decide(Action.KEEP, actor, role, owner=view.owner) is None,
        asked_inside=forced,
    )


async def _with_own_homes(refused: Refused, actor: Actor, deps: Deps) -> Refused:
    """Whoever names what is not there is told what they have."""
    if refused.code != "sandbox-not-found":
        return refused
    views = await _or_none(deps.cube.list()) or []
    homes = sorted({view.home for view in views if view.home and view.owner == actor.id})
    if not homes:
        return refused
    named = ", ".join(f"`{home}`" for home in homes[:MOST_NAMED])
    return replace(refused, todo=f"Yours now: {named}. {refused.todo}")


def _may_be_destroyed(seen: Seen) -> bool:
    times_out = seen.view.end_at is not None and seen.idle.kind is not IdleKind.NEVER
    return times_out and seen.past is not None and not seen.past.ours


async def _sizes(view: SandboxView, deps: Deps) -> Sizes | None:
    node = node_of(view, deps)
    workspace = view.workspace or view.home
    if (
        node is None
        or node.id not in deps.nodes
        or not (ids.home_id(view.home) and ids.workspace_id(workspace))
    ):
        return None
    places = Places(shared_root=node.shared_root, home_id=view.home, workspace_id=workspace)
    return await _or_none(deps.nodes[node.id].sizes(places))


async def _template(view: SandboxView, deps: Deps) -> str:
    found = await _or_none(deps.cube.template(view.template)) if view.template else None
    return (found.name if found else "") or view.template


async def _events(view: SandboxView, deps: Deps) -> tuple[AuditRow, ...] | None:
    rows = await _or_none(deps.log.recent(sandbox=view.sandbox_id, limit=LOOKED_BACK))
    return None if rows is None else tuple(row for row in rows if _matters(row))[:TOLD]


def _matters(row: AuditRow) -> bool:
    """What somebody did, and how it ended; not the steps on the way."""
    return row.phase in {"outcome", "reveal", "system", "alert"} or row.code in {"check-asked", "stop-asked"}


def _asked_mounts(view: SandboxView) -> tuple[tuple[str, bool], ...]:
    """As they were asked for; whoever has Cube's key can write anything there."""
    try:
        entries: Any = json.loads(view.metadata.get(MOUNTS_KEY, "[]"))
    except (ValueError, RecursionError):
        return ()
    if not isinstance(entries, list):
        return ()
    return tuple(
        (str(entry["mountPath"]), entry.get("readOnly") is True)
        for entry in entries[:20]
        if isinstance(entry, dict) and isinstance(entry.get("mountPath"), str)
    )


async def _or_none(reading: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(PATIENCE):
            return await reading
    except (DomainError, TimeoutError):
        return None


def _would_wake(view: SandboxView) -> Refused:
    asleep = view.state is SandboxState.PAUSED
    return Refused(
        code="check-would-wake",
        what="It is asleep, so there is nothing to ask in it, and asking would wake it."
        if asleep
        else f"Cube says that it is {view.state.value}, so it cannot be asked now.",
        safe="It was left alone; its memory, home and workspace are as they were.",
        todo="Press Resume to wake it." if asleep else "Look again in a minute.",
        offers=(Offer.RESUME,) if asleep else (),
        sandbox=view.sandbox_id,
    )


def _not_read(error: DomainError) -> Refused:
    if isinstance(error, AuditUnavailableError):
        return Refused(
            code="audit-unavailable",
            what="The audit log cannot be used just now, and what is asked for needs it.",
            safe=NOTHING_CHANGED,
            todo="`/hermes status` still works; an administrator looks at the bot's database.",
            detail=str(error),
        )
    what, todo = sentences(error)
    return Refused(code=code_of(error), what=what, safe=NOTHING_CHANGED, todo=todo, detail=str(error))
