"""Opening the create form: the window first, since its trigger lives three seconds; then all the rest."""

import logging

from bot.domain.errors import ChatError
from bot.usecases.admission import may_create
from bot.usecases.suggestions import suggest
from handlers.conversation import answer, answer_press
from handlers.form_fields import Ticket
from handlers.opening import WINDOW_SETTLED
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.render.create_form import form_view, loading_view, not_opened, refused_view
from handlers.render.failure import cleaned
from handlers.services import Services

logger = logging.getLogger(__name__)

OPENED_ALREADY = "exchanged_trigger_id"
"""Slack's word for a trigger that has opened a window; only a copy of the same envelope can meet it."""


async def open_form(call: SlashCall, services: Services) -> None:
    """For whoever typed ``create`` alone, or pressed a button that says so."""
    deps = services.deps
    try:
        window = await services.chat.open_view(call.trigger_id, loading_view())
    except ChatError as error:
        logger.info("the form of %s was not opened: %s", call.actor.id, error.code)
        if error.code != OPENED_ALREADY:
            await answer(call, not_opened(error.code), services)
        return
    await deps.roster.ensure_fresh()
    refused = may_create(call.actor, deps)
    if refused:
        view = refused_view(cleaned(refused, deps.redactor))
    else:
        ticket = Ticket(request_id=deps.ids.request_id(), channel=call.channel)
        view = form_view(await suggest(call.actor, deps), deps.rules, ticket)
    try:
        await services.chat.update_view(window, view)
    except ChatError as error:
        if error.code not in WINDOW_SETTLED:
            await answer(call, not_opened(error.code), services)


async def open_form_by_press(_here: str, press: ButtonPress, services: Services) -> None:
    """A button below an answer, or in the App Home; from there the thread goes to direct messages."""
    channel = press.channel or press.actor.id
    if services.allowed_channels and channel not in services.allowed_channels:
        await answer_press(press, notices.wrong_channel(services.allowed_channels), services)
        return
    call = SlashCall(
        actor=press.actor,
        channel=channel,
        text="",
        response_url=press.response_url,
        trigger_id=press.trigger_id,
    )
    await open_form(call, services)
