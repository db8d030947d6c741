"""What every chat does: the one in memory, and the adapter against the Slack stand-in."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from contract.chat_places import (
    KNOWN,
    PLAN,
    VIEW,
    InMemory,
    OnStandIn,
    Workplace,
    open_standin,
    said,
    section,
)

from bot.adapters.redaction import Redactor
from bot.domain.errors import ChatError
from bot.ports import Attachment, Message


@pytest.fixture
async def on_standin(tmp_path: Path) -> AsyncIterator[OnStandIn]:
    async with open_standin(tmp_path) as place:
        yield place


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


async def test_a_text_that_is_too_long_is_cut_and_stands_whole_in_a_file(place: Workplace) -> None:
    text = "first " + "word " * 900 + "last"

    posted = await place.chat.post("C_OPS", said(text))

    message = place.messages("C_OPS")[0]
    assert "… (cut)" in message["blocks"][0]["text"]["text"]
    assert "a file in this thread" in message["blocks"][-1]["elements"][-1]["text"]
    [whole] = place.files("C_OPS", posted.ts)
    assert whole.count("word") == 900
    assert whole.endswith("last")


async def test_a_long_reply_has_its_file_in_the_same_thread(place: Workplace) -> None:
    parent = await place.chat.post("C_OPS", said("parent"))

    await place.chat.post("C_OPS", said("x" * 5000), thread_ts=parent.ts)

    assert len(place.files("C_OPS", parent.ts)) == 1


async def test_too_many_blocks_are_counted_and_buttons_stay(place: Workplace) -> None:
    button = {"type": "button", "text": {"type": "plain_text", "text": "Go"}, "action_id": "go", "value": "1"}
    many = (*(section(f"part {n}") for n in range(80)), {"type": "actions", "elements": [button]})

    posted = await place.chat.post("C_OPS", Message("many parts", many))

    blocks = place.messages("C_OPS")[0]["blocks"]
    assert len(blocks) == 50
    assert [b["type"] for b in blocks].count("actions") == 1
    assert "… and 32 more" in blocks[-1]["elements"][0]["text"]
    assert "part 79" in place.files("C_OPS", posted.ts)[0]


async def test_where_no_file_may_stand_the_message_says_so(place: Workplace) -> None:
    posted = await place.chat.post("C_PUBLIC", said("x" * 5000))

    message = place.messages("C_PUBLIC")[0]
    assert "could not be attached (not_in_channel)" in message["blocks"][-1]["elements"][-1]["text"]
    assert place.files("C_PUBLIC", posted.ts) == []


async def test_an_edit_that_is_too_long_has_one_file(place: Workplace) -> None:
    posted = await place.chat.post("C_OPS", said("short"))

    await place.chat.update("C_OPS", posted.ts, said("y" * 5000))
    await place.chat.update("C_OPS", posted.ts, said("y" * 5000))

    assert len(place.files("C_OPS", posted.ts)) == 1
    assert "a file in this thread" in repr(place.messages("C_OPS")[0]["blocks"][-1])


async def test_a_long_whisper_is_cut_and_leaves_no_file(place: Workplace) -> None:
    await place.chat.whisper("C_OPS", "U_OPERATOR", said("x" * 5000))

    [message] = place.messages("C_OPS")
    assert "Slack takes no longer messages" in message["blocks"][-1]["elements"][0]["text"]


async def test_a_file_holds_no_secret_either(place: Workplace) -> None:
    posted = await place.chat.direct("U_OPERATOR", said(f"{KNOWN} " + "x" * 5000), reveal={KNOWN})

    assert KNOWN in place.messages("D_U_OPERATOR")[0]["blocks"][0]["text"]["text"]
    [whole] = place.files("D_U_OPERATOR", posted.ts)
    assert KNOWN not in whole


async def test_what_a_message_brings_along_is_a_file_in_its_thread(place: Workplace) -> None:
    table = Attachment("audit.csv", "The audit log", f"who,what\nanna,{KNOWN}\n")

    posted = await place.chat.post("C_OPS", replace(said("the log"), attachment=table))

    [message] = [m for m in place.messages("C_OPS") if m["ts"] == posted.ts]
    assert message["blocks"][-1]["elements"][-1]["text"] == "The audit log: a file in this thread."
    assert place.file_names("C_OPS", posted.ts) == [("audit.csv", "The audit log")]
    [text] = place.files("C_OPS", posted.ts)
    assert text.startswith("who,what\nanna,")
    assert KNOWN not in text


async def test_where_what_it_brings_along_cannot_stand_the_message_says_so(place: Workplace) -> None:
    table = Attachment("audit.csv", "The audit log", "who,what\n")

    posted = await place.chat.post("C_PUBLIC", replace(said("the log"), attachment=table))

    [message] = place.messages("C_PUBLIC")
    assert "could not be attached (not_in_channel)" in message["blocks"][-1]["elements"][-1]["text"]
    assert place.file_names("C_PUBLIC", posted.ts) == []


async def test_no_half_secret_is_left_at_a_cut(place: Workplace) -> None:
    text = "x " * 1490 + KNOWN + " and the rest " + "y " * 100

    await place.chat.post("C_OPS", said(text))

    assert KNOWN[:7] not in repr(place.messages("C_OPS"))
