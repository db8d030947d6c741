"""Connects Slack to the listeners. Each acks first and then hands over; none waits, decides or raises.

There is no middleware of ours: Bolt runs it before the ack. Every kind of envelope has a catch-all, because
one that nothing matches is not acked at all in Socket Mode, and its person sees a time-out.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from handlers.actions import take_press
from handlers.buttons import Press
from handlers.commands import take_command, take_unknown_command
from handlers.drawing import keep_homes
from handlers.events import take_event
from handlers.form_fields import CALLBACK
from handlers.form_submit import ACCEPTED, Judged, judge_form, take_form
from handlers.payloads import Body
from handlers.services import Services
from handlers.verbs import SLASH
from handlers.views import take_shortcut, take_submission, take_unreadable

logger = logging.getLogger(__name__)

ANYTHING = re.compile(r"")
EVENTS = ("app_home_opened", "app_mention")
"""The events that we subscribe to."""

Take = Callable[[Body, Services], None]
Listener = Callable[..., Awaitable[None]]


def register(app: AsyncApp, services: Services) -> None:
    """Register every listener. The order matters: the first match wins, so the catch-alls come last."""
    keep_homes(services)
    app.command(SLASH)(_acked(take_command, services))
    app.command(ANYTHING)(_acked(take_unknown_command, services))
    app.action(Press.LINK.value)(_acked(_nothing_more, services))
    app.action(ANYTHING)(_acked(take_press, services))
    app.view_submission(CALLBACK)(_judged(services))
    app.view_submission(ANYTHING)(_acked(take_submission, services))
    app.view_closed(ANYTHING)(_acked(_nothing_more, services))
    app.shortcut(ANYTHING)(_acked(take_shortcut, services))
    app.options(ANYTHING)(_no_options)
    for event in EVENTS:
        app.event(event)(_acked(take_event, services))
    app.event(ANYTHING)(_acked(take_event, services))
    app.error(_error)


def _acked(take: Take, services: Services) -> Listener:
    """A listener that acks, and only then hands the payload over."""

    async def listener(ack: Callable[..., Awaitable[Any]], body: dict[str, Any]) -> None:
        await ack()
        try:
            take(body, services)
        except Exception:
            # Bolt would take the ack back if this left the listener.
            logger.exception("an envelope could not be handed over")

    return listener


def _judged(services: Services) -> Listener:
    """The create form: its ack carries the errors of its fields, so it is read first, and nothing else."""

    async def listener(ack: Callable[..., Awaitable[Any]], body: dict[str, Any]) -> None:
        judged: Judged | None = None
        try:
            judged = judge_form(body, services)
        except Exception:
            logger.exception("a form could not be read")
        await ack(**(judged.ack if judged else ACCEPTED))
        try:
            if judged:
                take_form(judged, services)
            else:
                take_unreadable(body, services)
        except Exception:
            logger.exception("a form could not be handed over")

    return listener


def _nothing_more(_body: Body, _services: Services) -> None:
    """The ack was all."""


async def _no_options(ack: Callable[..., Awaitable[Any]]) -> None:
    await ack(options=[])


async def _error(error: Exception, response: BoltResponse | None) -> BoltResponse | None:
    """What broke inside Bolt itself. After an ack there is no response, and giving one would break Bolt."""
    logger.error("Bolt could not dispatch an envelope", exc_info=error)
    if response is None:
        return None
    return BoltResponse(
        status=200, body="Something inside me broke before I could start; nothing was done. Please try again."
    )
