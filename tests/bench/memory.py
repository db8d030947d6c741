"""How much the bot grows over a thousand commands: what is kept of each of them adds up for weeks."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import cycle, islice
from pathlib import Path

import psutil

from bot.demo.processes import Program
from bot.standin.slack import SlackStandIn
from tests.bench.figures import Figure, Target, figure
from tests.bench.workspace import BenchError, launch, pointed_at, until, workspace

FIGURE = "memory_growth_1000_commands_mb"
TARGETS = {FIGURE: Target(10.0)}
COMMANDS = 1_000
WARM_UP = 600
"""Until byte code, pools, caches of libraries and the arenas of the allocator are as large as they get."""
AT_ONCE = 20
MEGABYTE = 1_000_000
SERVE = ("-m", "bot.cli", "serve")

OPERATOR, OUTSIDER, FOREIGNER = "U_OPERATOR", "U_OUTSIDER", "U_FOREIGNER"
MIX = (
    (OPERATOR, "whoami"),
    (OUTSIDER, "whoami"),
    (OPERATOR, "help"),
    (OPERATOR, "craete home=alpha"),
    (OPERATOR, "create home=alpha home=beta"),
    (OUTSIDER, "create home=alpha env=OPENAI_API_KEY=EXAMPLE-{number}"),
    (OPERATOR, "create home=UPPER-{number}"),
    (OPERATOR, "create home=alpha timeout=soon"),
    (FOREIGNER, "whoami"),
    (OPERATOR, "something-else-{number} with words"),
)
"""Commands that are answered to their person: answers in a channel come at Slack's pace, one a second.

Each text with a number is another one each time, so that what remembers texts cannot hide behind repetition.
"""


async def measure(folder: Path, env: Mapping[str, str]) -> dict[str, Figure]:
    """The figure: resident memory after the commands minus before, of a bot that is warm."""
    async with workspace(folder / "slack-of-memory") as slack:
        texts = _typed()
        async with _serving(slack, env, folder / "memory.log") as program:
            cold = _resident(program)
            await _take(slack, islice(texts, WARM_UP), WARM_UP)
            before = _resident(program)
            await _take(slack, islice(texts, COMMANDS), COMMANDS)
            after = _resident(program)
    return {
        FIGURE: figure(
            (after - before) / MEGABYTE,
            TARGETS[FIGURE],
            rss_mb={
                "started": round(cold / MEGABYTE, 1),
                "warm": round(before / MEGABYTE, 1),
                "after": round(after / MEGABYTE, 1),
            },
            n=COMMANDS,
        )
    }


def _typed() -> Iterator[tuple[str, str]]:
    for number, (user, text) in enumerate(cycle(MIX)):
        yield user, text.format(number=number)


async def _take(slack: SlackStandIn, texts: Iterator[tuple[str, str]], number: int) -> None:
    """Type them, so many at once, and wait until each of them is answered; the App Home now and then."""
    before = _answers(slack)

    async def person() -> None:
        for user, text in texts:
            answer = await slack.people.command(user, "C_OPS", text)
            if answer["outcome"] != "acked":
                raise BenchError(f"a command ended with {answer['outcome']}")
        await slack.people.open_home(OPERATOR)

    await asyncio.gather(*(person() for _ in range(AT_ONCE)))
    await until(lambda: _answers(slack) >= before + number, f"the answers to {number} commands")


def _answers(slack: SlackStandIn) -> int:
    return sum(1 for call in slack.world.transcript if call["method"] == "response_url")


def _resident(program: Program) -> int:
    return int(psutil.Process(program.process.pid).memory_info().rss)


@asynccontextmanager
async def _serving(slack: SlackStandIn, env: Mapping[str, str], log: Path) -> AsyncIterator[Program]:
    program = await launch(*SERVE, env=pointed_at(slack, env), log=log)
    try:
        await until(lambda: slack.world.sockets.connected == 1, "the bot to connect", program)
        yield program
    finally:
        await program.end()
