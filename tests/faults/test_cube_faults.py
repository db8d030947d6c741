"""Cube fails in the ways that it is known for; nothing is lost, and the way on that is offered works."""

import pytest
from e2e.installed import OPERATOR, Installed

from bot.demo.reading import thread_text
from faults.claims import claims_in, failed_create

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize(
    ("kind", "options", "what"),
    [
        ("create-no-capacity", {}, "Cube has no room for another sandbox right now."),
        ("mount-source-missing", {}, "A directory to mount does not exist on the node"),
        ("api-down", {"operation": "create"}, "Cube does not answer."),
    ],
)
async def test_create_that_cube_refuses_makes_nothing_and_continue_makes_it(
    site: Installed, kind: str, options: dict[str, str], what: str
) -> None:
    await site.fault("cube", kind, **options)

    thread = await site.type(OPERATOR, f"create home={kind}")
    claims = await failed_create(site, thread)

    assert what in claims.what
    assert "No sandbox was made" in claims.safe
    await thread.press("hermes.create.continue")
    assert "is ready" in await thread.ended(":white_check_mark:")
    assert len(await site.sandboxes(kind)) == 1


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("create-408-after-success", {}),
        ("create-deadline-after-success", {}),
        ("drop-after-write", {"operation": "create"}),
        ("slow-api", {"operation": "create", "delay_s": 2.5}),
    ],
)
async def test_create_whose_answer_is_lost_is_adopted(
    site: Installed, kind: str, options: dict[str, object]
) -> None:
    await site.fault("cube", kind, **options)

    thread = await site.create(OPERATOR, f"home=lost-{kind}")

    there = await site.sandboxes(f"lost-{kind}")
    assert there == [await thread.sandbox()]
    told = await thread.text()
    assert f"{there[0]} (found again after Cube's answer was lost)" in told
    assert "I found the sandbox it had made and used that one." in told
    assert [row["details"] for row in site.rows(home=f"lost-{kind}", code="step-5")] == ['{"adopted":true}']


async def test_cube_that_is_down_is_a_refusal_that_changes_nothing(site: Installed) -> None:
    await site.fault("cube", "api-down", times=50)

    thread = await site.type(OPERATOR, "create home=down")
    claims = claims_in(await thread.ended(":x:"))

    assert claims.what == "Cube does not answer."
    assert claims.safe == "Nothing was changed."
    assert not site.home("down").exists()
    assert site.rows(home="down", phase="intent") == []
    await site.unarm()
    await site.create(OPERATOR, "home=down")


async def test_slow_cube_only_takes_longer(site: Installed) -> None:
    await site.fault("cube", "slow-api", delay_s=0.4, times=4)

    thread = await site.create(OPERATOR, "home=slow")

    assert await site.sandboxes("slow") == [await thread.sandbox()]
    assert "found again" not in await thread.text()


async def test_data_plane_that_is_dead_keeps_the_sandbox_for_continue(site: Installed) -> None:
    await site.fault("cube", "data-plane-dead", delay_s=0.05, times=1000)

    thread = await site.type(OPERATOR, "create home=silent")
    claims = await failed_create(site, thread)

    assert claims.code == "data-plane-silent"
    [sandbox] = await site.sandboxes("silent")
    await site.unarm()
    await thread.press("hermes.create.continue")
    assert "is ready" in await thread.ended(":white_check_mark:")
    assert await site.sandboxes("silent") == [sandbox]


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("studio-does-not-start", "studio-did-not-start", "ended with 1"),
        ("studio-never-ready", "studio-did-not-start", "the agent bridge is not ready"),
        ("read-only-home", "mount-not-proved", "the home is not mounted read-write"),
    ],
)
async def test_sandbox_in_which_studio_does_not_work_is_kept_until_stop(
    site: Installed, kind: str, code: str, words: str
) -> None:
    await site.fault("cube", kind)

    thread = await site.type(OPERATOR, f"create home={kind}")
    claims = await failed_create(site, thread)

    assert claims.code == code
    assert words in await thread.text()
    assert len(await site.sandboxes(kind)) == 1
    await thread.press("hermes.stop.ask")
    await thread.press("hermes.stop.confirm")
    await thread.saying("is gone")
    again = await site.create(OPERATOR, f"home={kind}")
    assert "already initialised" in await again.text()


async def test_home_of_a_failed_create_is_not_given_away_meanwhile(site: Installed) -> None:
    await site.fault("cube", "studio-does-not-start")
    thread = await site.type(OPERATOR, "create home=waiting")
    await failed_create(site, thread)
    [sandbox] = await site.sandboxes("waiting")

    second = await site.type(OPERATOR, "create home=waiting")
    claims = claims_in(await second.ended(":x:"))

    assert claims.code == "home-in-use"
    assert sandbox in claims.what
    assert await site.sandboxes("waiting") == [sandbox]


async def test_stop_whose_answer_is_lost_is_judged_by_looking(site: Installed) -> None:
    await site.create(OPERATOR, "home=unheard")
    card = await site.type(OPERATOR, "stop unheard")
    await card.holding("hermes.stop.confirm")
    await site.fault("cube", "drop-after-write", operation="kill")

    await card.press("hermes.stop.confirm")

    assert "Kept on the node: home unheard" in thread_text([await card.saying("is gone")])
    assert await site.sandboxes("unheard") == []


async def test_stop_while_cube_is_down_says_that_the_sandbox_may_still_exist(site: Installed) -> None:
    await site.create(OPERATOR, "home=unmoved")
    card = await site.type(OPERATOR, "stop unmoved")
    await card.holding("hermes.stop.confirm")
    await site.fault("cube", "api-down", operation="kill")

    await card.press("hermes.stop.confirm")

    claims = claims_in(thread_text([await card.saying("What happened:")]))
    assert claims.what == "Cube does not answer."
    assert "the sandbox still exists" in claims.safe
    assert len(await site.sandboxes("unmoved")) == 1
    again = await site.type(OPERATOR, "stop unmoved")
    await again.press("hermes.stop.confirm")
    await again.saying("is gone")
