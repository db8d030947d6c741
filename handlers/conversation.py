"""Where one request is told: in a thread; else in direct messages; else through the response URL."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from bot.domain.errors import ChatError
from bot.ports import Chat, Clock, Message, Posted
from handlers.payloads import ButtonPress, SlashCall
from handlers.render import notices
from handlers.services import Services

logger = logging.getLogger(__name__)

T = TypeVar("T")

PASSING = frozenset({"ratelimited", "slack-unreachable"})
"""Reasons that go away by themselves."""

SETTLE_PAUSES = (0.0, 5.0, 15.0, 40.0, 60.0, 120.0)
"""Seconds before each try of a last edit. Each try already waits a little for Slack's rate limit."""

PATIENCE = 2.0
"""Seconds without a word after a press."""

URL_POSTS = 5
"""Posts that Slack takes through one response URL, within 30 minutes."""


class Conversation:
    """The thread of one request, and what to do when Slack refuses it. Nothing here raises ``ChatError``."""

    def __init__(
        self, chat: Chat, *, user: str, channel: str = "", thread_ts: str = "", response_url: str = ""
    ) -> None:
        self._chat = chat
        self._user = user
        self._response_url = response_url
        self._url_posts = URL_POSTS
        self.channel = channel
        """Empty when only the response URL is left."""
        self.thread_ts = thread_ts

    async def say(self, message: Message, *, essential: bool = True) -> Posted | None:
        """A reply in the thread. An essential one goes elsewhere when the thread does not take it."""
        if self.channel:
            try:
                return await self._chat.post(self.channel, message, thread_ts=self.thread_ts)
            except ChatError as error:
                logger.warning("no reply in %s: %s", self.channel, error.code)
        return await self.say_elsewhere(message) if essential else None

    async def edit(self, ts: str, message: Message) -> bool:
        """Replace a message of the thread; False when that was not possible."""
        return not await self._refused(ts, message)

    async def edit_first(self, message: Message) -> bool:
        """Replace the message that the thread hangs on."""
        return await self.edit(self.thread_ts, message)

    async def settle(self, edits: Mapping[str, Message], clock: Clock) -> None:
        """The last edits of messages that would go on saying that something runs: tried for minutes.

        ``edits`` maps time stamps to messages. What Slack refuses for good is given up at once.
        """
        left = dict(edits)
        for pause in SETTLE_PAUSES:
            if pause:
                await clock.sleep(pause)
            left = {ts: last for ts, last in left.items() if await self._refused(ts, last) in PASSING}
            if not left:
                return

    async def _refused(self, ts: str, message: Message) -> str:
        """Try an edit. An empty text, or why it was not made."""
        if not self.channel or not ts:
            return "nowhere"
        try:
            await self._chat.update(self.channel, ts, message)
        except ChatError as error:
            logger.warning("no edit in %s: %s", self.channel, error.code)
            return error.code
        return ""

    async def say_elsewhere(self, message: Message) -> Posted | None:
        """Say it to the person alone: in direct messages, or through the response URL."""
        # What belongs into a thread must last; an answer through the response URL may be gone at a reload.
        ways = (self._directly, self.say_by_url) if self.channel else (self.say_by_url, self._directly)
        for way in ways:
            told = await way(message)
            if told:
                return told if isinstance(told, Posted) else None
        logger.error("an answer for %s could not be given", self._user or "nobody")
        return None

    async def _directly(self, message: Message) -> Posted | None:
        if not self._user:
            return None
        try:
            return await self._chat.direct(self._user, message)
        except ChatError as error:
            logger.warning("no direct message to %s: %s", self._user, error.code)
            return None

    async def say_by_url(self, message: Message) -> bool:
        """An ephemeral answer through the response URL, while it lasts."""
        if not self._response_url or self._url_posts <= 0:
            return False
        self._url_posts -= 1
        try:
            await self._chat.respond(self._response_url, message)
        except ChatError as error:
            logger.warning("no answer through the response URL: %s", error.code)
            return False
        return True


async def open_thread(call: SlashCall, first: Message, services: Services) -> Conversation:
    """Post the first message of a thread where the command was typed, else where its person will find it."""
    chat, user = services.chat, call.actor.id
    here = Conversation(chat, user=user, response_url=call.response_url)
    try:
        posted = await chat.post(call.channel, first)
    except ChatError as error:
        reason = error.code
    else:
        here.channel, here.thread_ts = posted.channel, posted.ts
        return here
    logger.info("no thread in %s: %s", call.channel, reason)
    try:
        posted = await chat.direct(user, first)
    except ChatError as error:
        logger.warning("no direct message to %s: %s", user, error.code)
        await here.say_by_url(notices.both(notices.only_here(reason, services.bot_user_id), first))
        return here
    here.channel, here.thread_ts = posted.channel, posted.ts
    await here.say_by_url(notices.moved(reason, services.bot_user_id))
    return here


def thread_of(press: ButtonPress, services: Services) -> Conversation:
    """The thread that a pressed button stands in; below a message for one person there is none."""
    return Conversation(
        services.chat,
        user=press.actor.id,
        channel="" if press.passing else press.channel,
        thread_ts="" if press.passing else press.thread_ts,
        response_url=press.response_url,
    )


async def answer(call: SlashCall, message: Message, services: Services) -> None:
    """Answer a command to its person alone. A form that was sent in has no response URL."""
    if not call.response_url and await _whispered(call, message, services):
        return
    await Conversation(services.chat, user=call.actor.id, response_url=call.response_url).say(message)


async def _whispered(call: SlashCall, message: Message, services: Services) -> bool:
    if not call.channel.startswith(("C", "G")):
        return False
    try:
        await services.chat.whisper(call.channel, call.actor.id, message)
    except ChatError as error:
        logger.info("no word to %s alone in %s: %s", call.actor.id, call.channel, error.code)
        return False
    return True


async def patiently(work: Coroutine[Any, Any, T], slow: Callable[[], Awaitable[object]]) -> T:
    """What comes of ``work``; ``slow`` tells whoever waits for it longer than a moment."""
    job = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({job}, timeout=PATIENCE)
        if not done:
            await slow()
        return await job
    finally:
        job.cancel()


async def answer_press(press: ButtonPress, message: Message, services: Services) -> None:
    """Answer a press to its person alone; a press in a view has no response URL."""
    await Conversation(services.chat, user=press.actor.id, response_url=press.response_url).say(message)
