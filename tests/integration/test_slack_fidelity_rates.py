"""Item 9 of the Slack fidelity list: rate limits, hidden bursts, and calls whose answer never comes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from integration.standin_slack_kit import Workspace, open_workspace
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.standin.faults import Faults
from bot.standin.slack.errors import SlackError
from bot.standin.slack.limits import POST, POST_BURST, POSTS_PER_MINUTE, Limits

VIEW = {"type": "modal", "title": {"type": "plain_text", "text": "One"}, "blocks": [{"type": "divider"}]}
HOME = {"type": "home", "blocks": [{"type": "divider"}]}


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def client(workspace: Workspace) -> AsyncWebClient:
    return workspace.client()


class Seconds:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def retry_after(limits: Limits, method: str, channel: str = "") -> int:
    """What a call is answered: 0 for yes, else the seconds to wait."""
    try:
        limits.admit(method, channel)
    except SlackError as refused:
        return int(refused.headers["Retry-After"])
    return 0


async def burst(client: AsyncWebClient, count: int, channel: str = "C_OPS") -> list[int]:
    """Post at once; gives the HTTP status of each answer."""

    async def post(number: int) -> int:
        try:
            return (await client.chat_postMessage(channel=channel, text=str(number))).status_code
        except SlackApiError as refused:
            return int(refused.response.status_code)

    return [await post(number) for number in range(count)]


async def test_item_09_a_burst_in_one_channel_is_refused_and_blocks_no_other(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    statuses = await burst(client, POST_BURST + 2)

    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel="C_OPS", text="one too many")

    assert statuses == [200] * POST_BURST + [429] * 2
    response = caught.value.response
    assert (response.status_code, response["error"]) == (429, "ratelimited")
    assert response.headers["Retry-After"] == "1"
    assert (await client.chat_postMessage(channel="C_ALERTS", text="elsewhere"))["ok"]
    assert (await client.auth_test())["ok"]
    assert len(await workspace.messages()) == POST_BURST
    assert (await workspace.get("/healthz"))["throttled"] == {"chat.postMessage": 3}


async def test_item_09_every_name_of_a_conversation_fills_the_same_bucket(client: AsyncWebClient) -> None:
    await burst(client, 3, "U_OPERATOR")

    statuses = await burst(client, 3, "D_U_OPERATOR")

    assert statuses == [200, 200, 429]


def test_item_09_after_the_burst_a_channel_takes_one_post_a_second() -> None:
    clock = Seconds()
    limits = Limits(Faults(), now=clock)
    for _ in range(POST_BURST):
        limits.admit(POST, "C_OPS")

    answers = []
    for _ in range(4):
        clock.now += 0.5
        answers.append(retry_after(limits, POST, "C_OPS"))

    assert answers == [1, 0, 1, 0]


def test_item_09_all_channels_together_have_a_cap() -> None:
    limits = Limits(Faults(), now=Seconds())

    taken = [retry_after(limits, POST, f"C{n}") for n in range(POSTS_PER_MINUTE + 1)]

    assert taken == [0] * POSTS_PER_MINUTE + [1]


@pytest.mark.parametrize(
    ("method", "per_minute", "wait_s"),
    [
        ("users.list", 20, 3),
        ("chat.update", 50, 2),
        ("views.publish", 100, 1),
        ("auth.test", 300, 1),
        ("pins.add", 50, 2),
    ],
)
def test_item_09_a_method_gets_the_calls_of_its_tier(method: str, per_minute: int, wait_s: int) -> None:
    clock = Seconds()
    limits = Limits(Faults(), now=clock)

    at_once = [retry_after(limits, method) for _ in range(per_minute + 1)]
    clock.now += wait_s

    assert at_once == [0] * per_minute + [wait_s]
    assert retry_after(limits, method) == 0
    assert retry_after(limits, "bots.info") == 0


def test_item_09_opening_connections_is_tier_one_with_a_burst_for_ten_sockets() -> None:
    clock = Seconds()
    limits = Limits(Faults(), now=clock)

    at_once = [retry_after(limits, "apps.connections.open") for _ in range(21)]

    assert at_once == [0] * 20 + [60]


async def test_item_09_a_moved_clock_fills_no_bucket(workspace: Workspace, client: AsyncWebClient) -> None:
    await burst(client, POST_BURST)
    await workspace.post("/clock", advance_s=3600)

    statuses = await burst(client, 1)

    assert statuses == [429]


async def test_item_09_strict_rates_tolerate_no_burst(workspace: Workspace, client: AsyncWebClient) -> None:
    await workspace.post("/faults", target="slack", kind="strict-rates", times=2)

    statuses = await burst(client, 4)

    assert statuses == [200, 429, 429, 200]


async def test_item_09_a_burst_can_be_hidden_without_an_error(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await workspace.post("/faults", target="slack", kind="hide-bursts", times=99)

    statuses = await burst(client, POST_BURST + 3)

    assert statuses == [200] * (POST_BURST + 3)
    assert [m["text"] for m in await workspace.messages()] == [str(n) for n in range(POST_BURST)]
    everything = await workspace.messages(hidden="1")
    assert [m["text"] for m in everything if m.get("hidden")] == ["5", "6", "7"]
    assert (await workspace.get("/healthz"))["hidden"] == 3


async def test_item_09_what_is_hidden_can_still_be_edited_but_not_pressed(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await workspace.post("/faults", target="slack", kind="strict-rates", times=9)
    await workspace.post("/faults", target="slack", kind="hide-bursts", times=9)
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    blocks = [{"type": "actions", "elements": [button]}]
    await client.chat_postMessage(channel="C_OPS", text="seen")
    unseen = await client.chat_postMessage(channel="C_OPS", text="unseen", blocks=blocks)

    await client.chat_update(channel="C_OPS", ts=unseen["ts"], text="still unseen", blocks=blocks)
    status, _ = await workspace.try_post(
        "/click", user="U_ADMIN", channel="C_OPS", ts=unseen["ts"], action_id="go"
    )

    assert status == 404
    assert [m["text"] for m in await workspace.messages()] == ["seen"]


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_item_09_a_server_error_does_nothing(
    workspace: Workspace, client: AsyncWebClient, status: int
) -> None:
    await workspace.post("/faults", target="slack", kind="server-error", method=POST, status=status)

    assert await burst(client, 2) == [status, 200]
    assert [m["text"] for m in await workspace.messages()] == ["1"]


@pytest.mark.parametrize(("written", "texts"), [(True, ["0"]), (False, [])])
async def test_item_09_a_call_can_stay_unanswered(
    workspace: Workspace, client: AsyncWebClient, *, written: bool, texts: list[str]
) -> None:
    await workspace.post("/faults", target="slack", kind="no-answer", method=POST, written=written)
    client.timeout = 1

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await client.chat_postMessage(channel="C_OPS", text="0")

    assert [m["text"] for m in await workspace.messages()] == texts


async def test_item_09_rates_can_be_quickened_for_a_bot_that_is(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await workspace.post("/rates", speed=1000)

    statuses = await burst(client, 60)
    refused, said = await workspace.try_post("/rates", speed=0)

    assert statuses == [200] * 60
    assert (refused, "for example" in said["error"]) == (400, True)
