"""What the whole bot does to Slack: it calls no faster than Slack allows, and no link of it is fetched."""

import pytest
from e2e.installed import OPERATOR, Installed

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_nothing_is_throttled_or_hidden_and_no_link_is_fetched(site: Installed) -> None:
    before = await site.control.get("/healthz")
    thread = await site.create(OPERATOR, "home=quiet")
    await thread.press("hermes.open")
    window = await site.window(OPERATOR)
    await site.ask(OPERATOR, "help")

    after = await site.control.get("/healthz")
    crawled = [crawl["url"] for crawl in await site.control.get("/crawls") if crawl["user"] == "U_BOT"]

    assert "http" in str(await thread.messages())
    assert window
    assert (after["throttled"], after["hidden"]) == (before["throttled"], 0)
    assert crawled == []
