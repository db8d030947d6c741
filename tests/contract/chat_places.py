"""Two Slacks to hold against each other: the one in memory, and the adapter against the stand-in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from contract.doubles_chat import MemoryChat
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.redaction import Redactor
from bot.adapters.slack_chat import SlackChat
from bot.adapters.system import SystemClock
from bot.ports import Chat, Clock, Message
from bot.standin.clock import StandInClock
from bot.standin.faults import Faults
from bot.standin.slack.cast import SCOPES
from bot.standin.slack.limits import Limits
from bot.standin.slack.service import SlackStandIn

KNOWN = "EXAMPLE-known-secret"


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def said(text: str) -> Message:
    return Message(text, (section(text),))


PLAN = {
    "type": "plan",
    "title": "Ten steps",
    "tasks": [{"type": "task_card", "task_id": "step-1", "title": "First", "status": "complete"}],
}
VIEW = {
    "type": "modal",
    "title": {"type": "plain_text", "text": "A title"},
    "close": {"type": "plain_text", "text": "Close"},
    "blocks": [section("one")],
}


class Workplace(Protocol):
    """A Slack to look at from outside, whichever it is."""

    chat: Chat
    redactor: Redactor

    def messages(self, channel: str, thread: str | None = None) -> list[dict[str, Any]]: ...
    def views(self, user: str) -> list[dict[str, Any]]: ...
    def home(self, user: str) -> dict[str, Any] | None: ...
    def trigger(self, user: str) -> str: ...
    def response_url(self, channel: str, user: str) -> str: ...
    def advance(self, seconds: float) -> None: ...
    def refuse_plans(self) -> None: ...
    def files(self, channel: str, thread: str) -> list[str]: ...
    def file_names(self, channel: str, thread: str) -> list[tuple[str, str]]: ...


class InMemory:
    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self.chat = MemoryChat(redactor)

    def messages(self, channel: str, thread: str | None = None) -> list[dict[str, Any]]:
        kept = [m for m in self.chat.messages if m.channel == channel]
        if thread is not None:
            kept = [m for m in kept if thread in (m.ts, m.thread_ts)]
        shown = []
        for m in kept:
            ephemeral = {"ephemeral_for": m.ephemeral_for} if m.ephemeral_for else {}
            shown.append(
                {"ts": m.ts, "thread_ts": m.thread_ts, "text": m.text, "blocks": m.blocks, **ephemeral}
            )
        return shown

    def views(self, user: str) -> list[dict[str, Any]]:
        view_id = self.chat.view_of.get(user)
        return [self.chat.views[view_id]] if view_id else []

    def home(self, user: str) -> dict[str, Any] | None:
        return self.chat.homes.get(user)

    def trigger(self, user: str) -> str:
        return self.chat.trigger(user)

    def response_url(self, channel: str, user: str) -> str:
        return self.chat.response_url(channel, user)

    def advance(self, seconds: float) -> None:
        self.chat.clock.advance(seconds)

    def refuse_plans(self) -> None:
        self.chat.plan_refused = True

    def files(self, channel: str, thread: str) -> list[str]:
        return [f.text for f in self.chat.files if (f.channel, f.thread_ts) == (channel, thread)]

    def file_names(self, channel: str, thread: str) -> list[tuple[str, str]]:
        kept = [f for f in self.chat.files if (f.channel, f.thread_ts) == (channel, thread)]
        return [(f.name, f.title) for f in kept]


class OnStandIn:
    def __init__(self, redactor: Redactor, standin: SlackStandIn, clock: Clock | None = None) -> None:
        self.redactor = redactor
        self.standin = standin
        self.clock = clock or SystemClock()
        self.chat = self.another(self.clock)
        self.messages = standin.messages
        self.views = standin.views
        self.home = standin.home

    def trigger(self, user: str) -> str:
        return self.standin.world.tickets.new_trigger(user)

    def response_url(self, channel: str, user: str) -> str:
        return self.standin.world.base_url + self.standin.world.tickets.new_response_url(channel, user)

    def advance(self, seconds: float) -> None:
        self.standin.world.clock.advance(seconds)

    def refuse_plans(self) -> None:
        self.standin.world.faults.arm({"target": "slack", "kind": "invalid-blocks-plan", "times": 99})

    def files(self, channel: str, thread: str) -> list[str]:
        shown = [m for m in self.standin.messages(channel, thread) if "files" in m]
        return [str((self.standin.file(m["files"][0]["id"]).content or b"").decode()) for m in shown]

    def file_names(self, channel: str, thread: str) -> list[tuple[str, str]]:
        shown = [m["files"][0] for m in self.standin.messages(channel, thread) if "files" in m]
        return [(file["name"], file["title"]) for file in shown]

    def another(self, clock: Clock) -> SlackChat:
        """The adapter on the same stand-in, with a time of its own."""
        client = AsyncWebClient(self.standin.secrets.bot_token, base_url=self.standin.api_url)
        return SlackChat(client, self.redactor, clock)

    def fault(self, kind: str, **more: Any) -> None:
        self.standin.world.faults.arm({"target": "slack", "kind": kind, **more})

    def calls(self, method: str) -> list[dict[str, Any]]:
        return [entry["body"] for entry in self.standin.world.transcript if entry["method"] == method]


@asynccontextmanager
async def open_standin(
    state: Path, clock: Clock | None = None, *, without: frozenset[str] = frozenset()
) -> AsyncIterator[OnStandIn]:
    """Start it; ``without`` are scopes that the bot's token does not have."""
    scopes = [scope for scope in SCOPES if scope not in without]
    standin = SlackStandIn(state=state, clock=StandInClock(state / "offset"), faults=Faults(), scopes=scopes)
    if clock is not None:
        standin.world.limits = Limits(Faults(), now=clock.monotonic)
    await standin.start()
    place = OnStandIn(Redactor([KNOWN]), standin, clock)
    try:
        yield place
    finally:
        await place.chat.close()
        await standin.stop()
