"""An installation whose bot gives up after seconds, started once and tidied up after each test."""

from collections.abc import AsyncIterator

import pytest_asyncio
from e2e import quick_bot
from e2e.installed import Installed, installed


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def faulty() -> AsyncIterator[Installed]:
    async with installed(quick_bot.start_impatient) as site:
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def site(faulty: Installed) -> AsyncIterator[Installed]:
    await faulty.begin()
    yield faulty
    await faulty.tidy()
