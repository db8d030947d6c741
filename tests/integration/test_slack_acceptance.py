"""What a user of Slack may count on, whatever goes wrong: the bot over a real socket, Cube in memory."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract.double_faults import fault
from installation import Installation, install
from integration.slack_office import Office, open_office
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.actors import Role
from bot.domain.sandbox import NODE_KEY, OWNER_KEY, REQUEST_KEY, WORKSPACE_KEY
from bot.usecases.roster import CONFIRMED_FOR, Roster
from handlers import commands

BUTTON = {"type": "button", "action_id": "hermes.of.tomorrow", "text": {"type": "plain_text", "text": "New"}}
HOSTILE = "<!channel> <@U_ADMIN> <http://evil.example|here> &amp;"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as opened:
        yield opened


def broken(*_: Any) -> Any:
    """What nobody has thought of."""
    raise RuntimeError("EXAMPLE of a bug")


@pytest.mark.parametrize("way", ["socket", "http"])
async def test_an_error_right_after_the_ack_takes_no_ack_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    async with open_office(tmp_path, way=way) as office:
        monkeypatch.setattr(commands, "slash_call", broken)

        answer = await office.types("U_OPERATOR", "whoami")

    assert answer["outcome"] == "acked"
    assert answer["ack_ms"] < 1000


async def test_work_that_breaks_at_once_is_acked_and_its_person_is_told(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "parse", broken)

    answer = await office.types("U_OPERATOR", "whoami")

    assert answer["outcome"] == "acked"
    assert "Something inside me broke" in office.whispers("U_OPERATOR")
    assert "EXAMPLE of a bug" not in office.whispers("U_OPERATOR")


async def test_a_button_that_nobody_knows_is_acked_and_answered(office: Office) -> None:
    client = AsyncWebClient(office.slack.secrets.bot_token, base_url=office.slack.api_url)
    blocks = [{"type": "actions", "elements": [BUTTON]}]
    posted = await client.chat_postMessage(channel="C_OPS", text="card", blocks=blocks)

    answer = await office.clicks("U_OPERATOR", {"channel": "C_OPS", "ts": posted["ts"]}, "hermes.of.tomorrow")

    assert answer["outcome"] == "acked"
    assert "I do not know this button any more" in office.whispers("U_OPERATOR")


def markup_in(value: Any) -> Iterator[str]:
    """Every text in which Slack looks for markup."""
    if isinstance(value, dict) and value.get("type") == "mrkdwn":
        yield value["text"]
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from markup_in(item)


def with_approvers_by_group(world: Installation, office: list[Office]) -> None:
    """Approvers are whoever is in the usergroup, as Slack tells."""

    async def members(group: str) -> frozenset[str]:
        return await office[0].bots[0].chat.group_members(group)

    grants = {Role.OPERATOR: ("U_OPERATOR",), Role.APPROVER: ("S_APPROVERS",)}
    world.deps = replace(world.deps, roster=Roster(grants, world.clock, members))


@pytest.mark.parametrize("action", ["hermes.stop.confirm", "hermes.open"])
async def test_an_approver_removed_after_the_post_is_refused_at_the_click(
    tmp_path: Path, action: str
) -> None:
    world, opened = install(), list[Office]()
    with_approvers_by_group(world, opened)
    async with open_office(tmp_path, world=world) as office:
        opened.append(office)
        await office.types("U_OPERATOR", "create home=alpha")
        if action == "hermes.stop.confirm":
            await office.types("U_APPROVER", "stop alpha")
        else:
            await office.clicks("U_APPROVER", office.latest(), action)
            assert "Password" in json.dumps(office.slack.views("U_APPROVER"))
        card = office.latest()
        office.slack.change_members("S_APPROVERS", add=[], remove=["U_APPROVER"])
        world.clock.advance(CONFIRMED_FOR.total_seconds() + 1)

        await office.clicks("U_APPROVER", card, action)

        shown = office.whispers("U_APPROVER") + json.dumps(
            [*office.shown(), *office.slack.views("U_APPROVER")]
        )
    assert "You have no role in this bot" in shown
    assert "Password" not in json.dumps(office.slack.views("U_APPROVER"))
    assert len(world.cube.sandboxes) == 1
    assert world.cube.called("kill") == 0


async def test_a_card_that_was_posted_before_a_restart_still_works(tmp_path: Path) -> None:
    world = install()
    async with open_office(tmp_path, world=world) as before:
        await before.types("U_OPERATOR", "create home=alpha")
        await before.types("U_OPERATOR", "stop alpha")
        card = before.latest()
        await before.bots[0].jobs.drain(1)

    async with open_office(tmp_path, world=world) as after:
        answers = [await after.clicks("U_OPERATOR", card, "hermes.stop.confirm") for _ in range(1)]
        told = after.latest()["text"]
        late = after.click("U_OPERATOR", card, "hermes.stop.confirm")
        answers.append(await after.slack.people.click(replace(late, stale=True)))
        await after.idle()
        whispers = after.whispers("U_OPERATOR")

    assert [answer["outcome"] for answer in answers] == ["acked", "acked"]
    assert "is gone" in told
    assert "<@U_OPERATOR> has already stopped it" in whispers
    assert world.cube.called("kill") == 1


async def test_a_command_typed_on_a_telephone_is_understood(office: Office) -> None:
    text = """create --home=alpha --env=GREETING="hello there" --timeout=2h"""

    await office.slack.people.command("U_OPERATOR", "C_OPS", text, phone=True)
    await office.idle()

    assert "Studio for home alpha is ready" in office.latest()["text"]
    assert (office.world.node.homes["alpha"].env or {})["GREETING"] == "hello there"


async def test_foreign_words_call_nobody_and_lead_nowhere(office: Office) -> None:
    office.world.cube.fail("create", fault("create", 500, HOSTILE), times=9)

    await office.types("U_OPERATOR", "create home=alpha")
    await office.types("U_OPERATOR", f"create home=beta {HOSTILE}")

    said = json.dumps([[m["text"], m["blocks"]] for m in office.slack.messages("C_OPS")], ensure_ascii=False)
    assert "&lt;!channel&gt;" in said
    assert [live for live in ("<!channel", "<http://evil", "<@U_ADMIN>") if live in said] == []


@pytest.mark.parametrize("label", [WORKSPACE_KEY, OWNER_KEY, NODE_KEY, REQUEST_KEY])
async def test_hostile_labels_of_a_sandbox_call_nobody(office: Office, label: str) -> None:
    cube = office.world.cube
    await office.types("U_OPERATOR", "create home=alpha")
    [view] = cube.sandboxes.values()
    cube.sandboxes[view.sandbox_id] = replace(view, metadata={**view.metadata, label: f"U1> {HOSTILE}"})
    result = office.latest()

    for user in ("U_OPERATOR2", "U_ADMIN"):
        for text in ("stop alpha", f"stop {view.sandbox_id}", "create home=alpha"):
            await office.types(user, text)
        await office.clicks(user, result, "hermes.open")
        await office.clicks(user, result, "hermes.stop.ask")

    views = [view["blocks"] for user in ("U_ADMIN", "U_OPERATOR2") for view in office.slack.views(user)]
    said = [*markup_in([m["blocks"] for m in office.slack.messages("C_OPS")] + views)]
    said += [m["text"] for m in office.slack.messages("C_OPS")]
    assert [words for words in said if "<!channel" in words or "<http://evil" in words] == []
    assert len(views) == 2
