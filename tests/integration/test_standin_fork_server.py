"""The process that forks sandboxes lives on whatever becomes of one, and is started again when it ends."""

import asyncio
import signal
from pathlib import Path

import psutil
import pytest
from integration.standin_cube_kit import running

from bot.standin.cube import runtime

pytestmark = pytest.mark.sandbox


def fork_server() -> psutil.Process:
    children = psutil.Process().children(recursive=True)
    return next(child for child in children if "bot.standin.fork_server" in " ".join(child.cmdline()))


async def test_one_that_nobody_waits_for_any_more_ends_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "_READY_SECONDS", 0.3)
    async with running(tmp_path) as rig:
        await rig.create()
        server = fork_server()
        others = len(server.children())
        server.send_signal(signal.SIGSTOP)
        async with rig.api() as api:
            late = await api.post("/sandboxes", json={"templateID": "hermes-studio"})
        monkeypatch.setattr(runtime, "_READY_SECONDS", 30.0)
        server.send_signal(signal.SIGCONT)

        await rig.create()

        assert late.status_code == 500
        assert "was not ready within" in late.text
        assert fork_server() == server
        assert len(server.children()) == others + 1


async def test_it_is_started_again_and_the_next_sandbox_boots(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await rig.create()
        before = fork_server()
        before.kill()

        async with asyncio.timeout(10), rig.api() as api:
            # The stand-in may not have noticed yet; what it answers then is an error, not silence.
            made = await api.post("/sandboxes", json={"templateID": "hermes-studio"})
            while made.status_code == 500:
                made = await api.post("/sandboxes", json={"templateID": "hermes-studio"})

        assert made.status_code == 201
        assert fork_server() != before
