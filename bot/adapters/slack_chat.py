"""Slack, outgoing: the one gateway through which anything reaches a person. Never on the path of an ack.

Every text and block passes the redactor here; links never unfurl; a message that Slack refuses for its blocks
is sent again with simpler ones, and at last as text, so that nothing is lost.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack_calls import Body, SlackCalls
from bot.adapters.slack_pace import EDIT_BURST, EDIT_EVERY, WHISPER_BURST, WHISPER_EVERY, ChannelPaces, Pace
from bot.adapters.slack_text import as_text
from bot.domain.errors import ChatError
from bot.ports import Clock, Message, Posted, Redactor, Window

logger = logging.getLogger(__name__)
T = TypeVar("T")

PLAN_REFUSED_FOR = 600.0
"""Seconds until ``plan`` blocks are tried again in a workspace that refused them."""
GROUP_PAGES = 100

REFUSED_BLOCKS = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "invalid_attachments",
        "msg_blocks_too_long",
        "msg_too_long",
        "block_mismatch",
    }
)
"""Slack's words for a message whose blocks or length it does not take."""


class SlackChat:
    """The ``Chat`` port over Slack's Web API and response URLs."""

    def __init__(self, client: AsyncWebClient, redactor: Redactor, clock: Clock) -> None:
        self._calls = SlackCalls(client, clock)
        self._redactor = redactor
        self._clock = clock
        self._channels = ChannelPaces(clock)
        self._edits = Pace(clock, interval=EDIT_EVERY, burst=EDIT_BURST)
        self._whispers = Pace(clock, interval=WHISPER_EVERY, burst=WHISPER_BURST)
        self._plan_refused_until = float("-inf")

    async def close(self) -> None:
        """End the connections."""
        await self._calls.close()

    async def post(self, channel: str, message: Message, *, thread_ts: str = "") -> Posted:
        """Post once; ``post-unknown`` when it cannot be told whether Slack took it."""
        return await self._post(channel, message, thread_ts, ())

    async def direct(self, user: str, message: Message, *, reveal: Collection[str] = ()) -> Posted:
        """Post into the direct messages of a user and the bot."""
        return await self._post(user, message, "", reveal)

    async def update(self, channel: str, ts: str, message: Message) -> None:
        """Replace a message of ours."""

        async def send(body: Body) -> None:
            await self._edits.turn()
            await self._calls.web("chat.update", {"channel": channel, "ts": ts, **body}, repeatable=True)

        await self._best(message, send, ())

    async def whisper(self, channel: str, user: str, message: Message, *, thread_ts: str = "") -> None:
        """Post an ephemeral message."""
        base = {"channel": channel, "user": user} | ({"thread_ts": thread_ts} if thread_ts else {})

        async def send(body: Body) -> None:
            await self._whispers.turn()
            await self._calls.web("chat.postEphemeral", {**base, **body})

        await self._best(message, send, ())

    async def respond(self, response_url: str, message: Message) -> None:
        """Answer through a response URL, ephemerally, replacing nothing."""

        async def send(body: Body) -> None:
            answer = {"response_type": "ephemeral", "replace_original": False, **body}
            await self._calls.response_url(response_url, answer)

        await self._best(message, send, ())

    async def open_view(self, trigger_id: str, view: Mapping[str, Any]) -> Window:
        """Open a modal; never waits for a rate limit, because the trigger would be gone."""
        body = {"trigger_id": trigger_id, "view": self._clean(view, ())}
        opened = await self._calls.web("views.open", body, patient=False)
        return _window(opened)

    async def update_view(
        self, window: Window, view: Mapping[str, Any], *, reveal: Collection[str] = ()
    ) -> Window:
        """Replace a modal that has not changed: a repetition after one that came through changes nothing."""
        body = {"view_id": window.view_id, "view": self._clean(view, reveal)}
        if window.state:
            body["hash"] = window.state
        return _window(await self._calls.web("views.update", body, repeatable=True))

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> None:
        """Replace one person's App Home."""
        body = {"user_id": user, "view": self._clean(view, ())}
        await self._calls.web("views.publish", body, repeatable=True)

    async def group_members(self, group_id: str) -> frozenset[str]:
        """All pages of a usergroup's members."""
        members: set[str] = set()
        cursor = ""
        for _ in range(GROUP_PAGES):
            query = {"usergroup": group_id} | ({"cursor": cursor} if cursor else {})
            page = await self._calls.web("usergroups.users.list", query, repeatable=True, verb="GET")
            members.update(str(user) for user in page.get("users") or ())
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return frozenset(members)
        raise ChatError("group-too-large", f"Usergroup {group_id} has more than {GROUP_PAGES} pages.")

    async def _post(self, channel: str, message: Message, thread_ts: str, reveal: Collection[str]) -> Posted:
        base: Body = {"channel": channel, "unfurl_links": False, "unfurl_media": False}
        if thread_ts:
            base["thread_ts"] = thread_ts

        async def send(body: Body) -> Posted:
            await self._channels.turn(channel)
            posted = await self._calls.web("chat.postMessage", {**base, **body})
            return Posted(str(posted["channel"]), str(posted["ts"]))

        return await self._best(message, send, reveal)

    async def _best(
        self, message: Message, send: Callable[[Body], Awaitable[T]], reveal: Collection[str]
    ) -> T:
        """Send the richest form that Slack takes. A refused form was not posted at all."""
        forms = self._forms(message)
        for number, form in enumerate(forms, start=1):
            try:
                return await send(self._clean(form, reveal))
            except ChatError as error:
                if error.code not in REFUSED_BLOCKS or number == len(forms):
                    raise
                logger.warning(
                    "Slack refused form %d of a message: %s", number, self._redactor.text(str(error))
                )
                if _has_plan(form):
                    self._plan_refused_until = self._clock.monotonic() + PLAN_REFUSED_FOR
        raise AssertionError("a message has at least one form")

    def _forms(self, message: Message) -> list[Body]:
        rich = [_plain(block) for block in message.blocks]
        classic = None if message.classic is None else [_plain(block) for block in message.classic]
        forms: list[Body] = []
        if rich and not (
            classic and _has_plan({"blocks": rich}) and self._clock.monotonic() < self._plan_refused_until
        ):
            forms.append({"text": message.text, "blocks": rich})
        if classic:
            forms.append({"text": message.text, "blocks": classic})
        forms.append({"text": as_text(message.text, classic or rich)})
        return forms

    def _clean(self, value: Mapping[str, Any], reveal: Collection[str]) -> Body:
        return self._redactor.payload(_plain(value), reveal=reveal)


def _window(answer: Mapping[str, Any]) -> Window:
    view = answer["view"]
    return Window(str(view["id"]), str(view.get("hash") or ""))


def _has_plan(form: Mapping[str, Any]) -> bool:
    return any(block.get("type") == "plan" for block in form.get("blocks", ()))


def _plain(value: Any) -> Any:
    """Dicts and lists all the way down, as JSON and the redactor want them."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
