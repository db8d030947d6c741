"""Which sandboxes occupy a home now: Cube's list, and what the list may have lost."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain.actors import Actor, ActorKind
from bot.domain.audit import SANDBOX_GONE, AuditEvent, AuditRow, AuditUnavailableError
from bot.domain.condition import moment
from bot.domain.errors import CubeError
from bot.domain.sandbox import (
    HOME_KEY,
    NODE_KEY,
    OWNER_KEY,
    REQUEST_KEY,
    WORKSPACE_KEY,
    SandboxState,
    SandboxView,
)
from bot.usecases.deps import Deps

log = logging.getLogger(__name__)

MOST_LEFT_OUT = 20
"""How many sandboxes that a list leaves out are asked for one by one."""

YOUNG = timedelta(seconds=5)
"""By how much Cube's clock may be behind ours."""

OBSERVER = Actor("hermes-bot", ActorKind.BOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """All sandboxes of ours, and those on one home."""

    everything: tuple[SandboxView, ...]
    on_home: tuple[SandboxView, ...]


async def look(deps: Deps, home: str) -> Occupancy:
    """One list call, plus one look at each sandbox that the audit log knows and the list does not.

    Cube's list skips a node that does not answer, and some versions lose metadata after a pause; so
    the log's memory of a home is checked by id, and labels that are missing are read from the log. A
    sandbox counts as gone after two 404s, and is not asked for again.
    """
    asked_at = deps.clock.now()
    listed = await deps.cube.list()
    remembered = await deps.log.created_on(home)
    known = {view.sandbox_id for view in listed}
    missing = [sandbox_id for sandbox_id in remembered if sandbox_id not in known]
    found = await asyncio.gather(
        *(_still_there(sandbox_id, remembered[sandbox_id], asked_at, deps) for sandbox_id in missing)
    )
    views = await labelled([*listed, *(view for view in found if view)], deps, remembered)
    return Occupancy(everything=tuple(views), on_home=tuple(view for view in views if view.home == home))


async def labelled(
    views: Sequence[SandboxView], deps: Deps, remembered: Mapping[str, AuditRow] | None = None
) -> list[SandboxView]:
    """The views, with what the audit log knows where Cube has lost metadata, and marked where that is so.

    One read of the log at most, and none when nothing is missing. What Cube tells is never replaced.
    ``remembered`` is what the log is known to say already.
    """
    rows = dict(remembered or {})
    unknown = [view.sandbox_id for view in views if not view.labelled and view.sandbox_id not in rows]
    if unknown:
        rows |= await deps.log.created(unknown)
    return [
        view if view.labelled or view.sandbox_id not in rows else _from_log(view, rows[view.sandbox_id])
        for view in views
    ]


async def left_out(
    listed: Sequence[SandboxView], asked_at: datetime, deps: Deps
) -> tuple[list[SandboxView], bool]:
    """What our log has made, knows no end of, and misses in a list that was asked for at ``asked_at``.

    The latest few of them are asked for by their ids; whether there are more comes second. One that Cube
    cannot tell about is shown as unknown.
    """
    made = await deps.log.unended({view.sandbox_id for view in listed}, limit=MOST_LEFT_OUT + 1)
    asked = dict([*made.items()][-MOST_LEFT_OUT:])
    found = await asyncio.gather(*(_or_unknown(one, row, asked_at, deps) for one, row in asked.items()))
    views = await labelled([view for view in found if view], deps, asked)
    return views, len(made) > MOST_LEFT_OUT


async def sighted(deps: Deps, sandbox_id: str) -> SandboxView | None:
    """One sandbox as the list shows it, else as Cube tells when asked by id; None after two 404s.

    Only a list tells that a pause is on its way.
    """
    asked_at = deps.clock.now()
    try:
        listed = await deps.cube.list()
    except CubeError:
        return await confirmed(deps, sandbox_id)
    view = next((view for view in listed if view.sandbox_id == sandbox_id), None)
    if view is None:
        view = await confirmed(deps, sandbox_id)
        return view and _unlisted(view, asked_at)
    return view


async def confirmed(deps: Deps, sandbox_id: str) -> SandboxView | None:
    """The sandbox, or None after Cube has said 404 twice."""
    return await deps.cube.get(sandbox_id) or await deps.cube.get(sandbox_id)


async def _still_there(sandbox_id: str, made: AuditRow, asked_at: datetime, deps: Deps) -> SandboxView | None:
    view = await confirmed(deps, sandbox_id)
    if view is None:
        await _record_gone(sandbox_id, made, deps)
        return None
    return _unlisted(view, asked_at)


async def _or_unknown(sandbox_id: str, made: AuditRow, asked_at: datetime, deps: Deps) -> SandboxView | None:
    try:
        return await _still_there(sandbox_id, made, asked_at, deps)
    except CubeError:
        return SandboxView(sandbox_id=sandbox_id, state=SandboxState.UNKNOWN, listed=False)


def _unlisted(view: SandboxView, asked_at: datetime) -> SandboxView:
    """Marked as left out of the list, unless it is so young that the list may have come before it."""
    began = moment(view.started_at)
    return view if began and began > asked_at - YOUNG else replace(view, listed=False)


async def _record_gone(sandbox_id: str, made: AuditRow, deps: Deps) -> None:
    """Somebody or something else ended it. Looking goes on without a log; it is then asked for again."""
    try:
        await deps.log.append(
            AuditEvent(
                request_id="",
                phase="system",
                actor=OBSERVER.id,
                actor_kind=OBSERVER.kind.value,
                action=SANDBOX_GONE,
                home=made.home,
                workspace=made.workspace,
                sandbox=sandbox_id,
                node=made.node,
                code=SANDBOX_GONE,
                reason="Cube answered 404 twice",
            )
        )
    except AuditUnavailableError:
        log.exception("that sandbox %s is gone could not be written to the audit log", sandbox_id)


def _from_log(view: SandboxView, made: AuditRow) -> SandboxView:
    recorded = {
        HOME_KEY: made.home,
        WORKSPACE_KEY: made.workspace,
        OWNER_KEY: str(made.details.get("owner") or made.actor),
        NODE_KEY: made.node,
        REQUEST_KEY: made.request_id,
    }
    return replace(
        view,
        template=view.template or str(made.details.get("template") or ""),
        metadata={**recorded, **view.metadata},
        labels_from_log=True,
    )
