"""Events: the App Home is drawn when it is opened, and a mention is answered in its thread."""

import logging

from bot.domain.outcome import NotDone
from handlers.conversation import Conversation
from handlers.drawing import open_home
from handlers.payloads import Body, Happening, happening
from handlers.render import notices
from handlers.render.failure import failure_message
from handlers.render.help import help_line
from handlers.services import Services

logger = logging.getLogger(__name__)


def take_event(body: Body, services: Services) -> None:
    """After the ack, which Bolt sends by itself: hand the event over."""
    event = happening(body, services.team_id)
    event_id = body.get("event_id")

    async def run() -> None:
        await answer_event(event, services)

    async def tell(why: NotDone) -> None:
        if event.kind == "app_mention":
            await _thread(event, services).say(failure_message(why))

    services.take(f"event:{event_id}" if event_id else "", f"event {event.kind}", run, tell)


async def answer_event(event: Happening, services: Services) -> None:
    """An event that nobody waits for is only noted."""
    if event.kind == "app_home_opened" and event.tab == "home":
        await open_home(event.actor, services)
    elif event.kind == "app_mention":
        await _thread(event, services).say(notices.OUTSIDER if event.actor.outside_team else help_line())
    else:
        logger.info("event without an answer: %s", event.kind)


def _thread(event: Happening, services: Services) -> Conversation:
    return Conversation(services.chat, user=event.actor.id, channel=event.channel, thread_ts=event.thread_ts)
