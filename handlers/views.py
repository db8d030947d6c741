"""Submitted forms and shortcuts that we do not know (any more): answered, never dropped."""

from bot.domain.outcome import NotDone
from bot.ports import Message
from handlers.conversation import Conversation
from handlers.jobs import BROKEN
from handlers.payloads import Body, presser
from handlers.render import notices
from handlers.render.failure import failure_message
from handlers.services import Services


def take_submission(body: Body, services: Services) -> None:
    """A form of an older or newer version of us."""
    view = body.get("view")
    view_id = view.get("id") if isinstance(view, dict) else None
    _answer_directly(body, f"view:{view_id}" if view_id else "", notices.UNKNOWN_FORM, services)


def take_unreadable(body: Body, services: Services) -> None:
    """A form of ours over which we broke."""
    trigger_id = body.get("trigger_id")
    _answer_directly(body, f"form:{trigger_id}" if trigger_id else "", failure_message(BROKEN), services)


def take_shortcut(body: Body, services: Services) -> None:
    """A shortcut; the manifest has none."""
    trigger_id = body.get("trigger_id")
    _answer_directly(body, f"shortcut:{trigger_id}" if trigger_id else "", notices.UNKNOWN_SHORTCUT, services)


def _answer_directly(body: Body, key: str, message: Message, services: Services) -> None:
    actor = presser(body, services.team_id)
    url = body.get("response_url")
    talk = Conversation(services.chat, user=actor.id, response_url=url if isinstance(url, str) else "")

    async def run() -> None:
        await talk.say(notices.OUTSIDER if actor.outside_team else message)

    async def tell(why: NotDone) -> None:
        await talk.say(failure_message(why))

    services.take(key, f"form or shortcut of {actor.id}", run, tell)
