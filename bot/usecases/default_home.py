"""Making the default home of a node from a template: the one thing a fresh node lacks.

A short-lived sandbox of the template copies its preinstalled ``/root/.hermes`` into a new directory of
the node; only when that is complete does it become ``hermes-homes/default``. An existing default home
is never touched.
"""

import logging
import re
import shlex
from dataclasses import dataclass

from bot.domain.actors import Action, Actor
from bot.domain.audit import AuditUnavailableError
from bot.domain.errors import DomainError, GuestError, NodeError
from bot.domain.explanations import code_of, sentences
from bot.domain.locks import LockUnavailableError
from bot.domain.outcome import Done, Failed, Outcome, Refused
from bot.domain.sandbox import REQUEST_KEY, CreateSpec, Mount
from bot.ports import CommandResult, Node
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal

log = logging.getLogger(__name__)

DEFAULT = "default"
GUEST_TARGET = "/default-home"
ON_A_COMMAND_LINE = "Run `hermes-bot template seed` again; it starts from the beginning."
"""What to do where Slack would offer the Continue button."""

COPY = (
    f"test -f /root/.hermes/config.yaml && cp -a /root/.hermes/. {GUEST_TARGET}/"
    f" && find {GUEST_TARGET} -type f | wc -l"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultHome:
    """What was made."""

    node: str
    path: str
    files: int | None
    """None when the copy did not say how many, although it succeeded."""


async def make_default_home(template: str, node_id: str, actor: Actor, deps: Deps) -> Outcome[DefaultHome]:
    """Fill ``hermes-homes/default`` of a node from what the template holds at ``/root/.hermes``.

    One at a time: the lock also tells a bot that looks for interrupted requests that this one lives.
    """
    try:
        async with deps.locks.hold(f"home:{DEFAULT}"):
            return await _make(template, node_id, actor, deps)
    except LockUnavailableError as error:
        return _failed(error)


async def _make(template: str, node_id: str, actor: Actor, deps: Deps) -> Outcome[DefaultHome]:
    rules = deps.rules.node(node_id)
    if rules is None:
        known = ", ".join(node.id for node in deps.rules.nodes)
        return _refused("node-unknown", f"There is no node {node_id}.", f"Known nodes: {known}.")
    node = deps.nodes[node_id]
    final = f"{rules.shared_root}/hermes-homes/default"
    incoming = f"{rules.shared_root}/hermes-homes/.default-incoming"
    try:
        if (await node.run(f"test -e {shlex.quote(final)}")).exit_code == 0:
            return _refused(
                "default-home-exists",
                f"{final} exists already.",
                "Nothing needs to be done; to replace it, move it away on the node and run this again.",
            )
        journal = Journal(
            log=deps.log,
            request_id=deps.ids.request_id(),
            action=Action.SEED_DEFAULT,
            actor=actor,
            home=DEFAULT,
        )
        await journal.write("intent", node=node_id, details={"template": template})
    except DomainError as error:
        return _failed(error)
    try:
        outcome = await _fill(template, rules.cube_node, node, incoming, final, journal.request_id, deps)
    except Exception as error:  # noqa: BLE001 - whatever happens, an intent gets its outcome
        outcome = _failed(error)
    try:
        await _remove_sandboxes(journal.request_id, deps)
    except Exception as error:  # noqa: BLE001 - as above
        outcome = _failed(error)
    try:
        await journal.close(outcome, node=node_id)
    except AuditUnavailableError:
        log.exception("the outcome of %s could not be written to the audit log", journal.request_id)
    return outcome


def _failed(error: Exception) -> Failed:
    if not isinstance(error, DomainError):
        log.error("making the default home failed", exc_info=error)
        return Failed(
            code="internal-error",
            what="The bot itself failed while it made the default home.",
            safe="No home in use was touched.",
            todo=ON_A_COMMAND_LINE,
            detail=type(error).__name__,
        )
    what, todo = sentences(error, again=ON_A_COMMAND_LINE.rstrip("."))
    return Failed(
        code=code_of(error),
        what=what,
        safe="No home in use was touched.",
        todo=todo,
        detail=str(error),
    )


async def _remove_sandboxes(request_id: str, deps: Deps) -> None:
    """The sandbox that copied has nothing to keep; one whose create lost its answer is found here too."""
    for view in await deps.cube.list(labels={REQUEST_KEY: request_id}):
        await deps.cube.kill(view.sandbox_id)


async def _fill(
    template: str, cube_node: str, node: Node, incoming: str, final: str, request_id: str, deps: Deps
) -> Outcome[DefaultHome]:
    await _on_node(node, f"rm -rf {shlex.quote(incoming)} && mkdir -p -m 0700 {shlex.quote(incoming)}")
    view = await deps.cube.create(
        CreateSpec(
            template=template,
            timeout=300,
            mounts=(Mount(incoming, GUEST_TARGET),),
            labels={REQUEST_KEY: request_id},
            scope=(cube_node,) if cube_node else (),
        )
    )
    copied = await _copy(view.sandbox_id, deps)
    if copied.exit_code != 0:
        return Failed(
            code="template-without-home",
            what=f"Template {template} holds no /root/.hermes/config.yaml to copy.",
            safe="No home in use was touched; the sandbox that looked was removed.",
            todo="Choose a template that has one: `hermes-bot template seed --template NAME`.",
            detail=copied.stderr[-500:],
        )
    await _on_node(
        node,
        f"mv -T -n {shlex.quote(incoming)} {shlex.quote(final)} && test -f {shlex.quote(final)}/config.yaml",
    )
    return Done("default-home-made", DefaultHome(node=node.node_id, path=final, files=_count(copied.stdout)))


def _count(output: str) -> int | None:
    """The last line of the copy. A login shell of a foreign image may say anything before and after it."""
    lines = output.split()
    return int(lines[-1]) if lines and re.fullmatch(r"[0-9]{1,9}", lines[-1]) else None


async def _copy(sandbox_id: str, deps: Deps) -> CommandResult:
    clock = deps.clock
    began = clock.monotonic()
    while not await deps.guest.answers(sandbox_id):
        if clock.monotonic() - began > deps.rules.deadlines.data_plane:
            raise GuestError("guest-timeout", "the sandbox that should copy the home does not answer")
        await clock.sleep(0.2)
    return await deps.cube.run(sandbox_id, COPY, deadline=deps.rules.deadlines.guest)


async def _on_node(node: Node, command: str) -> None:
    result = await node.run(command)
    if result.exit_code != 0:
        raise NodeError("node-program-failed", result.stderr[-500:] or f"exit code {result.exit_code}")


def _refused(code: str, what: str, todo: str) -> Refused:
    return Refused(code=code, what=what, safe="Nothing was changed.", todo=todo)
