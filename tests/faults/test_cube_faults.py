"""Cube fails in the ways that it is known for; nothing is lost, and the way on that is offered works."""

import asyncio

import pytest
from e2e.installed import OPERATOR, Installed, Thread
from faults.claims import claims_in, failed_create

from bot.demo.reading import thread_text

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

THREE = ("one", "two", "three")
STUDIO_FAULTS = {
    "studio-does-not-start": ("studio-did-not-start", "ended with 1"),
    "studio-never-ready": ("studio-did-not-start", "the agent bridge is not ready"),
    "read-only-home": ("mount-not-proved", "the home is not mounted read-write"),
}
"""Fault → the code of its failure, and what the thread says."""


async def test_creates_that_cube_refuses_make_nothing_and_continue_makes_them(site: Installed) -> None:
    await site.fault("cube", "create-no-capacity")
    await site.fault("cube", "mount-source-missing")
    await site.fault("cube", "api-down", operation="create")

    threads = await asyncio.gather(*(site.type(OPERATOR, f"create home={home}") for home in THREE))
    claims = await asyncio.gather(*(failed_create(site, thread) for thread in threads))

    assert sorted(claim.what.partition(".")[0] for claim in claims) == [
        "A directory to mount does not exist on the node that Cube chose",
        "Cube does not answer",
        "Cube has no room for another sandbox right now",
    ]
    assert all("No sandbox was made" in claim.safe for claim in claims)
    await asyncio.gather(*(thread.press("hermes.create.continue") for thread in threads))
    told = await asyncio.gather(*(thread.ended(":white_check_mark:") for thread in threads))
    assert all("is ready" in text for text in told)
    assert [len(await site.sandboxes(home)) for home in THREE] == [1, 1, 1]


async def test_creates_whose_answers_are_lost_are_adopted(site: Installed) -> None:
    await site.fault("cube", "create-408-after-success")
    await site.fault("cube", "create-deadline-after-success")
    await site.fault("cube", "drop-after-write", operation="create")

    threads = await asyncio.gather(*(site.create(OPERATOR, f"home=lost-{home}") for home in THREE))

    for thread in threads:
        await adopted(site, thread)


async def test_create_that_answers_after_our_deadline_is_adopted(site: Installed) -> None:
    await site.fault("cube", "slow-api", operation="create", delay_s=2)

    await adopted(site, await site.create(OPERATOR, "home=late"))


async def adopted(site: Installed, thread: Thread) -> None:
    """Check that one sandbox exists, and that the thread says how it was found."""
    there = await site.sandboxes(thread.home)
    told = await thread.text()
    assert there == [await thread.sandbox()]
    assert f"{there[0]} (found again after Cube's answer was lost)" in told
    assert "I found the sandbox it had made and used that one." in told
    assert [row["details"] for row in site.rows(home=thread.home, code="step-5")] == ['{"adopted":true}']


async def test_cube_that_is_down_is_a_refusal_that_changes_nothing(site: Installed) -> None:
    await site.fault("cube", "api-down", times=50)

    thread = await site.type(OPERATOR, "create home=down")
    claims = claims_in(await thread.ended(":x:"))

    assert claims.what == "Cube does not answer."
    assert claims.safe == "Nothing was changed."
    assert not site.home("down").exists()
    assert site.rows(home="down", phase="intent", code="") == []
    await site.unarm()
    await site.create(OPERATOR, "home=down")


async def test_slow_cube_only_takes_longer(site: Installed) -> None:
    await site.fault("cube", "slow-api", delay_s=0.25, times=4)

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


async def test_sandboxes_in_which_studio_does_not_work_are_kept_until_stop(site: Installed) -> None:
    threads = []
    for kind in STUDIO_FAULTS:
        await site.fault("cube", kind)
        threads.append(await site.type(OPERATOR, f"create home={kind}"))
        await site.recorded(home=kind, code="step-5")  # this sandbox has the fault, and no later one
    claims = await asyncio.gather(*(failed_create(site, thread) for thread in threads))

    for thread, claim in zip(threads, claims, strict=True):
        code, words = STUDIO_FAULTS[thread.home]
        assert claim.code == code
        assert words in await thread.text()
        assert len(await site.sandboxes(thread.home)) == 1
    await asyncio.gather(*(stop_from(thread) for thread in threads))
    again = await site.create(OPERATOR, "home=studio-never-ready")
    assert "already initialised" in await again.text()


async def stop_from(thread: Thread) -> None:
    """Press Stop in a thread, confirm, and wait for the end."""
    await thread.press("hermes.stop.ask")
    await thread.press("hermes.stop.confirm")
    await thread.saying("is gone")


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


async def test_stop_that_cube_does_not_answer_is_judged_by_looking(site: Installed) -> None:
    await site.create(OPERATOR, "home=unheard")
    refused = await site.type(OPERATOR, "stop unheard")
    await refused.holding("hermes.stop.confirm")
    await site.fault("cube", "api-down", operation="kill")
    await refused.press("hermes.stop.confirm")
    claims = claims_in(thread_text([await refused.saying("What happened:")]))
    there = await site.sandboxes("unheard")

    lost = await site.type(OPERATOR, "stop unheard")
    await lost.holding("hermes.stop.confirm")
    await site.fault("cube", "drop-after-write", operation="kill")
    await lost.press("hermes.stop.confirm")

    assert claims.what == "Cube does not answer."
    assert "the sandbox still exists" in claims.safe
    assert len(there) == 1
    assert "Kept on the node: home unheard" in thread_text([await lost.saying("is gone")])
    assert await site.sandboxes("unheard") == []
