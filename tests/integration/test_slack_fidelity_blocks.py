"""How refused blocks are told, on every way in, to the unmodified SDK."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, open_workspace
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

Body = dict[str, Any]

LONG = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}
GOOD = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}}
TABLE = {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]]}
PLAIN = {"type": "plain_text", "text": "x"}
TEXT = "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def client(workspace: Workspace) -> AsyncWebClient:
    return workspace.client()


async def refusal(call: Any) -> Body:
    with pytest.raises(SlackApiError) as caught:
        await call
    data: Body = caught.value.response.data
    return data


async def test_item_06_a_refused_message_has_slacks_errors_and_pointers(client: AsyncWebClient) -> None:
    answer = await refusal(client.chat_postMessage(channel="C_OPS", text="x", blocks=[LONG]))

    assert answer == {
        "ok": False,
        "error": "invalid_blocks",
        "errors": [TEXT],
        "response_metadata": {"messages": [f"[ERROR] {TEXT}"]},
    }


async def test_item_06_an_edit_and_an_ephemeral_are_refused_alike(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    posted = await client.chat_postMessage(channel="C_OPS", text="x", blocks=[GOOD])

    edit = await refusal(client.chat_update(channel="C_OPS", ts=posted["ts"], text="y", blocks=[LONG]))
    whisper = await refusal(
        client.chat_postEphemeral(channel="C_OPS", user="U_ADMIN", text="y", blocks=[LONG])
    )

    assert edit["errors"] == whisper["errors"] == [TEXT]
    [kept] = await workspace.messages()
    assert kept["text"] == "x"


async def test_item_06_a_second_table_has_an_error_of_its_own(client: AsyncWebClient) -> None:
    answer = await refusal(client.chat_postMessage(channel="C_OPS", text="x", blocks=[TABLE, TABLE]))

    assert answer["error"] == "invalid_attachments"
    assert "only_one_table_allowed" in answer["response_metadata"]["messages"][0]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (
            {"type": "modal", "title": PLAIN, "blocks": [LONG]},
            "[ERROR] must be less than 3001 characters [json-pointer:/view/blocks/0/text/text]",
        ),
        (
            {"type": "modal", "title": PLAIN, "blocks": [TABLE]},
            "[ERROR] unsupported type: table [json-pointer:/view/blocks/0/type]",
        ),
        (
            {"type": "modal", "title": {"type": "plain_text", "text": "x" * 25}, "blocks": [GOOD]},
            "[ERROR] must be less than 25 characters [json-pointer:/view/title/text]",
        ),
    ],
)
async def test_item_06_a_refused_view_leaves_its_trigger(
    workspace: Workspace, client: AsyncWebClient, view: Body, message: str
) -> None:
    trigger = workspace.slack.world.tickets.new_trigger("U_ADMIN")

    answer = await refusal(client.views_open(trigger_id=trigger, view=view))

    assert answer["error"] == "invalid_arguments"
    assert answer["response_metadata"]["messages"] == [message]
    good = {"type": "modal", "title": PLAIN, "blocks": [GOOD]}
    assert (await client.views_open(trigger_id=trigger, view=good))["ok"]


async def test_item_06_a_home_is_judged_as_a_home(client: AsyncWebClient) -> None:
    view = {"type": "home", "blocks": [{"type": "alert", "text": PLAIN}]}

    answer = await refusal(client.views_publish(user_id="U_ADMIN", view=view))

    assert answer["response_metadata"]["messages"] == [
        "[ERROR] unsupported type: alert [json-pointer:/view/blocks/0/type]"
    ]


async def test_item_06_a_response_url_refuses_the_same_blocks(workspace: Workspace) -> None:
    path = workspace.slack.world.tickets.new_response_url("C_OPS", "U_ADMIN")

    status, text = await workspace.respond(workspace.slack.world.base_url + path, text="x", blocks=[LONG])

    assert (status, text) == (400, "invalid_blocks")


async def test_item_06_blocks_can_be_validated_without_a_token_and_unsent(workspace: Workspace) -> None:
    nobody = AsyncWebClient(base_url=workspace.slack.api_url, retry_handlers=[])

    good = await nobody.blocks_validate(blocks=[GOOD])
    answer = await refusal(nobody.blocks_validate(view={"type": "home", "blocks": [TABLE]}))

    assert good["ok"]
    assert (answer["error"], answer["errors"][0]["pointer"]) == ("invalid_view", "/blocks/0/type")
    assert await workspace.messages() == []
