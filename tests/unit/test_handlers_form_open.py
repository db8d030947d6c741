"""The create form is opened: at once, with what can be offered, whatever does not answer."""

import asyncio
from typing import Any

import pytest
from contract.doubles import fault
from form_desk import USER, choices, fields, opened
from installation import install
from slack_desk import Desk, open_desk

from bot.domain.audit import AuditUnavailableError
from bot.domain.errors import ChatError
from bot.domain.rules import Limits
from bot.domain.sandbox import TemplateView
from bot.usecases import suggestions


@pytest.fixture
def desk() -> Desk:
    return open_desk()


async def test_the_window_stands_before_anything_is_read(desk: Desk) -> None:
    seen: list[str] = []

    async def look() -> None:
        seen.append(repr(desk.view_of(USER)))

    desk.world.cube.before("list", look)
    await desk.command(USER, "create")

    assert "One moment" in seen[0]
    assert "One moment" not in repr(desk.view_of(USER))


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


async def test_whoever_may_not_create_reads_so_in_the_window(desk: Desk) -> None:
    await desk.command("U_OUTSIDER", "create")

    view = desk.view_of("U_OUTSIDER")
    assert "You have no role in this bot; to create you need to be an operator." in repr(view)
    assert "submit" not in view
    assert desk.world.cube.calls == []


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
