"""The heartbeat in a sandbox: it begins and ends with Studio, and tells when Studio has died."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from contract.standin_world import DEADLINES, World, world

from bot.adapters.guest import GuestPrograms
from bot.adapters.programs.guest_heartbeat import BEAT_PATH
from bot.domain.errors import GuestError
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.sandbox import SandboxState

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

KILL_STUDIO = "kill -9 $(cat /root/.hermes/.hermes-bot/web-ui/server.pid)"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("beat-world")) as running:
        running.guest = GuestPrograms(running.cube, deadlines=DEADLINES, beat_seconds=1)
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def real(there: World) -> AsyncIterator[World]:
    yield there
    there.faults.clear()
    for view in await there.cube.list():
        await there.cube.kill(view.sandbox_id)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return "b-" + "".join(c if c.isalnum() else "-" for c in request.node.name.lower())[:50].strip("-")


async def beats(there: World, name: str) -> Heartbeat | None:
    return (await there.node.pulse("/data/shared", [name])).heartbeats.get(name)


async def beat_that(there: World, name: str, true: Callable[[Heartbeat], bool]) -> Heartbeat:
    """The first heartbeat of the home of which that is true."""
    async with asyncio.timeout(10):
        while (beat := await beats(there, name)) is None or not true(beat):  # noqa: ASYNC110 - a file on the node has no event
            await asyncio.sleep(0.05)
    return beat


async def processes(there: World, sandbox: str) -> list[str]:
    """Of the heartbeat, in the sandbox, this question's own shell aside."""
    listed = await there.cube.run(sandbox, f"pgrep -f '^bash {BEAT_PATH} ' || true")
    return listed.stdout.split()


async def test_a_studio_that_died_is_silent_in_the_next_beat_and_well_again_when_started(
    real: World, name: str
) -> None:
    sandbox = await real.provisioned(name)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    well = await beats(real, name)

    await real.cube.run(sandbox, KILL_STUDIO)

    dead = await beat_that(real, name, lambda beat: beat.studio is not Inside.READY)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    again = await beats(real, name)
    assert well is not None
    assert again is not None
    assert (well.studio, dead.studio, again.studio) == (Inside.READY, Inside.SILENT, Inside.READY)
    assert dead.envd
    assert dead.pid == well.pid != again.pid
    assert len(await processes(real, sandbox)) == 1


async def test_a_bridge_that_died_is_told_with_its_reason(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")

    await real.cube.run(sandbox, "pkill -9 -f /bridge")

    beat = await beat_that(real, name, lambda beat: beat.studio is Inside.NOT_READY)
    assert beat.note.startswith("the agent bridge is not ready (")


async def test_after_the_stop_no_process_and_no_sign_of_life_is_left(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    before = await processes(real, sandbox)

    await real.guest.stop_studio(sandbox)

    assert len(before) == 1
    assert await processes(real, sandbox) == []
    assert await beats(real, name) is None


async def test_a_stranger_who_only_names_the_script_is_left_alone(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    await real.cube.run(sandbox, f"setsid -f sh -c 'sleep 600' {BEAT_PATH} >/dev/null 2>&1 </dev/null")
    await real.cube.run(sandbox, "echo $(pgrep -f 'sleep 600') > /run/hermes-bot/heartbeat.pid")

    await real.guest.stop_studio(sandbox)

    assert (await real.cube.run(sandbox, "pgrep -f 'sleep 600'")).exit_code == 0


async def test_a_paused_sandbox_gives_no_sign_of_life_and_goes_on_when_it_is_resumed(
    real: World, name: str
) -> None:
    sandbox = await real.provisioned(name)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    await real.cube.pause(sandbox)
    file = real.home(name) / ".hermes-bot/heartbeat.json"
    asleep = file.stat().st_mtime

    older = await beat_that(real, name, lambda beat: beat.age > 2.2)
    still = file.stat().st_mtime
    resumed = time.time()
    await real.cube.resume(sandbox)

    again = await beat_that(real, name, lambda beat: beat.age < 1)
    assert asleep == still < resumed < file.stat().st_mtime
    assert older.pid == again.pid
    assert again.studio is Inside.READY


async def test_neither_a_beat_nor_a_look_at_it_is_activity(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    before, first = await real.cube.get(sandbox), await beats(real, name)
    assert first is not None
    asked, began = real.faults.calls.copy(), time.time() - first.age

    await beat_that(real, name, lambda beat: time.time() - beat.age > began + 0.5)

    looked = real.faults.calls - asked
    assert set(looked) == {"node command"}
    assert await real.cube.get(sandbox) == before
    await real.cube.pause(sandbox)
    await beats(real, name)
    resting = await real.cube.get(sandbox)
    assert resting is not None
    assert resting.state is SandboxState.PAUSED


async def test_a_studio_that_does_not_start_is_told_by_the_heartbeat(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    await real.cube.run(sandbox, "printf '#!/bin/sh\\nexit 1\\n' > /usr/local/bin/hermes-web-ui")

    with pytest.raises(GuestError, match="ended with 1"):
        await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert (await beat_that(real, name, lambda _: True)).studio is Inside.SILENT


async def test_a_heartbeat_that_cannot_begin_is_a_note_and_studio_works(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    await real.cube.run(sandbox, "rm -rf /run/hermes-bot; ln -s /tmp /run/hermes-bot")

    started = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert started.heartbeat_note.startswith("the heartbeat was not started: hermes-bot is a symbolic link")
    assert (await real.studio.web_ui(sandbox)).ok
    assert await beats(real, name) is None
