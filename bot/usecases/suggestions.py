"""What a create form can offer one person: homes, templates, and the settings of the last time.

Everything here helps and nothing decides: what cannot be read in time is left out and named, and the create
itself looks again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.domain.actors import Actor
from bot.domain.audit import AuditRow
from bot.domain.errors import DomainError
from bot.domain.sandbox import SandboxState, SandboxView, TemplateView
from bot.usecases.deps import Deps
from bot.usecases.occupancy import labelled

log = logging.getLogger(__name__)
T = TypeVar("T")

PATIENCE = 4.0
"""Seconds that a person waits for a form at most; they may be told less then."""

MOST_HOMES = 99
"""One select of Slack's holds a hundred options, and one of them is for a new home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeChoice:
    """A home that this person has had a sandbox on."""

    home: str
    workspace: str
    """The one it was last used with."""
    live: SandboxState | None = None
    """Of the sandbox that is on it now; None = there is none, as far as could be told."""
    colleague: bool = False
    """That sandbox is somebody else's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTime:
    """How this person's last create was set. Empty = not given."""

    template: str = ""
    profile: str = ""
    timeout: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestions:
    """All of it. A part that could not be read is None."""

    homes: tuple[HomeChoice, ...]
    """The one that was used last comes first."""
    templates: tuple[TemplateView, ...] | None
    """Those that are READY and have an alias, and the installation's own one if it is READY."""
    last: LastTime
    mine: tuple[str, ...] | None
    """Homes of this person's sandboxes that exist now."""
    missing: tuple[str, ...] = ()
    """What could not be read, in words."""


async def suggest(actor: Actor, deps: Deps) -> Suggestions:
    """Look at Cube and into the audit log at once. Never raises for what they do not answer."""
    views, templates, made = await asyncio.gather(
        _in_time("sandboxes", _sandboxes(deps)),
        _in_time("templates", deps.cube.templates()),
        _in_time("your earlier creates", deps.log.created_by(actor.id, limit=MOST_HOMES)),
    )
    parts = (("which homes are in use", views), ("the templates", templates), ("your earlier homes", made))
    return Suggestions(
        homes=_homes(actor, views or (), made or ()),
        templates=None if templates is None else _offered(templates, deps.rules.template),
        last=_last_time(made or ()),
        mine=None
        if views is None
        else tuple(sorted(v.home for v in views if v.home and v.owner == actor.id)),
        missing=tuple(name for name, part in parts if part is None),
    )


async def _in_time(what: str, looking: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(PATIENCE):
            return await looking
    except (DomainError, TimeoutError) as error:
        log.warning("a form opens without %s: %s", what, error or type(error).__name__)
        return None


async def _sandboxes(deps: Deps) -> Sequence[SandboxView]:
    return await labelled(await deps.cube.list(), deps)


def _homes(actor: Actor, views: Sequence[SandboxView], made: Sequence[AuditRow]) -> tuple[HomeChoice, ...]:
    live = {view.home: view for view in views if view.home}
    workspaces: dict[str, str] = {}
    for row in made:
        workspaces.setdefault(row.home, row.workspace)
    for view in sorted(live.values(), key=lambda view: view.home):
        if view.owner == actor.id:
            workspaces.setdefault(view.home, view.workspace)
    return tuple(
        HomeChoice(
            home=home,
            workspace=workspace or home,
            live=live[home].state if home in live else None,
            colleague=home in live and live[home].owner != actor.id,
        )
        for home, workspace in [*workspaces.items()][:MOST_HOMES]
        if home
    )


def _offered(templates: Sequence[TemplateView], own: str) -> tuple[TemplateView, ...]:
    ready = [one for one in templates if one.ready and (one.name or one.answers_to(own))]
    return tuple(sorted(ready, key=lambda one: (not one.answers_to(own), one.name or one.template_id)))


def _last_time(made: Sequence[AuditRow]) -> LastTime:
    if not made:
        return LastTime()
    details = made[0].details
    timeout = details.get("timeout")
    return LastTime(
        template=str(details.get("template") or ""),
        profile=str(details.get("profile") or ""),
        timeout=timeout if isinstance(timeout, int) and not isinstance(timeout, bool) else None,
    )
