"""The Slack side over real Socket Mode or HTTP and a real Web API; Cube and the node are in memory."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from integration.slack_office import Office, open_office


@pytest.fixture(params=["socket", "http"])
async def office(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    """The same listeners both ways: over a socket, and behind a request URL."""
    async with open_office(tmp_path, way=request.param) as opened:
        yield opened


async def test_the_main_job_is_told_from_command_to_stop(office: Office) -> None:
    answer = await office.types("U_OPERATOR", "create home=alpha workspace=proj")
    parent, progress, result = office.shown()
    await office.clicks("U_OPERATOR", result, "hermes.stop.ask")
    await office.clicks("U_OPERATOR", office.latest(), "hermes.stop.confirm")

    assert answer["outcome"] == "acked"
    assert answer["ack_ms"] < 1000
    assert "is ready" in parent["text"]
    assert progress["thread_ts"] == result["thread_ts"] == parent["ts"]
    assert [b["type"] for b in progress["blocks"]] == ["plan"]
    assert "is gone" in office.latest()["text"]
    assert office.world.cube.sandboxes == {}


async def test_open_shows_the_sign_in_in_a_modal_and_nowhere_else(office: Office) -> None:
    await office.types("U_OPERATOR", "create home=alpha")

    await office.clicks("U_OPERATOR", office.latest(), "hermes.open")

    access = office.world.node.homes["alpha"].access
    assert access is not None
    assert access.password in json.dumps(office.slack.views("U_OPERATOR"))
    posts = [entry for entry in office.slack.world.transcript if entry["method"] != "views.update"]
    assert access.password not in json.dumps(posts)


async def test_an_outsider_sees_the_refusal_in_the_modal(office: Office) -> None:
    await office.types("U_OPERATOR", "create home=alpha")

    await office.clicks("U_OUTSIDER", office.latest(), "hermes.open")

    assert "You have no role" in json.dumps(office.slack.views("U_OUTSIDER"))


async def test_a_foreigner_is_answered_and_refused(office: Office) -> None:
    answer = await office.types("U_FOREIGNER", "create home=alpha")

    assert answer["outcome"] == "acked"
    assert "only members of this Slack team" in office.whispers("U_FOREIGNER")


@pytest.mark.parametrize("channel", ["G_PRIVATE", "D_PAIR"])
async def test_the_thread_moves_to_direct_messages(office: Office, channel: str) -> None:
    answer = await office.types("U_OPERATOR", "create home=alpha", channel)

    assert answer["outcome"] == "acked"
    assert "Studio for home alpha is ready" in office.latest("D_U_OPERATOR")["text"]
    assert "direct messages" in office.whispers("U_OPERATOR", channel)


async def test_a_lost_answer_of_slack_makes_no_second_message_and_moves_nothing(office: Office) -> None:
    office.fault("drop-after-write")

    await office.types("U_OPERATOR", "create home=alpha")

    assert len(office.shown()) == 3
    assert "Studio for home alpha is ready" in office.latest()["text"]
    assert office.shown("D_U_OPERATOR") == []


async def test_a_lost_answer_that_cannot_be_looked_up_moves_the_thread(office: Office) -> None:
    office.fault("drop-after-write")

    await office.types("U_OPERATOR", "create home=alpha", "C_PUBLIC")

    assert len(office.shown("C_PUBLIC")) == 1
    assert "Studio for home alpha is ready" in office.latest("D_U_OPERATOR")["text"]
    assert "in your direct messages" in office.whispers("U_OPERATOR", "C_PUBLIC")


async def test_a_slack_without_plans_gets_ten_lines(office: Office) -> None:
    office.fault("invalid-blocks-plan", times=99)

    await office.types("U_OPERATOR", "create home=alpha")

    _, progress, _ = office.shown()
    assert [b["type"] for b in progress["blocks"]] == ["header", "section"]


async def test_a_slow_slack_does_not_slow_the_ack(office: Office) -> None:
    office.fault("slow-api", delay_s=1.5, times=1)

    answer = await office.types("U_OPERATOR", "help")

    assert answer["ack_ms"] < 1000


async def test_a_rate_limit_loses_nothing(office: Office) -> None:
    office.fault("rate-limited", method="chat.postMessage", retry_after=1, times=1)

    await office.types("U_OPERATOR", "create home=alpha")

    assert "Studio for home alpha is ready" in office.latest()["text"]


async def test_the_home_tab_and_a_mention_are_answered(office: Office) -> None:
    await office.slack.people.open_home("U_OPERATOR")
    await office.slack.people.say("U_OPERATOR", "C_OPS", "<@U_BOT> hello")
    await office.until(lambda: office.slack.home("U_OPERATOR") is not None and len(office.shown()) > 1)

    assert "operator" in json.dumps(office.slack.home("U_OPERATOR"))
    assert "/hermes help" in office.latest()["text"]


@pytest.mark.parametrize("office", ["socket"], indirect=True)
async def test_a_job_outlives_its_socket(office: Office) -> None:
    async def reconnect() -> None:
        office.fault("disconnect")
        await office.slack.apply_disconnects()

    office.world.cube.before("create", reconnect)
    await office.types("U_OPERATOR", "create home=alpha")

    assert "Studio for home alpha is ready" in office.latest()["text"]
