"""What every chat does: the one in memory, and the adapter against the Slack stand-in."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from contract.double_system import ManualClock
from contract.doubles_chat import MemoryChat
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.redaction import Redactor
from bot.adapters.slack_chat import SlackChat
from bot.adapters.system import SystemClock
from bot.domain.errors import ChatError
from bot.ports import Chat, Message
from bot.standin.clock import StandInClock
from bot.standin.faults import Faults
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


class OnStandIn:
    def __init__(self, redactor: Redactor, standin: SlackStandIn, chat: SlackChat) -> None:
        self.redactor = redactor
        self.standin = standin
        self.chat = chat
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

    def calls(self, method: str) -> list[dict[str, Any]]:
        return [entry["body"] for entry in self.standin.world.transcript if entry["method"] == method]


@pytest.fixture
async def on_standin(tmp_path: Path) -> AsyncIterator[OnStandIn]:
    faults = Faults()
    standin = SlackStandIn(state=tmp_path, clock=StandInClock(tmp_path / "offset"), faults=faults)
    await standin.start()
    redactor = Redactor([KNOWN])
    client = AsyncWebClient(standin.secrets.bot_token, base_url=standin.api_url)
    chat = SlackChat(client, redactor, SystemClock())
    yield OnStandIn(redactor, standin, chat)
    await chat.close()
    await standin.stop()


@pytest.fixture(params=["memory", "standin"])
def place(request: pytest.FixtureRequest) -> Workplace:
    if request.param == "memory":
        return InMemory(Redactor([KNOWN]))
    return request.getfixturevalue("on_standin")


async def test_a_message_stands_in_its_channel(place: Workplace) -> None:
    posted = await place.chat.post("C_OPS", said("hello"))

    [message] = place.messages("C_OPS")
    assert (message["ts"], message["text"]) == (posted.ts, "hello")
    assert posted.channel == "C_OPS"


async def test_a_reply_stands_in_its_thread(place: Workplace) -> None:
    parent = await place.chat.post("C_OPS", said("parent"))

    reply = await place.chat.post("C_OPS", said("reply"), thread_ts=parent.ts)

    assert [m["ts"] for m in place.messages("C_OPS", parent.ts)] == [parent.ts, reply.ts]


async def test_a_reply_to_nothing_is_refused(place: Workplace) -> None:
    with pytest.raises(ChatError) as caught:
        await place.chat.post("C_OPS", said("reply"), thread_ts="1.000001")

    assert caught.value.code == "thread_not_found"


@pytest.mark.parametrize(
    ("channel", "code"),
    [
        ("G_PRIVATE", "channel_not_found"),
        ("D_PAIR", "channel_not_found"),
        ("C_ARCHIVED", "is_archived"),
        ("C_NOWHERE", "channel_not_found"),
    ],
)
async def test_where_the_bot_may_not_post_slacks_word_for_it_is_raised(
    place: Workplace, channel: str, code: str
) -> None:
    with pytest.raises(ChatError) as caught:
        await place.chat.post(channel, said("hello"))

    assert caught.value.code == code


async def test_a_user_id_opens_the_direct_messages(place: Workplace) -> None:
    posted = await place.chat.direct("U_OPERATOR", said("psst"))

    assert posted.channel == "D_U_OPERATOR"
    assert [m["text"] for m in place.messages("D_U_OPERATOR")] == ["psst"]


async def test_an_update_replaces_text_and_blocks(place: Workplace) -> None:
    posted = await place.chat.post("C_OPS", said("before"))

    await place.chat.update("C_OPS", posted.ts, said("after"))

    [message] = place.messages("C_OPS")
    assert message["text"] == "after"
    assert message["blocks"][0]["text"]["text"] == "after"


async def test_an_update_of_nothing_is_refused(place: Workplace) -> None:
    with pytest.raises(ChatError) as caught:
        await place.chat.update("C_OPS", "1.000001", said("after"))

    assert caught.value.code == "message_not_found"


async def test_a_whisper_is_for_one_person(place: Workplace) -> None:
    await place.chat.whisper("C_OPS", "U_OPERATOR", said("psst"))

    [message] = place.messages("C_OPS")
    assert message["ephemeral_for"] == "U_OPERATOR"


async def test_a_response_url_answers_where_the_bot_may_not_post(place: Workplace) -> None:
    url = place.response_url("G_PRIVATE", "U_OPERATOR")

    await place.chat.respond(url, said("here"))

    [message] = place.messages("G_PRIVATE")
    assert (message["text"], message["ephemeral_for"]) == ("here", "U_OPERATOR")


async def test_a_response_url_takes_five_posts(place: Workplace) -> None:
    url = place.response_url("C_OPS", "U_OPERATOR")
    for _ in range(5):
        await place.chat.respond(url, said("here"))

    with pytest.raises(ChatError) as caught:
        await place.chat.respond(url, said("again"))

    assert caught.value.code == "used_url"


async def test_a_response_url_expires(place: Workplace) -> None:
    url = place.response_url("C_OPS", "U_OPERATOR")
    place.advance(1801)

    with pytest.raises(ChatError) as caught:
        await place.chat.respond(url, said("late"))

    assert caught.value.code == "expired_url"


async def test_a_modal_opens_and_is_replaced(place: Workplace) -> None:
    view_id = await place.chat.open_view(place.trigger("U_OPERATOR"), VIEW)

    await place.chat.update_view(view_id, {**VIEW, "blocks": [section("two")]})

    [view] = place.views("U_OPERATOR")
    assert view["blocks"][0]["text"]["text"] == "two"


async def test_a_modal_that_has_changed_is_not_replaced(place: Workplace) -> None:
    opened = await place.chat.open_view(place.trigger("U_OPERATOR"), VIEW)
    changed = await place.chat.update_view(opened, {**VIEW, "blocks": [section("two")]})

    with pytest.raises(ChatError) as caught:
        await place.chat.update_view(opened, {**VIEW, "blocks": [section("late")]})

    assert caught.value.code == "hash_conflict"
    await place.chat.update_view(changed, {**VIEW, "blocks": [section("three")]})
    assert "three" in repr(place.views("U_OPERATOR"))


async def test_a_trigger_lives_three_seconds(place: Workplace) -> None:
    trigger = place.trigger("U_OPERATOR")
    place.advance(4)

    with pytest.raises(ChatError) as caught:
        await place.chat.open_view(trigger, VIEW)

    assert caught.value.code == "expired_trigger_id"


async def test_a_trigger_opens_one_modal(place: Workplace) -> None:
    trigger = place.trigger("U_OPERATOR")
    await place.chat.open_view(trigger, VIEW)

    with pytest.raises(ChatError) as caught:
        await place.chat.open_view(trigger, VIEW)

    assert caught.value.code == "exchanged_trigger_id"


async def test_the_app_home_is_published(place: Workplace) -> None:
    await place.chat.publish_home("U_OPERATOR", {"type": "home", "blocks": [section("welcome")]})

    home = place.home("U_OPERATOR")
    assert home is not None
    assert home["blocks"][0]["text"]["text"] == "welcome"


async def test_a_usergroup_gives_its_members(place: Workplace) -> None:
    assert await place.chat.group_members("S_APPROVERS") == {"U_APPROVER"}


async def test_an_unknown_usergroup_is_refused(place: Workplace) -> None:
    with pytest.raises(ChatError) as caught:
        await place.chat.group_members("S_NOBODY")

    assert caught.value.code == "no_such_subteam"


async def test_secrets_are_hidden_everywhere(place: Workplace) -> None:
    posted = await place.chat.post("C_OPS", said(f"the secret is {KNOWN}"))
    await place.chat.update("C_OPS", posted.ts, said(f"still {KNOWN}"))
    await place.chat.direct("U_OPERATOR", said(KNOWN))
    await place.chat.respond(place.response_url("C_OPS", "U_OPERATOR"), said(KNOWN))
    await place.chat.open_view(place.trigger("U_OPERATOR"), {**VIEW, "blocks": [section(KNOWN)]})

    seen = [place.messages("C_OPS"), place.messages("D_U_OPERATOR"), place.views("U_OPERATOR")]
    assert KNOWN not in repr(seen)


async def test_what_is_revealed_passes_in_one_modal(place: Workplace) -> None:
    view_id = await place.chat.open_view(place.trigger("U_OPERATOR"), VIEW)

    await place.chat.update_view(view_id, {**VIEW, "blocks": [section(f"`{KNOWN}`")]}, reveal={KNOWN})

    assert f"`{KNOWN}`" in repr(place.views("U_OPERATOR"))


async def test_a_refused_plan_is_shown_in_classic_blocks(place: Workplace) -> None:
    place.refuse_plans()

    await place.chat.post("C_OPS", Message("ten steps", (PLAN,), (section("1. First"),)))

    [message] = place.messages("C_OPS")
    assert [b["type"] for b in message["blocks"]] == ["section"]


async def test_an_accepted_plan_is_shown_as_a_plan(place: Workplace) -> None:
    await place.chat.post("C_OPS", Message("ten steps", (PLAN,), (section("1. First"),)))

    [message] = place.messages("C_OPS")
    assert [b["type"] for b in message["blocks"]] == ["plan"]


async def test_blocks_that_slack_never_takes_arrive_as_text(on_standin: OnStandIn) -> None:
    broken = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}

    await on_standin.chat.post("C_OPS", Message("headline", (broken, section("the rest"))))

    [message] = on_standin.messages("C_OPS")
    assert message["text"].startswith("headline\nxxx")
    assert message["text"].endswith("… (cut)") or message["text"].endswith("the rest")
    assert len(message["text"]) <= 4000


async def test_a_refused_plan_is_not_tried_again_with_every_edit(on_standin: OnStandIn) -> None:
    on_standin.refuse_plans()
    message = Message("ten steps", (PLAN,), (section("1. First"),))
    posted = await on_standin.chat.post("C_OPS", message)

    await on_standin.chat.update("C_OPS", posted.ts, message)

    assert len(on_standin.calls("chat.update")) == 1


async def test_links_never_unfurl(on_standin: OnStandIn) -> None:
    await on_standin.chat.post("C_OPS", said("http://127.0.0.1:9/x"))
    await on_standin.chat.direct("U_OPERATOR", said("http://127.0.0.1:9/x"))

    calls = on_standin.calls("chat.postMessage")
    assert [(c["unfurl_links"], c["unfurl_media"]) for c in calls] == [(False, False), (False, False)]


async def test_a_post_is_not_repeated_when_the_answer_is_lost(on_standin: OnStandIn) -> None:
    on_standin.standin.world.faults.arm({"target": "slack", "kind": "drop-after-write"})

    with pytest.raises(ChatError) as caught:
        await on_standin.chat.post("C_OPS", said("once"))

    assert caught.value.code == "post-unknown"
    assert [m["text"] for m in on_standin.messages("C_OPS")] == ["once"]


async def test_a_rate_limit_is_waited_out(on_standin: OnStandIn) -> None:
    arm = {
        "target": "slack",
        "kind": "rate-limited",
        "method": "chat.postMessage",
        "retry_after": 7,
        "times": 2,
    }
    on_standin.standin.world.faults.arm(arm)
    clock = ManualClock()
    client = AsyncWebClient(on_standin.standin.secrets.bot_token, base_url=on_standin.standin.api_url)
    chat = SlackChat(client, on_standin.redactor, clock)

    await chat.post("C_OPS", said("late"))

    await chat.close()
    assert clock.slept == [7, 7]
    assert [m["text"] for m in on_standin.messages("C_OPS")] == ["late"]


async def test_a_modal_does_not_wait_for_a_rate_limit(on_standin: OnStandIn) -> None:
    on_standin.standin.world.faults.arm({"target": "slack", "kind": "rate-limited", "method": "views.open"})

    with pytest.raises(ChatError) as caught:
        await on_standin.chat.open_view(on_standin.trigger("U_OPERATOR"), VIEW)

    assert caught.value.code == "ratelimited"


async def test_an_edit_survives_a_server_error(on_standin: OnStandIn) -> None:
    posted = await on_standin.chat.post("C_OPS", said("before"))
    on_standin.standin.world.faults.arm({"target": "slack", "kind": "server-error", "method": "chat.update"})

    await on_standin.chat.update("C_OPS", posted.ts, said("after"))

    assert [m["text"] for m in on_standin.messages("C_OPS")] == ["after"]


async def test_a_channel_gets_about_one_message_a_second(on_standin: OnStandIn) -> None:
    clock = ManualClock()
    on_standin.standin.world.limits = Limits(Faults(), now=clock.monotonic)
    client = AsyncWebClient(on_standin.standin.secrets.bot_token, base_url=on_standin.standin.api_url)
    chat = SlackChat(client, on_standin.redactor, clock)

    for number in range(10):
        await chat.post("C_OPS", said(str(number)))

    await chat.close()
    assert clock.monotonic() == pytest.approx(6.0)


async def test_a_slack_that_is_not_there_is_said_so(on_standin: OnStandIn) -> None:
    client = AsyncWebClient("xoxb-EXAMPLE", base_url="http://127.0.0.1:9/api/")
    chat = SlackChat(client, on_standin.redactor, ManualClock())

    with pytest.raises(ChatError) as caught:
        await chat.post("C_OPS", said("hello"))

    await chat.close()
    assert caught.value.code == "slack-unreachable"
