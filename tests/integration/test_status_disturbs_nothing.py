"""Looking never wakes: what status costs with a thousand sandboxes, and that it changes nothing in any."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from integration.status_site import USER, Site, status_site

from bot.domain.actors import Actor
from bot.domain.outcome import Done
from bot.standin.slack.blocks import check_message_blocks
from bot.usecases.status import Scope, survey

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

NEXT = "hermes.status.page:next"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with status_site(tmp_path_factory.mktemp("status")) as running:
        yield running


async def test_an_idle_sandbox_that_is_watched_for_ten_idle_periods_pauses_on_time(site: Site) -> None:
    [idle] = await site.paper("watched", timeout=100)
    [asleep] = await site.paper("sleeping", state="paused", timeout=100)
    before = await site.calls()
    seen = {idle: list[str](), asleep: list[str]()}

    for number in range(20):
        await site.later(50)
        if number < 3:
            await asyncio.sleep(0.25)  # the stand-in looks for idle ones five times a second
        for target in ("status", "status watched", "status sleeping"):
            await site.status(target)
        await _home(site)
        views = await site.listed()
        for sandbox, states in seen.items():
            states.append(views[sandbox].state.value)

    assert seen[idle] == ["running"] + ["paused"] * 19
    assert set(seen[asleep]) == {"paused"}
    assert (await site.calls() - before)["cube data_plane"] == 0


async def test_a_thousand_looks_neither_wake_nor_prolong_anything(site: Site) -> None:
    await site.paper("runner", timeout=3600)
    await site.paper("sleeper", state="paused", timeout=3600)
    await site.paper("endless", timeout=3600, known=False)
    before, calls = await site.listed(), await site.calls()
    gate = asyncio.Semaphore(8)

    async def look() -> None:
        async with gate:
            assert isinstance(await survey(Actor(USER), Scope.ALL, site.desk.world.deps), Done)

    await asyncio.gather(*(look() for _ in range(1000)))

    after, made = await site.listed(), await site.calls() - calls
    assert {name: (v.state, v.end_at) for name, v in after.items()} == {
        name: (v.state, v.end_at) for name, v in before.items()
    }
    assert made["cube data_plane"] == 0
    assert made["cube list"] == 1001


async def test_a_thousand_sandboxes_cost_one_list_one_command_and_no_request_into_any(site: Site) -> None:
    await site.paper("paper", known=False, count=1000)
    everything = len(await site.listed())
    before = await site.calls()

    answer = await site.status()

    assert dict(await site.calls() - before) == {"cube list": 1, "node command": 1}
    homes: set[str] = set()
    number = 1
    while True:
        check_message_blocks(answer.blocks)
        [table] = [block for block in answer.blocks if block["type"] == "table"]
        homes |= {row[0]["text"] for row in table["rows"][1:]}
        if NEXT not in answer.buttons:
            break
        await site.desk.press(USER, answer, NEXT)
        number += 1
        answer = site.desk.chat.seen_by(USER)[-1]
        assert f"Page {number} of " in answer.text
    assert len(homes) == everything
    assert (await site.calls() - before)["cube data_plane"] == 0


async def _home(site: Site) -> None:
    opened = {"type": "app_home_opened", "user": USER, "channel": f"D_{USER}", "tab": "home"}
    await site.desk.send(site.desk.event(opened, event_id=f"Ev{len(site.desk.chat.calls)}"))
    await site.desk.services.jobs.idle()
