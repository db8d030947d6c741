"""The create form at the desk: what it offers, what it refuses, and that it makes one sandbox."""

import asyncio
import json
from typing import Any

import pytest
from contract.doubles import fault
from installation import install
from slack_desk import Desk, open_desk, shown

from bot.domain.audit import AuditUnavailableError
from bot.domain.errors import ChatError, NodeError
from bot.domain.provisioning import CreateRequest
from bot.domain.rules import Limits, NodeRules
from bot.domain.sandbox import TemplateView
from bot.standin.slack.blocks import check_view
from bot.usecases import asking, suggestions
from handlers import creating, register

USER = "U_OPERATOR"


@pytest.fixture
def desk() -> Desk:
    return open_desk()


async def opened(desk: Desk, user: str = USER, **where: Any) -> dict[str, Any]:
    await desk.command(user, "create", **where)
    view = desk.view_of(user)
    check_view(view, kinds=("modal",))
    return view


def fields(view: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {block["block_id"]: block for block in view["blocks"] if block["type"] == "input"}


def choices(view: dict[str, Any], field: str) -> dict[str, str]:
    options = fields(view)[field]["element"]["options"]
    return {one["value"]: one.get("description", {}).get("text", "") for one in options}


def errors(ack: Any) -> dict[str, str]:
    body = json.loads(ack.body)
    assert body["response_action"] == "errors"
    return dict(body["errors"])


async def test_the_window_stands_before_anything_is_read(desk: Desk) -> None:
    seen: list[str] = []

    async def look() -> None:
        seen.append(repr(desk.view_of(USER)))

    desk.world.cube.before("list", look)
    await desk.command(USER, "create")

    assert "One moment" in seen[0]
    assert "One moment" not in repr(desk.view_of(USER))


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


async def test_homes_are_offered_newest_first_with_what_is_on_them(desk: Desk) -> None:
    await desk.command(USER, "create home=older workspace=proj")
    desk.world.cube.sandboxes.clear()
    await desk.command(USER, "create home=newer")
    await desk.command("U_OPERATOR2", "create home=foreign")

    view = await opened(desk)

    assert choices(view, "home") == {
        "-": "",
        "newer": "has a running sandbox",
        "older": "last with workspace proj",
    }
    assert "initial_option" not in fields(view)["home"]["element"]


async def test_somebody_without_homes_is_asked_for_a_name_alone(desk: Desk) -> None:
    view = await opened(desk)

    assert "home" not in fields(view)
    assert fields(view)["new-home"]["optional"] is False


async def test_only_ready_templates_are_offered_and_the_usual_one_is_chosen(desk: Desk) -> None:
    desk.world.cube.templates_known += [
        TemplateView(template_id="tpl-b", name="half-built", status="BUILDING"),
        TemplateView(template_id="tpl-c", name="broken", status="FAILED"),
        TemplateView(template_id="tpl-d", name="", status="READY"),
    ]

    view = await opened(desk)

    assert list(choices(view, "template")) == ["-", "hermes-studio-legacy"]
    chosen = fields(view)["template"]["element"]["initial_option"]
    assert chosen["text"]["text"] == "hermes-studio (the usual one)"


async def test_a_usual_template_that_is_not_ready_must_be_replaced(desk: Desk) -> None:
    desk.world.cube.templates_known[0] = TemplateView(
        template_id="tpl-studio", name="hermes-studio", status="BUILDING"
    )

    field = fields(await opened(desk))["template"]

    assert field["optional"] is False
    assert "hermes-studio, is not READY" in field["hint"]["text"]
    assert "initial_option" not in field["element"]


async def test_fields_that_have_no_choice_are_left_out(desk: Desk) -> None:
    assert fields(await opened(desk)).keys() == {"new-home", "workspace", "template", "timeout", "env"}


async def test_the_last_settings_are_filled_in_but_no_environment() -> None:
    desk = open_desk()
    object.__setattr__(desk.world.deps.rules, "env_profiles", {"research": {}, "plain": {}})
    await desk.command(
        USER, "create home=alpha template=hermes-studio-legacy profile=research timeout=2h env=LANG=XX"
    )

    view = await opened(desk)

    filled = fields(view)
    assert filled["template"]["element"]["initial_option"]["value"] == "hermes-studio-legacy"
    assert filled["profile"]["element"]["initial_option"]["value"] == "research"
    assert filled["timeout"]["element"]["initial_value"] == "2h"
    assert "initial_value" not in filled["env"]["element"]
    assert "XX" not in repr(view)


async def test_whoever_has_all_they_may_have_is_told_before_filling_it_in() -> None:
    desk = open_desk(world=install(limits=Limits(per_user=1)))
    await desk.command(USER, "create home=alpha")

    view = await opened(desk)

    assert "You have 1 of 1 sandboxes (`alpha`)" in repr(view)


async def test_all_wrong_fields_are_named_at_once_and_nothing_is_called(desk: Desk) -> None:
    await opened(desk)
    calls = len(desk.world.cube.calls), len(desk.chat.calls)

    ack = await desk.submit(
        USER, {"new-home": "Alpha", "workspace": "a b", "timeout": "soon", "env": "9X=EXAMPLE-value"}
    )

    told = errors(ack)
    assert told.keys() == {"new-home", "workspace", "timeout", "env"}
    assert "Alpha is no id: an id has small letters" in told["new-home"]
    assert told["timeout"].startswith("A duration is written like 90 (seconds)")
    assert told["env"].startswith("Line 1: An environment name is made of letters")
    assert "EXAMPLE" not in repr(told)
    assert "`" not in "".join(told.values())
    assert (len(desk.world.cube.calls), len(desk.chat.calls)) == calls
    assert desk.world.log._rows == []


@pytest.mark.parametrize(
    ("filled", "field", "words"),
    [
        ({"new-home": "default"}, "new-home", "reserved word"),
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


async def test_whoever_may_not_create_reads_so_in_the_window(desk: Desk) -> None:
    await desk.command("U_OUTSIDER", "create")

    view = desk.view_of("U_OUTSIDER")
    assert "You have no role in this bot; to create you need to be an operator." in repr(view)
    assert "submit" not in view
    assert desk.world.cube.calls == []


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
    assert "Alpha is no id" in told["new-home"]
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


@pytest.mark.parametrize(
    "code", ["expired_trigger_id", "invalid_trigger_id", "slack-unreachable", "ratelimited"]
)
async def test_a_window_that_did_not_open_offers_the_typed_way_and_another_try(desk: Desk, code: str) -> None:
    desk.chat.fail("open_view", ChatError(code))

    await desk.command(USER, "create")

    [told] = desk.chat.seen_by(USER)
    assert "/hermes create home=atlas" in told.text
    await desk.press(USER, told, "hermes.create.form")
    assert "new-home" in fields(desk.view_of(USER))


async def test_a_trigger_that_another_replica_has_used_is_no_news(desk: Desk) -> None:
    desk.chat.fail("open_view", ChatError("exchanged_trigger_id"))

    await desk.command(USER, "create")

    assert desk.told(USER) == ""


async def test_a_window_shut_meanwhile_breaks_nothing(desk: Desk) -> None:
    async def shut() -> None:
        desk.chat.views.clear()

    desk.chat.before("update_view", shut)
    await desk.command(USER, "create")

    assert desk.told(USER) == ""


async def test_a_form_that_slack_does_not_show_is_told(desk: Desk) -> None:
    desk.chat.fail("update_view", ChatError("invalid_arguments"))

    await desk.command(USER, "create")

    assert "did not open the form (`invalid_arguments`)" in desk.told(USER)


async def test_a_form_opens_without_cube_and_without_the_log(desk: Desk) -> None:
    desk.world.cube.fail("list", fault("list", 503, "down"))
    desk.world.cube.fail("templates", fault("template_list", 503, "down"))
    desk.world.log.created_by = _unavailable  # type: ignore[assignment]

    view = await opened(desk)

    assert "I cannot see which homes are in use and the templates and your earlier homes just now" in repr(
        view
    )
    assert fields(view).keys() == {"new-home", "workspace", "timeout", "env"}
    await desk.submit(USER, {"new-home": "alpha"})
    assert "is ready" in desk.parents()[0].text


async def _unavailable(*_: object, **__: object) -> Any:
    raise AuditUnavailableError("gone")


async def test_a_cube_that_says_nothing_does_not_keep_the_form_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestions, "PATIENCE", 0.02)
    desk.world.cube.before("list", asyncio.Event().wait)

    view = await opened(desk)

    assert "I cannot see which homes are in use just now" in repr(view)
    assert "template" in fields(view)


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


async def test_a_wrong_create_offers_the_form(desk: Desk) -> None:
    await desk.command(USER, "create hmoe=alpha")
    [told] = desk.chat.seen_by(USER)

    await desk.press(USER, told, "hermes.create.form")

    assert "thread in <#C_OPS>" in repr(desk.view_of(USER))


async def test_from_the_app_home_the_thread_comes_by_direct_message(desk: Desk) -> None:
    await desk.send(desk.event({"type": "app_home_opened", "user": USER, "tab": "home", "channel": "D1"}))
    await desk.services.jobs.idle()
    [row] = [b for b in desk.chat.homes[USER]["blocks"] if b["type"] == "actions"]

    await desk.send(
        {
            "type": "block_actions",
            "user": {"id": USER, "team_id": "T_DEMO"},
            "team": {"id": "T_DEMO"},
            "trigger_id": desk.chat.trigger(USER),
            "container": {"type": "view", "view_id": "V"},
            "actions": [{"block_id": "b", "action_ts": "1", **row["elements"][0]}],
        }
    )
    await desk.services.jobs.idle()
    await desk.submit(USER, {"new-home": "alpha"})

    assert "your direct messages with me" in repr(desk.view_of(USER))
    assert "is ready" in desk.parents("D_U_OPERATOR")[0].text


@pytest.mark.parametrize(("user", "allowed"), [("U_OUTSIDER", ()), (USER, ("C_OPS",))])
async def test_the_app_home_offers_no_form_that_could_not_be_used(
    user: str, allowed: tuple[str, ...]
) -> None:
    desk = open_desk(allowed_channels=allowed)

    await desk.send(desk.event({"type": "app_home_opened", "user": user, "tab": "home", "channel": "D1"}))
    await desk.services.jobs.idle()

    assert [b for b in desk.chat.homes[user]["blocks"] if b["type"] == "actions"] == []
