"""A create form that was sent in: judged before the ack, as only the ack can put an error onto a field.

Before the ack nothing is done but reading: no call, no wait. What needs Cube, a node or the log is told
afterwards, where the typed command tells it.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.domain.outcome import NotDone
from bot.domain.provisioning import CreateRequest
from bot.usecases.admission import faults_of
from bot.usecases.asking import ask_once
from bot.usecases.launch_secrets import learn
from handlers.conversation import answer
from handlers.creating import request_of, take_on
from handlers.form_fields import ACTION, Field, plain_words, read_form, ticket
from handlers.payloads import Body, SlashCall, Submission, submission
from handlers.render import notices
from handlers.render.failure import cleaned, failure_message
from handlers.services import Services

logger = logging.getLogger(__name__)

ACCEPTED: Mapping[str, Any] = {"response_action": "clear"}
"""The answer that closes the form."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer for the ack, and the create that follows from it; None when nothing does."""

    ack: Mapping[str, Any]
    call: SlashCall | None = None
    request: CreateRequest | None = None


def judge_form(body: Body, services: Services) -> Judged:
    """Read a submission. Quick and without any call; a field that is wrong is named in the ack."""
    sent = submission(body, services.team_id, ACTION)
    stub = ticket(sent.private_metadata)
    call = SlashCall(
        actor=sent.actor,
        channel=stub.channel if stub else sent.actor.id,
        text="",
        response_url="",
        trigger_id=sent.trigger_id,
    )
    if stub is None or sent.actor.outside_team or not sent.actor.id:
        return Judged(ACCEPTED, call)
    command, errors = read_form(sent.values, sent.shown)
    request = request_of(command, stub.request_id, call)
    for key, refused in faults_of(request, services.deps.rules):
        errors.setdefault(key, plain_words(f"{refused.what} {refused.todo}").replace(f"{key}=", ""))
    return Judged(_errors(errors, sent)) if errors else Judged(ACCEPTED, call, request)


def take_form(judged: Judged, services: Services) -> None:
    """After the ack: hand the create over. A copy of an envelope does nothing; a second press is told."""
    call, request = judged.call, judged.request
    if call is None:
        return
    if request:
        learn(request.env, services.deps.redactor)

    async def run() -> None:
        await _create(call, request, services)

    async def tell(why: NotDone) -> None:
        await answer(call, failure_message(cleaned(why, services.deps.redactor)), services)

    key = f"form:{call.trigger_id}" if call.trigger_id else ""
    services.take(key, f"form of {call.actor.id}", run, tell)


async def _create(call: SlashCall, request: CreateRequest | None, services: Services) -> None:
    if call.actor.outside_team or not call.actor.id:
        await answer(call, notices.OUTSIDER, services)
    elif request is None:
        await answer(call, notices.UNKNOWN_FORM, services)
    elif services.allowed_channels and call.channel not in services.allowed_channels:
        await answer(call, notices.wrong_channel(services.allowed_channels), services)
    else:
        await services.deps.roster.confirm(call.actor)
        asked = await ask_once(request, call.trigger_id, services.deps)
        if asked is not None:
            await take_on(call, asked, services)


def _errors(errors: Mapping[str, str], sent: Submission) -> Mapping[str, Any]:
    """Slack refuses an error on a field that the form does not have; such a one goes to the name's field."""
    shown: dict[str, str] = {}
    for key, sentence in errors.items():
        field = key if key in sent.shown else Field.NEW_HOME.value
        shown[field] = f"{shown[field]} {sentence}" if field in shown else sentence
    return {"response_action": "errors", "errors": shown}
