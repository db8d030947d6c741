"""The Web API through Slack's own client: who may call what, where it may post, what it refuses."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from integration.standin_slack_kit import Workspace, open_workspace
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncConnectionErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}
PLAN = {
    "type": "plan",
    "title": "Create",
    "tasks": [{"type": "task_card", "task_id": "1", "title": "Look", "status": "pending"}],
}


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


async def test_auth_test_names_the_bot_and_its_scopes(client: AsyncWebClient) -> None:
    answer = await client.auth_test()

    assert (answer["team_id"], answer["user_id"], answer["bot_id"]) == ("T_DEMO", "U_BOT", "B_HERMES")
    assert "chat:write.public" in answer.headers["x-oauth-scopes"].split(",")


async def test_each_token_is_good_for_its_own_calls_only(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    secrets = workspace.slack.secrets
    app_client = workspace.client(secrets.app_token)

    answers = [
        await refused(client.apps_connections_open(app_token=secrets.bot_token)),
        await refused(app_client.chat_postMessage(channel="C_OPS", text="x")),
        await refused(workspace.client("xoxb-EXAMPLE").auth_test()),
        await refused(AsyncWebClient(base_url=workspace.slack.api_url, retry_handlers=[]).auth_test()),
    ]

    assert [answer["error"] for answer in answers] == [
        "not_allowed_token_type",
        "not_allowed_token_type",
        "invalid_auth",
        "not_authed",
    ]
    link = await app_client.apps_connections_open(app_token=secrets.app_token)
    assert link["url"].startswith("ws://127.0.0.1:")


async def test_a_missing_scope_says_what_is_needed_and_provided(client: AsyncWebClient) -> None:
    answer = await refused(client.users_lookupByEmail(email="me@demo.example"))

    assert (answer["error"], answer["needed"]) == ("missing_scope", "users:read.email")
    assert "chat:write" in answer["provided"]


async def test_an_unknown_method_is_no_404(client: AsyncWebClient) -> None:
    answer = await refused(client.api_call("chat.shout"))

    assert answer["error"] == "unknown_method"


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        ("C_OPS", None),
        ("C_PUBLIC", None),
        ("U_OPERATOR", None),
        ("D_U_OPERATOR", None),
        ("#ops", None),
        ("U_DELETED", None),
        ("G_PRIVATE", "channel_not_found"),
        ("D_PAIR", "channel_not_found"),
        ("C_NOWHERE", "channel_not_found"),
        ("C_ARCHIVED", "is_archived"),
        ("U_BOT", "cannot_dm_bot"),
    ],
)
async def test_where_the_bot_may_post(client: AsyncWebClient, channel: str, error: str | None) -> None:
    call = client.chat_postMessage(channel=channel, text="hello")

    assert (await refused(call))["error"] == error if error else (await call)["ok"]


@pytest.mark.parametrize(
    ("channel", "user", "error"),
    [
        ("C_OPS", "U_OPERATOR", None),
        ("C_OPS", "U_GUEST", "user_not_in_channel"),
        ("C_OPS", "U_DELETED", "user_not_in_channel"),
        ("C_PUBLIC", "U_OPERATOR", "not_in_channel"),
        ("G_PRIVATE", "U_OPERATOR", "channel_not_found"),
    ],
)
async def test_who_gets_an_ephemeral_message(
    client: AsyncWebClient, channel: str, user: str, error: str | None
) -> None:
    call = client.chat_postEphemeral(channel=channel, user=user, text="hello")

    assert (await refused(call))["error"] == error if error else (await call)["message_ts"]


async def test_an_invited_bot_may_post_in_the_private_channel(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await workspace.post("/members", group="G_PRIVATE", add=["U_BOT"])

    assert (await client.chat_postMessage(channel="G_PRIVATE", text="hello"))["ok"]


async def test_a_thread_hangs_on_its_parent_and_not_on_a_reply(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    parent = (await client.chat_postMessage(channel="C_OPS", text="parent"))["ts"]
    reply = (await client.chat_postMessage(channel="C_OPS", text="reply", thread_ts=parent))["ts"]
    await client.chat_postMessage(channel="C_OPS", text="elsewhere")

    on_reply = await refused(client.chat_postMessage(channel="C_OPS", text="x", thread_ts=reply))
    on_nothing = await refused(client.chat_postMessage(channel="C_OPS", text="x", thread_ts="1.000001"))

    assert (on_reply["error"], on_nothing["error"]) == ("cannot_reply_to_message", "thread_not_found")
    assert [m["text"] for m in await workspace.messages(thread=parent)] == ["parent", "reply"]
    assert [m["thread_ts"] for m in await workspace.messages()] == [None, parent, None]


async def test_update_takes_blocks_away_unless_they_are_given_again(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    ts = (await client.chat_postMessage(channel="C_OPS", text="one", blocks=[SECTION]))["ts"]

    metadata = {"event_type": "job", "event_payload": {"n": 1}}
    await client.api_call("chat.update", json={"channel": "C_OPS", "ts": ts, "metadata": metadata})
    kept = (await workspace.messages())[0]
    await client.chat_update(channel="C_OPS", ts=ts, text="two")
    bare = (await workspace.messages())[0]

    assert (kept["text"], len(kept["blocks"]), kept["metadata"]["event_type"]) == ("one", 1, "job")
    assert (bare["text"], bare["blocks"], bare["edited"]["user"]) == ("two", [], "U_BOT")


async def test_update_refuses_what_slack_refuses(workspace: Workspace, client: AsyncWebClient) -> None:
    mine = (await client.chat_postMessage(channel="C_OPS", text="one"))["ts"]
    dm = (await client.chat_postMessage(channel="U_OPERATOR", text="one"))["ts"]
    theirs = (await workspace.post("/say", user="U_OPERATOR", channel="C_OPS", text="hi"))["ts"]

    answers = [
        await refused(client.chat_update(channel="C_OPS", ts=mine, text="x" * 4001)),
        await refused(client.chat_update(channel="C_OPS", ts="1.000001", text="x")),
        await refused(client.chat_update(channel="C_OPS", ts=theirs, text="x")),
        await refused(client.chat_update(channel="U_OPERATOR", ts=dm, text="x")),
        await refused(client.chat_delete(channel="C_OPS", ts=theirs)),
    ]

    assert [answer["error"] for answer in answers] == [
        "msg_too_long",
        "message_not_found",
        "cant_update_message",
        "channel_not_found",
        "cant_delete_message",
    ]


async def test_a_text_over_forty_thousand_is_cut(workspace: Workspace, client: AsyncWebClient) -> None:
    answer = await client.chat_postMessage(channel="C_OPS", text="x" * 40_001)

    assert answer["warning"] == "message_truncated"
    assert len((await workspace.messages())[0]["text"]) == 40_000


async def test_bad_blocks_are_pointed_at(client: AsyncWebClient) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}]

    answer = await refused(client.chat_postMessage(channel="C_OPS", text="x", blocks=blocks))

    assert answer["error"] == "invalid_blocks"
    assert answer["errors"] == ["must be less than 3001 characters [json-pointer:/blocks/0/text/text]"]
    assert answer["response_metadata"]["messages"] == [f"[ERROR] {answer['errors'][0]}"]


async def test_nothing_to_say_is_refused(client: AsyncWebClient) -> None:
    answer = await refused(client.api_call("chat.postMessage", json={"channel": "C_OPS"}))

    assert answer["error"] == "no_text"


async def test_users_tell_time_zone_team_and_standing(client: AsyncWebClient) -> None:
    users = {
        user["id"]: user
        for user in [
            (await client.users_info(user=name))["user"]
            for name in ("U_OPERATOR2", "U_FOREIGNER", "U_DELETED", "U_GUEST", "U_BOT")
        ]
    }

    assert users["U_OPERATOR2"]["tz_offset"] == 28_800
    assert users["U_FOREIGNER"]["team_id"] == "T_PARTNER"
    assert users["U_DELETED"]["deleted"] is True
    assert "tz" not in users["U_DELETED"]
    assert users["U_GUEST"]["is_restricted"] is True
    assert users["U_BOT"]["is_bot"] is True
    assert (await refused(client.users_info(user="U_NOBODY")))["error"] == "user_not_found"


async def test_lists_come_in_pages(client: AsyncWebClient) -> None:
    seen: list[str] = []
    pages = 0

    async for page in await client.users_list(limit=4):
        pages += 1
        seen += [member["id"] for member in page["members"]]

    assert pages == 3
    assert len(seen) == len(set(seen)) == 10
    assert (await refused(client.users_list(cursor="elsewhere")))["error"] == "invalid_cursor"


async def test_a_usergroup_says_who_approves_now(workspace: Workspace, client: AsyncWebClient) -> None:
    before = await client.usergroups_users_list(usergroup="S_APPROVERS")
    await workspace.post("/members", group="S_APPROVERS", remove=["U_APPROVER"])
    after = await client.usergroups_users_list(usergroup="S_APPROVERS")

    assert (before["users"], after["users"]) == (["U_APPROVER"], [])
    assert (await refused(client.usergroups_users_list(usergroup="S_NONE")))["error"] == "no_such_subteam"


async def test_conversations_tell_membership_and_hide_private_ones(client: AsyncWebClient) -> None:
    info = (await client.conversations_info(channel="C_PUBLIC"))["channel"]
    listed = await client.conversations_list(types="public_channel,private_channel", exclude_archived=True)
    members = await client.conversations_members(channel="C_OPS")

    assert (info["is_member"], info["name"]) == (False, "public")
    assert {channel["id"] for channel in listed["channels"]} == {"C_OPS", "C_ALERTS", "C_AUDIT", "C_PUBLIC"}
    assert "U_BOT" in members["members"]
    assert (await refused(client.conversations_info(channel="G_PRIVATE")))["error"] == "channel_not_found"
    assert (await refused(client.conversations_join(channel="C_PUBLIC")))["needed"] == "channels:join"


async def test_a_direct_message_is_opened_by_user(client: AsyncWebClient) -> None:
    opened = await client.conversations_open(users="U_OPERATOR")

    assert opened["channel"]["id"] == "D_U_OPERATOR"


async def test_an_upload_lands_in_the_thread_and_can_be_read_back(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    parent = (await client.chat_postMessage(channel="C_OPS", text="parent"))["ts"]

    uploaded = await client.files_upload_v2(
        filename="report.csv", content="a,b\n1,2\n", title="Report", channel="C_OPS", thread_ts=parent
    )

    file_id = uploaded["files"][0]["id"]
    async with workspace.http.get(f"{workspace.control_url}/files/{file_id}") as response:
        assert await response.text() == "a,b\n1,2\n"
    reply = (await workspace.messages(thread=parent))[1]
    assert reply["files"][0]["title"] == "Report"


async def test_an_upload_takes_the_bytes_that_were_announced_and_only_before_it_is_completed(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    place = await client.files_getUploadURLExternal(filename="report.csv", length=3)

    async def upload(content: bytes) -> tuple[int, str]:
        async with workspace.http.post(place["upload_url"], data=content) as answer:
            return answer.status, await answer.text()

    first = [await upload(b"four"), await upload(b"abc"), await upload(b"abc")]
    await client.files_completeUploadExternal(files=[{"id": place["file_id"]}], channel_id="C_OPS")

    assert first == [(400, "invalid_length"), (200, "OK - 3"), (200, "OK - 3")]
    assert await upload(b"xyz") == (404, "file_not_found")
    assert workspace.slack.file(place["file_id"]).content == b"abc"


async def test_a_file_that_never_arrived_cannot_be_completed(client: AsyncWebClient) -> None:
    asked = await client.files_getUploadURLExternal(filename="a.txt", length=3)

    answer = await refused(
        client.files_completeUploadExternal(files=[{"id": asked["file_id"]}], channel_id="C_OPS")
    )

    assert answer["error"] == "file_not_found"


async def test_reactions_and_permalinks(workspace: Workspace, client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel="C_OPS", text="one"))["ts"]

    await client.reactions_add(channel="C_OPS", name="eyes", timestamp=ts)
    link = await client.chat_getPermalink(channel="C_OPS", message_ts=ts)

    assert (await workspace.messages())[0]["reactions"] == {"eyes": ["U_BOT"]}
    assert link["permalink"].endswith(f"/archives/C_OPS/p{ts.replace('.', '')}")
    again = await refused(client.reactions_add(channel="C_OPS", name="eyes", timestamp=ts))
    assert again["error"] == "already_reacted"


async def test_a_view_that_breaks_a_rule_is_refused_and_leaves_the_trigger_usable(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    trigger_id = workspace.slack.world.tickets.new_trigger("U_OPERATOR")
    view = {"type": "modal", "title": {"type": "plain_text", "text": "x" * 25}, "blocks": [SECTION]}

    answer = await refused(client.views_open(trigger_id=trigger_id, view=view))
    opened = await client.views_open(
        trigger_id=trigger_id, view={**view, "title": {"type": "plain_text", "text": "Short"}}
    )

    assert answer["error"] == "invalid_arguments"
    assert answer["response_metadata"]["messages"] == [
        "[ERROR] must be less than 25 characters [json-pointer:/view/title/text]"
    ]
    assert opened["ok"]


async def test_the_rate_limit_fault_hits_the_named_method_once(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await workspace.post(
        "/faults", target="slack", kind="rate-limited", method="chat.postMessage", retry_after=7, times=1
    )

    await client.auth_test()
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel="C_OPS", text="one")
    await client.chat_postMessage(channel="C_OPS", text="two")

    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "7"
    assert [message["text"] for message in await workspace.messages()] == ["two"]


async def test_a_plan_can_be_refused_and_the_same_message_then_be_sent_in_classic_blocks(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await workspace.post("/faults", target="slack", kind="invalid_blocks_plan", times=1)

    answer = await refused(client.chat_postMessage(channel="C_OPS", text="x", blocks=[PLAN]))
    await client.chat_postMessage(channel="C_OPS", text="x", blocks=[SECTION])
    await client.chat_postMessage(channel="C_OPS", text="x", blocks=[PLAN])

    assert answer["error"] == "invalid_blocks"
    assert [m["blocks"][0]["type"] for m in await workspace.messages()] == ["section", "plan"]


async def test_a_lost_answer_leaves_the_message_and_a_blind_retry_doubles_it(workspace: Workspace) -> None:
    client = workspace.client()
    client.retry_handlers = [AsyncConnectionErrorRetryHandler()]
    await workspace.post("/faults", target="slack", kind="drop-after-write", times=1)

    await client.chat_postMessage(channel="C_OPS", text="once?")

    assert [message["text"] for message in await workspace.messages()] == ["once?", "once?"]


async def test_a_server_error_is_an_http_500(workspace: Workspace, client: AsyncWebClient) -> None:
    await workspace.post("/faults", target="slack", kind="server-error", times=1)

    with pytest.raises(SlackApiError) as caught:
        await client.auth_test()

    assert caught.value.response.status_code == 500


async def test_the_transcript_holds_every_call_and_no_token(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    url = workspace.slack.world.base_url + workspace.slack.world.tickets.new_response_url(
        "C_OPS", "U_OPERATOR"
    )
    await client.auth_test()
    await client.chat_postMessage(channel="C_OPS", text="hello")
    await workspace.respond(url, text="answer")

    transcript = await workspace.get("/transcript")

    assert [call["method"] for call in transcript] == ["auth.test", "chat.postMessage", "response_url"]
    assert transcript[1]["body"]["text"] == "hello"
    assert all(set(call) == {"method", "body", "at"} for call in transcript)
    assert workspace.slack.secrets.bot_token not in str(transcript)


async def test_the_control_api_refuses_in_one_sentence(workspace: Workspace) -> None:
    answers = [
        await workspace.try_post("/faults", target="slack", kind="gremlins"),
        await workspace.try_post("/faults", target="moon", kind="gremlins"),
        await workspace.try_post("/command", user="U_NOBODY", channel="C_OPS", text="help"),
        await workspace.try_post("/clock", advance_s="much"),
        await workspace.try_post("/clock", advance_s=float("nan")),
        await workspace.try_post("/clock", advance_s=1e15),
        await workspace.try_post("/faults", target="cube", kind="slow-api", delay_s="long"),
        await workspace.try_post("/faults", target="slack", kind="rate-limited", retry_after=float("nan")),
        await workspace.try_post("/faults", target="slack", kind="disconnect", reason=["warning"]),
        await workspace.try_post("/paper", count=3),
        await workspace.try_post("/nothing"),
    ]

    assert [status for status, _ in answers] == [*[400] * 9, 409, 404]
    assert all(list(body) == ["error"] for _, body in answers)
    assert "rate-limited" in answers[0][1]["error"]
    assert "cube, node, slack" in answers[1][1]["error"]


async def test_the_control_api_answers_only_loopback_hosts(workspace: Workspace) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{workspace.control_url}/healthz", headers={"Host": "evil.example"}) as response,
    ):
        assert response.status == 403
