"""Slack in memory, as far as the ``Chat`` port goes: who may be posted to, threads, length, modals, URLs.

It refuses what Slack refuses, with Slack's words. Beyond that it can be told to fail like the other doubles.
"""

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from contract.double_faults import Failing
from contract.double_system import ManualClock

from bot.domain.block_text import as_text
from bot.domain.errors import ChatError
from bot.domain.message_limits import MESSAGE_BLOCKS, MORE, TEXT, cut, fit, fits, small_print
from bot.ports import Message, Posted, Redactor, Window

TRIGGER_SECONDS = 3.0
URL_SECONDS = 1800.0
URL_POSTS = 5
MEMBER_OF = frozenset({"C_OPS", "C_ALERTS", "C_AUDIT"})
PUBLIC = MEMBER_OF | {"C_PUBLIC"}
"""With ``chat:write.public`` a message may be posted without being a member; an ephemeral one may not."""
ERRORS = {"G_PRIVATE": "channel_not_found", "D_PAIR": "channel_not_found", "C_ARCHIVED": "is_archived"}


@dataclass
class Kept:
    """A message as it stands now."""

    channel: str
    ts: str
    thread_ts: str
    text: str
    blocks: list[dict[str, Any]]
    ephemeral_for: str = ""
    edits: int = 0

    @property
    def buttons(self) -> dict[str, dict[str, Any]]:
        """The buttons by action id."""
        rows = [b for b in self.blocks if b["type"] == "actions"]
        return {e["action_id"]: e for row in rows for e in row["elements"]}


@dataclass(frozen=True)
class KeptFile:
    """The whole of a message that was cut, or what a message brought along."""

    channel: str
    thread_ts: str
    text: str
    name: str = "whole-message.txt"
    title: str = "The whole message"


@dataclass
class _Ticket:
    made: float
    uses: int = 0
    channel: str = ""
    user: str = ""


@dataclass
class MemoryChat(Failing):
    """The ``Chat`` port. ``redactor`` is passed as by the real adapter."""

    redactor: Redactor
    clock: ManualClock = field(default_factory=ManualClock)
    messages: list[Kept] = field(default_factory=list)
    files: list[KeptFile] = field(default_factory=list)
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    view_of: dict[str, str] = field(default_factory=dict)
    """The latest view id by user."""
    hashes: dict[str, str] = field(default_factory=dict)
    """What stands in each view now, by view id."""
    homes: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, frozenset[str]] = field(
        default_factory=lambda: {"S_APPROVERS": frozenset({"U_APPROVER"})}
    )
    plan_refused: bool = False
    no_direct: bool = False
    """Direct messages are refused too, as when the Messages tab is off."""

    def __post_init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)
        self._triggers: dict[str, _Ticket] = {}
        self._urls: dict[str, _Ticket] = {}

    async def post(self, channel: str, message: Message, *, thread_ts: str = "") -> Posted:
        async with self._call("post", channel, message, thread_ts):
            kept = self._keep(self._place(channel), message, thread_ts)
        return Posted(kept.channel, kept.ts)

    async def close(self) -> None:
        """Nothing is open."""

    async def direct(self, user: str, message: Message, *, reveal: Collection[str] = ()) -> Posted:
        async with self._call("direct", user, message):
            if self.no_direct:
                raise ChatError("messages_tab_disabled")
            kept = self._keep(self._place(user), message, "", reveal)
        return Posted(kept.channel, kept.ts)

    async def update(self, channel: str, ts: str, message: Message) -> None:
        async with self._call("update", channel, ts, message):
            kept = next((m for m in self.messages if (m.channel, m.ts) == (channel, ts)), None)
            if kept is None or kept.ephemeral_for:
                raise ChatError("message_not_found")
            kept.text, kept.blocks = self._shown(message, (), channel, kept.thread_ts or ts)
            kept.edits += 1

    async def whisper(self, channel: str, user: str, message: Message, *, thread_ts: str = "") -> None:
        async with self._call("whisper", channel, user, message):
            place = self._place(channel)
            if place not in MEMBER_OF and not place.startswith("D_"):
                raise ChatError("not_in_channel")
            self._keep(place, message, thread_ts, user=user)

    async def respond(self, response_url: str, message: Message) -> None:
        async with self._call("respond", response_url, message):
            url = self._urls.get(response_url)
            if url is None or self.clock.monotonic() - url.made > URL_SECONDS:
                raise ChatError("expired_url")
            if url.uses >= URL_POSTS:
                raise ChatError("used_url")
            url.uses += 1
            self._keep(url.channel, message, "", user=url.user)

    async def open_view(self, trigger_id: str, view: Mapping[str, Any]) -> Window:
        async with self._call("open_view", trigger_id, view):
            trigger = self._triggers.get(trigger_id)
            if trigger is None:
                raise ChatError("invalid_trigger_id")
            if trigger.uses:
                raise ChatError("exchanged_trigger_id")
            if self.clock.monotonic() - trigger.made > TRIGGER_SECONDS:
                raise ChatError("expired_trigger_id")
            trigger.uses = 1
            view_id = f"V{next(self._numbers)}"
            self.view_of[trigger.user] = view_id
            return self._fill(view_id, view, ())

    async def update_view(
        self, window: Window, view: Mapping[str, Any], *, reveal: Collection[str] = ()
    ) -> Window:
        async with self._call("update_view", window.view_id, view):
            if window.view_id not in self.views:
                raise ChatError("not_found")
            if window.state and window.state != self.hashes[window.view_id]:
                raise ChatError("hash_conflict")
            return self._fill(window.view_id, view, reveal)

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> None:
        async with self._call("publish_home", user, view):
            self.homes[user] = self.redactor.payload(dict(view))

    async def group_members(self, group_id: str) -> frozenset[str]:
        async with self._call("group_members", group_id):
            if group_id not in self.groups:
                raise ChatError("no_such_subteam")
            return self.groups[group_id]

    def trigger(self, user: str) -> str:
        """A fresh trigger id."""
        name = f"{next(self._numbers)}.1.ab"
        self._triggers[name] = _Ticket(self.clock.monotonic(), user=user)
        return name

    def response_url(self, channel: str, user: str) -> str:
        """A fresh response URL."""
        name = f"http://127.0.0.1:9/commands/{next(self._numbers)}"
        self._urls[name] = _Ticket(self.clock.monotonic(), channel=channel, user=user)
        return name

    def in_thread(self, channel: str, ts: str) -> list[Kept]:
        """The replies to a message."""
        return [m for m in self.messages if m.channel == channel and m.thread_ts == ts]

    def seen_by(self, user: str) -> list[Kept]:
        """The ephemeral messages of a person."""
        return [m for m in self.messages if m.ephemeral_for == user]

    def _fill(self, view_id: str, view: Mapping[str, Any], reveal: Collection[str]) -> Window:
        self.views[view_id] = self.redactor.payload(dict(view), reveal=reveal)
        self.hashes[view_id] = f"1.{next(self._numbers):08x}"
        return Window(view_id, self.hashes[view_id])

    def _place(self, channel: str) -> str:
        if channel.startswith("U"):
            return f"D_{channel}"
        if channel in ERRORS:
            raise ChatError(ERRORS[channel])
        if channel in PUBLIC or channel.startswith("D_"):
            return channel
        raise ChatError("channel_not_found")

    def _keep(
        self, channel: str, message: Message, thread_ts: str, reveal: Collection[str] = (), *, user: str = ""
    ) -> Kept:
        if thread_ts and not any((m.channel, m.ts) == (channel, thread_ts) for m in self.messages):
            raise ChatError("thread_not_found")
        ts = f"{next(self._numbers)}.000001"
        text, blocks = self._shown(message, reveal, channel, "" if user else thread_ts or ts)
        kept = Kept(channel, ts, thread_ts, text, blocks, user)
        self.messages.append(kept)
        return kept

    def _shown(
        self, message: Message, reveal: Collection[str], channel: str, thread_ts: str
    ) -> tuple[str, list[dict[str, Any]]]:
        """What is seen of it; what does not fit goes into a file, where there is a thread that takes one."""
        blocks = message.blocks
        if self.plan_refused and any(b["type"] == "plan" for b in blocks):
            blocks = message.classic or ()
        said = {"text": message.text, "blocks": [dict(b) for b in blocks]}
        clean = self.redactor.payload(said, reveal=reveal)
        brought = message.attachment
        if not brought and not message.whole and fits(clean["text"], clean["blocks"]):
            return clean["text"], clean["blocks"]
        if brought:
            text = self.redactor.text(brought.text)
            line = self._filed(KeptFile(channel, thread_ts, text, brought.name, brought.title), brought.title)
        else:
            whole = self.redactor.text(message.whole or as_text(clean["text"], clean["blocks"]))
            line = self._filed(KeptFile(channel, thread_ts, whole), "Cut")
        note = small_print(line)
        most = MESSAGE_BLOCKS - (len(clean["blocks"]) <= MESSAGE_BLOCKS)
        kept = [dict(b) for b in fit(clean["blocks"], most)]
        if kept and kept[-1].get("block_id") == MORE:
            kept[-1]["elements"] = [*kept[-1]["elements"], *note["elements"]]
        else:
            kept.append(note)
        return cut(clean["text"], TEXT), kept

    def _filed(self, file: KeptFile, about: str) -> str:
        if not file.thread_ts:
            return f"{about}: no file can stand here; Slack takes no longer messages."
        if file.channel in PUBLIC - MEMBER_OF:
            return f"{about}: the file could not be attached (not_in_channel)."
        if file not in self.files:
            self.files.append(file)
        return f"{about}: a file in this thread."
