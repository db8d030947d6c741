"""A program: the bot as ``hermes-bot serve`` runs it, without Slack's pace and, on request, less patient.

The pace holds messages back as the real Slack wants it and has tests of its own; the deadlines are those
of a real installation, minutes that a test of what happens after them cannot wait for.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import bot.app
from bot import ending
from bot.adapters import slack_chat, slack_pace
from bot.demo.processes import BEGIN_SECONDS, Program, environment
from bot.demo.tied import tie_to
from bot.domain.rules import Deadlines, Rules
from bot.settings import Settings, load
from bot.usecases import pausing, waking

TURN_SECONDS = 0.01
IMPATIENT = "--impatient"
HTTP = "--http"
DEADLINES = Deadlines(control=8.0, create=1.5, adopt=3.0, data_plane=1.5, node=8.0, guest=8.0, studio=4.5)
DRAIN_SECONDS = 2.0
PAUSE_SECONDS = 2.0
AWAKE_SECONDS = 3.0


class ImpatientSettings(Settings):
    """The same settings with deadlines of seconds."""

    def rules(self) -> Rules:
        """The values that use cases decide with."""
        return replace(super().rules(), deadlines=DEADLINES)


async def start(folder: Path, env_file: Path, options: Sequence[str] = ()) -> Program:
    """Start this program and wait until the bot says that it is ready."""
    log = folder / "bot.log"
    begin = log.stat().st_size if log.exists() else 0
    with log.open("ab") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, str(os.getpid()), *options,
            stdin=asyncio.subprocess.DEVNULL, stdout=sink, stderr=sink,
            env={**environment(env_file), "HERMES_BOT_LOG": "json"},
        )  # fmt: skip
    program = Program(process, log)
    waiting = asyncio.get_running_loop().time() + BEGIN_SECONDS
    while b'"event": "ready"' not in log.read_bytes()[begin:]:
        if process.returncode is not None or asyncio.get_running_loop().time() > waiting:
            await program.end()
            raise RuntimeError(f"the bot did not start:\n{log.read_text()[-2000:]}")
        await asyncio.sleep(0.02)
    return program


async def start_impatient(folder: Path, env_file: Path) -> Program:
    """The same with deadlines of seconds."""
    return await start(folder, env_file, [IMPATIENT])


async def start_http(folder: Path, env_file: Path) -> Program:
    """The same behind a request URL."""
    return await start(folder, env_file, [HTTP])


def main() -> None:
    """Serve until SIGTERM, or until the tests have ended."""
    tie_to(int(sys.argv[1]))
    for module, pace in ((slack_chat, "EDIT_EVERY"), (slack_pace, "MESSAGE_EVERY")):
        assert hasattr(module, pace)
        setattr(module, pace, TURN_SECONDS)
    settings = load()
    if IMPATIENT in sys.argv:
        bot.app.DRAIN_SECONDS = DRAIN_SECONDS
        pausing.PAUSE_SECONDS = PAUSE_SECONDS
        waking.AWAKE_SECONDS = AWAKE_SECONDS
        settings = ImpatientSettings(**dict(settings))
    sys.exit(ending.run(bot.app.serve(settings, http=HTTP in sys.argv)))


if __name__ == "__main__":
    main()
