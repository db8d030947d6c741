"""What a create form is given to offer."""

import asyncio
from dataclasses import replace

import pytest
from contract.doubles import fault
from installation import OPERATOR, OPERATOR2, Installation, install

from bot.domain.rules import Limits
from bot.domain.sandbox import SandboxState, TemplateView
from bot.usecases import suggestions
from bot.usecases.suggestions import HomeChoice, LastTime, suggest


@pytest.fixture
def world() -> Installation:
    return install()


def sandbox_on(world: Installation, home: str) -> str:
    return next(view.sandbox_id for view in world.cube.sandboxes.values() if view.home == home)


async def test_homes_come_newest_first_and_once() -> None:
    world = install(limits=Limits(per_user=0))
    for home, workspace in (("a", "a"), ("b", "old"), ("a", "new"), ("b", "b")):
        await world.create(home, workspace=workspace)
        world.cube.sandboxes.clear()
    await world.create("c", actor=OPERATOR2)

    found = await suggest(OPERATOR, world.deps)

    assert found.homes == (HomeChoice(home="b", workspace="b"), HomeChoice(home="a", workspace="new"))
    assert found.mine == ()
    assert found.missing == ()


async def test_a_create_that_made_nothing_is_no_home(world: Installation) -> None:
    world.cube.fail("create", fault("create", 500, "no"))
    await world.create("typo")

    assert (await suggest(OPERATOR, world.deps)).homes == ()


async def test_what_lives_on_a_home_is_told_whoever_it_belongs_to(world: Installation) -> None:
    await world.create("mine")
    world.cube.set_state(sandbox_on(world, "mine"), SandboxState.PAUSED)
    await world.create("lent")
    del world.cube.sandboxes[sandbox_on(world, "lent")]
    await world.create("lent", actor=OPERATOR2)

    found = await suggest(OPERATOR, world.deps)

    assert found.homes == (
        HomeChoice(home="lent", workspace="lent", live=SandboxState.RUNNING, colleague=True),
        HomeChoice(home="mine", workspace="mine", live=SandboxState.PAUSED),
    )
    assert found.mine == ("mine",)


async def test_a_sandbox_whose_labels_cube_has_lost_still_counts(world: Installation) -> None:
    await world.create("alpha")
    sandbox = sandbox_on(world, "alpha")
    world.cube.sandboxes[sandbox] = replace(world.cube.sandboxes[sandbox], metadata={})

    found = await suggest(OPERATOR, world.deps)

    assert (found.mine, found.homes[0].live) == (("alpha",), SandboxState.RUNNING)


async def test_a_live_home_that_the_log_does_not_know_is_offered_too(world: Installation) -> None:
    await world.create("alpha")
    fresh = install()
    fresh.cube.sandboxes = world.cube.sandboxes

    found = await suggest(OPERATOR, fresh.deps)

    assert [choice.home for choice in found.homes] == ["alpha"]


async def test_templates_are_the_ready_ones_with_a_name_and_the_usual_one_leads(world: Installation) -> None:
    world.cube.templates_known = [
        TemplateView(template_id="tpl-1", name="a-first", status="READY"),
        TemplateView(template_id="tpl-2", name="building", status="BUILDING"),
        TemplateView(template_id="tpl-3", name="", status="READY"),
        TemplateView(template_id="tpl-4", name="hermes-studio", status="READY"),
    ]

    found = await suggest(OPERATOR, world.deps)

    assert [template.name for template in found.templates or ()] == ["hermes-studio", "a-first"]


async def test_a_usual_template_without_a_name_is_offered(world: Installation) -> None:
    world.cube.templates_known = [TemplateView(template_id="tpl-3", status="READY")]
    deps = replace(world.deps, rules=replace(world.deps.rules, template="tpl-3"))

    assert (await suggest(OPERATOR, deps)).templates == (TemplateView(template_id="tpl-3", status="READY"),)


async def test_the_last_settings_are_those_of_the_last_sandbox(world: Installation) -> None:
    await world.create("a", timeout=7200, template="hermes-studio-legacy")
    await world.create("b", timeout=-1, env={"A": "1"})

    found = await suggest(OPERATOR, world.deps)

    assert found.last == LastTime(timeout=-1)


async def test_what_fails_or_takes_too_long_is_left_out_and_named(
    world: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.create("alpha")
    monkeypatch.setattr(suggestions, "PATIENCE", 0.02)
    world.cube.before("list", asyncio.Event().wait)
    world.cube.fail("templates", fault("template_list", 500, "no"))

    found = await suggest(OPERATOR, world.deps)

    assert found.missing == ("which homes are in use", "the templates")
    assert (found.templates, found.mine) == (None, None)
    assert found.homes == (HomeChoice(home="alpha", workspace="alpha"),)
