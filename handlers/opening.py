"""Open Studio, pressed or typed: the only way a link and a sign-in ever leave the bot."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.actors import Actor
from bot.domain.errors import ChatError
from bot.domain.outcome import Done, Outcome
from bot.ports import Message
from bot.usecases.access import Access, reveal
from handlers.conversation import answer, answer_press
from handlers.grammar import Command
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.render.access import access_message, access_view, loading_view, refused_view
from handlers.render.failure import cleaned, failure_message
from handlers.services import Services

TRIGGER_LOST = frozenset({"expired_trigger_id", "invalid_trigger_id", "exchanged_trigger_id"})
"""Slack's words for a trigger that is too old or used up."""

WINDOW_SETTLED = frozenset({"not_found", "hash_conflict"})
"""The person has shut the window, or it has been filled already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """One person's wish to come in. ``target`` is a home-id or a sandbox-id."""

    target: str
    actor: Actor
    channel: str
    trigger_id: str
    tell: Callable[[Message], Awaitable[None]]
    """Says something to this person alone."""


async def open_studio(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """The button."""

    async def tell(message: Message) -> None:
        await answer_press(press, message, services)

    await _open(_Wish(
        target=sandbox_id, actor=press.actor, channel=press.channel, trigger_id=press.trigger_id, tell=tell,
    ), services)  # fmt: skip


async def open_typed(call: SlashCall, command: Command, services: Services) -> None:
    """``/hermes open T``: the same window, for a command has a trigger too."""

    async def tell(message: Message) -> None:
        await answer(call, message, services)

    await _open(_Wish(
        target=command.text("target") or "", actor=call.actor, channel=call.channel,
        trigger_id=call.trigger_id, tell=tell,
    ), services)  # fmt: skip


async def _open(wish: _Wish, services: Services) -> None:
    """Open a modal first, since its trigger lives three seconds; then read the sign-in; then show it."""
    try:
        window = await services.chat.open_view(wish.trigger_id, loading_view())
    except ChatError as error:
        if error.code in TRIGGER_LOST:
            await _reveal_directly(wish, services)
        else:
            await wish.tell(notices.window_failed(error.code))
        return
    outcome = await _reveal(wish, services)
    try:
        if isinstance(outcome, Done):
            access = outcome.value
            await services.chat.update_view(window, access_view(access), reveal=access.secrets)
        else:
            await services.chat.update_view(window, refused_view(cleaned(outcome, services.deps.redactor)))
    except ChatError as error:
        if error.code not in WINDOW_SETTLED:
            await wish.tell(notices.link_not_shown(error.code))


async def _reveal(wish: _Wish, services: Services) -> Outcome[Access]:
    await services.deps.roster.confirm(wish.actor)
    return await reveal(wish.target, wish.actor, wish.channel, services.deps)


async def _reveal_directly(wish: _Wish, services: Services) -> None:
    """A direct message instead of the modal; links in it never unfurl."""
    outcome = await _reveal(wish, services)
    if not isinstance(outcome, Done):
        await wish.tell(failure_message(cleaned(outcome, services.deps.redactor)))
        return
    access = outcome.value
    try:
        await services.chat.direct(wish.actor.id, access_message(access), reveal=access.secrets)
    except ChatError as error:
        await wish.tell(notices.window_failed(error.code))
    else:
        await wish.tell(notices.sent_directly())
