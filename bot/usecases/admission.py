"""Whether a provisioning may begin: authorise, read live, decide. Nothing here changes anything."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditRow
from bot.domain.durations import spell_duration
from bot.domain.environment import env_value_problem
from bot.domain.outcome import Offer, Refused
from bot.domain.provisioning import CreateRequest
from bot.domain.rules import MIN_IDLE, NodeRules, Rules
from bot.domain.sandbox import Places, SandboxView, TemplateView
from bot.ports import Lock
from bot.usecases.deps import Deps
from bot.usecases.journal import admitted
from bot.usecases.occupancy import Occupancy, look

NOTHING_CHANGED = "Nothing was changed."


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """All that the first step found out, and the lock on the home."""

    lock: Lock
    chain: frozenset[str]
    """This request and the interrupted ones that it finishes."""
    node_id: str
    places: Places
    template: TemplateView
    existing: SandboxView | None
    """What an interrupted request of the chain has made already."""
    notes: tuple[str, ...] = ()


def precheck(request: CreateRequest, deps: Deps) -> Refused | None:
    """What can be refused without a look at Cube or a node; asked before a thread is opened, too."""
    faults = (refused for _, refused in faults_of(request, deps.rules))
    return may_create(request.actor, deps) or next(faults, None)


def may_create(actor: Actor, deps: Deps) -> Refused | None:
    """Why this actor may not create anything; None when they may. Asked of memory only."""
    denied = decide(Action.CREATE, actor, deps.roster.role_of(actor))
    if denied is None:
        return None
    return Refused(
        code=denied.code, what=denied.why, safe=NOTHING_CHANGED,
        todo="Ask an administrator for a role; `/hermes whoami` shows what you have.",
    )  # fmt: skip


def faults_of(request: CreateRequest, rules: Rules) -> Iterator[tuple[str, Refused]]:
    """What the rules have against the settings alone, each with the name of its setting."""
    if request.profile and request.profile not in rules.env_profiles:
        known = ", ".join(sorted(rules.env_profiles)) or "none"
        what = f"There is no env profile {request.profile}."
        yield "profile", _refuse("profile-unknown", what, f"Profiles here: {known}.")
    for name, value in request.env.items():
        problem = env_value_problem(value)
        if problem:
            what = f"The value of env={name} cannot be used: {problem}"
            yield "env", _refuse("env-invalid", what, "Give another value.")
    if request.timeout is not None and 0 <= request.timeout < MIN_IDLE:
        given, least = spell_duration(request.timeout), spell_duration(MIN_IDLE)
        yield (
            "timeout",
            _refuse(
                "timeout-too-short",
                f"With timeout={given} the sandbox would pause while it is being made.",
                f"Give {least} or more, for example `timeout=15m`, or `timeout=never`.",
            ),
        )


async def admit(request: CreateRequest, deps: Deps, turn: AsyncExitStack) -> Admitted | Refused:
    """Decide. The lock of an ``Admitted`` is the caller's to release.

    ``turn`` is entered before quotas are counted; until it is closed no other request is admitted. The
    caller closes it once the intent is in the log, where the next one counts it.
    """
    refused = precheck(request, deps)
    if refused:
        return refused
    lock = await deps.locks.try_hold(f"home:{request.home}")
    if lock is None:
        return await _busy(request, deps)
    try:
        decided = await _decide(request, deps, lock, turn)
    except BaseException:
        await lock.release()
        raise
    if isinstance(decided, Refused):
        await lock.release()
    return decided


async def _decide(request: CreateRequest, deps: Deps, lock: Lock, turn: AsyncExitStack) -> Admitted | Refused:
    began = deps.clock.now()
    chain = await _chain(request, deps)
    occupancy, template, intents = await asyncio.gather(
        look(deps, request.home),
        deps.cube.template(request.template or deps.rules.template),
        deps.log.open_intents(),
    )
    existing = next((view for view in occupancy.on_home if view.request in chain), None)
    others = [view for view in occupancy.on_home if view is not existing]
    if others:
        return _in_use(request, others[0])
    if existing:
        if template is None or not template.answers_to(existing.template):
            template = TemplateView(template_id=existing.template or "unknown")
    elif template is None or not template.ready:
        return await _no_template(request, deps, template)
    node = await _choose_node(request, deps, existing)
    if isinstance(node, Refused):
        return node
    if existing is None:
        await turn.enter_async_context(deps.locks.hold("admission"))
        coming = {row.request_id: row for row in admitted([*intents, *await _intents_since(began, deps)])}
        over = _over_quota(request, deps, occupancy, [coming[r] for r in coming if r not in chain])
        if over:
            return over
    return Admitted(
        lock=lock,
        chain=chain,
        node_id=node.id,
        places=Places(shared_root=node.shared_root, home_id=request.home, workspace_id=request.workspace),
        template=template,
        existing=existing,
        notes=_workspace_notes(request, occupancy),
    )


async def _intents_since(began: datetime, deps: Deps) -> list[AuditRow]:
    """What was begun while we looked at Cube, ended or not: its sandbox may be missing in what we saw."""
    return [*await deps.log.recent(since=began, limit=1000), *await deps.log.open_intents()]


async def _chain(request: CreateRequest, deps: Deps) -> frozenset[str]:
    chain = {request.request_id}
    older = request.continues
    while older and older not in chain:
        chain.add(older)
        rows = await deps.log.of_request(older)
        intent = next((row for row in rows if row.phase == "intent" and row.action == Action.CREATE), None)
        older = str(intent.details.get("continues") or "") if intent else ""
    return frozenset(chain)


def _refuse(code: str, what: str, todo: str) -> Refused:
    return Refused(code=code, what=what, safe=NOTHING_CHANGED, todo=todo)


async def _busy(request: CreateRequest, deps: Deps) -> Refused:
    running = await _jobs_on(request, deps)
    who = f" for <@{running[-1].actor}>" if running else ""
    return Refused(
        code="home-busy",
        what=f"Another job{who} is working on home {request.home} right now.",
        safe="That job goes on; nothing else was changed.",
        todo="Follow its thread; when it has ended, use its sandbox or try again.",
        facts={"owner": running[-1].actor} if running else {},
    )


async def _jobs_on(request: CreateRequest, deps: Deps) -> list[AuditRow]:
    """The open intents on a home. A job that took its lock this moment writes its intent in the next."""
    for _ in range(20):
        running = [row for row in admitted(await deps.log.open_intents()) if row.home == request.home]
        if running:
            return running
        await deps.clock.sleep(0.05)
    return []


def _in_use(request: CreateRequest, view: SandboxView) -> Refused:
    owner = f"<@{view.owner}>" if view.owner else "somebody unknown"
    if view.labels_from_log:
        owner += " (as the audit log has it)"
    return Refused(
        code="home-in-use",
        what=f"Home {request.home} is in use: sandbox `{view.sandbox_id}` of {owner} is {view.state.value}.",
        safe="That sandbox and the home were not touched.",
        todo=f"A home has one sandbox at a time: open that one, or type `/hermes stop {request.home}` first.",
        offers=(Offer.OPEN, Offer.STOP),
        sandbox=view.sandbox_id,
        facts={"owner": view.owner, "state": view.state.value},
    )


def _over_quota(
    request: CreateRequest, deps: Deps, occupancy: Occupancy, intents: Sequence[AuditRow]
) -> Refused | None:
    limits = deps.rules.limits
    ours = [view for view in occupancy.everything if view.home]
    # By home, as the job that continues another one's sandbox has an id of its own.
    housed = {view.home for view in ours}
    coming = [row for row in intents if row.action == Action.CREATE and row.home not in housed]
    mine = [view.home for view in ours if view.owner == request.owner]
    mine += [row.home for row in coming if (row.details.get("owner") or row.actor) == request.owner]
    if 0 < limits.per_user <= len(mine):
        return _refuse(
            "quota-user",
            f"{_has(request)} {_count(len(mine))} ({', '.join(sorted(mine))});"
            f" the limit is {limits.per_user}.",
            f"Stop one with `/hermes stop {min(mine)}`, then create again.",
        )
    if 0 < limits.total <= len(ours) + len(coming):
        return _refuse(
            "quota-total",
            f"The team has {_count(len(ours) + len(coming))}; the limit here is {limits.total}.",
            "Stop one that nobody uses, or ask an administrator to raise `[limits] total`.",
        )
    return None


def _has(request: CreateRequest) -> str:
    return "You have" if request.owner == request.actor.id else f"<@{request.owner}> has"


def _count(sandboxes: int) -> str:
    return "1 sandbox" if sandboxes == 1 else f"{sandboxes} sandboxes"


async def _no_template(request: CreateRequest, deps: Deps, template: TemplateView | None) -> Refused:
    wanted = request.template or deps.rules.template
    ready = sorted({t.name or t.template_id for t in await deps.cube.templates() if t.ready})
    choose = "No template of this Cube is READY; an administrator builds one."
    if ready:
        choose = f"Create with one that is READY: {', '.join(f'`template={name}`' for name in ready)}."
    if template is None:
        return _refuse("template-not-found", f"Cube has no template {wanted}.", choose)
    return _refuse("template-not-ready", f"Template {wanted} is {template.status}, not READY.", choose)


async def _choose_node(
    request: CreateRequest, deps: Deps, existing: SandboxView | None
) -> NodeRules | Refused:
    rules = deps.rules
    names = ", ".join(node.id for node in rules.nodes)
    wanted = (existing.node if existing else "") or request.node
    node = rules.node(wanted) if wanted else None
    if wanted and node is None:
        return _refuse("node-unknown", f"There is no node {wanted}.", f"Nodes here: {names}.")
    if len(rules.nodes) == 1 or (node and (existing or request.continues)):
        return node or rules.nodes[0]
    holders = [one for one in rules.nodes if await _holds_home(request, deps, one)]
    if node:
        return node if node in holders or not holders else _elsewhere(request, holders[0])
    if len(holders) > 1:
        return _refuse(
            "node-ambiguous",
            f"Home {request.home} exists on {' and '.join(node.id for node in holders)}.",
            "Say which one you mean, for example `node=" + holders[0].id + "`.",
        )
    return holders[0] if holders else rules.nodes[0]


def _elsewhere(request: CreateRequest, holder: NodeRules) -> Refused:
    """A node was named that does not have the home: a second, empty one must not be made by mistake."""
    return _refuse(
        "home-on-other-node",
        f"Home {request.home} lives on node {holder.id}; node {request.node} does not have it.",
        f"Create it there with `node={holder.id}`, or choose another home name for node {request.node}.",
    )


async def _holds_home(request: CreateRequest, deps: Deps, node: NodeRules) -> bool:
    places = Places(shared_root=node.shared_root, home_id=request.home, workspace_id=request.workspace)
    return await deps.nodes[node.id].has_home(places)


def _workspace_notes(request: CreateRequest, occupancy: Occupancy) -> tuple[str, ...]:
    sharing = sorted(
        {
            view.home
            for view in occupancy.everything
            if view.workspace == request.workspace and view.home != request.home
        }
        - {""}
    )
    if not sharing:
        return ()
    return (
        f"Workspace {request.workspace} is also used by home {', '.join(sharing)}; its files are shared.",
    )
