"""Pressed buttons: every press gets a visible answer, and acts once."""

from collections.abc import Awaitable, Callable, Mapping

from bot.domain.outcome import NotDone
from handlers import creating, diagnosing, form_open, keeping, opening, pausing, status, stopping
from handlers.buttons import Press, identifier_in, press_of
from handlers.conversation import answer_press
from handlers.payloads import Body, ButtonPress, button_press
from handlers.render import notices
from handlers.render.failure import failure_message
from handlers.services import Services

Act = Callable[[str, ButtonPress, Services], Awaitable[None]]

ACTS: Mapping[Press, Act] = {
    Press.CREATE_FORM: form_open.open_form_by_press,
    Press.CREATE_CANCEL: creating.cancel_create,
    Press.CREATE_CONTINUE: creating.continue_create,
    Press.OPEN: opening.open_studio,
    Press.STATUS: status.show_card,
    Press.STATUS_PAGE: status.turn_page,
    Press.CHECK: status.check,
    Press.PAUSE: pausing.pause_pressed,
    Press.RESUME: pausing.resume_pressed,
    Press.KEEP: keeping.keep_pressed,
    Press.KEEP_UNDO: keeping.undo_pressed,
    Press.DIAGNOSE: diagnosing.from_button,
    Press.DIAGNOSE_WAKE: diagnosing.wake_and_examine,
    Press.STOP_ASK: stopping.ask_from_button,
    Press.STOP_CONFIRM: stopping.confirm,
    Press.STOP_DISMISS: stopping.dismiss,
}
"""All buttons but the link, which needs no more than the ack."""

OPENS_FIRST = (form_open.open_form_by_press, opening.open_studio)
"""These open their window before anything is waited for, and ask for the role themselves."""


def take_press(body: Body, services: Services) -> None:
    """After the ack: hand the press over."""
    press = button_press(body, services.team_id)

    async def run() -> None:
        await answer_to(press, services)

    async def tell(why: NotDone) -> None:
        await answer_press(press, failure_message(why), services)

    key = f"press:{press.trigger_id}" if press.trigger_id else ""
    services.take(key, f"press of {press.action_id} by {press.actor.id}", run, tell)


async def answer_to(press: ButtonPress, services: Services) -> None:
    """Who may press at all, then whether we still know the button, then what it does."""
    if press.actor.outside_team or not press.actor.id:
        await answer_press(press, notices.OUTSIDER, services)
        return
    pressed = press_of(press.action_id)
    act = ACTS.get(pressed) if pressed else None
    identifier = identifier_in(press.value)
    if act is None or identifier is None:
        await answer_press(press, notices.UNKNOWN_BUTTON, services)
        return
    if act not in OPENS_FIRST:
        await services.deps.roster.confirm(press.actor)
    await act(identifier, press, services)
