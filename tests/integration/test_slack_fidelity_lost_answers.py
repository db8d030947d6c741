"""Item 9 of the Slack fidelity list, second half: the write stands, and its answer is lost."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from integration.standin_slack_kit import Workspace, open_workspace

Make = Callable[[Workspace], Awaitable[Callable[[], Awaitable[Any]]]]
VIEW = {"type": "modal", "title": {"type": "plain_text", "text": "One"}, "blocks": [{"type": "divider"}]}
SECOND = {**VIEW, "title": {"type": "plain_text", "text": "Two"}}


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


def trigger(workspace: Workspace) -> str:
    opened = workspace.slack.views("U_OPERATOR")
    return workspace.slack.world.tickets.new_trigger("U_OPERATOR", opened[-1]["id"] if opened else None)


async def update(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    client = workspace.client()
    ts = (await client.chat_postMessage(channel="C_OPS", text="old"))["ts"]
    return lambda: client.chat_update(channel="C_OPS", ts=ts, text="written")


async def delete(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    client = workspace.client()
    ts = (await client.chat_postMessage(channel="C_OPS", text="written"))["ts"]
    return lambda: client.chat_delete(channel="C_OPS", ts=ts)


async def post(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    return lambda: workspace.client().chat_postMessage(channel="C_OPS", text="written")


async def whisper(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    return lambda: workspace.client().chat_postEphemeral(channel="C_OPS", user="U_OPERATOR", text="written")


async def respond(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    world = workspace.slack.world
    url = world.base_url + world.tickets.new_response_url("C_OPS", "U_OPERATOR")
    return lambda: workspace.respond(url, text="written")


async def open_view(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    return lambda: workspace.client().views_open(trigger_id=trigger(workspace), view=SECOND)


async def push_view(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    await workspace.client().views_open(trigger_id=trigger(workspace), view=VIEW)
    return lambda: workspace.client().views_push(trigger_id=trigger(workspace), view=SECOND)


async def update_view(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    opened = await workspace.client().views_open(trigger_id=trigger(workspace), view=VIEW)
    return lambda: workspace.client().views_update(view_id=opened["view"]["id"], view=SECOND)


async def publish(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    home = {"type": "home", "blocks": [{"type": "divider"}]}
    return lambda: workspace.client().views_publish(user_id="U_OPERATOR", view=home)


async def upload(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    asked = await workspace.client().files_getUploadURLExternal(filename="a.txt", length=7)
    return lambda: workspace.http.post(asked["upload_url"], data=b"written")


async def complete(workspace: Workspace) -> Callable[[], Awaitable[Any]]:
    client = workspace.client()
    asked = await client.files_getUploadURLExternal(filename="a.txt", length=7)
    await workspace.http.post(asked["upload_url"], data=b"written")
    return lambda: client.files_completeUploadExternal(
        files=[{"id": asked["file_id"]}], channel_id="C_OPS", initial_comment="written"
    )


async def texts(workspace: Workspace) -> list[str]:
    return [message["text"] for message in await workspace.messages()]


async def titles(workspace: Workspace) -> list[str]:
    return [view["title"]["text"] for view in await workspace.get("/views", user="U_OPERATOR")]


async def home_blocks(workspace: Workspace) -> list[str]:
    home = await workspace.get("/home", user="U_OPERATOR")
    return [block["type"] for block in home["blocks"]] if home else []


async def contents(workspace: Workspace) -> list[bytes | None]:
    return [file.content for file in workspace.slack.world.files.values()]


@pytest.mark.parametrize(
    ("method", "make", "look", "written"),
    [
        ("chat.postMessage", post, texts, ["written"]),
        ("chat.update", update, texts, ["written"]),
        ("chat.delete", delete, texts, []),
        ("chat.postEphemeral", whisper, texts, ["written"]),
        ("response_url", respond, texts, ["written"]),
        ("views.open", open_view, titles, ["Two"]),
        ("views.push", push_view, titles, ["One", "Two"]),
        ("views.update", update_view, titles, ["Two"]),
        ("views.publish", publish, home_blocks, ["divider"]),
        ("upload", upload, contents, [b"written"]),
        ("files.completeUploadExternal", complete, texts, ["written"]),
    ],
)
async def test_item_09_a_writing_call_can_be_carried_out_and_its_connection_dropped(
    workspace: Workspace, method: str, make: Make, look: Callable[[Workspace], Any], written: list[Any]
) -> None:
    call = await make(workspace)
    await workspace.post("/faults", target="slack", kind="drop-after-write", method=method)

    with pytest.raises(aiohttp.ClientError):
        await call()

    assert await look(workspace) == written
    assert (await workspace.get("/faults"))["armed"] == []


async def test_item_09_a_fault_without_a_method_leaves_response_urls_alone(workspace: Workspace) -> None:
    call = await respond(workspace)
    await workspace.post("/faults", target="slack", kind="server-error")
    await workspace.post("/faults", target="slack", kind="drop-after-write")

    assert await call() == (200, "ok")


@pytest.mark.parametrize(
    ("fault", "status"),
    [({"kind": "rate-limited", "retry_after": 7}, 429), ({"kind": "server-error", "status": 503}, 503)],
)
async def test_item_09_a_response_url_is_throttled_and_breaks_only_by_name(
    workspace: Workspace, fault: dict[str, Any], status: int
) -> None:
    call = await respond(workspace)
    await workspace.post("/faults", target="slack", method="response_url", **fault)

    first, second = (await call())[0], (await call())[0]

    assert (first, second) == (status, 200)
    assert await texts(workspace) == ["written"]


async def test_item_09_a_fault_for_a_method_that_there_is_not_is_refused(workspace: Workspace) -> None:
    status, answer = await workspace.try_post(
        "/faults", target="slack", kind="server-error", method="chat.postMesage"
    )

    assert status == 400
    assert "chat.postMessage" in answer["error"]
