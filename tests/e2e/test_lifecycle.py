"""Pause, wake, keep: what was in a sandbox is there afterwards, and each press counts once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from e2e.installed import ADMIN, APPROVER, OPERATOR, Installed

from bot.adapters.cube_sdk import CubeSdk
from bot.adapters.guest import GuestPrograms
from bot.demo.processes import environment
from bot.demo.reading import buttons, thread_text

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

BACKGROUND = "nohup setsid sleep 600 >/dev/null 2>&1 & echo $!"


@pytest_asyncio.fixture(loop_scope="session")
async def cube(site: Installed) -> AsyncIterator[CubeSdk]:
    """Cube as somebody else uses it."""
    env = environment(site.env_file)
    made = CubeSdk(
        env["CUBE_API_URL"], env.get("CUBE_API_KEY", ""), env["CUBE_PROXY_NODE_IP"],
        int(env["CUBE_PROXY_PORT_HTTP"]), env["CUBE_SANDBOX_DOMAIN"],
    )  # fmt: skip
    yield made
    made.close()


async def test_what_was_there_before_a_pause_is_there_after_two_have_pressed_resume_at_once(
    site: Installed, cube: CubeSdk
) -> None:
    created = await site.create(OPERATOR, "home=napping")
    sandbox = await created.sandbox()
    await site.control.command(OPERATOR, "C_OPS", "open napping")
    studio, _ = await site.studio(OPERATOR, sandbox)
    await studio.say("first", "Good night.")
    said = await studio.history("first")
    pid = (await cube.run(sandbox, BACKGROUND)).stdout.strip()
    thread = await site.type(OPERATOR, "pause napping")
    message = await thread.holding("hermes.resume")
    asleep = await cube.get(sandbox)
    before = await connects(site)

    await asyncio.gather(
        thread.press("hermes.resume", OPERATOR, message=message),
        thread.press("hermes.resume", APPROVER, message=message),
    )
    told = thread_text([await thread.saying("is awake")])

    assert asleep is not None
    assert asleep.state == "paused"
    assert "Its home and workspace are mounted, and its Studio is well." in told
    assert await studio.history("first") == said
    assert (await cube.run(sandbox, f"cat /proc/{pid}/comm")).stdout.strip() == "sleep"
    rows = [row for row in site.rows(home="napping", phase="outcome") if row["action"] != "create"]
    assert [row["code"] for row in rows] == ["paused", "resumed"]
    winner = rows[1]["actor"]
    loser = APPROVER if winner == OPERATOR else OPERATOR
    assert f"@{winner} is just waking it" in await site.told(loser, "This time nothing was changed.")
    assert await connects(site) == before + 1


async def test_a_stop_card_from_before_a_pause_is_refused_and_a_dead_studio_alone_is_started(
    site: Installed, cube: CubeSdk
) -> None:
    created = await site.create(OPERATOR, "home=halfdead")
    sandbox = await created.sandbox()
    await GuestPrograms(cube).stop_studio(sandbox)
    pid = (await cube.run(sandbox, BACKGROUND)).stdout.strip()
    card = await site.type(OPERATOR, "stop halfdead")
    old = await card.holding("hermes.stop.confirm")
    paused = await site.type(APPROVER, "pause halfdead")
    await paused.holding("hermes.resume")

    await card.press("hermes.stop.confirm", message=old)
    await site.told(OPERATOR, "@U_APPROVER has put the sandbox to sleep")
    await card.saying("This card does not count any more")
    fresh = await card.holding("hermes.stop.confirm")
    await paused.press("hermes.resume")
    told = thread_text([await paused.saying("is awake")])

    assert fresh["ts"] != old["ts"]
    assert await site.sandboxes("halfdead") == [sandbox]
    assert "Only its Studio had died: I started it again." in told
    assert (await cube.run(sandbox, f"cat /proc/{pid}/comm")).stdout.strip() == "sleep"


async def test_keep_and_its_undo_and_pause_mine_when_one_fails(site: Installed, cube: CubeSdk) -> None:
    created = await site.create(OPERATOR, "home=many-a timeout=30m")
    sandbox = await created.sandbox()
    await site.create(OPERATOR, "home=many-b")
    thread = await site.type(OPERATOR, "keep many-a never")
    message = await thread.holding("hermes.keep.undo")
    kept = await cube.get(sandbox)
    await thread.press("hermes.keep.undo", message=message)
    undone = thread_text([await thread.saying("took that back")])
    back = await cube.get(sandbox)
    await thread.press("hermes.keep.undo", APPROVER, message=message)
    await site.told(APPROVER, "@U_OPERATOR has already taken this back")
    await site.fault("cube", "node-connection-failed", operation="pause", times=1)

    bulk = await site.type(OPERATOR, "pause mine")
    await bulk.saying("1 done, 1 not")

    assert kept is not None
    assert kept.end_at is None
    assert "goes to sleep after 30m without use" in undone
    assert back is not None
    assert back.end_at is not None
    text = await bulk.text()
    assert "cube-node-unreachable" in text
    assert "sleeps (" in text
    codes = [row["code"] for row in site.rows(action="pause", phase="outcome") if "many" in row["home"]]
    assert sorted(codes) == ["cube-node-unreachable", "paused"]


async def connects(site: Installed) -> int:
    """How often Cube was asked to wake a sandbox."""
    return int((await site.control.get("/faults"))["calls"].get("cube connect", 0))


async def test_a_sandbox_of_others_outlives_its_pause(site: Installed, cube: CubeSdk) -> None:
    body = {"templateID": "hermes-studio", "timeout": 60}
    async with site.http.post(site.where["cube_api"] + "/sandboxes", json=body) as answer:
        sandbox = (await answer.json())["sandboxID"]

    thread = await site.type(ADMIN, f"pause {sandbox}")
    await thread.saying("its idle time was set to never first")
    await site.control.post("/clock", advance_s=3600)

    for _ in range(10):
        await asyncio.sleep(0.1)
        view = await cube.get(sandbox)
        assert view is not None
        assert view.state == "paused"


async def test_owners_are_warned_once_and_may_put_it_off(site: Installed, cube: CubeSdk) -> None:
    config = site.config()
    await site.end_bot()
    path = site.env_file.parent / "hermes-bot.toml"
    path.write_text(config.replace("auto_resume = true\n", 'auto_resume = true\nwarn_before = "20s"\n', 1))
    try:
        await site.start_bot()
        created = await site.create(OPERATOR, "home=sleepy timeout=60")
        await site.control.post("/clock", advance_s=41)

        async def look() -> object:
            said = await site.control.messages(f"D_{OPERATOR}")
            return next((m for m in said if m["ts"] > site.since and "hermes.keep" in buttons(m)), None)

        warning = await site.control.until("a warning", look, seconds=15)
        await site.control.click(OPERATOR, f"D_{OPERATOR}", warning["ts"], "hermes.keep")
        await site.recorded(home="sleepy", code="kept")

        assert "goes to sleep in about" in warning["text"]
        assert len(site.rows(home="sleepy", code="pause-warned")) == 1
        view = await cube.get(await created.sandbox())
        assert view is not None
        assert view.state == "running"
    finally:
        await site.end_bot()
        path.write_text(config)
