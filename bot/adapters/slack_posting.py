"""Posting at most once although Slack has no idempotency key.

Every post carries an id of its own in its metadata. When the answer to a post is lost, its channel or thread
is read: a post that is found there was made, one that is surely not there is made again, and where it cannot
be told the sender is told so.
"""

import logging
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from bot.adapters.slack_calls import Body, SlackCalls
from bot.adapters.slack_pace import Turns
from bot.domain.errors import ChatError
from bot.ports import Clock

logger = logging.getLogger(__name__)

EVENT_TYPE = "hermes_message"
POSTS = 3
"""How often one message is sent in all, each time only after it was seen not to be there."""
LOOKS = (0.5, 1.5, 3.0)
"""Seconds before each look: what Slack has taken a moment ago it does not always show yet."""
LOOK_BACK = timedelta(minutes=5)
"""How far our clock may be ahead of Slack's."""
PAGE = 200
PAGES = 10
PASSING = frozenset({"slack-unreachable", "ratelimited"})
"""A look that failed so says nothing; the next one may."""


class _Fate(Enum):
    ABSENT = auto()
    UNKNOWN = auto()


class Posting:
    """``chat.postMessage``, once."""

    def __init__(self, calls: SlackCalls, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock

    async def post(self, body: Body, turns: Turns, *, stands_in: str) -> Mapping[str, Any]:
        """Post a message and give Slack's answer, or as much of it as can be read back: channel and ts.

        Args:
            body: the arguments, with the metadata of ``marked``.
            turns: the paces of the channel.
            stands_in: the conversation's own id; empty while it is not known, as for a first direct message.

        Raises:
            ChatError: ``post-unknown`` when it cannot be told whether Slack took it.
        """
        since = self._clock.now() - LOOK_BACK
        for _ in range(POSTS):
            try:
                return await self._calls.web("chat.postMessage", body, turns=turns)
            except ChatError as error:
                if error.code != "post-unknown":
                    raise
                lost = error
            fate = await self._fate(body, stands_in, since) if stands_in else _Fate.UNKNOWN
            if isinstance(fate, str):
                logger.info("a post in %s whose answer was lost was found", stands_in)
                return {"ok": True, "channel": stands_in, "ts": fate}
            if fate is _Fate.UNKNOWN:
                raise lost
            logger.info("a post in %s whose answer was lost is not there; it is made again", stands_in)
        raise ChatError("slack-unreachable", f"chat.postMessage: lost {POSTS} times; nothing was posted")

    async def _fate(self, body: Body, channel: str, since: datetime) -> str | _Fate:
        """The ts of the post; or that it is surely not there; or that nobody can tell."""
        told = False
        for pause in LOOKS:
            await self._clock.sleep(pause)
            try:
                found = await self._look(body, channel, since)
            except ChatError as error:
                logger.warning("a post in %s cannot be looked for: %s", channel, error.code)
                told = False
                if error.code not in PASSING:
                    break
                continue
            if found:
                return found
            told = True
        return _Fate.ABSENT if told else _Fate.UNKNOWN

    async def _look(self, body: Body, channel: str, since: datetime) -> str:
        thread_ts = str(body.get("thread_ts") or "")
        query: dict[str, Any] = {
            "channel": channel,
            "oldest": f"{since.timestamp():.6f}",
            "inclusive": "true",
            "include_all_metadata": "true",
            "limit": PAGE,
        } | ({"ts": thread_ts} if thread_ts else {})
        method = "conversations.replies" if thread_ts else "conversations.history"
        for _ in range(PAGES):
            page = await self._calls.web(method, query, repeatable=True, how="query")
            for message in page.get("messages") or ():
                if _mark_of(message) == _mark_of(body):
                    return str(message["ts"])
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return ""
            query["cursor"] = cursor
        raise ChatError("too-many-messages", f"{method}: more than {PAGES} pages")


def fresh_mark() -> dict[str, Any]:
    """Metadata that tells one post from all others."""
    return {"event_type": EVENT_TYPE, "event_payload": {"id": f"m-{secrets.token_hex(12)}"}}


def _mark_of(message: Mapping[str, Any]) -> str | None:
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != EVENT_TYPE:
        return None
    payload = metadata.get("event_payload")
    return str(payload.get("id")) if isinstance(payload, Mapping) else None
