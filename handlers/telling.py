"""One job, one message: it says that something goes on, and is replaced by how that ended."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from bot.domain.outcome import Done, NotDone, Outcome, Refused
from bot.ports import Chat, Message, Posted
from handlers.conversation import Conversation, answer_press, open_thread, patiently, thread_of
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.render.failure import cleaned, failure_message
from handlers.services import Services

T = TypeVar("T")


class Telling:
    """Where a job is told. ``begun`` is the message that can be replaced, where there is one."""

    def __init__(self, talk: Conversation, chat: Chat, user: str, begun: Posted | None = None) -> None:
        self.talk = talk
        self._chat = chat
        self._user = user
        self._begun = begun

    @property
    def has_begun(self) -> bool:
        """Whether a message says that something goes on."""
        return self._begun is not None

    async def begin(self, message: Message) -> None:
        """Say that something goes on."""
        self._begun = await self.talk.say(message)

    async def end(self, message: Message) -> None:
        """Say how it ended: in place of what was said before, else as a message of its own."""
        if not await self.change(message):
            await self.talk.say(message)

    async def change(self, message: Message) -> bool:
        """Replace what was said before; False where there is nothing to replace, or Slack did not take it."""
        if self._begun is None:
            return False
        place = Conversation(self._chat, user=self._user, channel=self._begun.channel)
        return await place.edit(self._begun.ts, message)


async def telling_of_call(call: SlashCall, first: Message, services: Services) -> Telling:
    """A typed command: its first message in the channel is the one that is replaced."""
    talk = await open_thread(call, first, services)
    begun = Posted(talk.channel, talk.thread_ts) if talk.channel else None
    return Telling(talk, services.chat, call.actor.id, begun)


def telling_of_press(press: ButtonPress, services: Services) -> Telling:
    """A button: its thread is told, once there is something to tell."""
    return Telling(thread_of(press, services), services.chat, press.actor.id)


async def tell_call(
    outcome: Outcome[T],
    telling: Telling,
    render: Callable[[T], Message],
    services: Services,
    request_id: str,
    asked: Message | None = None,
) -> None:
    """How it ended. Before a failure stands who had ``asked`` for what."""
    if isinstance(outcome, Done):
        await telling.end(render(outcome.value))
        return
    why = failure(outcome, services, request_id)
    await telling.end(notices.both(asked, why) if asked else why)


async def tell_press(
    work: Coroutine[Any, Any, Outcome[T]],
    press: ButtonPress,
    telling: Telling,
    working: Message,
    render: Callable[[T], Message],
    services: Services,
    request_id: str,
) -> None:
    """Do what was pressed. Whoever is turned away is told alone; everything else is for the thread."""
    outcome = await patiently(work, lambda: telling.begin(working))
    if isinstance(outcome, Refused) and not telling.has_begun:
        await answer_press(press, failure(outcome, services, request_id), services)
        return
    await tell_call(outcome, telling, render, services, request_id)


def failure(outcome: NotDone, services: Services, request_id: str) -> Message:
    """Its three sentences. A refusal has no rows in the log that a request id would lead to."""
    shown = "" if isinstance(outcome, Refused) else request_id
    return failure_message(cleaned(outcome, services.deps.redactor), request_id=shown)
