"""Item 10 of the Slack fidelity list: Slack fetches the links of a message that does not forbid it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from integration.standin_slack_kit import Workspace, open_workspace, until

from bot.standin.slack.crawler import is_local, links_of

OFF = {"unfurl_links": False, "unfurl_media": False}


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


class Site:
    """A server whose links work once."""

    def __init__(self) -> None:
        self.spent: list[str] = []
        self.hosts: list[str] = []
        self.url = ""
        self.port = 0

    async def take(self, request: web.Request) -> web.Response:
        self.hosts.append(request.host)
        token = request.match_info["token"]
        if token == "moved":
            raise web.HTTPFound("/login/behind-the-redirect")
        if token == "slow":
            await asyncio.Event().wait()
        self.spent.append(token)
        return web.Response(text="welcome")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    here = Site()
    application = web.Application()
    application.router.add_get("/login/{token}", here.take)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    here.port = runner.addresses[0][1]
    here.url = f"http://127.0.0.1:{here.port}/login"
    yield here
    await runner.cleanup()


async def crawls(workspace: Workspace) -> list[dict[str, Any]]:
    """All crawls, once each has an end."""

    def over() -> bool:
        found = workspace.slack.world.crawler.shown()
        return all(one["status"] or one["error"] or not one["fetched"] for one in found)

    await until(over)
    found: list[dict[str, Any]] = await workspace.get("/crawls")
    return found


@pytest.mark.parametrize(
    ("flags", "spent"),
    [
        ({}, ["t1"]),
        ({"unfurl_links": False}, ["t1"]),
        ({"unfurl_media": False}, ["t1"]),
        (OFF, []),
    ],
)
async def test_item_10_a_link_is_fetched_unless_both_flags_are_false(
    workspace: Workspace, site: Site, flags: dict[str, bool], spent: list[str]
) -> None:
    await workspace.client().chat_postMessage(channel="C_OPS", text=f"sign in: {site.url}/t1", **flags)

    found = await crawls(workspace)

    assert site.spent == spent
    assert [one["url"] for one in found] == [f"{site.url}/{token}" for token in spent]
    assert [(one["status"], one["channel"], one["user"]) for one in found] == [
        (200, "C_OPS", "U_BOT") for _ in spent
    ]


async def test_item_10_links_in_blocks_are_fetched_too_each_once(workspace: Workspace, site: Site) -> None:
    button = {"type": "button", "text": {"type": "plain_text", "text": "Open"}, "url": f"{site.url}/button"}
    blocks = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"<{site.url}/label?a=1&amp;b=2|here>"}},
        {"type": "actions", "elements": [button]},
    ]

    await workspace.client().chat_postMessage(channel="C_OPS", text=f"see ({site.url}/text).", blocks=blocks)

    found = await crawls(workspace)
    assert [one["url"].removeprefix(site.url) for one in found] == ["/text", "/label?a=1&b=2", "/button"]
    assert sorted(site.spent) == ["button", "label", "text"]


async def test_item_10_a_name_below_localhost_is_this_machine(workspace: Workspace, site: Site) -> None:
    host = f"9000-abc.localhost:{site.port}"

    await workspace.client().chat_postMessage(channel="C_OPS", text=f"http://{host}/login/t1")

    assert [one["status"] for one in await crawls(workspace)] == [200]
    assert site.hosts == [host]


async def test_item_10_other_hosts_are_recorded_and_never_called(workspace: Workspace) -> None:
    await workspace.client().chat_postMessage(channel="C_OPS", text="https://studio.demo.example/login?t=1")

    [crawl] = await workspace.get("/crawls")

    assert (crawl["url"], crawl["fetched"]) == ("https://studio.demo.example/login?t=1", False)
    assert (crawl["status"], crawl["error"]) == (None, None)


async def test_item_10_a_redirect_is_not_followed(workspace: Workspace, site: Site) -> None:
    await workspace.client().chat_postMessage(channel="C_OPS", text=f"{site.url}/moved")

    assert [one["status"] for one in await crawls(workspace)] == [302]
    assert site.spent == []


async def test_item_10_a_site_that_does_not_answer_is_given_up(
    workspace: Workspace, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.standin.slack.crawler.FETCH_S", 0.2)

    await workspace.client().chat_postMessage(channel="C_OPS", text=f"{site.url}/slow")

    [crawl] = await crawls(workspace)
    assert crawl["status"] is None
    assert "Timeout" in crawl["error"]


async def test_item_10_an_edit_is_treated_as_its_message_was_posted(workspace: Workspace, site: Site) -> None:
    client = workspace.client()
    open_one = await client.chat_postMessage(channel="C_OPS", text="soon")
    closed = await client.chat_postMessage(channel="C_OPS", text="soon", **OFF)

    await client.chat_update(channel="C_OPS", ts=open_one["ts"], text=f"{site.url}/open")
    await client.chat_update(channel="C_OPS", ts=closed["ts"], text=f"{site.url}/closed")

    await crawls(workspace)
    assert site.spent == ["open"]


async def test_item_10_ephemeral_messages_answers_and_people_have_their_links_fetched(
    workspace: Workspace, site: Site
) -> None:
    world = workspace.slack.world
    url = world.base_url + world.tickets.new_response_url("C_OPS", "U_OPERATOR")

    await workspace.client().chat_postEphemeral(
        channel="C_OPS", user="U_OPERATOR", text=f"{site.url}/whisper"
    )
    await workspace.respond(url, text=f"{site.url}/answer")
    await workspace.respond(url, text=f"{site.url}/closed", **OFF)
    await workspace.post("/say", user="U_OPERATOR", channel="C_OPS", text=f"look: {site.url}/person")

    await crawls(workspace)
    assert sorted(site.spent) == ["answer", "person", "whisper"]


async def test_item_10_links_in_modals_are_left_alone(workspace: Workspace, site: Site) -> None:
    text = {"type": "mrkdwn", "text": f"<{site.url}/modal|open>"}
    view = {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Open"},
        "blocks": [{"type": "section", "text": text}],
    }
    trigger_id = workspace.slack.world.tickets.new_trigger("U_OPERATOR")

    await workspace.client().views_open(trigger_id=trigger_id, view=view)

    assert await workspace.get("/crawls") == []


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8080/x", True),
        ("http://127.9.9.9/x", True),
        ("http://[::1]:80/x", True),
        ("http://localhost/x", True),
        ("http://a.b.localhost:1/x", True),
        ("http://localhost.example/x", False),
        ("http://notlocalhost/x", False),
        ("http://10.0.0.1/x", False),
        ("http://127.0.0.1.example/x", False),
        ("http://127.0.0.1@demo.example/x", False),
        ("http://[broken/x", False),
    ],
)
def test_item_10_only_this_machine_is_really_called(url: str, local: bool) -> None:  # noqa: FBT001  # one column
    assert is_local(url) is local


def test_item_10_links_are_found_with_their_escapes_undone() -> None:
    value = {
        "text": "<https://a.example/?x=1&amp;y=2|a> and HTTPS://b.example/p.",
        "more": ["http://c.example"],
    }

    assert list(links_of(value)) == ["https://a.example/?x=1&y=2", "HTTPS://b.example/p", "http://c.example"]
