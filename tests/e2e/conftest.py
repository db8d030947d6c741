"""An installation that is started once for all tests of this directory, and tidied up after each."""

from collections.abc import AsyncIterator

import pytest_asyncio
from e2e import quick_bot
from e2e.installed import Installed, installed


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def everything() -> AsyncIterator[Installed]:
    async with installed(quick_bot.start) as site:
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def site(everything: Installed) -> AsyncIterator[Installed]:
    await everything.begin()
    yield everything
    await everything.tidy()
