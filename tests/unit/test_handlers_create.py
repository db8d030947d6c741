import asyncio
from typing import Any

import pytest
from installation import OPERATOR
from slack_desk import Desk, open_desk, shown

from bot.domain.errors import ChatError, NodeError
from bot.domain.provisioning import CreateRequest
from bot.usecases.asking import place
from bot.usecases.provision import cancel
from bot.usecases.recovery import continue_request
from handlers.conversation import SETTLE_PAUSES
from handlers.jobs import Jobs


@pytest.fixture
def desk() -> Desk:
    return open_desk()


async def test_a_create_is_acked_with_nothing_and_told_in_a_thread(desk: Desk) -> None:
    ack = await desk.command("U_OPERATOR", "create home=alpha workspace=proj")

    assert (ack.status, ack.body) == (200, "")
    [parent] = desk.parents()
    assert "*alpha* is ready for <@U_OPERATOR>" in parent.text
    progress, result = desk.thread()
    assert [b["type"] for b in progress.blocks] == ["plan"]
    assert {t["status"] for t in progress.blocks[0]["tasks"]} == {"complete"}
    assert "Studio for home alpha is ready" in result.text


async def test_the_result_names_all_that_was_done(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha workspace=proj")

    result = shown(desk.thread()[-1])
    [sandbox_id] = desk.world.cube.sandboxes
    for fact in (
        "`alpha`",
        "`proj`",
        "`hermes-studio`",
        f"`{sandbox_id}`",
        "`node-1`",
        "port 9000",
        "port 49983",
    ):
        assert fact in result
    assert "filled from the team" in result
    assert "Kept private" in result


async def test_the_result_offers_open_and_stop_for_the_sandbox(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha")

    [sandbox_id] = desk.world.cube.sandboxes
    buttons = desk.thread()[-1].buttons
    assert {a: b["value"] for a, b in buttons.items()} == {
        "hermes.open": f"v1:{sandbox_id}",
        "hermes.stop.ask": f"v1:{sandbox_id}",
    }


async def test_the_request_knows_its_thread_before_it_starts(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha")

    rows = await desk.world.log.of_request("r-000001")
    intent = next(row for row in rows if row.phase == "intent" and row.code != "asked")
    [parent] = desk.parents()
    assert (intent.channel, intent.thread_ts) == ("C_OPS", parent.ts)


async def test_the_request_knows_its_progress_message_as_soon_as_it_stands(desk: Desk) -> None:
    noted: list[object] = []

    async def look() -> None:
        rows = await desk.world.log.of_request("r-000001")
        noted.extend(row.details.get("progress_ts") for row in rows if row.code == "placed")

    desk.world.cube.before("create", look)
    await desk.command("U_OPERATOR", "create home=alpha")

    assert noted == ["", desk.thread()[0].ts]


async def test_the_work_does_not_wait_for_its_progress_message(desk: Desk) -> None:
    slow = asyncio.Event()

    async def parent_then_wait() -> None:
        desk.chat.before("post", slow.wait)

    desk.chat.before("post", parent_then_wait)
    await desk.command("U_OPERATOR", "create home=alpha", settle=False)

    await desk.until(lambda: bool(desk.world.cube.sandboxes))

    assert not any(m.blocks[0]["type"] == "plan" for m in desk.thread())
    slow.set()
    await desk.services.jobs.idle()
    assert [m.buttons == {} for m in desk.thread() if m.blocks[0]["type"] == "plan"] == [True]


async def test_a_request_that_ended_before_its_progress_message_stood_is_over(desk: Desk) -> None:
    slow = asyncio.Event()

    async def parent_then_wait() -> None:
        desk.chat.before("post", slow.wait)

    desk.chat.before("post", parent_then_wait)
    await desk.command("U_OPERATOR", "create home=alpha", settle=False)
    await desk.until(lambda: bool(desk.world.cube.sandboxes))
    await desk.until(lambda: not desk.world.deps.running)
    slow.set()
    await desk.services.jobs.idle()

    again = await continue_request("r-000001", OPERATOR, desk.world.deps)

    assert again.code == "already-ended"


async def test_a_place_that_is_noted_after_the_end_does_not_open_the_request_again(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha")
    late = CreateRequest(
        request_id="r-000001", actor=OPERATOR, home="alpha", workspace="alpha", progress_ts="9.9"
    )
    await place(late, desk.world.deps)

    ended = [
        await continue_request("r-000001", OPERATOR, desk.world.deps),
        await cancel("r-000001", OPERATOR, desk.world.deps),
    ]

    assert [outcome.code for outcome in ended] == ["already-ended"] * 2


async def test_the_progress_message_has_a_cancel_button_while_it_runs(desk: Desk) -> None:
    seen: list[dict[str, object]] = []

    async def look() -> None:
        seen.append(desk.thread()[0].buttons)

    desk.world.cube.before("create", look)
    await desk.command("U_OPERATOR", "create home=alpha")

    assert list(seen[0]) == ["hermes.create.cancel"]
    assert desk.thread()[0].buttons == {}


async def test_a_workspace_that_refuses_plans_sees_ten_lines(desk: Desk) -> None:
    desk.chat.plan_refused = True

    await desk.command("U_OPERATOR", "create home=alpha")

    progress = desk.thread()[0]
    assert [b["type"] for b in progress.blocks] == ["header", "section"]
    assert progress.blocks[1]["text"]["text"].count(":white_check_mark:") == 10


async def test_a_failure_says_what_happened_what_is_safe_and_what_to_do(desk: Desk) -> None:
    desk.world.node.fail("prepare", NodeError("disk-low", "only 1 GiB free"))

    await desk.command("U_OPERATOR", "create home=alpha")

    progress, failure = desk.thread()
    text = shown(failure)
    assert "What happened" in text
    assert "What is safe" in text
    assert "What to do" in text
    assert "only 1 GiB free" in text
    assert failure.buttons["hermes.create.continue"]["value"] == "v1:r-000001"
    assert "error" in {t["status"] for t in progress.blocks[0]["tasks"]}
    assert "in_progress" not in {t["status"] for t in progress.blocks[0]["tasks"]}
    assert ":x: No working Studio for home *alpha*" in desk.parents()[0].text


async def test_a_home_in_use_offers_to_open_or_stop_the_other_one(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "create home=alpha")

    await desk.command("U_OPERATOR2", "create home=alpha")

    [sandbox_id] = desk.world.cube.sandboxes
    refusal = desk.thread(number=1)[-1]
    assert "<@U_OPERATOR>" in refusal.text
    assert refusal.buttons["hermes.open"]["value"] == f"v1:{sandbox_id}"


async def test_secret_env_values_are_hidden_even_when_something_repeats_them(desk: Desk) -> None:
    secret = "EXAMPLE-0f5b7c"
    desk.world.node.fail("prepare", NodeError("node-program-failed", f"cannot parse {secret}"))

    await desk.command("U_OPERATOR", f"create home=alpha env=OPENAI_API_KEY={secret} env=LANG=C.UTF-8")

    everything = "".join(shown(m) for m in desk.chat.messages)
    assert secret not in everything
    assert desk.world.deps.redactor.text("C.UTF-8") == "C.UTF-8"


@pytest.mark.parametrize("channel", ["G_PRIVATE", "C_ARCHIVED", "D_PAIR"])
async def test_where_the_bot_may_not_post_the_whole_thread_is_in_direct_messages(
    desk: Desk, channel: str
) -> None:
    await desk.command("U_OPERATOR", "create home=alpha", channel=channel)

    assert "is ready" in desk.parents("D_U_OPERATOR")[0].text
    assert "Studio for home alpha is ready" in desk.thread("D_U_OPERATOR")[-1].text
    assert "direct messages" in desk.told("U_OPERATOR")


async def test_a_channel_without_the_bot_is_told_how_to_invite_it(desk: Desk) -> None:
    desk.chat.fail("post", ChatError("not_in_channel"))

    await desk.command("U_OPERATOR", "create home=alpha")

    assert "`/invite` <@U_BOT>" in desk.told("U_OPERATOR")


async def test_without_direct_messages_start_and_result_come_through_the_response_url(desk: Desk) -> None:
    desk.chat.no_direct = True

    await desk.command("U_OPERATOR", "create home=alpha", channel="G_PRIVATE")

    told = desk.chat.seen_by("U_OPERATOR")
    assert len(told) == 2
    assert "is creating a Studio" in told[0].text
    assert "is ready" in told[1].text


async def test_a_result_that_the_thread_does_not_take_is_not_lost(desk: Desk) -> None:
    async def archive() -> None:
        desk.chat.fail("post", ChatError("is_archived"))

    desk.world.studio.before("envd", archive)
    await desk.command("U_OPERATOR", "create home=alpha")

    assert "Studio for home alpha is ready" in desk.parents("D_U_OPERATOR")[0].text


async def test_a_progress_message_that_cannot_be_edited_does_not_stop_the_work(desk: Desk) -> None:
    desk.chat.fail("update", ChatError("message_not_found"), times=99)

    await desk.command("U_OPERATOR", "create home=alpha")

    assert "Studio for home alpha is ready" in desk.thread()[-1].text


async def test_cancel_stops_between_steps_and_says_who_asked(desk: Desk) -> None:
    async def press_cancel() -> None:
        await desk.press("U_OPERATOR", desk.thread()[0], "hermes.create.cancel", settle=False)
        await desk.until(lambda: any("pressed Cancel" in m.text for m in desk.chat.messages))

    desk.world.cube.before("create", press_cancel)
    await desk.command("U_OPERATOR", "create home=alpha")

    texts = [m.text for m in desk.thread()]
    assert "<@U_OPERATOR> pressed Cancel" in texts[1]
    assert "Cancelled after step" in texts[-1]
    assert "Studio for home alpha: cancelled" in texts[0]


async def test_cancel_by_somebody_else_is_refused_to_that_person(desk: Desk) -> None:
    async def press_cancel() -> None:
        await desk.press("U_OPERATOR2", desk.thread()[0], "hermes.create.cancel", settle=False)
        await desk.until(lambda: bool(desk.chat.seen_by("U_OPERATOR2")))

    desk.world.cube.before("create", press_cancel)
    await desk.command("U_OPERATOR", "create home=alpha")

    assert "only the owner or an approver" in desk.told("U_OPERATOR2")
    assert "is ready" in desk.parents()[0].text


async def test_cancel_after_the_end_says_so(desk: Desk) -> None:
    cards: list[dict[str, Any]] = []

    async def keep_card() -> None:
        cards.append(desk.pressing("U_OPERATOR", desk.thread()[0], "hermes.create.cancel"))

    desk.world.cube.before("create", keep_card)
    await desk.command("U_OPERATOR", "create home=alpha")

    await desk.send(cards[0])
    await desk.services.jobs.idle()

    assert "already ended" in desk.told("U_OPERATOR")


async def test_continue_finishes_a_failed_create_in_the_same_thread(desk: Desk) -> None:
    desk.world.guest.fail("apply_overlay", NodeError("node-timeout", "slow"))
    await desk.command("U_OPERATOR", "create home=alpha")
    failure = desk.thread()[-1]

    await desk.press("U_OPERATOR", failure, "hermes.create.continue")

    assert failure.buttons == {}
    assert "Continued by <@U_OPERATOR>" in failure.text
    assert "Studio for home alpha is ready" in desk.thread()[-1].text
    assert len(desk.world.cube.sandboxes) == 1
    assert "is ready" in desk.parents()[0].text


async def test_a_second_press_of_continue_is_answered_and_changes_nothing(desk: Desk) -> None:
    desk.world.guest.fail("apply_overlay", NodeError("node-timeout", "slow"))
    await desk.command("U_OPERATOR", "create home=alpha")
    old = desk.pressing("U_OPERATOR", desk.thread()[-1], "hermes.create.continue")
    await desk.press("U_OPERATOR", desk.thread()[-1], "hermes.create.continue")
    before = len(desk.thread())

    await desk.send(old)
    await desk.services.jobs.idle()

    assert len(desk.thread()) == before
    assert "already" in desk.told("U_OPERATOR")


@pytest.mark.parametrize("code", ["ratelimited", "slack-unreachable"])
async def test_the_last_edits_are_made_although_slack_refuses_for_a_while(desk: Desk, code: str) -> None:
    desk.chat.fail("update", ChatError(code), times=9)

    await desk.command("U_OPERATOR", "create home=alpha")

    assert "is ready" in desk.parents()[0].text
    assert {t["status"] for t in desk.thread()[0].blocks[0]["tasks"]} == {"complete"}


async def test_a_last_edit_that_slack_refuses_for_good_is_given_up(desk: Desk) -> None:
    desk.chat.fail("update", ChatError("cant_update_message"), times=50)

    await desk.command("U_OPERATOR", "create home=alpha")

    assert SETTLE_PAUSES[-1] not in desk.world.clock.slept
    assert "Studio for home alpha is ready" in desk.thread()[-1].text


async def test_answers_do_not_wait_for_threads_to_be_opened() -> None:
    desk = open_desk(jobs=Jobs(quick=(1, 5), opening=(1, 5)))
    slow = asyncio.Event()
    desk.chat.before("post", slow.wait)
    await desk.command("U_OPERATOR", "create home=alpha", settle=False)
    await desk.command("U_OPERATOR", "create home=beta", settle=False)

    await desk.command("U_OPERATOR2", "whoami", settle=False)

    await desk.until(lambda: "operator" in desk.told("U_OPERATOR2"))
    assert not desk.parents()
    slow.set()
    await desk.services.jobs.idle()
