"""Items 4 to 8 and 14 of the Slack fidelity list: what the Web API takes from whom, and what it refuses."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}
RICH = {
    "type": "rich_text",
    "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "rich"}]}],
}
TASK = {"type": "task_card", "task_id": "1", "title": "Look", "status": "pending"}
PLAN = {"type": "plan", "title": "Create", "tasks": [TASK]}
TABLE = {"type": "table", "rows": [[{"type": "raw_text", "text": "cell"}]]}


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def client(workspace: Workspace) -> AsyncWebClient:
    return workspace.client()


async def refusal(call: Any) -> dict[str, Any]:
    with pytest.raises(SlackApiError) as caught:
        await call
    answer: dict[str, Any] = caught.value.response.data
    return answer


async def word(call: Any) -> str:
    return str((await refusal(call))["error"])


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        ("C_OPS", None),
        ("C_PUBLIC", None),
        ("U_OPERATOR", None),
        ("G_PRIVATE", "channel_not_found"),
        ("D_PAIR", "channel_not_found"),
        ("C_NOWHERE", "channel_not_found"),
        ("C_ARCHIVED", "is_archived"),
    ],
)
async def test_item_04_where_a_post_is_taken(client: AsyncWebClient, channel: str, error: str | None) -> None:
    call = client.chat_postMessage(channel=channel, text="hello")

    assert await word(call) == error if error else (await call)["ok"]


@pytest.mark.parametrize(
    ("channel", "user", "error"),
    [
        ("C_OPS", "U_OPERATOR", None),
        ("C_OPS", "U_GUEST", "user_not_in_channel"),
        ("C_PUBLIC", "U_OPERATOR", "not_in_channel"),
    ],
)
async def test_item_04_an_ephemeral_message_needs_both_in_the_channel(
    client: AsyncWebClient, channel: str, user: str, error: str | None
) -> None:
    call = client.chat_postEphemeral(channel=channel, user=user, text="hello")

    assert await word(call) == error if error else (await call)["ok"]


async def test_item_05_a_token_is_good_for_its_own_calls(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    secrets = workspace.slack.secrets

    words = [
        await word(workspace.client("xoxb-EXAMPLE").auth_test()),
        await word(workspace.client(secrets.app_token).chat_postMessage(channel="C_OPS", text="x")),
        await word(client.apps_connections_open(app_token=secrets.bot_token)),
    ]

    assert words == ["invalid_auth", "not_allowed_token_type", "not_allowed_token_type"]


async def test_item_05_a_missing_scope_is_named(client: AsyncWebClient) -> None:
    answer = await refusal(client.users_lookupByEmail(email="me@demo.example"))

    assert (answer["error"], answer["needed"]) == ("missing_scope", "users:read.email")
    assert "chat:write" in answer["provided"].split(",")


@pytest.mark.parametrize(
    ("blocks", "error", "said"),
    [
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}], "invalid_blocks", "3001"),
        ([SECTION] * 51, "invalid_blocks", "no more than 50 items"),
        ([{"type": "alert", "text": {"type": "plain_text", "text": "x"}}], "invalid_blocks", "alert"),
        ([{"type": "gremlin"}], "invalid_blocks", "gremlin"),
        ([{**SECTION, "block_id": "same"}] * 2, "invalid_blocks", "same"),
        ([TASK], "invalid_blocks", "pending"),
        ([PLAN, PLAN], "invalid_blocks", "more than 1 plan"),
        ([TABLE, TABLE], "invalid_attachments", "only_one_table_allowed"),
        ([{"type": "markdown", "text": "x" * 6001}] * 2, "invalid_blocks", "12001"),
    ],
)
async def test_item_06_blocks_are_held_to_limits_surfaces_and_counts(
    client: AsyncWebClient, blocks: list[dict[str, Any]], error: str, said: str
) -> None:
    answer = await refusal(client.chat_postMessage(channel="C_OPS", text="x", blocks=blocks))

    assert answer["error"] == error
    assert said in str(answer["response_metadata"]["messages"])


async def test_item_07_an_ephemeral_message_is_one_persons_until_a_reload(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    sent = await client.chat_postEphemeral(channel="C_OPS", user="U_OPERATOR", text="only you")
    before = await workspace.messages()
    words = [
        await word(client.chat_update(channel="C_OPS", ts=sent["message_ts"], text="x")),
        await word(client.chat_delete(channel="C_OPS", ts=sent["message_ts"])),
        await word(client.chat_postMessage(channel="C_OPS", text="x", thread_ts=sent["message_ts"])),
    ]

    await workspace.post("/reload", user="U_OPERATOR")

    assert [message["ephemeral_for"] for message in before] == ["U_OPERATOR"]
    assert words == ["message_not_found", "message_not_found", "thread_not_found"]
    assert await workspace.messages() == []


async def test_item_08_an_update_keeps_what_it_does_not_name_and_text_alone_drops_blocks(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    metadata = {"event_type": "job", "event_payload": {"n": 1}}
    posted = await client.chat_postMessage(
        channel="C_OPS", text="one", blocks=[SECTION], metadata=metadata, attachments=[{"text": "below"}]
    )
    update = {"channel": "C_OPS", "ts": posted["ts"]}

    await client.chat_update(**update, text="two", blocks=[SECTION])
    with_blocks = (await workspace.messages())[0]
    await client.chat_update(**update, text="three")
    bare = (await workspace.messages())[0]
    await client.api_call("chat.update", json={**update, "attachments": [], "metadata": {}})
    emptied = (await workspace.messages())[0]

    assert (with_blocks["attachments"], with_blocks["metadata"]) == ([{"text": "below"}], metadata)
    assert "edited" not in with_blocks
    assert (bare["text"], bare["blocks"], bare["edited"]["user"]) == ("three", [], "U_BOT")
    assert (emptied["text"], "attachments" in emptied, "metadata" in emptied) == ("three", False, False)


async def test_item_08_an_update_refuses_what_slack_refuses(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    mine = {"channel": "C_OPS", "ts": (await client.chat_postMessage(channel="C_OPS", text="one"))["ts"]}
    rich = await client.chat_postMessage(channel="C_OPS", text="rich", blocks=[RICH])
    theirs = await workspace.post("/say", user="U_OPERATOR", channel="C_OPS", text="hi")
    dm = await client.chat_postMessage(channel="U_OPERATOR", text="one")

    words = [
        await word(client.chat_update(**mine, text="x" * 4001)),
        await word(client.chat_update(channel="C_OPS", ts="1.000001", text="x")),
        await word(client.chat_update(channel="C_OPS", ts=theirs["ts"], text="x")),
        await word(client.chat_update(channel="U_OPERATOR", ts=dm["ts"], text="x")),
        await word(client.chat_update(channel="C_OPS", ts=rich["ts"], text="x", blocks=[SECTION])),
        await word(client.chat_update(**mine, text="x", reply_broadcast=True)),
    ]

    assert words == [
        "msg_too_long",
        "message_not_found",
        "cant_update_message",
        "channel_not_found",
        "block_mismatch",
        "no_dual_broadcast_content_update",
    ]
    assert (await client.chat_update(channel=dm["channel"], ts=dm["ts"], text="two"))["ok"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"metadata": {"event_type": "job"}}, "invalid_metadata_schema"),
        ({"metadata": {"event_type": 1, "event_payload": {}}}, "invalid_metadata_schema"),
        ({"attachments": [{"text": "x"}] * 101}, "too_many_attachments"),
        ({"attachments": [{"blocks": [{"type": "gremlin"}]}]}, "invalid_blocks"),
    ],
)
async def test_item_08_an_update_of_the_rest_alone_is_judged_like_a_post(
    workspace: Workspace, client: AsyncWebClient, change: dict[str, Any], error: str
) -> None:
    posted = await client.chat_postMessage(channel="C_OPS", text="one")

    words = [
        await word(client.api_call("chat.update", json={"channel": "C_OPS", "ts": posted["ts"], **change})),
        await word(client.api_call("chat.postMessage", json={"channel": "C_OPS", "text": "x", **change})),
    ]

    assert words == [error] * 2
    assert [m.keys() & {"metadata", "attachments"} for m in await workspace.messages()] == [set()]


async def test_item_14_people_differ_in_zone_standing_and_team(client: AsyncWebClient) -> None:
    users = {}
    async for page in await client.users_list(limit=3):
        users |= {user["id"]: user for user in page["members"]}

    assert users["U_OPERATOR2"]["tz_offset"] != users["U_OPERATOR"]["tz_offset"]
    assert (users["U_DELETED"]["deleted"], "tz" in users["U_DELETED"]) == (True, False)
    assert (users["U_BOT"]["is_bot"], users["U_GUEST"]["is_restricted"]) == (True, True)
    assert users["U_FOREIGNER"]["team_id"] == "T_PARTNER"
    assert len(users) == 10


async def test_item_14_a_usergroup_and_a_channel_are_read_as_they_are_now(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await workspace.post("/members", group="S_APPROVERS", add=["U_ADMIN"], remove=["U_APPROVER"])

    users = await client.usergroups_users_list(usergroup="S_APPROVERS")
    members = [
        m
        async for page in await client.conversations_members(channel="C_OPS", limit=2)
        for m in page["members"]
    ]

    assert users["users"] == ["U_ADMIN"]
    assert len(members) == len(set(members)) == 7
    assert await word(client.usergroups_users_list(usergroup="S_NONE")) == "no_such_subteam"


async def test_item_14_a_large_usergroup_comes_in_pages(workspace: Workspace, client: AsyncWebClient) -> None:
    everybody = [f"U_{number:04}" for number in range(450)]
    workspace.slack.world.cast.usergroups["S_CROWD"] = everybody

    first = await client.usergroups_users_list(usergroup="S_CROWD", limit=1000)
    pages = [first["users"]]
    while cursor := (first["response_metadata"] or {})["next_cursor"]:
        first = await client.usergroups_users_list(usergroup="S_CROWD", cursor=cursor)
        pages.append(first["users"])

    assert [len(page) for page in pages] == [200, 200, 50]
    assert [user for page in pages for user in page] == everybody
    assert await word(client.usergroups_users_list(usergroup="S_CROWD", cursor="x")) == "invalid_cursor"


async def test_item_14_a_person_of_another_team_comes_with_that_team(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        await workspace.command("status", user="U_FOREIGNER")

    assert (heard[0]["user_id"], heard[0]["team_id"]) == ("U_FOREIGNER", "T_PARTNER")
