"""One Chromium and one installation for all browser tests; no page may complain or look elsewhere."""

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from browser.pages import SHOTS, Pages, chromium
from e2e import quick_bot
from e2e.installed import Installed, installed
from playwright.async_api import Browser


@pytest.fixture(scope="session", autouse=True)
def _new_album() -> None:
    shutil.rmtree(SHOTS, ignore_errors=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def everything() -> AsyncIterator[Installed]:
    async with installed(quick_bot.start) as site:
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def site(everything: Installed) -> AsyncIterator[Installed]:
    await everything.begin()
    yield everything
    await everything.tidy()


@pytest_asyncio.fixture(loop_scope="session")
async def pages(browser: Browser, site: Installed) -> AsyncIterator[Pages]:
    opened = Pages(browser, site.where["console"])
    yield opened
    await opened.close()
    assert opened.strangers() == []
    assert opened.complaints == []
