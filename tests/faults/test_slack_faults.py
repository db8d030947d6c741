"""Slack fails; the work goes on, and its person is told all the same, once."""

import json

import pytest
from e2e.installed import OPERATOR, OPS, Installed

from bot.demo.reading import buttons, thread_text

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_rate_limits_are_waited_out(site: Installed) -> None:
    await site.fault("slack", "rate-limited", method="chat.postMessage", retry_after=1)
    await site.fault("slack", "rate-limited", method="chat.update", retry_after=1)

    thread = await site.create(OPERATOR, "home=limited")

    messages = await thread.messages()
    assert len(messages) == 3, await thread.text()
    assert "hermes.open" in buttons(messages[2])


async def test_lost_first_post_is_found_and_makes_no_second_thread_or_sandbox(site: Installed) -> None:
    await site.fault("slack", "drop-after-write")
    count = len(await site.control.messages(OPS))

    thread = await site.type(OPERATOR, "create home=unanswered")
    told = await thread.ended(":white_check_mark:")

    assert told.count("STUDIO FOR HOME UNANSWERED IS READY") == 1
    assert len(await site.sandboxes("unanswered")) == 1
    new = (await site.control.messages(OPS))[count:]
    assert [m["thread_ts"] for m in new if not m.get("ephemeral_for")].count(None) == 1


async def test_lost_first_post_that_cannot_be_looked_for_moves_the_thread(site: Installed) -> None:
    await site.fault("slack", "drop-after-write")
    public = "C_PUBLIC"  # where the bot may write, and is no member, so that it may not read
    count = len(await site.control.messages(public))

    thread = await site.type(OPERATOR, "create home=unfound", channel=public, shows_in="D_U_OPERATOR")
    told = await thread.ended(":white_check_mark:")

    assert told.count("STUDIO FOR HOME UNFOUND IS READY") == 1
    assert len(await site.sandboxes("unfound")) == 1
    new = (await site.control.messages(public))[count:]
    assert [m["thread_ts"] for m in new if not m.get("ephemeral_for")] == [None]
    assert "in your direct messages" in await site.told(OPERATOR, "my answer is", channel=public)


async def test_lost_result_post_is_not_repeated_in_the_thread(site: Installed) -> None:
    await site.fault("node", "ssh-slow", delay_s=0.6)
    thread = await site.type(OPERATOR, "create home=echo")
    await thread.holding("hermes.create.cancel")
    await site.fault("slack", "drop-after-write")

    told = await thread.ended(":white_check_mark:")

    assert told.count("STUDIO FOR HOME ECHO IS READY") == 1


async def test_job_goes_on_while_the_socket_is_replaced(site: Installed) -> None:
    await site.fault("node", "ssh-slow", delay_s=0.6)
    thread = await site.type(OPERATOR, "create home=unplugged")
    await site.recorded(home="unplugged", phase="intent", code="")
    await site.fault("slack", "disconnect")

    told = await thread.ended(":white_check_mark:")

    assert "is ready" in told
    assert f"You are @{OPERATOR}" in await site.ask(OPERATOR, "whoami")


async def test_slow_slack_does_not_hold_up_an_ack_or_the_work(site: Installed) -> None:
    await site.fault("slack", "slow-api", method="chat.update", delay_s=0.7, times=2)
    answer = await site.control.command(OPERATOR, OPS, "create home=unhurried")
    assert answer["outcome"] == "acked"
    assert answer["ack_ms"] < 1000

    await site.recorded(home="unhurried", code="provisioned")

    assert len(await site.sandboxes("unhurried")) == 1


async def test_broken_edits_do_not_stop_the_work(site: Installed) -> None:
    await site.fault("slack", "server-error", method="chat.update", times=2)

    thread = await site.type(OPERATOR, "create home=unedited")

    assert "STUDIO FOR HOME UNEDITED IS READY" in thread_text([await thread.saying("IS READY")])


async def test_window_that_slack_does_not_open_is_told(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=windowless")
    await site.fault("slack", "server-error", method="views.open")

    await thread.press("hermes.open")

    assert "Nothing was shown; press Open Studio again." in await site.told(
        OPERATOR, "did not open the window"
    )
    await thread.press("hermes.open")
    assert "Password" in await site.window(OPERATOR)


async def test_workspace_that_refuses_plan_blocks_gets_classic_ones(site: Installed) -> None:
    await site.fault("slack", "invalid-blocks-plan", times=50)

    thread = await site.create(OPERATOR, "home=classic")

    progress = (await thread.messages())[1]
    assert [block["type"] for block in progress["blocks"]] == ["header", "section"]
    text = thread_text([progress])
    assert ":white_check_mark: 10. Check health" in text
    assert ":hourglass" not in json.dumps(progress)
    assert "hermes.open" in buttons((await thread.messages())[-1])
