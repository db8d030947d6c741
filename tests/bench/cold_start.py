"""From starting the process until the bot can ack, beside a process that only imports the same libraries.

Starting is the same work each time, and what else runs on the machine only ever adds to it. So the best of
several starts counts, of both; the medians are told beside them.
"""

import json
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bot.standin.slack import SlackStandIn
from tests.bench.figures import Figure, Target, figure, ratio
from tests.bench.workspace import launch, pointed_at, type_command, until, workspace

FIGURE = "cold_start"
TARGETS = {FIGURE: Target(1.3)}
PAIRS = 11
SERVE = ("-m", "bot.cli", "serve")
LIBRARIES = ("-m", "tests.bench.loaded_libraries")
IMPORTS = str(Path(__file__).with_name("import_only.py"))


async def measure(folder: Path, env: Mapping[str, str]) -> dict[str, Figure]:
    """The figure. The first start of each, which writes byte code and makes the database, does not count."""
    async with workspace(folder / "slack-of-starts") as slack:
        env = _with_byte_code(pointed_at(slack, env), folder / "byte-code") | {"HERMES_BOT_LOG": "json"}
        libraries = folder / "libraries.json"

        async def bot() -> float:
            return await _until_ready(slack, env, folder / "start.log")

        async def imports() -> float:
            return await _until_imported(libraries, env, folder / "imports.log")

        await bot()
        await _list_libraries(
            libraries, env, folder / "libraries.log"
        )  # as a start with a database loads them
        await imports()
        pairs = [await _pair(bot, imports, swapped=bool(number % 2)) for number in range(PAIRS)]
    ready, imported = zip(*pairs, strict=True)
    modules = json.loads(libraries.read_text())
    return {
        FIGURE: figure(
            ratio(min(ready), min(imported)),
            TARGETS[FIGURE],
            ready_s={"best": round(min(ready), 3), "median": round(statistics.median(ready), 3)},
            imports_s={"best": round(min(imported), 3), "median": round(statistics.median(imported), 3)},
            libraries=sorted({name.partition(".")[0] for name in modules}),
            modules=len(modules),
            n=len(pairs),
        )
    }


def _with_byte_code(env: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Byte code is written once and kept in ``folder``, whatever this environment forbids.

    An installed bot has its byte code, as its libraries do; without it each start would compile our sources.
    """
    kept = {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder)}


async def _pair(
    bot: Callable[[], Awaitable[float]], imports: Callable[[], Awaitable[float]], *, swapped: bool
) -> tuple[float, float]:
    if swapped:
        imported = await imports()
        return await bot(), imported
    return await bot(), await imports()


async def _until_ready(slack: SlackStandIn, env: Mapping[str, str], log: Path) -> float:
    """Seconds until the bot says that it is ready; then a command proves it."""
    async with _started(*SERVE, env=env, log=log, sign=b'"event": "ready"') as seconds:
        await type_command(slack, "help")
    await until(lambda: slack.world.sockets.connected == 0, "the bot to leave")
    return seconds


async def _until_imported(libraries: Path, env: Mapping[str, str], log: Path) -> float:
    """Seconds until the libraries are there; what Python does at its end is not part of a start."""
    async with _started(IMPORTS, str(libraries), env=env, log=log, sign=b"imported") as seconds:
        return seconds


@asynccontextmanager
async def _started(*arguments: str, env: Mapping[str, str], log: Path, sign: bytes) -> AsyncIterator[float]:
    """A program, and the seconds from starting it until the sign stands in its log."""
    begin = time.perf_counter()
    program = await launch(*arguments, env=env, log=log)
    try:
        await until(lambda: sign in log.read_bytes(), f"the sign {sign.decode()!r}", program)
        yield time.perf_counter() - begin
    finally:
        await program.end()


async def _list_libraries(answer: Path, env: Mapping[str, str], log: Path) -> None:
    program = await launch(*LIBRARIES, str(answer), env=env, log=log)
    try:
        await until(answer.exists, "the list of loaded libraries", program)
    finally:
        await program.end()
