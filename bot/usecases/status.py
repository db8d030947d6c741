"""What runs, and how it is: one list of Cube's, in the order that one person wants to read it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditUnavailableError
from bot.domain.errors import DomainError
from bot.domain.explanations import code_of, sentences
from bot.domain.outcome import Done, Outcome, Refused
from bot.domain.sandbox import SandboxView
from bot.usecases.deps import Deps
from bot.usecases.occupancy import labelled, left_out
from bot.usecases.sightings import Seen, look_closer

FEW = 10
"""Up to so many sandboxes in all, those may be asked through Cube's proxy whose fate that cannot alter."""


class Scope(StrEnum):
    """Whose sandboxes."""

    ALL = "all"
    MINE = "mine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All that is there, one's own first. How each of them is, is looked at for those that are shown."""

    scope: Scope
    views: tuple[SandboxView, ...]
    mine: int
    """How many of all are the person's own."""
    everything: int
    """How many there are, whatever the scope."""
    at: datetime
    log_answered: bool = True
    """False: labels that Cube has lost, and sandboxes that its list leaves out, could not be looked up."""
    more_left_out: bool = False
    """The list leaves out more sandboxes of ours than are asked for one by one."""


async def survey(actor: Actor, scope: Scope, deps: Deps) -> Outcome[Survey]:
    """One list call; what it leaves out is asked for by id. Wakes nothing and prolongs nothing."""
    denied = decide(Action.STATUS, actor, deps.roster.role_of(actor))
    if denied:
        return Refused(
            code=denied.code, what=denied.why, safe="Nothing was looked at, and nothing was changed.",
            todo="Ask an administrator for a role; `/hermes whoami` shows what you have.",
        )  # fmt: skip
    at = deps.clock.now()
    try:
        listed = await deps.cube.list()
    except DomainError as error:
        what, todo = sentences(error)
        return Refused(
            code=code_of(error), what=what, safe="Nothing was changed; sandboxes go on as they are.",
            todo=todo, detail=str(error),
        )  # fmt: skip
    views, log_answered, more = listed, True, False
    try:
        others, more = await left_out(listed, at, deps)
        views = [*await labelled(listed, deps), *others]
    except AuditUnavailableError:
        log_answered = False
    mine = sum(view.owner == actor.id for view in views)
    shown = views if scope is Scope.ALL else [view for view in views if view.owner == actor.id]
    return Done(
        "surveyed",
        Survey(
            scope=scope,
            views=tuple(sorted(shown, key=lambda view: _place(view, actor))),
            mine=mine,
            everything=len(views),
            at=at,
            log_answered=log_answered,
            more_left_out=more,
        ),
    )


async def seen_of(found: Survey, start: int, end: int, deps: Deps) -> list[Seen]:
    """How those are that one page shows."""
    return await look_closer(found.views[start:end], deps, probing=found.everything <= FEW)


def _place(view: SandboxView, actor: Actor) -> tuple[bool, bool, str, str]:
    return (view.owner != actor.id, not view.home, view.home, view.sandbox_id)
