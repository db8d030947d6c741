"""Taking a create on: in the audit log before its thread opens, so that no crash makes it disappear."""

import hashlib
import logging
from dataclasses import replace
from typing import Any

from bot.domain import endings
from bot.domain.actors import Action
from bot.domain.audit import AuditUnavailableError
from bot.domain.outcome import Failed, Refused, Unknown
from bot.domain.provisioning import CreateRequest
from bot.usecases.deps import Deps
from bot.usecases.journal import ASKED, Journal, claimed_by, ending_of

log = logging.getLogger(__name__)

PLACED = "placed"
SENT_IN = "sent-in"
"""The code of the claim on a form. Its id is a request's of its own, as Continue claims the create itself."""

ALREADY_SENT = Refused(
    code="already-sent",
    what="This form has been sent in before.",
    safe="It counted once; this time changed nothing.",
    todo="Follow its thread; if there is none within a minute, type `/hermes create` again.",
)
TAKEN = "taken"
"""The claim on an envelope; its request id stands for the envelope, not for what became of it."""


async def first_delivery(envelope: str, request: CreateRequest, deps: Deps) -> bool:
    """Whether nobody has taken this wish on yet: Slack may deliver one envelope twice, to two replicas.

    Args:
        envelope: what Slack names it by, such as a trigger id or a view id; an empty one tells nothing apart.
        request: the wish, as it was read from this delivery.
        deps: the use cases' ports.
    """
    if not envelope:
        return True
    name = hashlib.sha256(f"{request.actor.id} {envelope}".encode()).hexdigest()[:24]
    # A row about the envelope, not about the home: what becomes of the wish has a request of its own.
    journal = Journal(
        log=deps.log,
        request_id=f"e-{name}",
        action=Action.CREATE,
        actor=request.actor,
        channel=request.channel,
    )
    try:
        claim = await journal.claim(code=TAKEN)
    except AuditUnavailableError:
        return True  # asking will say so
    return claim is not None


async def ask(request: CreateRequest, deps: Deps) -> CreateRequest | Refused:
    """Take a request on: from now on a crash cannot make it disappear, and it can be cancelled.

    Every request that was asked for ends in ``provision`` or ``give_up``.
    """
    details = particulars(request, deps)
    try:
        await journal_of(request, deps).write("intent", code=ASKED, node=request.node, details=details)
    except AuditUnavailableError:
        return endings.unrecorded()
    deps.running.add(request.request_id)
    return replace(request, asked=True)


async def ask_once(request: CreateRequest, press: str, deps: Deps) -> CreateRequest | Refused | None:
    """The same for a form, whose request has had its id since the form was opened.

    However often it is sent in, and to however many replicas, the one row that may claim it decides.
    ``press`` tells one press from another; None = this press has been counted, and told, already.
    """
    form = replace(journal_of(request, deps), request_id=f"{request.request_id}.form")
    mark = hashlib.sha256(press.encode("utf-8", "replace")).hexdigest()[:16]
    try:
        if await form.claim(code=SENT_IN, details={"press": mark}) is None:
            first = claimed_by(await deps.log.of_request(form.request_id))
            return None if first and first.details.get("press") == mark else ALREADY_SENT
    except AuditUnavailableError:
        return endings.unrecorded()
    return await ask(request, deps)


async def place(request: CreateRequest, deps: Deps) -> None:
    """Note where it is told, so that a restart finds its thread and the message that moves."""
    details = {"progress_ts": request.progress_ts}
    try:
        await journal_of(request, deps).write("step", code=PLACED, details=details)
    except AuditUnavailableError:
        log.exception("the thread of %s could not be noted; its job will say more", request.request_id)


async def give_up(request: CreateRequest, outcome: Refused | Failed | Unknown, deps: Deps) -> None:
    """End a request that was asked for and never ran, or whose telling broke."""
    deps.running.discard(request.request_id)
    try:
        rows = await deps.log.of_request(request.request_id)
        if rows and ending_of(rows) is None:
            await journal_of(request, deps).close(outcome, node=request.node)
    except AuditUnavailableError:
        log.exception("the end of %s could not be written to the audit log", request.request_id)


def journal_of(request: CreateRequest, deps: Deps) -> Journal:
    """The audit rows of a create."""
    return Journal(
        log=deps.log, request_id=request.request_id, action=Action.CREATE, actor=request.actor,
        channel=request.channel, thread_ts=request.thread_ts, home=request.home, workspace=request.workspace,
    )  # fmt: skip


def particulars(request: CreateRequest, deps: Deps) -> dict[str, Any]:
    """What its intent keeps, so that it can be continued by somebody who never saw it. No value of env=."""
    return {
        "owner": request.owner,
        "template": request.template,
        "timeout": request.timeout,
        "idle": deps.rules.lifecycle.idle if request.timeout is None else request.timeout,
        "profile": request.profile,
        "env_names": sorted({*request.env, *request.env_names}),
        "progress_ts": request.progress_ts,
        "continues": request.continues,
        "process": deps.process,
    }
