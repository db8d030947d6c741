"""What pausing, waking and a new idle time have in common: who may, which one, one at a time, on record."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditRow, AuditUnavailableError
from bot.domain.errors import DomainError
from bot.domain.explanations import code_of, sentences
from bot.domain.outcome import Outcome, Refused
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal
from bot.usecases.occupancy import confirmed
from bot.usecases.targets import NOTHING_CHANGED, Found, find

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOKS = 20
LOOK_PAUSE_SECONDS = 0.05
"""Whoever takes a home's lock writes the intent in the next moment: how often to look who that was."""

HOMES_ARE_SAFE = "The home and workspace are safe on the node."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """One person's wish to change how a sandbox lives. ``target`` is a home-id or a sandbox-id."""

    request_id: str
    actor: Actor
    target: str
    channel: str = ""
    thread_ts: str = ""
    progress_ts: str = ""
    """The message that says that it goes on, where there is one; a restart sets it right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that may begin: its sandbox, and the audit rows it writes."""

    found: Found
    journal: Journal
    deps: Deps
    progress_ts: str = ""

    @property
    def sandbox_id(self) -> str:
        """Its sandbox."""
        return self.found.view.sandbox_id

    async def begin(self, **details: object) -> None:
        """The intent. From here on a crash cannot make the change disappear. Raises as ``append`` does."""
        await self.journal.write(
            "intent", sandbox=self.sandbox_id, node=self.found.node,
            details={
                "owner": self.found.owner, "process": self.deps.process, "progress_ts": self.progress_ts,
                **details,
            },
        )  # fmt: skip

    async def end(self, outcome: Outcome[T], details: Mapping[str, Any] | None = None) -> Outcome[T]:
        """The outcome row. What has been done is told as it is, also when it could not be written."""
        try:
            await self.journal.close(outcome, sandbox=self.sandbox_id, node=self.found.node, details=details)
        except AuditUnavailableError:
            log.exception("the outcome of %s could not be written to the audit log", self.journal.request_id)
        return outcome


Act = Callable[[Change], Awaitable[Outcome[T]]]


async def change(action: Action, request: ChangeRequest, deps: Deps, act: Act[T]) -> Outcome[T]:
    """Authorise, find the sandbox live, lock its home, look once more, and have it done.

    ``act`` decides, records its intent and its outcome, and raises a ``DomainError`` only before the intent.
    """
    role = deps.roster.role_of(request.actor)
    denied = decide(action, request.actor, role)
    if denied:
        return refused(denied.code, denied.why)
    try:
        found = await find(request.target, deps)
        if isinstance(found, Refused):
            return found
        denied = decide(action, request.actor, role, owner=found.owner)
        if denied:
            return refused(denied.code, denied.why)
        lock = await deps.locks.try_hold(found.lock)
        if lock is None:
            return await _busy(action, found, deps)
    except DomainError as error:
        return not_begun(error)
    deps.running.add(request.request_id)
    try:
        now = await state_now(found.view.sandbox_id, deps)
        if now is None:
            return gone(found)
        view = replace(found.view, state=now.state, end_at=now.end_at)
        journal = Journal(
            log=deps.log, request_id=request.request_id, action=action, actor=request.actor,
            channel=request.channel, thread_ts=request.thread_ts, home=found.home, workspace=found.workspace,
        )  # fmt: skip
        return await act(
            Change(found=Found(view), journal=journal, deps=deps, progress_ts=request.progress_ts)
        )
    except DomainError as error:
        return not_begun(error)
    finally:
        deps.running.discard(request.request_id)
        await lock.release()


async def state_now(sandbox_id: str, deps: Deps) -> SandboxView | None:
    """The sandbox as it stands; None after two 404s. ``running`` is asked for twice: GET calls pausing so."""
    view = await confirmed(deps, sandbox_id)
    if view is None or view.state is not SandboxState.RUNNING:
        return view
    listed = next((one for one in await deps.cube.list() if one.sandbox_id == sandbox_id), view)
    return replace(view, state=SandboxState.PAUSING) if listed.state is SandboxState.PAUSING else view


def refused(code: str, why: str) -> Refused:
    """Not allowed."""
    return Refused(
        code=code, what=why, safe=NOTHING_CHANGED,
        todo="`/hermes whoami` shows what you may do; an administrator can give you a role."
        if code == "role-needed"
        else "Ask the owner or an approver to do it.",
    )  # fmt: skip


def gone(found: Found) -> Refused:
    """Cube has said twice that it does not exist."""
    home = found.home
    return Refused(
        code="sandbox-not-found",
        what=f"The sandbox `{found.view.sandbox_id}` does not exist any more.",
        safe=HOMES_ARE_SAFE,
        todo=f"Make a new one with `/hermes create home={home or 'NAME'}`.",
    )


def not_begun(error: DomainError) -> Refused:
    """Another system failed before anything was changed."""
    what, todo = sentences(error)
    return Refused(code=code_of(error), what=what, safe=NOTHING_CHANGED, todo=todo, detail=str(error))


async def _busy(action: Action, found: Found, deps: Deps) -> Refused:
    """Somebody works on this home: perhaps on the very same wish."""
    for _ in range(LOOKS):
        rows = (await deps.log.changes([found.view.sandbox_id])).get(found.view.sandbox_id, [])
        latest: AuditRow | None = rows[0] if rows else None
        if latest and latest.phase == "intent" and latest.action == action:
            doing = {Action.PAUSE: "is just pausing it", Action.RESUME: "is just waking it"}
            return Refused(
                code="already-decided",
                what=f"<@{latest.actor}> {doing.get(action, 'is just changing it')}.",
                safe="This time nothing was changed.",
                todo="Wait a moment; the thread of that says how it ended.",
                facts={"by": latest.actor},
                sandbox=found.view.sandbox_id,
            )
        await deps.clock.sleep(LOOK_PAUSE_SECONDS)
    return Refused(
        code="home-busy",
        what=f"Another job is working on {found.subject} right now.",
        safe=NOTHING_CHANGED,
        todo="Wait until that job's thread says how it ended, then try again.",
    )
