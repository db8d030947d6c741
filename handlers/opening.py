"""The Open Studio button: the only way a link and a sign-in ever leave the bot."""

from bot.domain.errors import ChatError
from bot.domain.outcome import Done, Outcome
from bot.usecases.access import Access, reveal
from handlers.conversation import answer_press
from handlers.payloads import ButtonPress
from handlers.render import notices
from handlers.render.access import access_message, access_view, loading_view, refused_view
from handlers.render.failure import cleaned, failure_message
from handlers.services import Services

TRIGGER_LOST = frozenset({"expired_trigger_id", "invalid_trigger_id", "exchanged_trigger_id"})
"""Slack's words for a trigger that is too old or used up."""

WINDOW_SETTLED = frozenset({"not_found", "hash_conflict"})
"""The person has shut the window, or it has been filled already."""


async def open_studio(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """Open a modal first, since its trigger lives three seconds; then read the sign-in; then show it."""
    try:
        window = await services.chat.open_view(press.trigger_id, loading_view())
    except ChatError as error:
        if error.code in TRIGGER_LOST:
            await _reveal_directly(sandbox_id, press, services)
        else:
            await answer_press(press, notices.window_failed(error.code), services)
        return
    outcome = await _reveal(sandbox_id, press, services)
    try:
        if isinstance(outcome, Done):
            access = outcome.value
            await services.chat.update_view(window, access_view(access), reveal=access.secrets)
        else:
            await services.chat.update_view(window, refused_view(cleaned(outcome, services.deps.redactor)))
    except ChatError as error:
        if error.code not in WINDOW_SETTLED:
            await answer_press(press, notices.link_not_shown(error.code), services)


async def _reveal(sandbox_id: str, press: ButtonPress, services: Services) -> Outcome[Access]:
    await services.deps.roster.confirm(press.actor)
    return await reveal(sandbox_id, press.actor, press.channel, services.deps)


async def _reveal_directly(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """A direct message instead of the modal; links in it never unfurl."""
    outcome = await _reveal(sandbox_id, press, services)
    if not isinstance(outcome, Done):
        await answer_press(press, failure_message(cleaned(outcome, services.deps.redactor)), services)
        return
    access = outcome.value
    try:
        await services.chat.direct(press.actor.id, access_message(access), reveal=access.secrets)
    except ChatError as error:
        await answer_press(press, notices.window_failed(error.code), services)
    else:
        await answer_press(press, notices.sent_directly(), services)
