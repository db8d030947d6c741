"""An installation whose bot gives up after seconds, started once and tidied up after each test."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from e2e import quick_bot
from e2e.installed import Installed, installed

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """All of this directory is of one kind; pytest asks with the tests of every directory."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def faulty() -> AsyncIterator[Installed]:
    async with installed(quick_bot.start_impatient) as site:
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def site(faulty: Installed) -> AsyncIterator[Installed]:
    await faulty.begin()
    yield faulty
    await faulty.tidy()
