"""Stopping and opening while Cube is unkind: nothing persistent is lost, and nobody insists."""

import pytest
from e2e.installed import OPERATOR, Installed
from faults.claims import calls, claims_in, paused, stop_that_fails, stop_that_works

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

REFUSALS = {
    "auth-rejected": "Cube refused the bot's key.",
    "node-connection-failed": "Cube cannot reach the node.",
    "master-down": "Cube answered with an error of its own.",
}


async def test_a_stop_that_is_refused_leaves_everything_and_is_not_repeated(site: Installed) -> None:
    await site.create(OPERATOR, "home=stubborn")
    there = await site.sandboxes("stubborn")
    for kind, what in REFUSALS.items():
        await site.fault("cube", kind, operation="kill", times=1)
        before = await calls(site)

        claims = await stop_that_fails(site, "stubborn")

        assert claims.what == what
        assert "The home and workspace are safe" in claims.safe
        assert "the sandbox still exists" in claims.safe
        assert claims.todo
        assert (await calls(site) - before)["cube kill"] == 1
    await site.fault("cube", "master-down")
    card = await site.type(OPERATOR, "stop stubborn")
    await card.saying("What happened:")
    unasked = claims_in(await card.text())
    await site.unarm()
    assert unasked.what == "Cube answered with an error of its own."
    assert unasked.safe == "Nothing was changed."
    assert await site.sandboxes("stubborn") == there
    assert (site.home("stubborn") / "config.yaml").exists()


async def test_a_sandbox_stuck_in_pausing_is_waited_for_as_cube_asks_and_then_left(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=limbo")
    await site.fault("cube", "stuck-pausing", delay_s=0)
    await paused(site, await thread.sandbox())
    before = await calls(site)

    claims = await stop_that_fails(site, "limbo")

    await site.recorded(home="limbo", action="stop", phase="outcome")
    rows = site.rows(home="limbo", action="stop")
    assert claims.code == "cube-conflict-retry"
    assert claims.what == "Cube is still busy with another change of this sandbox."
    assert claims.todo == "Wait half a minute and ask again with /hermes stop limbo."
    assert (await calls(site) - before)["cube kill"] == 3
    assert (await calls(site) - before)["cube connect"] == 0
    assert [row["result"] for row in rows if row["phase"] == "outcome"] == ["failed"]
    await site.unarm()
    assert "Kept on the node: home limbo" in await stop_that_works(site, "limbo")


async def test_a_sandbox_whose_network_is_dark_can_be_stopped_and_made_anew(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=dark")
    old = await thread.sandbox()
    await site.fault("cube", "running-but-dark", delay_s=0.05)
    before = await calls(site)

    told = await stop_that_works(site, "dark")

    assert "closed cleanly" not in told
    assert (await calls(site) - before)["cube kill"] == 1
    assert (await calls(site) - before)["cube data_plane"] < 5
    again = await site.create(OPERATOR, "home=dark")
    assert await again.sandbox() != old


async def test_a_kill_whose_answer_is_lost_and_looks_that_fail_are_looked_at_again(site: Installed) -> None:
    await site.create(OPERATOR, "home=vanishing")
    card = await site.type(OPERATOR, "stop vanishing")
    await card.holding("hermes.stop.confirm")
    await site.fault("cube", "empty-408", operation="kill")
    await site.fault("cube", "slow-api", operation="kill", delay_s=0.3)
    before = await calls(site)
    await card.press("hermes.stop.confirm")

    async def asked() -> bool:
        return (await calls(site) - before)["cube kill"] == 1

    await site.control.until("the kill", asked)
    await site.fault("cube", "front-page", operation="get", times=2)
    await card.saying("is gone")

    assert (await calls(site) - before)["cube kill"] == 1
    assert (site.home("vanishing") / "config.yaml").exists()


async def test_a_sign_in_is_not_shown_while_it_cannot_be_vouched_for(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=guarded")
    for target, kind, what in (
        ("node", "ssh-down", "The node does not answer over SSH."),
        ("cube", "master-down", "Cube answered with an error of its own."),
        ("node", "host-key-changed", "The node shows another host key than the one we know."),
        ("node", "auth-refused", "The node answers, but it refuses the bot's SSH key."),
    ):
        await site.fault(target, kind, **({"times": 50} if kind == "ssh-down" else {}))
        before = await calls(site)

        await thread.press("hermes.open")
        window = await site.window(OPERATOR)

        assert what in window
        assert "Nothing was changed." in window
        assert "Password" not in window
        assert (await calls(site) - before)["node connection"] == int(target == "node")
        await site.unarm()
        await site.control.post("/close", user=OPERATOR, clear=True)
    await thread.press("hermes.open")
    assert "Password" in await site.window(OPERATOR)
    assert len(site.rows(home="guarded", phase="reveal", result="ok")) == 1
