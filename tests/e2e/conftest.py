"""An installation with the bot as it is served, started once for all tests of this directory."""

from collections.abc import AsyncIterator

import pytest_asyncio

from e2e.installed import Installed, installed


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def everything() -> AsyncIterator[Installed]:
    async with installed() as site:
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def site(everything: Installed) -> AsyncIterator[Installed]:
    """The installation, tidied up after each test."""
    yield everything
    await everything.tidy()
