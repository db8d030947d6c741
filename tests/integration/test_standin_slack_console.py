"""The console: what the page and its stream tell whom, and that nothing a message says ever runs."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace

from bot.standin.console import Console, Truth
from bot.standin.console.manifest import read_manifest
from bot.standin.control import Control
from bot.standin.listener import Listener

EVIL = '<script>alert("x")</script>"\'><img src=x onerror=alert(1)>'


class Elements(HTMLParser):
    """The tags and attributes that a browser would see, and the values of ``data-ts``."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


class Stream:
    """An open page, as far as the server knows."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.seen = ""
        """All HTML that has come so far."""

    async def news(self) -> dict[str, Any]:
        """The next event."""
        while True:
            line = (await asyncio.wait_for(self._response.content.readline(), 5)).decode()
            assert line, "the stream has ended"
            if line.startswith("data: "):
                found: dict[str, Any] = json.loads(line.removeprefix("data: "))
                self.seen += "".join(
                    text for name, one in found.items() if name != "latest" for text in one["html"].values()
                )
                return found

    async def until(self, words: str) -> dict[str, Any]:
        """The event that first shows these words."""
        while True:
            news = await self.news()
            if words in self.seen:
                return news


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
async def console(workspace: Workspace, tmp_path: Path) -> AsyncIterator[str]:
    """The address of a console over the workspace, with the control API beside it as in real life."""
    control = Control(slack=workspace.slack, clock=workspace.clock, faults=workspace.faults)
    application = control.application()
    Console(workspace.slack, Truth(workspace.clock, workspace.faults)).add_to(application)
    listener = Listener(application, kept_port=tmp_path / "console-port")
    await listener.start()
    yield f"{listener.url}/console"
    await listener.stop()


async def page(workspace: Workspace, url: str, **query: str) -> str:
    async with workspace.http.get(url, params=query) as response:
        assert response.status == 200
        return await response.text()


@contextlib.asynccontextmanager
async def watching(workspace: Workspace, url: str, **query: str) -> AsyncIterator[Stream]:
    """A stream that has told everything that there is now."""
    async with workspace.http.get(f"{url}/stream", params=query) as response:
        assert response.content_type == "text/event-stream"
        stream = Stream(response)
        await stream.news()
        yield stream


async def test_whatever_a_message_says_is_text(workspace: Workspace, console: str) -> None:
    client = workspace.client()
    plain = {"type": "plain_text", "text": EVIL[:70]}
    button = {"type": "button", "action_id": EVIL, "value": EVIL, "text": plain}
    await client.chat_postMessage(channel="C_OPS", text=EVIL)
    await client.chat_postMessage(
        channel="C_OPS",
        text="x",
        blocks=[
            {"type": "header", "text": plain},
            {"type": "section", "text": {"type": "mrkdwn", "text": EVIL}, "block_id": EVIL},
            {"type": "actions", "elements": [button]},
            {"type": "table", "rows": [[{"type": "raw_text", "text": EVIL}]]},
        ],
    )

    seen = Elements(await page(workspace, console, user=EVIL, channel=EVIL, thread=EVIL))

    assert "img" not in seen.tags
    assert seen.tags.count("script") == 1
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert "style" not in seen.tags + seen.attributes


async def test_a_new_message_comes_without_a_reload_and_nothing_else_comes_again(
    workspace: Workspace, console: str
) -> None:
    await workspace.client().chat_postMessage(channel="C_OPS", text="an earlier word")
    async with watching(workspace, console, channel="C_OPS") as stream:
        posted = await workspace.client().chat_postMessage(channel="C_OPS", text="the second one")

        news = await stream.until("the second one")

    assert list(news["feed"]["html"]) == [posted["ts"]]
    assert stream.seen.count("an earlier word") == 1


async def test_an_edit_replaces_its_message_alone(workspace: Workspace, console: str) -> None:
    client = workspace.client()
    await client.chat_postMessage(channel="C_OPS", text="bystander")
    posted = await client.chat_postMessage(channel="C_OPS", text="as it was")
    async with watching(workspace, console, channel="C_OPS") as stream:
        await client.chat_update(channel="C_OPS", ts=posted["ts"], text="as it is")

        news = await stream.until("as it is")

    assert list(news["feed"]["html"]) == [posted["ts"]]


async def test_replies_are_counted_in_the_channel_and_shown_in_the_thread(
    workspace: Workspace, console: str
) -> None:
    client = workspace.client()
    first = await client.chat_postMessage(channel="C_OPS", text="a question")
    async with watching(workspace, console, channel="C_OPS", thread=first["ts"]) as stream:
        reply = await client.chat_postMessage(channel="C_OPS", text="an answer", thread_ts=first["ts"])

        news = await stream.until("an answer")

    assert "1 reply" in news["feed"]["html"][first["ts"]]
    assert reply["ts"] not in dict(news["feed"]["order"])
    assert "an answer" in news["thread"]["html"][reply["ts"]]


async def test_an_ephemeral_message_reaches_its_person_alone(workspace: Workspace, console: str) -> None:
    client = workspace.client()
    async with (
        watching(workspace, console, user="U_OPERATOR", channel="C_OPS") as mine,
        watching(workspace, console, user="U_OPERATOR2", channel="C_OPS") as other,
    ):
        await client.chat_postEphemeral(channel="C_OPS", user="U_OPERATOR", text="a whisper")
        await client.chat_postMessage(channel="C_OPS", text="said aloud")

        await mine.until("said aloud")
        await other.until("said aloud")

    assert "a whisper" in mine.seen
    assert "Only visible to you" in mine.seen
    assert "whisper" not in other.seen + await page(workspace, console, user="U_OPERATOR2")


async def test_a_modal_opens_for_its_person_alone(workspace: Workspace, console: str) -> None:
    async with (
        watching(workspace, console, user="U_OPERATOR") as mine,
        watching(workspace, console, user="U_OPERATOR2") as other,
    ):
        await open_form(workspace)
        await workspace.client().chat_postMessage(channel="C_OPS", text="said aloud")

        await mine.until("said aloud")
        await other.until("said aloud")

    assert "Because of what" in mine.seen
    assert "Because of what" not in other.seen


async def test_errors_of_a_submission_come_back_on_their_field(workspace: Workspace, console: str) -> None:
    def refuse(app: Any) -> None:
        async def answer(ack: Any) -> None:
            await ack(response_action="errors", errors={"why": "say more"})

        app.view("form")(answer)

    async with connected(workspace, refuse):
        view_id = await open_form(workspace)
        async with watching(workspace, console) as stream:
            body = {"user": "U_OPERATOR", "view_id": view_id, "values": {"why": {"text": "so"}}}
            async with workspace.http.post(f"{console.removesuffix('/console')}/submit", json=body) as answer:
                assert answer.status == 200

            news = await stream.until("say more")

    assert 'aria-invalid="true"' in news["modal"]["html"][view_id]
    assert 'value="so"' in news["modal"]["html"][view_id]


async def test_a_press_in_a_modal_brings_along_what_was_typed(workspace: Workspace, console: str) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        view_id = await open_form(workspace)
        typed = {"why": {"text": "because"}}
        body = {"user": "U_OPERATOR", "view_id": view_id, "action_id": "look", "filled": typed}

        async with workspace.http.post(f"{console.removesuffix('/console')}/click", json=body) as answer:
            assert answer.status == 200

    assert heard[0]["view"]["state"]["values"]["why"]["text"]["value"] == "because"


@pytest.mark.parametrize("channel", ["D_U_ADMIN", "G_PRIVATE", "C_AUDIT"])
async def test_nobody_reads_where_they_are_not(workspace: Workspace, console: str, channel: str) -> None:
    await workspace.client().chat_postMessage(channel="C_OPS", text="for everybody")
    person = "U_FOREIGNER"
    hidden = workspace.slack.world.cast.channels[channel]
    await workspace.slack.people.say(min(hidden.members - {"U_BOT"}), channel, "not for partners")

    text = await page(workspace, console, user=person, channel=channel)

    assert "not for partners" not in text
    assert "for everybody" in text


async def test_a_page_says_where_one_cannot_write_and_why(workspace: Workspace, console: str) -> None:
    archived = await page(workspace, console, channel="C_ARCHIVED")
    stranger = await page(workspace, console, user="U_OUTSIDER", channel="C_AUDIT")

    assert "archived. You can read it" in archived
    assert "not a member of #audit" in stranger
    assert 'id="compose"' not in archived + stranger


async def test_nothing_but_the_pages_own_files_may_run(workspace: Workspace, console: str) -> None:
    async with workspace.http.get(console) as response:
        policy = response.headers["Content-Security-Policy"]
    async with workspace.http.get(f"{console}/static/console.js") as script:
        kind = script.headers["Content-Type"]
    async with workspace.http.get(f"{console}/static/..%2froutes.py") as other:
        missing = other.status

    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert kind.startswith("text/javascript")
    assert missing == 404


async def test_pages_of_other_origins_are_refused(workspace: Workspace, console: str) -> None:
    async with workspace.http.get(f"{console}/stream", headers={"Origin": "http://evil.example"}) as cross:
        assert cross.status == 403
    async with workspace.http.get(console, headers={"Host": "evil.example"}) as rebound:
        assert rebound.status == 403


@pytest.mark.parametrize("host", ["[", "[::1", "127.0.0.1.evil.example", "127.0.0.1@evil.example"])
async def test_a_host_that_is_not_this_machine_is_refused_however_it_is_written(
    workspace: Workspace, console: str, host: str
) -> None:
    async with workspace.http.get(console, headers={"Host": host}) as answer:
        assert answer.status == 403


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b'{"text": "' + b"x" * 2_000_000 + b'"}', 413, "too long"),
        (b'{"text": ' + b"[" * 100_000, 400, "JSON object"),
    ],
    ids=["two megabytes", "a hundred thousand brackets"],
)
async def test_what_is_too_much_for_the_control_api_gets_one_sentence(
    workspace: Workspace, body: bytes, status: int, words: str
) -> None:
    async with workspace.http.post(f"{workspace.control_url}/say", data=body) as answer:
        assert answer.status == status
        assert words in (await answer.json())["error"]


async def test_a_line_break_in_the_name_of_a_file_breaks_nothing(workspace: Workspace) -> None:
    await workspace.client().files_upload_v2(channel="C_OPS", filename="a\r\nX-Evil: é.txt", content="text")
    [file] = (await workspace.messages())[0]["files"]

    async with workspace.http.get(f"{workspace.control_url}/files/{file['id']}") as answer:
        headers, content = answer.headers, await answer.text()

    assert content == "text"
    assert headers["X-File-Name"] == "a??X-Evil: ?.txt"


async def test_a_shared_file_outlives_a_restart_and_an_upload_that_broke_off_does_not(tmp_path: Path) -> None:
    async with open_workspace(tmp_path) as before:
        await before.client().files_upload_v2(channel="C_OPS", filename="report.txt", content="all of it")
        [file] = (await before.messages())[0]["files"]
        begun = await before.client().files_getUploadURLExternal(filename="half.txt", length=4)

    async with open_workspace(tmp_path) as after:
        async with after.http.get(f"{after.control_url}/files/{file['id']}") as answer:
            content = await answer.text()
        async with after.http.get(f"{after.control_url}/files/{begun['file_id']}") as answer:
            half = answer.status

    assert content == "all of it"
    assert half == 404


async def test_where_nobody_can_type_nothing_is_proposed(workspace: Workspace, console: str) -> None:
    shown = await page(workspace, console, user="U_OPERATOR", channel="C_ARCHIVED")

    assert "Nothing has been written here yet" in shown
    assert "data-example" not in shown


async def test_an_uploaded_page_is_never_served_as_one(workspace: Workspace, console: str) -> None:
    await workspace.client().files_upload_v2(channel="C_OPS", filename="x.html", content="<script>1</script>")
    message = (await workspace.messages())[0]

    async with workspace.http.get(
        f"{console.removesuffix('/console')}/files/{message['files'][0]['id']}"
    ) as response:
        headers = response.headers

    assert headers["Content-Disposition"] == "attachment"
    assert "sandbox" in headers["Content-Security-Policy"]


async def test_one_kind_of_fault_is_cleared_and_the_others_stay(workspace: Workspace, console: str) -> None:
    for kind in ("server-error", "slow-api"):
        await workspace.post("/faults", target="slack", kind=kind)
    async with watching(workspace, console) as stream:
        url = f"{console.removesuffix('/console')}/faults"
        async with workspace.http.delete(url, params={"target": "slack", "kind": "slow-api"}) as answer:
            left = [fault["kind"] for fault in (await answer.json())["armed"]]

        news = await stream.news()

    assert left == ["server-error"]
    assert [key for key, _ in news["armed"]["order"]] == ["0-slack-server-error"]


async def test_open_pages_do_not_hold_up_the_end(workspace: Workspace, tmp_path: Path) -> None:
    application = web.Application()
    Console(workspace.slack, Truth(workspace.clock, workspace.faults)).add_to(application)
    listener = Listener(application, kept_port=tmp_path / "ending-port")
    await listener.start()
    async with watching(workspace, f"{listener.url}/console"):
        await asyncio.wait_for(listener.stop(), 1.5)


def test_the_usage_hint_is_the_manifests() -> None:
    manifest = yaml.safe_load(Path("manifest.yaml").read_text(encoding="utf-8"))
    command = manifest["features"]["slash_commands"][0]

    read = read_manifest()

    assert (read.usage_hint, read.description) == (command["usage_hint"], command["description"])
    assert read.app_takes_messages != manifest["features"]["app_home"]["messages_tab_read_only_enabled"]


async def open_form(workspace: Workspace) -> str:
    field = {"type": "plain_text_input", "action_id": "text"}
    look = {"type": "button", "action_id": "look", "text": {"type": "plain_text", "text": "Look"}}
    view = {
        "type": "modal",
        "callback_id": "form",
        "title": {"type": "plain_text", "text": "Why"},
        "submit": {"type": "plain_text", "text": "Send it"},
        "blocks": [
            {
                "type": "input",
                "block_id": "why",
                "label": {"type": "plain_text", "text": "Because of what"},
                "element": field,
            },
            {"type": "actions", "elements": [look]},
        ],
    }
    trigger_id = workspace.slack.world.tickets.new_trigger("U_OPERATOR")
    opened = await workspace.client().views_open(trigger_id=trigger_id, view=view)
    return str(opened["view"]["id"])
