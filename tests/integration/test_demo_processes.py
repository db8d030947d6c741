"""Programs that the console and the demo start do not outlive them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bot.demo.control import Control
from bot.demo.processes import BEGIN_SECONDS, start

pytestmark = pytest.mark.sandbox


async def test_bot_beside_killed_stand_ins_ends(tmp_path: Path) -> None:
    log = tmp_path / "standin.log"
    arguments = ("standin", "--with-bot", "--state", str(tmp_path / "state"))
    standin = await start(*arguments, log=log, pipe=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        where = json.loads(await standin.process.stdout.readline())
        async with Control(where["control"]) as control:

            async def answers() -> bool:
                return (await control.command("U_OPERATOR", "C_OPS", "whoami"))["outcome"] == "acked"

            await control.until("a bot that answers", answers, seconds=BEGIN_SECONDS)
        children = psutil.Process(standin.process.pid).children(recursive=True)
        [bot] = [child for child in children if "serve" in child.cmdline()]

        standin.kill()
        await standin.process.wait()
        gone, _ = psutil.wait_procs(children, timeout=15)

        assert bot in gone
        assert len(gone) == len(children)
    finally:
        await standin.end()


def test_program_whose_parent_is_gone_already_does_not_begin() -> None:
    not_the_parent = str(os.getppid())

    done = subprocess.run(
        [sys.executable, "-m", "bot.demo.tied", not_the_parent, "--help"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "the process that started this one has ended" in done.stderr
    assert not done.stdout
