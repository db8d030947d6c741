"""What sandboxes cost the machine that plays Cube: so little that a laptop holds a team's."""

import asyncio
import gc
import time
from pathlib import Path

import httpx
import psutil
import pytest
from contract.standin_world import world
from integration.standin_cube_kit import running

pytestmark = pytest.mark.sandbox
MEBIBYTE = 1024 * 1024
SETTLE_SECONDS = 10.0


def _processes_in_sandboxes() -> list[psutil.Process]:
    """All processes below this one that are not in its own process namespace."""
    own = Path("/proc/self/ns/pid").readlink()
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if Path(f"/proc/{process.pid}/ns/pid").readlink() != own:
                found.append(process)
        except OSError:  # it has just ended
            continue
    return found


def _pss(process: psutil.Process) -> int:
    """Bytes; a page that n processes share counts 1/n for each."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


async def _settled(most: int) -> int:
    """Bytes of all sandboxes, once they are at most ``most``, or when they do not get there."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (used := sum(map(_pss, _processes_in_sandboxes()))) > most and time.monotonic() < deadline:  # noqa: ASYNC110 - memory has no event
        await asyncio.sleep(0.1)
    return used


async def test_an_idle_sandbox_costs_less_than_a_megabyte(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        for _ in range(10):
            await rig.create()

        used = await _settled(10 * MEBIBYTE)

        assert len(_processes_in_sandboxes()) >= 10
    assert used < 10 * MEBIBYTE


async def test_a_sandbox_that_was_used_is_idle_again_after_a_while(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        made = (await rig.create())["sandboxID"]
        assert (await rig.ask(made, "/health")).status_code == 204

        used = await _settled(MEBIBYTE)

        assert used < MEBIBYTE
        assert (await rig.ask(made, "/health")).status_code == 204


async def test_a_sandbox_with_a_studio_costs_less_than_twenty_megabytes(tmp_path: Path) -> None:
    async with world(tmp_path) as there:
        made = await there.provisioned("alpha")
        await there.guest.start_studio(made, port=9000, auth="auto")

        at_first = await _settled(20 * MEBIBYTE)
        answers = [await there.studio.web_ui(made) for _ in range(20)]
        after_use = await _settled(20 * MEBIBYTE)

        assert all(answer.ok for answer in answers)
    assert max(at_first, after_use) < 20 * MEBIBYTE


async def test_a_thousand_paper_sandboxes_cost_less_than_twenty_megabytes(tmp_path: Path) -> None:
    metadata = {"hermes-home": "paper-{n}", "hermes-owner": "U_OPERATOR", "hermes-node": "node-1"}
    async with running(tmp_path) as rig:
        gc.collect()
        before = psutil.Process().memory_full_info().uss

        made = await rig.cube.add_paper({"count": 1000, "metadata": metadata})

        gc.collect()
        used = psutil.Process().memory_full_info().uss - before
        async with httpx.AsyncClient(base_url=rig.cube.api_url) as api:
            assert len((await api.get("/sandboxes")).json()) == len(made["sandboxes"]) == 1000
    assert used < 20 * MEBIBYTE
