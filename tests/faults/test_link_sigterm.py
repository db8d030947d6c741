"""The bot is told to stop: what was typed is acked and answered, what runs ends at a boundary and says so."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from e2e.installed import OPERATOR, Installed, Thread
from slack_alone import HTTP, Alone, slack_alone

from bot.demo.reading import buttons, thread_text

pytestmark = [pytest.mark.asyncio(loop_scope="session")]
RESTARTING = "I am being restarted"


@pytest_asyncio.fixture(loop_scope="session")
async def alone(tmp_path: Path) -> AsyncIterator[Alone]:
    async with slack_alone(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("options", [(), (HTTP,)], ids=["socket", "http"])
async def test_no_ack_and_no_answer_is_lost_while_it_stops(alone: Alone, options: tuple[str, ...]) -> None:
    program = await alone.start(*options)
    if options:
        await alone.slack.deliver_to(f"http://{alone.address()}/slack/events")
    alone.slack.world.faults.arm(
        {"target": "slack", "kind": "slow-api", "method": "chat.postMessage", "delay_s": 1.5}
    )
    assert await alone.command("stop nothing-here") == "acked"
    await alone.until(lambda: alone.calls("chat.postMessage") == 1)
    answered = alone.calls("response_url")
    outcomes: list[str] = []

    program.process.send_signal(signal.SIGTERM)
    await alone.until(lambda: '"event": "stopping"' in alone.log())
    assert (await alone.health("/readyz"))[0] == 503
    program.process.send_signal(signal.SIGTERM)
    while program.process.returncode is None:
        outcomes += await asyncio.gather(*(alone.command("help") for _ in range(5)))
        await asyncio.sleep(0.01)

    assert program.process.returncode == 0
    assert set(outcomes) <= {"acked", "dispatch_failed", "operation_timeout"}
    # Five are typed at a time; those that cross the close of the connection can be acked by nobody.
    assert outcomes.count("operation_timeout") <= 5
    taken = outcomes.count("acked")
    assert taken >= 50
    assert alone.calls("response_url") == answered + taken
    assert alone.whispers().count("I am just being restarted.") == taken
    assert "What is safe" in str(alone.slack.messages("C_OPS"))  # the one that ran came to its end


@pytest.mark.sandbox
async def test_create_stops_between_two_steps_and_its_thread_reads_well(site: Installed) -> None:
    await site.fault("node", "ssh-slow", delay_s=0.8, times=3)
    thread = await site.type(OPERATOR, "create home=between")
    await site.recorded(home="between", phase="intent", code="")
    begun = time.monotonic()

    code = await site.end_bot()

    took = time.monotonic() - begun
    told, first, [*_, last] = await thread.text(), await thread.first(), await thread.messages()
    codes = [row["code"] for row in site.rows(home="between", phase="step")]
    assert (code, took < 5) == (0, True)
    assert f"{RESTARTING}. 3 of 10 steps are done." in told
    assert "home between and workspace between are safe on the node" in told.replace("Home", "home")
    assert first.startswith(":arrows_counterclockwise:")
    assert "3 of 10 steps done" in first
    assert not buttons(last)
    assert not spins(await thread.messages())
    assert [code for code in codes if code.startswith("step-")] == ["step-3"]
    assert site.rows(home="between", phase="outcome") == []

    await site.unarm()
    await site.start_bot()
    await thread.saying("What happened: Interrupted after step 3")
    texts = [thread_text([m]) for m in await thread.messages()]
    assert [RESTARTING in text for text in texts[2:]] == [True, False]
    assert "because the bot was restarted" in texts[-1]
    await thread.press("hermes.create.continue")
    assert "is ready" in await thread.ended(":white_check_mark:")
    assert len(await site.sandboxes("between")) == 1


@pytest.mark.sandbox
async def test_stop_that_is_cut_off_says_so_and_the_next_start_says_how_it_ended(site: Installed) -> None:
    await site.create(OPERATOR, "home=half-gone")
    card = await site.type(OPERATOR, "stop half-gone")
    await card.holding("hermes.stop.confirm")
    await site.fault("cube", "slow-api", operation="kill", delay_s=6)
    await card.press("hermes.stop.confirm")
    await site.recorded(home="half-gone", action="stop", phase="intent")

    code = await site.end_bot()
    told = await card.text()
    await site.unarm()
    await site.start_bot()

    assert code == 0
    assert f"{RESTARTING} in the middle of this stop" in told
    assert "Interrupted while stopping" in thread_text([await card.saying("What happened: Interrupted")])


@pytest.mark.sandbox
async def test_command_typed_meanwhile_is_told_to_try_again(site: Installed) -> None:
    await site.fault("node", "ssh-slow", delay_s=1.5)
    thread: Thread = await site.type(OPERATOR, "create home=meanwhile")
    await site.recorded(home="meanwhile", phase="intent", code="")
    assert site.bot is not None
    stopped = site.log().count('"event": "stopping"')
    site.bot.process.send_signal(signal.SIGTERM)

    async def stopping() -> bool:
        return site.log().count('"event": "stopping"') > stopped

    await site.control.until("the end to begin", stopping)
    answer = await site.control.command(OPERATOR, "C_OPS", "create home=late")

    assert answer["outcome"] == "acked"
    assert "Please try again in half a minute." in await site.told(OPERATOR, "I am just being restarted")
    assert await site.end_bot() == 0
    assert RESTARTING in await thread.text()
    assert site.rows(home="late") == []


def spins(messages: list[dict[str, object]]) -> bool:
    """Whether something in the thread still looks as if it went on."""
    text = str(messages)
    return "in_progress" in text or ":hourglass" in text or "hermes.create.cancel" in text
