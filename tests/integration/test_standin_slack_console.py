"""The console page: it shows and presses what the workspace holds, and never runs what a message says."""

import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace

from bot.standin.console import Console
from bot.standin.console_blocks import mrkdwn
from bot.standin.listener import Listener

EVIL = '<script>alert("x")</script>"\'><img src=x onerror=alert(1)>'


class Elements(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
async def console(workspace: Workspace, tmp_path: Path) -> AsyncIterator[str]:
    application = web.Application()
    Console(workspace.slack, lambda: {"sandboxes": []}).add_to(application)
    listener = Listener(application, kept_port=tmp_path / "console-port")
    await listener.start()
    yield f"{listener.url}/console"
    await listener.stop()


async def page(workspace: Workspace, url: str) -> str:
    async with workspace.http.get(url) as response:
        assert response.status == 200
        return await response.text()


async def press(workspace: Workspace, url: str, text: str, label: str) -> None:
    """Send the form that holds the button, as a browser does."""
    form = next(
        found for found in re.findall(r"<form method=post.*?</form>", text, re.DOTALL) if label in found
    )
    deed = re.search(r"action=/console/(\w+)", form)
    assert deed
    data = aiohttp.FormData(dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form)))
    async with workspace.http.post(f"{url}/{deed[1]}", data=data) as response:
        assert response.status == 200


async def test_a_command_and_a_press_reach_the_app(workspace: Workspace, console: str) -> None:
    heard: list[dict[str, Any]] = []
    element = {
        "type": "button",
        "action_id": "go",
        "value": "7",
        "text": {"type": "plain_text", "text": "Go on"},
    }
    async with connected(workspace, lambda app: hears_everything(app, heard)) as app:
        form = {"user": "U_OPERATOR", "channel": "C_OPS", "text": "create home=alpha"}
        async with workspace.http.post(f"{console}/command", data=form) as response:
            assert response.status == 200
        await app.client.chat_postMessage(
            channel="C_OPS", text="card", blocks=[{"type": "actions", "elements": [element]}]
        )

        await press(workspace, console, await page(workspace, f"{console}/live"), "Go on")

    assert heard[0]["text"] == "create home=alpha"
    assert (heard[1]["user"]["id"], heard[1]["actions"][0]["value"]) == ("U_OPERATOR", "7")


async def test_whatever_a_message_says_is_text(workspace: Workspace, console: str) -> None:
    client = workspace.client()
    plain = {"type": "plain_text", "text": EVIL[:70]}
    await client.chat_postMessage(channel="C_OPS", text=EVIL)
    await client.chat_postMessage(
        channel="C_OPS",
        text="x",
        blocks=[
            {"type": "header", "text": plain},
            {"type": "section", "text": {"type": "mrkdwn", "text": EVIL}, "block_id": EVIL},
            {
                "type": "actions",
                "elements": [{"type": "button", "action_id": EVIL, "value": EVIL, "text": plain}],
            },
            {"type": "table", "rows": [[{"type": "raw_text", "text": EVIL}]]},
        ],
    )

    text = await page(workspace, f"{console}?error={EVIL}&user={EVIL}")

    seen = Elements()
    seen.feed(text)
    assert "img" not in seen.tags
    assert seen.tags.count("script") == 1
    assert not [name for name in seen.attributes if name.startswith("on")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<https://x.example/?a=1&amp;b=2|here>", 'href="https://x.example/?a=1&amp;b=2"'),
        ("<javascript:alert(1)|here>", "here"),
        ("a &lt;b&gt; &amp; c", "a &lt;b&gt; &amp; c"),
        ("*bold* and `code`", "<b>bold</b> and <code>code</code>"),
        ("<@U_X|ola> in <#C_X|ops>", "<b>@ola</b> in <b>#ops</b>"),
    ],
)
def test_markup_becomes_harmless_html(text: str, shown: str) -> None:
    made = mrkdwn(text)

    assert shown in made
    assert "javascript:" not in made


async def test_a_modal_is_filled_in_and_submitted(workspace: Workspace, console: str) -> None:
    heard: list[dict[str, Any]] = []
    view = {
        "type": "modal",
        "callback_id": "form",
        "title": {"type": "plain_text", "text": "Why"},
        "submit": {"type": "plain_text", "text": "Send it"},
        "blocks": [
            {
                "type": "input",
                "block_id": "why",
                "label": {"type": "plain_text", "text": "Why"},
                "element": {"type": "plain_text_input", "action_id": "text", "initial_value": "because"},
            }
        ],
    }
    async with connected(workspace, lambda app: hears_everything(app, heard)) as app:
        trigger_id = workspace.slack.world.tickets.new_trigger("U_OPERATOR")
        await app.client.views_open(trigger_id=trigger_id, view=view)

        await press(workspace, console, await page(workspace, f"{console}/live"), "Send it")

    assert heard[0]["view"]["state"]["values"]["why"]["text"]["value"] == "because"
    assert await workspace.get("/views", user="U_OPERATOR") == []


def test_emoji_are_shown_and_what_only_looks_like_one_stays() -> None:
    assert mrkdwn(":white_check_mark: ready at 12:30:45 :unheard_of:") == "✅ ready at 12:30:45 :unheard_of:"
