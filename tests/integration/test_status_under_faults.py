"""Each illness has a word and a sentence of its own, and none is called gone or ready."""

import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest
import pytest_asyncio
from integration.status_site import USER, Site, status_site
from slack_desk import shown

from bot.domain.actors import Actor
from bot.domain.condition import CUT_OFF
from bot.domain.errors import CubeError
from bot.usecases.changing import ChangeRequest
from bot.usecases.pausing import pause
from bot.usecases.resuming import resume

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with status_site(tmp_path_factory.mktemp("faults")) as site:
        yield site


@pytest_asyncio.fixture(loop_scope="module")
async def site(running: Site) -> AsyncIterator[Site]:
    yield running
    await running.control.delete("/faults")
    for view in await running.cube.list():
        with suppress(CubeError):
            await running.cube.kill(view.sandbox_id)


async def armed(site: Site, kind: str, **options: object) -> None:
    await site.control.post("/faults", target="cube", kind=kind, **options)


def wish(target: str) -> ChangeRequest:
    return ChangeRequest(request_id=f"c-{time.monotonic_ns()}", actor=Actor(USER), target=target)


async def test_a_sandbox_that_the_list_drops_is_unknown(site: Site) -> None:
    await site.paper("dropped")
    await site.later(60)
    await armed(site, "list-drops-node")

    word, sentence = await site.word("dropped")

    assert word == "unknown"
    assert "leaves it out of its list" in sentence


async def test_one_whose_metadata_is_lost_after_a_pause_is_asleep_and_still_its_owners(site: Site) -> None:
    [sandbox] = await site.paper("nameless")
    await site.cube.pause(sandbox)
    await armed(site, "labels-lost")

    word, sentence = await site.word("nameless")

    assert word == "asleep"
    assert "keeps its memory" in sentence
    listed = shown(await site.status())
    assert "nameless †" in listed
    assert "as the audit log has them" in listed


async def test_what_runs_and_cannot_be_reached_is_dark_as_soon_as_it_may_be_asked(site: Site) -> None:
    await site.paper("endless", timeout=-1)
    [tried] = await site.paper("tried")
    await site.later(300)
    async with httpx.AsyncClient(trust_env=False) as browser:
        await browser.get(f"http://{site.proxy}/health", headers={"Host": f"9000-{tried}.cube.app"})
    await armed(site, "running-but-dark")

    words = await site.words()

    assert words["endless"] == words["tried"] == ("dark", CUT_OFF)
    assert "tried: dark" in shown(await site.status("status tried"))


async def test_one_whose_machine_has_exited_is_dark_by_its_silence(site: Site) -> None:
    await site.paper("exited")
    await site.later(300)
    await armed(site, "vm-exited")
    beat = site.state / "nodes/node-a/shared/hermes-homes/exited/.hermes-bot/heartbeat.json"
    long_ago = time.time() - 600
    os.utime(beat, (long_ago, long_ago))

    word, sentence = await site.word("exited")

    assert word == "dark"
    assert "last sign of life is 10 min old" in sentence


async def test_one_whose_pause_never_ends_is_stuck(site: Site) -> None:
    [sandbox] = await site.paper("limbo")
    await armed(site, "stuck-pausing", delay_s=0)
    await pause(wish(sandbox), site.desk.world.deps)

    word, sentence = await site.word("limbo")

    assert word == "stuck"
    assert "does not come to an end" in sentence


async def test_one_that_cube_cannot_wake_any_more_is_unresumable(site: Site) -> None:
    [sandbox] = await site.paper("held")
    await pause(wish(sandbox), site.desk.world.deps)
    await armed(site, "resume-tap-busy", times=3)
    await resume(wish(sandbox), site.desk.world.deps)

    word, sentence = await site.word("held")

    assert word == "unresumable"
    assert "home and workspace are safe" in sentence


async def test_one_that_goes_back_to_sleep_at_once_is_asleep_and_says_so(site: Site) -> None:
    [sandbox] = await site.paper("drowsy")
    await pause(wish(sandbox), site.desk.world.deps)
    await armed(site, "resume-then-paused", times=5)
    await resume(wish(sandbox), site.desk.world.deps)

    word, sentence = await site.word("drowsy")

    assert word == "asleep"
    assert "went back to sleep at once" in sentence
