"""The create form is sent in: read by the rules of the typed command, and counted once."""

import asyncio
import json
from typing import Any

import pytest
from form_desk import USER, errors, fields, opened
from installation import install
from slack_desk import Desk, open_desk, shown

from bot.domain.errors import NodeError
from bot.domain.provisioning import CreateRequest
from bot.domain.rules import NodeRules
from bot.usecases import asking
from handlers import creating, register


@pytest.fixture
def desk() -> Desk:
    return open_desk()


async def test_a_form_makes_the_sandbox_that_the_typed_command_makes(desk: Desk) -> None:
    await opened(desk)

    ack = await desk.submit(USER, {"new-home": "alpha", "workspace": "proj", "timeout": "2h"})

    assert json.loads(ack.body) == {"response_action": "clear"}
    [parent] = desk.parents()
    assert "*alpha* is ready for <@U_OPERATOR>" in parent.text
    [(_, spec)] = desk.world.cube.specs.items()
    assert (spec.timeout, spec.labels["hermes-workspace"]) == (7200, "proj")


@pytest.mark.parametrize(
    ("typed", "filled"),
    [
        ("home=alpha", {"new-home": "alpha"}),
        ("home=alpha workspace=proj", {"new-home": " alpha ", "workspace": "proj"}),
        (
            "home=alpha template=hermes-studio-legacy",
            {"new-home": "alpha", "template": "hermes-studio-legacy"},
        ),
        ("home=alpha profile=research", {"new-home": "alpha", "profile": "research"}),
        ("home=alpha node=node-2", {"new-home": "alpha", "node": "node-2"}),
        ("home=alpha timeout=Never", {"new-home": "alpha", "timeout": "Never"}),
        ("home=alpha timeout=90", {"new-home": "alpha", "timeout": "90"}),
        (
            "home=alpha env=A=1 env=B='two words' env=C=",
            {"new-home": "alpha", "env": "A=1\r\n# note\r\n\r\nexport B = \u201ctwo words\u201d\nC="},
        ),
    ],
)
async def test_form_and_typed_command_ask_for_the_same(
    monkeypatch: pytest.MonkeyPatch, typed: str, filled: dict[str, str]
) -> None:
    asked: list[CreateRequest] = []

    async def note(request: CreateRequest, _deps: object) -> CreateRequest:
        asked.append(request)
        return request

    desk = open_desk(world=install(nodes=(NodeRules(id="node-1"), NodeRules(id="node-2"))))
    object.__setattr__(desk.world.deps.rules, "env_profiles", {"research": {"X": "1"}})
    monkeypatch.setattr(creating, "ask", note)
    monkeypatch.setattr(asking, "ask", note)
    await desk.command(USER, f"create {typed}")
    await opened(desk)

    await desk.submit(USER, filled)

    one, other = (request.__class__(**{**_parts(request), "request_id": "r"}) for request in asked)
    assert one == other


def _parts(request: CreateRequest) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__slots__}


async def test_all_wrong_fields_are_named_at_once_and_nothing_is_called(desk: Desk) -> None:
    await opened(desk)
    calls = len(desk.world.cube.calls), len(desk.chat.calls)

    ack = await desk.submit(
        USER, {"new-home": "Alpha", "workspace": "a b", "timeout": "soon", "env": "9X=EXAMPLE-value"}
    )

    told = errors(ack)
    assert told.keys() == {"new-home", "workspace", "timeout", "env"}
    assert "Alpha cannot be a name: a name has small letters" in told["new-home"]
    assert told["timeout"].startswith("A duration is written like 90 (seconds)")
    assert told["env"].startswith("Line 1: An environment name is made of letters")
    assert "EXAMPLE" not in repr(told)
    assert "`" not in "".join(told.values())
    assert (len(desk.world.cube.calls), len(desk.chat.calls)) == calls
    assert desk.world.log._rows == []


@pytest.mark.parametrize(
    ("filled", "field", "words"),
    [
        ({"new-home": "default"}, "new-home", "keeps for itself"),
        ({"new-home": "alpha", "timeout": "30s"}, "timeout", "With 30s the sandbox would pause"),
        ({"new-home": "alpha", "env": "A=1\nB\nA=2"}, "env", "Line 2: write NAME=value. Line 3: An environ"),
        ({"home": "-"}, "new-home", "Choose one of your homes above, or type a name here."),
        ({"home": "known", "new-home": "other"}, "new-home", "You chose known above."),
    ],
)
async def test_each_fault_stands_on_its_field(
    desk: Desk, filled: dict[str, str], field: str, words: str
) -> None:
    await desk.command(USER, "create home=known")
    await opened(desk)

    told = errors(await desk.submit(USER, filled))

    assert list(told) == [field]
    assert words in told[field]
    assert len(desk.parents()) == 1


async def test_a_form_can_be_sent_in_again_after_its_errors(desk: Desk) -> None:
    await opened(desk)
    errors(await desk.submit(USER, {"new-home": "Alpha"}))

    await desk.submit(USER, {"new-home": "alpha"})

    assert len(desk.world.cube.sandboxes) == 1


async def test_two_presses_make_one_sandbox_and_both_are_answered(desk: Desk) -> None:
    await opened(desk)

    await asyncio.gather(
        desk.submit(USER, {"new-home": "alpha"}, settle=False),
        desk.submit(USER, {"new-home": "beta"}, settle=False),
    )
    await desk.services.jobs.idle()

    assert len(desk.world.cube.sandboxes) == 1
    assert len(desk.parents()) == 1
    assert "This form has been sent in before." in desk.told(USER)


async def test_copies_of_one_envelope_make_one_sandbox_and_no_noise(desk: Desk) -> None:
    await opened(desk)
    body = desk.submission(USER, {"new-home": "alpha"})

    for _ in range(20):
        await desk.send(body)
    await desk.services.jobs.idle()

    assert len(desk.world.cube.sandboxes) == 1
    assert desk.told(USER) == ""


async def test_a_copy_of_an_envelope_on_another_replica_is_no_second_press(desk: Desk) -> None:
    await opened(desk)
    body = desk.submission(USER, {"new-home": "alpha"})
    replica = open_desk(world=desk.world, chat=desk.chat)

    await asyncio.gather(desk.send(body), replica.send(body))
    await asyncio.gather(desk.services.jobs.idle(), replica.services.jobs.idle())

    assert len(desk.world.cube.sandboxes) == 1
    assert desk.told(USER) == ""


async def test_a_form_outlives_the_bot_and_counts_once_with_its_successor(desk: Desk) -> None:
    await opened(desk)
    first = desk.submission(USER, {"new-home": "alpha"})
    second = first | {"trigger_id": desk.chat.trigger(USER)}
    successor = open_desk(world=desk.world, chat=desk.chat)

    await successor.send(first)
    await successor.services.jobs.idle()
    third = open_desk(world=desk.world, chat=desk.chat)
    await third.send(second)
    await third.services.jobs.idle()

    assert len(desk.world.cube.sandboxes) == 1
    assert "This form has been sent in before." in desk.told(USER)


async def test_a_home_in_use_is_told_in_the_thread_as_for_the_typed_command(desk: Desk) -> None:
    await desk.command("U_OPERATOR2", "create home=alpha")
    await opened(desk)

    await desk.submit(USER, {"new-home": "alpha"})

    assert "<@U_OPERATOR2> is running" in desk.thread(number=1)[-1].text


async def test_a_log_that_cannot_be_written_is_told_to_its_person_alone(desk: Desk) -> None:
    await opened(desk)
    desk.world.log.broken = "disk full"

    await desk.submit(USER, {"new-home": "alpha"})

    assert "audit log" in desk.told(USER)
    assert desk.world.cube.sandboxes == {}


async def test_where_the_bot_cannot_whisper_its_person_is_told_directly(desk: Desk) -> None:
    await opened(desk, channel="G_PRIVATE")
    desk.world.log.broken = "disk full"

    await desk.submit(USER, {"new-home": "alpha"})

    assert "audit log" in shown(desk.parents("D_U_OPERATOR")[0])


async def test_a_role_lost_while_the_form_was_open_counts(desk: Desk) -> None:
    await opened(desk)
    roster = desk.world.deps.roster
    roster._grants = {}

    await desk.submit(USER, {"new-home": "alpha"})

    assert "You have no role in this bot" in desk.told(USER)
    assert desk.world.cube.sandboxes == {}


async def test_a_form_sent_in_by_another_team_does_nothing(desk: Desk) -> None:
    await opened(desk)

    await desk.submit(USER, {"new-home": "alpha"}, team="T_PARTNER")

    assert "only members of this Slack team" in desk.told(USER)
    assert desk.world.cube.sandboxes == {}


@pytest.mark.parametrize(
    "metadata",
    ["", "x", "[]", '{"v": 2, "request": "r-1", "channel": "C_OPS"}', '{"v": 1, "request": "../x"}',
     '{"v": 1, "request": "r-1", "channel": "http://x"}', '{"v": 1, "request": 7, "channel": "C_OPS"}'],
)  # fmt: skip
async def test_a_form_that_is_none_of_ours_is_answered(desk: Desk, metadata: str) -> None:
    await opened(desk)
    body = desk.submission(USER, {"new-home": "alpha"})
    body["view"]["private_metadata"] = metadata

    ack = await desk.send(body)
    await desk.services.jobs.idle()

    assert json.loads(ack.body) == {"response_action": "clear"}
    assert "I do not know this form any more" in shown(desk.parents("D_U_OPERATOR")[0])
    assert desk.world.cube.sandboxes == {}


async def test_a_submission_of_any_shape_is_acked(desk: Desk) -> None:
    await opened(desk)
    body = desk.submission(USER, {"new-home": "alpha"})
    odd: list[Any] = [
        None,
        [],
        {"values": []},
        {"values": {"new-home": []}},
        {"values": {"env": {"value": 3}}},
    ]

    for state in odd:
        ack = await desk.send({**body, "view": {**body["view"], "state": state}})

        assert errors(ack).keys() == {"new-home"}


async def test_an_error_of_a_field_that_an_older_form_lacks_stands_where_slack_takes_it(desk: Desk) -> None:
    await opened(desk)
    body = desk.submission(USER, {"new-home": "Alpha", "timeout": "soon"})
    body["view"]["blocks"] = [b for b in body["view"]["blocks"] if b.get("block_id") != "timeout"]

    told = errors(await desk.send(body))

    assert list(told) == ["new-home"]
    assert "Alpha cannot be a name" in told["new-home"]
    assert "A duration is written like" in told["new-home"]


async def test_a_form_over_which_the_bot_breaks_is_acked_and_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(*_: object) -> Any:
        raise RuntimeError("a bug")

    await opened(desk)
    monkeypatch.setattr(register, "judge_form", breaks)

    ack = await desk.submit(USER, {"new-home": "alpha", "env": "A=EXAMPLE-value"})

    assert json.loads(ack.body) == {"response_action": "clear"}
    assert "Something inside me broke" in shown(desk.parents("D_U_OPERATOR")[0])
    assert "a form could not be read" in caplog.text
    assert "EXAMPLE-value" not in caplog.text


async def test_a_channel_that_is_no_longer_allowed_takes_no_form(desk: Desk) -> None:
    await opened(desk)
    stricter = open_desk(world=desk.world, chat=desk.chat, allowed_channels=("C_ALERTS",))

    await stricter.send(desk.submission(USER, {"new-home": "alpha"}))
    await stricter.services.jobs.idle()

    assert "I take commands only in <#C_ALERTS>" in desk.told(USER)
    assert desk.world.cube.sandboxes == {}


async def test_a_profile_that_is_gone_is_not_filled_in_and_not_taken(desk: Desk) -> None:
    object.__setattr__(desk.world.deps.rules, "env_profiles", {"research": {}, "plain": {}})
    await desk.command(USER, "create home=alpha profile=research")
    await opened(desk)
    body = desk.submission(USER, {"new-home": "beta", "home": "-", "profile": "research"})
    object.__setattr__(desk.world.deps.rules, "env_profiles", {"plain": {}})

    told = errors(await desk.send(body))

    assert told == {"profile": "There is no env profile research. Profiles here: plain."}
    view = await opened(desk)
    assert fields(view)["profile"]["element"]["initial_option"]["value"] == "-"


async def test_secrets_of_the_form_are_never_told_again(desk: Desk) -> None:
    secret = "EXAMPLE-9f2c71"
    await opened(desk)
    desk.world.node.fail("prepare", NodeError("node-program-failed", f"cannot parse {secret}"))

    await desk.submit(USER, {"new-home": "alpha", "env": f"OPENAI_API_KEY={secret}"})

    assert secret not in "".join(shown(message) for message in desk.chat.messages)
    await opened(desk)
    assert secret not in repr(desk.view_of(USER))
