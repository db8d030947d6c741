"""The status command, the pages of its list, and the card of one sandbox. Each answers one person alone."""

import re

from bot.domain.actors import Actor
from bot.domain.outcome import Done, Outcome
from bot.ports import Message
from bot.usecases.card import Card, card, check_now
from bot.usecases.status import Scope, seen_of, survey
from handlers.conversation import answer, answer_press
from handlers.grammar import Command
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.render.card import card_message
from handlers.render.failure import cleaned, failure_message
from handlers.render.status import pages, status_message
from handlers.services import Services

_PAGE = re.compile(r"([0-9]{1,6})\.(all|mine)")


async def status(call: SlashCall, command: Command, services: Services) -> None:
    """Without a target: everything, one's own first. With one: its card."""
    target = command.text("target") or ""
    if target in ("", *Scope):
        await answer(call, await _list(call.actor, Scope(target or Scope.ALL), 1, services), services)
    else:
        await answer(call, _told(await card(target, call.actor, services.deps), services), services)


async def show_card(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """The same for a button, which names the sandbox by its id."""
    shown = _told(await card(sandbox_id, press.actor, services.deps), services)
    await answer_press(press, shown, services)


async def check(sandbox_id: str, press: ButtonPress, services: Services) -> None:
    """Ask it now. That it counts as use was said before the press counted."""
    shown = _told(await check_now(sandbox_id, press.actor, press.channel, services.deps), services)
    await answer_press(press, shown, services)


async def turn_page(identifier: str, press: ButtonPress, services: Services) -> None:
    """A page of the list, read anew; what has changed since may have moved rows to another one."""
    asked = _PAGE.fullmatch(identifier)
    if asked is None:
        await answer_press(press, notices.UNKNOWN_BUTTON, services)
        return
    page = await _list(press.actor, Scope(asked[2]), int(asked[1]), services)
    await answer_press(press, page, services)


def _told(outcome: Outcome[Card], services: Services) -> Message:
    if isinstance(outcome, Done):
        return card_message(outcome.value)
    return failure_message(cleaned(outcome, services.deps.redactor))


async def _list(actor: Actor, scope: Scope, number: int, services: Services) -> Message:
    found = await survey(actor, scope, services.deps)
    if not isinstance(found, Done):
        return failure_message(cleaned(found, services.deps.redactor))
    cuts = pages(found.value)
    number = min(max(number, 1), len(cuts))
    shown = await seen_of(found.value, *cuts[number - 1], services.deps)
    return status_message(found.value, shown, number, len(cuts))
