"""Slack, outgoing: the one gateway through which anything reaches a person. Never on the path of an ack.

What it sees to: a second between two messages of a channel (``slack_lanes``), nothing twice
(``slack_posting``), nothing lost because Slack refuses its blocks (``slack_forms``) or takes but a part of it
(``slack_files``), no link that unfurls, and no secret: the redactor comes last, when all else is composed.
"""

import hashlib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack_calls import Body, SlackCalls
from bot.adapters.slack_files import Enclosure, Files, Stored, brought_along, whole_text
from bot.adapters.slack_forms import REFUSED, forms_of, has_plan, is_short, plain, shortened
from bot.adapters.slack_lanes import Lanes
from bot.adapters.slack_pace import (
    EDIT_BURST,
    EDIT_EVERY,
    POST_BURST,
    POST_EVERY,
    WHISPER_BURST,
    WHISPER_EVERY,
    Pace,
    Turns,
)
from bot.adapters.slack_posting import Posting, fresh_mark
from bot.domain.block_text import as_text
from bot.domain.errors import ChatError
from bot.ports import Clock, Message, Posted, Redactor, Window

logger = logging.getLogger(__name__)
T = TypeVar("T")

PLAN_REFUSED_FOR = 600.0
"""Seconds until ``plan`` blocks are tried again in a workspace that refused them."""
GROUP_PAGES = 100
FILES_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class _Draft:
    """One form of a message, redacted. ``file`` is what it brings along, or all that a cut one says."""

    form: Body
    file: Enclosure | None

    @property
    def no_place(self) -> str:
        """What it says where no file can stand."""
        return self.file.no_place if self.file else ""


class SlackChat:
    """The ``Chat`` port over Slack's Web API and response URLs."""

    def __init__(self, client: AsyncWebClient, redactor: Redactor, clock: Clock) -> None:
        self._calls = SlackCalls(client, clock)
        self._redactor = redactor
        self._clock = clock
        self._posting = Posting(self._calls, clock)
        self._files = Files(self._calls)
        self._lanes = Lanes(
            clock,
            posts=Pace(clock, interval=POST_EVERY, burst=POST_BURST),
            edits=Pace(clock, interval=EDIT_EVERY, burst=EDIT_BURST),
        )
        self._whispers = Turns(clock, (Pace(clock, interval=WHISPER_EVERY, burst=WHISPER_BURST),))
        self._direct: dict[str, str] = {}
        """The conversation with each person, once known."""
        self._attached: dict[tuple[str, str], str] = {}
        """The digest of the text that stands in a file beside a message, by channel and ts."""
        self._plan_refused_until = float("-inf")

    async def close(self) -> None:
        """End the connections."""
        await self._lanes.close()
        await self._calls.close()

    async def post(self, channel: str, message: Message, *, thread_ts: str = "") -> Posted:
        """Post once; ``post-unknown`` when it cannot be told whether Slack took it."""
        return await self._post(channel, message, thread_ts, ())

    async def direct(self, user: str, message: Message, *, reveal: Collection[str] = ()) -> Posted:
        """Post into the direct messages of a user and the bot."""
        return await self._post(user, message, "", reveal)

    async def update(self, channel: str, ts: str, message: Message) -> None:
        """Replace a message of ours, or let a newer replacement do so that comes while this one waits."""

        async def send(turns: Turns) -> None:
            stored: list[Stored] = []

            async def edit(draft: _Draft) -> None:
                line = ""
                file = draft.file
                known = file is not None and self._attached.get((channel, ts)) == _digest(file.text)
                if file:
                    line = file.attached if known else (await self._stored(file, stored)).line
                answer = await self._edit(channel, ts, draft, line, (), turns)
                if file and not known:
                    thread_ts = str((answer.get("message") or {}).get("thread_ts") or ts)
                    await self._share(stored[0], Posted(channel, ts), thread_ts, draft, (), turns)

            await self._best(message, edit, ())

        await self._lanes.of(channel).edit(ts, send)

    async def whisper(self, channel: str, user: str, message: Message, *, thread_ts: str = "") -> None:
        """Post an ephemeral message."""
        base = {"channel": channel, "user": user} | ({"thread_ts": thread_ts} if thread_ts else {})

        async def send(draft: _Draft) -> None:
            body = base | self._body(draft, draft.no_place, ())
            await self._calls.web("chat.postEphemeral", body, turns=self._whispers)

        await self._best(message, send, ())

    async def respond(self, response_url: str, message: Message) -> None:
        """Answer through a response URL, ephemerally, replacing nothing."""

        async def send(draft: _Draft) -> None:
            body = self._body(draft, draft.no_place, ())
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
            page = await self._calls.web("usergroups.users.list", query, repeatable=True, how="query")
            members.update(str(user) for user in page.get("users") or ())
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return frozenset(members)
        raise ChatError("group-too-large", f"Usergroup {group_id} has more than {GROUP_PAGES} pages.")

    async def _post(self, place: str, message: Message, thread_ts: str, reveal: Collection[str]) -> Posted:
        place = self._direct.get(place, place)
        person = place.startswith(("U", "W"))
        base: Body = {"channel": place, "unfurl_links": False, "unfurl_media": False}
        if thread_ts:
            base["thread_ts"] = thread_ts
        mark = fresh_mark()

        async def send(turns: Turns) -> Posted:
            stored: list[Stored] = []

            async def post(draft: _Draft) -> Posted:
                line = (await self._stored(draft.file, stored)).line if draft.file else ""
                body = base | self._body(draft, line, reveal, metadata=mark)
                known = self._direct.get(place, "") if person else place
                answer = await self._posting.post(body, turns, stands_in=known)
                posted = Posted(str(answer["channel"]), str(answer["ts"]))
                if person:
                    self._direct[place] = posted.channel
                    self._lanes.same(place, posted.channel)
                if draft.file:
                    await self._share(stored[0], posted, thread_ts or posted.ts, draft, reveal, turns)
                return posted

            return await self._best(message, post, reveal)

        return await self._lanes.of(place).post(send)

    async def _edit(
        self, channel: str, ts: str, draft: _Draft, line: str, reveal: Collection[str], turns: Turns
    ) -> Mapping[str, Any]:
        body = {"channel": channel, "ts": ts, **self._body(draft, line, reveal)}
        return await self._calls.web("chat.update", body, repeatable=True, turns=turns)

    async def _stored(self, file: Enclosure, stored: list[Stored]) -> Stored:
        """The upload of one message's file, made once whatever forms the message takes."""
        if not stored:
            stored.append(await self._files.store(file))
        return stored[0]

    async def _share(
        self,
        stored: Stored,
        posted: Posted,
        thread_ts: str,
        draft: _Draft,
        reveal: Collection[str],
        turns: Turns,
    ) -> None:
        """Show the file in the thread; where Slack does not, the message must not say that it is there."""
        if not stored.file_id:
            return
        problem = await self._files.share(stored, posted.channel, thread_ts, turns)
        if not problem:
            if len(self._attached) >= FILES_REMEMBERED:
                self._attached.pop(next(iter(self._attached)))
            self._attached[posted.channel, posted.ts] = _digest(stored.file.text)
            return
        try:
            await self._edit(posted.channel, posted.ts, draft, problem, reveal, turns)
        except ChatError as error:
            logger.warning("a message in %s still promises its file: %s", posted.channel, error.code)

    async def _best(
        self, message: Message, send: Callable[[_Draft], Awaitable[T]], reveal: Collection[str]
    ) -> T:
        """Send the richest form that Slack takes. A refused form was not posted at all."""
        plans = self._clock.monotonic() >= self._plan_refused_until
        forms = list(forms_of(message, plans=plans))
        for number, form in enumerate(forms, start=1):
            try:
                return await send(self._draft(form, message, reveal))
            except ChatError as error:
                if error.code not in REFUSED or number == len(forms):
                    raise
                logger.warning(
                    "Slack refused form %d of a message: %s", number, self._redactor.text(str(error))
                )
                if has_plan(form.get("blocks", ())):
                    self._plan_refused_until = self._clock.monotonic() + PLAN_REFUSED_FOR
        raise AssertionError("a message has at least one form")

    def _draft(self, form: Body, message: Message, reveal: Collection[str]) -> _Draft:
        # Redacted before it is cut, because half a secret is a secret that no redactor knows.
        clean = self._clean(form, reveal)
        if message.attachment:
            text = self._redactor.text(message.attachment.text)
            return _Draft(clean, brought_along(message.attachment, text))
        whole = message.whole
        if not whole and not is_short(clean):
            whole = as_text(clean["text"], clean.get("blocks", ()))
        return _Draft(clean, whole_text(self._redactor.text(whole)) if whole else None)

    def _body(self, draft: _Draft, line: str, reveal: Collection[str], **more: Any) -> Body:
        return self._clean({**shortened(draft.form, line), **more}, reveal)

    def _clean(self, value: Mapping[str, Any], reveal: Collection[str]) -> Body:
        return self._redactor.payload(plain(value), reveal=reveal)


def _window(answer: Mapping[str, Any]) -> Window:
    view = answer["view"]
    return Window(str(view["id"]), str(view.get("hash") or ""))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
