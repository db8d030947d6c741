"""The link to Slack breaks in each way that is known: the bot notices, cures, reports, at last gives up."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from slack_alone import SHORT, Alone, slack_alone

from bot.demo.processes import Program
from bot.link import AT_ONCE, GAVE_UP, REFUSED

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Alone]:
    async with slack_alone(tmp_path_factory.mktemp("link")) as site:
        await site.start()
        yield site


@pytest_asyncio.fixture(loop_scope="module")
async def alone(shared: Alone) -> AsyncIterator[Alone]:
    """One bot for all tests that it survives; it is well when each begins."""
    yield shared
    shared.slack.world.faults.clear()
    shared.relay.speak()
    await well(shared)


@pytest_asyncio.fixture(loop_scope="module")
async def fresh(tmp_path: Path) -> AsyncIterator[Alone]:
    """Slack for bots that do not survive."""
    async with slack_alone(tmp_path) as site:
        yield site


async def well(alone: Alone) -> None:
    """Wait until nothing is in doubt and a socket is there."""
    deadline = time.monotonic() + 20
    while (await states(alone))['hermes_bot_link_state{state="healthy"}'] != 1:
        assert time.monotonic() < deadline, alone.log()[-3000:]
        await asyncio.sleep(0.05)
    await alone.until(lambda: alone.slack.world.sockets.connected == 1)


def count(alone: Alone, words: str) -> int:
    return alone.log().count(words)


def fault(alone: Alone, kind: str, **more: Any) -> None:
    alone.slack.world.faults.arm({"target": "slack", "kind": kind, **more})


async def disconnect(alone: Alone, reason: str) -> None:
    fault(alone, "disconnect", reason=reason)
    await alone.slack.apply_disconnects()


async def states(alone: Alone) -> dict[str, float]:
    """The metrics of the link."""
    _, page = await alone.health("/metrics")
    lines = [line.split(" ") for line in page["text"].splitlines() if line.startswith("hermes_bot_link")]
    return {name: float(value) for name, value in lines}


async def test_socket_that_goes_silent_is_replaced_without_an_alarm(alone: Alone) -> None:
    before = await states(alone)
    alone.relay.go_silent()
    await alone.until(lambda: "in doubt" in alone.log())
    alone.relay.cut()
    alone.relay.speak()

    await well(alone)

    assert await alone.command() == "acked"
    seen = await states(alone)
    assert seen["hermes_bot_link_reconnects"] > before["hermes_bot_link_reconnects"]
    assert seen["hermes_bot_link_pong_age_seconds"] < SHORT.pong
    assert "well again" in alone.log()
    assert "not ready: for" not in alone.log()


async def test_connection_that_the_network_cuts_is_replaced_at_once(alone: Alone) -> None:
    opened = alone.calls("apps.connections.open")

    alone.relay.cut()

    await alone.until(lambda: alone.calls("apps.connections.open") > opened)
    await alone.until(lambda: alone.slack.world.sockets.connected == 1)
    assert await alone.command() == "acked"


async def test_bot_survives_a_socket_that_stays_open_and_says_nothing(alone: Alone) -> None:
    opened = alone.calls("apps.connections.open")
    fault(alone, "no-pong")
    await alone.slack.apply_disconnects()

    await alone.until(lambda: alone.calls("apps.connections.open") > opened)
    await well(alone)

    assert await alone.command() == "acked"


async def test_silence_is_reported_on_both_pages_and_unreported_when_it_ends(alone: Alone) -> None:
    alone.relay.go_silent()

    alarmed = await alone.health_until("/healthz", 503)
    unready = await alone.health_until("/readyz", 503)
    alone.relay.cut()
    alone.relay.speak()
    await alone.health_until("/healthz", 200)
    ready = await alone.health_until("/readyz", 200)

    assert alarmed["status"] == "not ready"
    assert alarmed["reasons"][0] in ("Slack's socket does not answer pings", "no connection to Slack")
    assert unready["since"] == alarmed["since"]
    assert ready == {"ready": True, "reasons": []}
    assert await alone.command() == "acked"
    assert "nothing is lost" in alone.log()


async def test_web_api_that_fails_once_is_no_reason_for_a_doubt(alone: Alone) -> None:
    doubts, failures = count(alone, "in doubt"), count(alone, "auth.test had no answer")
    fault(alone, "server-error", method="auth.test")
    asked = alone.calls("auth.test")

    await alone.until(lambda: alone.calls("auth.test") >= asked + 3)

    assert count(alone, "auth.test had no answer") == failures + 1
    assert count(alone, "in doubt") == doubts


async def test_web_api_that_keeps_failing_is_reported_while_the_socket_still_acks(alone: Alone) -> None:
    fault(alone, "server-error", method="auth.test", times=1_000)

    body = await alone.health_until("/readyz", 503)

    assert body["reasons"] == ["Slack's Web API does not answer"]
    assert await alone.command() == "acked"


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "too_many_websockets"])
async def test_no_ack_is_lost_while_slack_replaces_a_socket(alone: Alone, reason: str) -> None:
    typed = [asyncio.create_task(alone.command("help")) for _ in range(50)]
    await asyncio.sleep(0)
    await disconnect(alone, reason)
    outcomes = await asyncio.gather(*typed)
    await alone.until(lambda: alone.slack.world.sockets.connected == 1)

    assert outcomes == ["acked"] * 50
    assert await alone.command() == "acked"


async def test_slack_that_ends_each_connection_at_once_meets_patience(alone: Alone) -> None:
    opened = alone.calls("apps.connections.open")
    begun = time.monotonic()
    # Over 0.8 s the tries are counted; the first may have to wait when other tests cost connections, too.
    while time.monotonic() - begun < 0.8 or alone.calls("apps.connections.open") == opened:
        assert time.monotonic() - begun < 20, alone.log()[-3000:]
        if alone.slack.world.sockets.connected:
            await disconnect(alone, "refresh_requested")
        await asyncio.sleep(0.01)

    assert alone.calls("apps.connections.open") - opened <= 6 + AT_ONCE


async def test_nothing_of_all_this_wrote_a_traceback(alone: Alone) -> None:
    # Cube and the node are not there, which is told with one.
    told = [line for line in alone.log().splitlines() if "Traceback" in line]

    assert [line for line in told if "interrupted requests could not be looked for" not in line] == []


async def test_bots_whose_slack_is_gone_end_after_their_time_and_not_before(fresh: Alone) -> None:
    running = await fresh.start()
    begun = time.monotonic()
    await fresh.relay.stop()
    starting = await fresh.start(ready=False)

    async def ended(program: Program) -> tuple[int, float]:
        return await asyncio.wait_for(program.process.wait(), 40), time.monotonic() - begun

    (code, after), (code_of_start, after_start) = await asyncio.gather(ended(running), ended(starting))

    assert code == code_of_start == GAVE_UP
    assert min(after, after_start) >= SHORT.give_up
    for words in ("in doubt", "not ready: for", "given up: for", "auth.test had no answer"):
        assert words in fresh.log()
    assert count(fresh, '"level": "critical"') == 2


async def test_start_waits_for_slack_and_a_revoked_token_is_believed_at_the_second_time(
    fresh: Alone,
) -> None:
    await fresh.relay.stop()
    await fresh.start(ready=False)
    await fresh.until(lambda: "auth.test had no answer" in fresh.log())
    await fresh.relay.start()
    await fresh.until(lambda: '"event": "ready"' in fresh.log())
    assert await fresh.command() == "acked"

    object.__setattr__(fresh.slack.secrets, "bot_token", "xoxb-EXAMPLE-of-somebody-else")

    assert await asyncio.wait_for(fresh.bot.process.wait(), 30) == REFUSED
    assert "it is asked once more" in fresh.log()
    assert count(fresh, '"level": "critical"') == 1


async def test_tokens_that_slack_does_not_know_end_the_start_with_one_line_each(fresh: Alone) -> None:
    programs = [
        await fresh.start(ready=False, env={"SLACK_BOT_TOKEN": "xoxb-EXAMPLE"}),
        await fresh.start(ready=False, env={"SLACK_APP_TOKEN": "xapp-EXAMPLE"}),
    ]

    codes = await asyncio.gather(*(asyncio.wait_for(p.process.wait(), 30) for p in programs))

    critical = [line for line in fresh.log().splitlines() if '"level": "critical"' in line]
    assert codes == [REFUSED, REFUSED]
    assert len(critical) == 2
    assert all("invalid_auth: Slack does not accept the token" in line for line in critical)
    assert fresh.calls("apps.connections.open") == 1


async def test_socket_mode_that_is_switched_off_ends_the_bot_with_what_to_do(fresh: Alone) -> None:
    await fresh.start()

    await disconnect(fresh, "link_disabled")

    assert await asyncio.wait_for(fresh.bot.process.wait(), 30) == REFUSED
    assert "switch it on in the Slack app's settings, or serve --http" in fresh.log()


async def test_ten_other_sockets_are_waited_for_not_fought_and_sigterm_ends_the_wait(fresh: Alone) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(10):
            ticket = fresh.slack.world.sockets.new_link()
            socket = fresh.http.ws_connect(f"{fresh.slack.world.base_url}/link/?ticket={ticket}")
            await stack.enter_async_context(socket)
        await fresh.start(ready=False)
        await fresh.until(lambda: "takes no more connections" in fresh.log())
        await fresh.until(lambda: "not ready: for" in fresh.log())

        code = await asyncio.wait_for(fresh.bot.end(), 15)

    assert code == 0
    assert fresh.calls("apps.connections.open") == 1
