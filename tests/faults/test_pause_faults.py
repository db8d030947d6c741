"""Pausing and waking while Cube is unkind: each has its own code and words, and nothing is insisted on."""

import pytest
from e2e.installed import OPERATOR, Installed
from faults.claims import calls, claims_in, paused

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_a_pause_that_does_not_end_is_neither_called_done_nor_failed(site: Installed) -> None:
    created = await site.create(OPERATOR, "home=limbo-too")
    sandbox = await created.sandbox()
    await site.fault("cube", "stuck-pausing", delay_s=0)
    before = await calls(site)

    thread = await site.type(OPERATOR, "pause limbo-too")
    await thread.saying("What happened:")

    claims = claims_in(await thread.text())
    assert claims.code == "pause-unknown"
    assert "shows it as pausing" in claims.what
    assert "Nothing was destroyed." in claims.safe
    assert (await calls(site) - before)["cube pause"] == 1
    woken = await site.type(OPERATOR, "resume limbo-too")
    await woken.saying("is just being paused")
    assert claims_in(await woken.text()).code == "still-pausing"
    assert await site.sandboxes("limbo-too") == [sandbox]


async def test_what_cube_cannot_wake_is_told_and_asked_once(site: Installed) -> None:
    created = await site.create(OPERATOR, "home=unwakeable")
    sandbox = await created.sandbox()
    await paused(site, sandbox)
    for kind, code, words in (
        ("resume-no-room", "cube-no-capacity", "no room to wake this sandbox"),
        ("resume-tap-busy", "cube-unresumable-tap-busy", "Cube cannot wake this sandbox"),
    ):
        await site.fault("cube", kind, times=9)
        before = await calls(site)

        thread = await site.type(OPERATOR, "resume unwakeable")
        await thread.saying("What happened:")

        claims = claims_in(await thread.text())
        assert claims.code == code
        assert words in claims.what
        assert "safe on the node" in claims.safe
        assert (await calls(site) - before)["cube connect"] == 1
        await site.unarm()
    assert await site.sandboxes("unwakeable") == [sandbox]


async def test_a_resume_that_is_undone_is_told_and_one_that_is_undone_once_succeeds(site: Installed) -> None:
    created = await site.create(OPERATOR, "home=drowsy")
    await paused(site, await created.sandbox())
    await site.fault("cube", "resume-then-paused", times=9)
    before = await calls(site)

    thread = await site.type(OPERATOR, "resume drowsy")
    await thread.saying("What happened:")

    claims = claims_in(await thread.text())
    assert claims.code == "resume-undone"
    assert "went back to sleep at once" in claims.what
    assert (await calls(site) - before)["cube connect"] == 2
    await site.unarm()
    await site.fault("cube", "resume-then-paused", times=1)
    await thread.press("hermes.resume")
    await thread.saying("is awake")
