"""Item 13 of the Slack fidelity list: modal stacks, hashes, external ids, private metadata, closing."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from integration.standin_slack_kit import Workspace, connected, hears_everything, open_workspace, until
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.standin.slack import sockets

OPERATOR = "U_OPERATOR"


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with open_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def client(workspace: Workspace) -> AsyncWebClient:
    return workspace.client()


def text(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words}


def form(title: str = "One", **more: Any) -> dict[str, Any]:
    why = {
        "type": "input",
        "block_id": "why",
        "label": text("Why"),
        "element": {"type": "plain_text_input", "action_id": "text"},
    }
    base = {"type": "modal", "callback_id": "form", "title": text(title), "submit": text("Go")}
    return {**base, "blocks": [why], **more}


def home(words: str) -> dict[str, Any]:
    return {"type": "home", "blocks": [{"type": "section", "text": text(words)}]}


def trigger(workspace: Workspace, user: str = OPERATOR) -> str:
    """What an interaction gives out: in the top modal, or where none is open elsewhere."""
    opened = workspace.slack.views(user)
    return workspace.slack.world.tickets.new_trigger(user, opened[-1]["id"] if opened else None)


async def open_form(workspace: Workspace, **more: Any) -> dict[str, Any]:
    opened = await workspace.client().views_open(trigger_id=trigger(workspace), view=form(**more))
    view: dict[str, Any] = opened["view"]
    return view


async def push_form(workspace: Workspace, title: str, **more: Any) -> dict[str, Any]:
    pushed = await workspace.client().views_push(trigger_id=trigger(workspace), view=form(title, **more))
    view: dict[str, Any] = pushed["view"]
    return view


async def refused(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def titles(workspace: Workspace) -> list[str]:
    return [view["title"]["text"] for view in await workspace.get("/views", user=OPERATOR)]


def answers(ack_with: dict[str, Any], heard: list[dict[str, Any]]) -> Callable[[AsyncApp], None]:
    """An app that acknowledges a submission with that, and hears of closed views."""

    def listen(app: AsyncApp) -> None:
        @app.view("form")
        async def submitted(ack: Any, body: dict[str, Any]) -> None:
            await ack(**ack_with)
            heard.append(body)

        @app.view_closed("form")
        async def closed(ack: Any, body: dict[str, Any]) -> None:
            await ack()
            heard.append(body)

    return listen


async def test_item_13_a_stack_holds_three_and_each_view_knows_its_place(workspace: Workspace) -> None:
    first = await open_form(workspace)
    second, third = await push_form(workspace, "Two"), await push_form(workspace, "Three")

    word = await refused(workspace.client().views_push(trigger_id=trigger(workspace), view=form("Four")))

    assert word == "push_limit_reached"
    assert [v["root_view_id"] for v in (first, second, third)] == [first["id"]] * 3
    assert [v["previous_view_id"] for v in (first, second, third)] == [None, first["id"], second["id"]]
    assert await titles(workspace) == ["One", "Two", "Three"]


async def test_item_13_a_view_is_pushed_from_inside_a_modal_only(workspace: Workspace) -> None:
    tickets, client = workspace.slack.world.tickets, workspace.client()
    await open_form(workspace)

    words = [
        await refused(client.views_push(trigger_id=tickets.new_trigger(OPERATOR), view=form("Two"))),
        await refused(
            client.views_push(trigger_id=tickets.new_trigger(OPERATOR, "V_GONE"), view=form("Two"))
        ),
    ]

    assert words == ["invalid_trigger_id"] * 2
    assert await titles(workspace) == ["One"]


async def test_item_13_a_fourth_view_cannot_be_pushed_by_an_ack_either(workspace: Workspace) -> None:
    async with connected(workspace, answers({"response_action": "push", "view": form("Four")}, [])):
        await open_form(workspace)
        await push_form(workspace, "Two")
        await push_form(workspace, "Three")

        answer = await workspace.post("/submit", user=OPERATOR, values={"why": {"text": "x"}})

    assert answer["ack_error"]["error"] == "push_limit_reached"
    assert "trouble connecting" in answer["seen"]
    assert await titles(workspace) == ["One", "Two", "Three"]


@pytest.mark.parametrize(
    ("ack_with", "left"),
    [
        ({}, ["One"]),
        ({"response_action": "clear"}, []),
        ({"response_action": "update", "view": form("New")}, ["One", "New"]),
        ({"response_action": "push", "view": form("New")}, ["One", "Two", "New"]),
        ({"response_action": "errors", "errors": {"why": "Say more"}}, ["One", "Two"]),
    ],
)
async def test_item_13_an_ack_clears_pushes_updates_or_closes_the_submitted_view(
    workspace: Workspace, ack_with: dict[str, Any], left: list[str]
) -> None:
    async with connected(workspace, answers(ack_with, [])):
        await open_form(workspace)
        await push_form(workspace, "Two")

        answer = await workspace.post("/submit", user=OPERATOR, values={"why": {"text": "x"}})

    assert "ack_error" not in answer
    assert await titles(workspace) == left


async def test_item_13_an_update_with_an_old_hash_conflicts(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    view = await open_form(workspace)
    updated = await client.views_update(view_id=view["id"], hash=view["hash"], view=form("Two"))

    word = await refused(client.views_update(view_id=view["id"], hash=view["hash"], view=form("Three")))

    assert word == "hash_conflict"
    assert updated["view"]["hash"] != view["hash"]
    assert await titles(workspace) == ["Two"]


async def test_item_13_a_home_tab_published_with_an_old_hash_conflicts(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    first = await client.views_publish(user_id=OPERATOR, view=home("one"))
    second = await client.views_publish(user_id=OPERATOR, view=home("two"), hash=first["view"]["hash"])

    stale = client.views_publish(user_id=OPERATOR, view=home("three"), hash=first["view"]["hash"])
    word = await refused(stale)

    shown = await workspace.get("/home", user=OPERATOR)
    assert word == "hash_conflict"
    assert (shown["id"], shown["hash"]) == (first["view"]["id"], second["view"]["hash"])
    assert shown["blocks"][0]["text"]["text"] == "two"


async def test_item_13_without_a_hash_the_last_update_wins(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    view = await open_form(workspace)
    await client.views_update(view_id=view["id"], view=form("Two"))

    await client.views_update(view_id=view["id"], view=form("Three"))

    assert await titles(workspace) == ["Three"]


async def test_item_13_a_view_is_found_by_its_external_id(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await open_form(workspace, external_id="job-1")

    await client.views_update(external_id="job-1", view=form("Two", external_id="job-1"))

    assert await titles(workspace) == ["Two"]
    assert await refused(client.views_update(external_id="job-2", view=form())) == "not_found"


async def test_item_13_an_external_id_is_used_once_at_a_time(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    await open_form(workspace, external_id="job-1")
    view = form("Other", external_id="job-1")

    words = [
        await refused(client.views_open(trigger_id=trigger(workspace, "U_ADMIN"), view=view)),
        await refused(client.views_push(trigger_id=trigger(workspace), view=view)),
    ]
    await workspace.post("/close", user=OPERATOR)
    again = await client.views_open(trigger_id=trigger(workspace, "U_ADMIN"), view=view)

    assert words == ["duplicate_external_id"] * 2
    assert again["view"]["external_id"] == "job-1"


async def test_item_13_private_metadata_comes_back_and_an_update_without_it_drops_it(
    workspace: Workspace,
) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, answers({"response_action": "update", "view": form("Two")}, heard)):
        await open_form(workspace, private_metadata='{"home": "alpha"}')
        await workspace.post("/submit", user=OPERATOR, values={"why": {"text": "x"}})
        await workspace.post("/submit", user=OPERATOR, values={"why": {"text": "y"}})

    assert [body["view"]["private_metadata"] for body in heard] == ['{"home": "alpha"}', ""]


async def test_item_13_an_input_needs_a_submit_button(workspace: Workspace, client: AsyncWebClient) -> None:
    without = {name: value for name, value in form().items() if name != "submit"}

    assert await refused(client.views_open(trigger_id=trigger(workspace), view=without)) == (
        "invalid_arguments"
    )


@pytest.mark.parametrize(("clear", "closed"), [(False, ["Two"]), (True, ["Two", "One"])])
async def test_item_13_closing_says_whether_the_whole_stack_went(
    workspace: Workspace,
    clear: bool,  # noqa: FBT001  # one column
    closed: list[str],
) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, answers({}, heard)):
        await open_form(workspace, notify_on_close=True)
        await push_form(workspace, "Two", notify_on_close=True)

        await workspace.post("/close", user=OPERATOR, clear=clear)
        await until(lambda: len(heard) == len(closed))

    assert [(body["view"]["title"]["text"], body["is_cleared"]) for body in heard] == [
        (title, clear) for title in closed
    ]


async def test_item_13_clear_on_close_takes_the_stack_with_it(workspace: Workspace) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, answers({}, heard)):
        await open_form(workspace)
        await push_form(workspace, "Two", clear_on_close=True, notify_on_close=True)

        await workspace.post("/close", user=OPERATOR)
        await until(lambda: len(heard) == 1)

    assert heard[0]["is_cleared"] is True
    assert await titles(workspace) == []


async def test_item_13_a_closed_view_is_updated_no_more(workspace: Workspace, client: AsyncWebClient) -> None:
    view = await open_form(workspace)
    await workspace.post("/close", user=OPERATOR)

    assert await refused(client.views_update(view_id=view["id"], view=form("Two"))) == "not_found"


async def test_item_13_a_submission_without_an_ack_leaves_the_modal(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "ACK_DEADLINE_S", 0.1)

    def deaf(app: AsyncApp) -> None:
        @app.view("other")
        async def never(ack: Any) -> None:
            await ack()

    async with connected(workspace, deaf):
        await open_form(workspace)
        answer = await workspace.post("/submit", user=OPERATOR, values={"why": {"text": "x"}})

    assert answer["outcome"] == "operation_timeout"
    assert "trouble connecting" in answer["seen"]
    assert await titles(workspace) == ["One"]


async def test_item_13_what_was_typed_survives_an_update_of_the_same_field(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    heard: list[dict[str, Any]] = []
    async with connected(workspace, lambda app: hears_everything(app, heard)):
        view = await open_form(workspace)
        field = {"user": OPERATOR, "view_id": view["id"], "action_id": "text", "selected": "broken"}
        await workspace.post("/click", **field)
        await client.views_update(view_id=view["id"], view=form("Two"))

        await workspace.post("/submit", user=OPERATOR, values={})

    assert heard[-1]["view"]["state"]["values"]["why"]["text"]["value"] == "broken"
