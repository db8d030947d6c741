"""Reading back through Slack's own client: conversations.history and conversations.replies."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, open_workspace
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

MARK = {"event_type": "a_mark", "event_payload": {"id": "m-1"}}


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def client(workspace: Workspace) -> AsyncWebClient:
    return workspace.client()


async def refused(call: Any) -> dict[str, Any]:
    with pytest.raises(SlackApiError) as caught:
        await call
    answer: dict[str, Any] = caught.value.response.data
    return answer


async def posted(client: AsyncWebClient, *texts: str, thread_ts: str | None = None) -> list[str]:
    answers = [await client.chat_postMessage(channel="C_OPS", text=t, thread_ts=thread_ts) for t in texts]
    return [str(answer["ts"]) for answer in answers]


def texts(answer: Any) -> list[str]:
    return [message["text"] for message in answer["messages"]]


async def test_a_history_is_newest_first_without_replies_and_whispers(client: AsyncWebClient) -> None:
    first, _ = await posted(client, "one", "two")
    await posted(client, "reply", thread_ts=first)
    await client.chat_postEphemeral(channel="C_OPS", user="U_OPERATOR", text="psst")

    answer = await client.conversations_history(channel="C_OPS")

    assert texts(answer) == ["two", "one"]
    assert answer["has_more"] is False


async def test_a_deleted_message_is_not_in_the_history(client: AsyncWebClient) -> None:
    first, _ = await posted(client, "one", "two")
    await client.chat_delete(channel="C_OPS", ts=first)

    assert texts(await client.conversations_history(channel="C_OPS")) == ["two"]


async def test_a_history_comes_in_pages(client: AsyncWebClient) -> None:
    await posted(client, *"abcde")

    pages = await client.conversations_history(channel="C_OPS", limit=2)

    assert [(texts(page), page["has_more"]) async for page in pages] == [
        (["e", "d"], True),
        (["c", "b"], True),
        (["a"], False),
    ]


@pytest.mark.parametrize(("inclusive", "expected"), [(False, ["c"]), (True, ["d", "c", "b"])])
async def test_a_history_between_two_moments(
    client: AsyncWebClient, *, inclusive: bool, expected: list[str]
) -> None:
    stamps = await posted(client, *"abcde")

    answer = await client.conversations_history(
        channel="C_OPS", oldest=stamps[1], latest=stamps[3], inclusive=inclusive
    )

    assert texts(answer) == expected


async def test_a_thread_is_oldest_first_with_its_parent_on_every_page(client: AsyncWebClient) -> None:
    [parent] = await posted(client, "parent")
    await posted(client, *"abc", thread_ts=parent)

    pages = await client.conversations_replies(channel="C_OPS", ts=parent, limit=2)

    assert [texts(page) async for page in pages] == [["parent", "a", "b"], ["parent", "c"]]


async def test_a_thread_since_a_moment_still_begins_with_its_parent(client: AsyncWebClient) -> None:
    [parent] = await posted(client, "parent")
    _, b, _ = await posted(client, *"abc", thread_ts=parent)

    answer = await client.conversations_replies(channel="C_OPS", ts=parent, oldest=b)

    assert texts(answer) == ["parent", "c"]


@pytest.mark.parametrize(("wanted", "shown"), [(True, MARK), (False, None)])
async def test_metadata_is_given_to_whoever_asks_for_it(
    client: AsyncWebClient, *, wanted: bool, shown: dict[str, Any] | None
) -> None:
    await client.chat_postMessage(channel="C_OPS", text="marked", metadata=MARK)

    answer = await client.conversations_history(channel="C_OPS", include_all_metadata=wanted)

    assert answer["messages"][0].get("metadata") == shown


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"channel": "C_PUBLIC"}, "not_in_channel"),
        ({"channel": "G_PRIVATE"}, "channel_not_found"),
        ({"channel": "C_NOWHERE"}, "channel_not_found"),
        ({"channel": "U_OPERATOR"}, "channel_not_found"),
        ({"channel": "C_OPS", "oldest": "yesterday"}, "invalid_ts_oldest"),
        ({"channel": "C_OPS", "latest": "now"}, "invalid_ts_latest"),
        ({"channel": "C_OPS", "cursor": "page:2"}, "invalid_cursor"),
        ({"channel": "C_OPS", "limit": 0}, "invalid_limit"),
    ],
)
async def test_what_cannot_be_read_is_refused(
    client: AsyncWebClient, arguments: dict[str, Any], error: str
) -> None:
    assert (await refused(client.conversations_history(**arguments)))["error"] == error


async def test_a_thread_that_is_not_there_is_refused(client: AsyncWebClient) -> None:
    answer = await refused(client.conversations_replies(channel="C_OPS", ts="1.000001"))

    assert answer["error"] == "thread_not_found"


@pytest.mark.parametrize(
    ("channel", "scope"), [("C_OPS", "channels:history"), ("D_U_OPERATOR", "im:history")]
)
async def test_each_kind_of_conversation_needs_its_own_scope(
    workspace: Workspace, client: AsyncWebClient, channel: str, scope: str
) -> None:
    world = workspace.slack.world
    world.scopes = tuple(granted for granted in world.scopes if granted != scope)

    answer = await refused(client.conversations_history(channel=channel))

    assert (answer["error"], answer["needed"]) == ("missing_scope", scope)


async def test_reading_may_lag_behind_writing(workspace: Workspace, client: AsyncWebClient) -> None:
    await posted(client, "new")
    await workspace.post("/faults", target="slack", kind="history-lags", lag_s=60, times=1)

    seen = [texts(await client.conversations_history(channel="C_OPS")) for _ in range(2)]

    assert seen == [[], ["new"]]
