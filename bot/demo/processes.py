"""Starting and ending the stand-ins and the bot as processes of their own."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGIN_SECONDS = 60.0
END_SECONDS = 30.0


@dataclass(slots=True)
class Program:
    """A running process of ours, with its log in a file."""

    process: asyncio.subprocess.Process
    log: Path

    def kill(self) -> None:
        """SIGKILL, as a crash would end it."""
        self.process.kill()

    async def end(self) -> int:
        """SIGTERM, then wait; SIGKILL when it does not listen. Gives the exit code."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(self.process.wait(), END_SECONDS)
            except TimeoutError:
                self.process.kill()
        return await self.process.wait()


def environment(env_file: Path) -> dict[str, str]:
    """This process's environment with the stand-ins' settings on top, and without proxies."""
    base = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    for name in [n for n in base if n.startswith(("SLACK_", "CUBE_", "HERMES_BOT_"))]:
        del base[name]
    lines = env_file.read_text(encoding="utf-8").splitlines()
    return base | dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


async def start(
    *arguments: str, log: Path, env: Mapping[str, str] | None = None, pipe: bool = False
) -> Program:
    """Run ``hermes-bot ARGUMENTS``; stderr goes to ``log``, stdout too unless ``pipe``.

    It ends when the calling thread does, whichever way, so call from one that lives on.
    """
    with log.open("ab") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot.demo.tied", str(os.getpid()), *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE if pipe else sink, stderr=sink,
            env=env,
        )  # fmt: skip
    return Program(process, log)


@asynccontextmanager
async def stand_ins(folder: Path, *arguments: str) -> AsyncIterator[dict[str, Any]]:
    """The stand-ins with their state in ``folder``; gives their JSON line."""
    program = await start(
        "standin", "--state", str(folder / "state"), *arguments, log=folder / "standin.log", pipe=True
    )
    try:
        assert program.process.stdout is not None  # noqa: S101 - asked for with pipe=True
        line = await asyncio.wait_for(program.process.stdout.readline(), BEGIN_SECONDS)
        if not line:
            raise RuntimeError(f"the stand-ins did not start:\n{program.log.read_text()[-2000:]}")
        yield json.loads(line)
    finally:
        await program.end()


@asynccontextmanager
async def the_bot(folder: Path, env_file: Path) -> AsyncIterator[Program]:
    """The bot against the stand-ins, ready for commands."""
    program = await start_bot(folder, env_file)
    try:
        yield program
    finally:
        await program.end()


async def start_bot(folder: Path, env_file: Path) -> Program:
    """Start the bot and wait until it says that it is ready."""
    log = folder / "bot.log"
    begin = log.stat().st_size if log.exists() else 0
    program = await start("serve", log=log, env={**environment(env_file), "HERMES_BOT_LOG": "json"})
    waiting = asyncio.get_running_loop().time() + BEGIN_SECONDS
    while b'"event": "ready"' not in log.read_bytes()[begin:]:
        if program.process.returncode is not None or asyncio.get_running_loop().time() > waiting:
            await program.end()
            raise RuntimeError(f"the bot did not start:\n{log.read_text()[-2000:]}")
        await asyncio.sleep(0.02)
    return program
