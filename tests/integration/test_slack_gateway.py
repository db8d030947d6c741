"""The way out to Slack, against the stand-in: what no other ``Chat`` has to care for."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest
from contract.chat_places import PLAN, VIEW, OnStandIn, open_standin, said, section
from contract.double_system import ManualClock
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters import slack_posting
from bot.adapters.slack_chat import SlackChat
from bot.domain.errors import ChatError
from bot.ports import Message


@pytest.fixture
async def on_standin(tmp_path: Path) -> AsyncIterator[OnStandIn]:
    async with open_standin(tmp_path, ManualClock()) as place:
        yield place


async def test_blocks_that_slack_never_takes_arrive_as_text(on_standin: OnStandIn) -> None:
    broken = {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}

    await on_standin.chat.post("C_OPS", Message("headline", (broken, section("the rest"))))

    [message] = on_standin.messages("C_OPS")
    assert message["text"].startswith("headline\n*xxx")
    assert message["text"].endswith("the rest")
    assert len(on_standin.calls("chat.postMessage")) == 2


async def test_a_text_form_that_is_too_long_is_short_and_has_a_file(on_standin: OnStandIn) -> None:
    broken = {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}
    many = tuple(section("y" * 200) for _ in range(30))

    posted = await on_standin.chat.post("C_OPS", Message("headline", (broken, *many)))

    message = on_standin.messages("C_OPS")[0]
    assert message["blocks"] == []
    assert len(message["text"]) <= 4000
    assert message["text"].endswith("a file in this thread.")
    assert on_standin.files("C_OPS", posted.ts)[0].count("y" * 200) == 30


@pytest.mark.parametrize(
    ("method", "said_why"),
    [
        ("files.getUploadURLExternal", "could not be attached (slack-unreachable)"),
        ("files.completeUploadExternal", "did not confirm the file"),
    ],
)
async def test_a_message_goes_out_without_its_file_and_says_so(
    on_standin: OnStandIn, method: str, said_why: str
) -> None:
    on_standin.fault("server-error", method=method, times=9)

    posted = await on_standin.chat.post("C_OPS", said("x" * 5000))

    [message] = on_standin.messages("C_OPS")
    assert said_why in message["blocks"][-1]["elements"][0]["text"]
    assert on_standin.files("C_OPS", posted.ts) == []


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


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_post_whose_answer_is_lost_is_found(on_standin: OnStandIn, *, in_thread: bool) -> None:
    parent = await on_standin.chat.post("C_OPS", said("parent"))
    on_standin.fault("drop-after-write")

    posted = await on_standin.chat.post("C_OPS", said("once"), thread_ts=parent.ts if in_thread else "")

    assert [(m["ts"], m["text"]) for m in on_standin.messages("C_OPS")][1:] == [(posted.ts, "once")]
    assert len(on_standin.calls("chat.postMessage")) == 2


async def test_a_post_that_slack_does_not_show_yet_is_not_made_again(on_standin: OnStandIn) -> None:
    on_standin.fault("drop-after-write")
    on_standin.fault("history-lags", lag_s=60, times=2)

    posted = await on_standin.chat.post("C_OPS", said("once"))

    assert [m["ts"] for m in on_standin.messages("C_OPS")] == [posted.ts]
    assert len(on_standin.calls("conversations.history")) == 3


async def test_a_post_is_looked_for_on_every_page(
    on_standin: OnStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_posting, "PAGE", 2)
    parent = await on_standin.chat.post("C_OPS", said("parent"))
    for number in range(5):
        await on_standin.chat.post("C_OPS", said(str(number)), thread_ts=parent.ts)
    on_standin.fault("drop-after-write")

    posted = await on_standin.chat.post("C_OPS", said("once"), thread_ts=parent.ts)

    assert on_standin.messages("C_OPS")[-1]["ts"] == posted.ts
    assert [m["text"] for m in on_standin.messages("C_OPS")].count("once") == 1
    assert len(on_standin.calls("conversations.replies")) == 3


async def test_a_post_that_slack_lost_is_made_again(on_standin: OnStandIn) -> None:
    on_standin.fault("server-error", method="chat.postMessage")

    await on_standin.chat.post("C_OPS", said("at last"))

    assert [m["text"] for m in on_standin.messages("C_OPS")] == ["at last"]


async def test_a_post_that_slack_loses_again_and_again_is_given_up(on_standin: OnStandIn) -> None:
    on_standin.fault("server-error", method="chat.postMessage", times=99)

    with pytest.raises(ChatError) as caught:
        await on_standin.chat.post("C_OPS", said("never"))

    assert caught.value.code == "slack-unreachable"
    assert len(on_standin.calls("chat.postMessage")) == 3


async def test_a_look_that_fails_says_nothing(on_standin: OnStandIn) -> None:
    on_standin.fault("drop-after-write")
    on_standin.fault("server-error", method="conversations.history", times=4)

    posted = await on_standin.chat.post("C_OPS", said("once"))

    assert [m["ts"] for m in on_standin.messages("C_OPS")] == [posted.ts]


async def test_a_post_that_cannot_be_looked_for_is_not_repeated(tmp_path: Path) -> None:
    async with open_standin(tmp_path, ManualClock(), without=frozenset({"channels:history"})) as place:
        place.fault("drop-after-write")

        with pytest.raises(ChatError) as caught:
            await place.chat.post("C_OPS", said("once"))

        assert caught.value.code == "post-unknown"
        assert [m["text"] for m in place.messages("C_OPS")] == ["once"]


async def test_a_post_where_the_bot_may_write_and_not_read_is_not_repeated(on_standin: OnStandIn) -> None:
    on_standin.fault("drop-after-write")

    with pytest.raises(ChatError) as caught:
        await on_standin.chat.post("C_PUBLIC", said("once"))

    assert caught.value.code == "post-unknown"
    assert [m["text"] for m in on_standin.messages("C_PUBLIC")] == ["once"]


async def test_a_direct_message_is_looked_for_once_its_conversation_is_known(on_standin: OnStandIn) -> None:
    await on_standin.chat.direct("U_OPERATOR", said("first"))
    on_standin.fault("drop-after-write")

    posted = await on_standin.chat.direct("U_OPERATOR", said("once"))

    assert [m["ts"] for m in on_standin.messages("D_U_OPERATOR")][1:] == [posted.ts]


async def test_every_post_has_an_id_of_its_own_that_survives_redaction(on_standin: OnStandIn) -> None:
    for _ in range(3):
        await on_standin.chat.post("C_OPS", said("the same"))

    marks = [call["metadata"] for call in on_standin.calls("chat.postMessage")]
    assert {mark["event_type"] for mark in marks} == {"hermes_message"}
    ids = {mark["event_payload"]["id"] for mark in marks}
    assert len(ids) == 3
    assert all(re.fullmatch(r"m-[0-9a-f]{24}", name) for name in ids)


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


async def test_a_slack_that_is_not_there_is_said_so(on_standin: OnStandIn) -> None:
    client = AsyncWebClient("xoxb-EXAMPLE", base_url="http://127.0.0.1:9/api/")
    chat = SlackChat(client, on_standin.redactor, ManualClock())

    with pytest.raises(ChatError) as caught:
        await chat.post("C_OPS", said("hello"))

    await chat.close()
    assert caught.value.code == "slack-unreachable"


async def test_a_long_rate_limit_is_told_at_once_and_honoured_in_its_channel(on_standin: OnStandIn) -> None:
    on_standin.fault("rate-limited", method="chat.postMessage", retry_after=300)
    refused = [await _code(on_standin.chat.post("C_OPS", said(f"early {number}"))) for number in range(3)]
    await on_standin.chat.post("C_ALERTS", said("elsewhere"))
    calls = len(on_standin.calls("chat.postMessage"))
    await on_standin.clock.sleep(300)

    await on_standin.chat.post("C_OPS", said("late"))

    assert refused == ["ratelimited"] * 3
    assert calls == 2
    assert [m["text"] for m in on_standin.messages("C_OPS")] == ["late"]


async def test_whispers_wait_together(on_standin: OnStandIn) -> None:
    on_standin.fault("rate-limited", method="chat.postEphemeral", retry_after=30)

    await asyncio.gather(*(on_standin.chat.whisper("C_OPS", "U_OPERATOR", said(str(n))) for n in range(3)))

    assert len(on_standin.calls("chat.postEphemeral")) == 4
    assert on_standin.clock.monotonic() == pytest.approx(30)


async def _code(work: Awaitable[object]) -> str:
    try:
        await work
    except ChatError as error:
        return error.code
    return ""


async def test_every_page_of_a_usergroup_is_read(on_standin: OnStandIn) -> None:
    everybody = [f"U_{number:04}" for number in range(450)]
    on_standin.standin.world.cast.usergroups["S_CROWD"] = everybody

    members = await on_standin.chat.group_members("S_CROWD")

    assert members == frozenset(everybody)
    assert len(on_standin.calls("usergroups.users.list")) == 3


def table(rows: int, width: int = 0) -> dict[str, object]:
    cells = [[{"type": "raw_text", "text": f"row {number} ".ljust(width, ".")}] for number in range(rows)]
    return {"type": "table", "rows": cells}


@pytest.mark.parametrize(("rows", "width"), [(101, 0), (60, 300)], ids=["rows", "characters"])
async def test_a_table_that_slack_does_not_take_is_cut_and_stands_whole_in_a_file(
    on_standin: OnStandIn, rows: int, width: int
) -> None:
    posted = await on_standin.chat.post("C_OPS", Message("headline", (table(rows, width),)))

    message = on_standin.messages("C_OPS")[0]
    [whole] = on_standin.files("C_OPS", posted.ts)
    assert message["text"].startswith("headline")
    assert "a file in this thread" in str([message["text"], message["blocks"]])
    assert [number for number in range(rows) if f"row {number} " not in f"{whole} "] == []
