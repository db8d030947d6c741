"""The link to Slack breaks in each way that is known: the bot notices, cures, reports, at last gives up."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from slack_alone import Alone, slack_alone


@pytest_asyncio.fixture
async def alone(tmp_path: Path) -> AsyncIterator[Alone]:
    async with slack_alone(tmp_path) as site:
        yield site


async def test_socket_that_goes_silent_is_replaced_without_a_word_of_trouble(alone: Alone) -> None:
    await alone.start()
    first = alone.calls("apps.connections.open")
    alone.relay.go_silent()
    await alone.until(lambda: "in doubt" in alone.log())
    alone.relay.cut()
    alone.relay.speak()

    await alone.until(lambda: "a new connection to Slack is open" in alone.log())

    assert await alone.command() == "acked"
    assert alone.calls("apps.connections.open") > first
    await alone.until(lambda: "well again" in alone.log())
    assert (await alone.health("/readyz"))[0] == 200
    assert "Traceback" not in alone.log()
