"""A Slack stand-in inside the measuring process, and programs that listen to it.

Typing through the control API would put a second HTTP hop of this machine's two cores between the typed
command and its frame, and 500 commands at once would reach the socket one after another.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bot.demo.processes import Program
from bot.standin.clock import StandInClock
from bot.standin.faults import Faults
from bot.standin.slack import SlackStandIn

START_SECONDS = 30.0
USER = "U_OPERATOR"
CHANNEL = "C_OPS"


class BenchError(Exception):
    """Something could not be measured; the message says what."""


@asynccontextmanager
async def workspace(state: Path) -> AsyncIterator[SlackStandIn]:
    """Slack alone, with its state in ``state``."""
    slack = _slack_in(state)
    await slack.start()
    try:
        yield slack
    finally:
        await slack.stop()


def _slack_in(state: Path) -> SlackStandIn:
    state.mkdir(parents=True, exist_ok=True)
    return SlackStandIn(state=state, clock=StandInClock(state / "clock-offset"), faults=Faults())


def pointed_at(slack: SlackStandIn, env: Mapping[str, str]) -> dict[str, str]:
    """The environment with this Slack instead of another."""
    secrets = slack.secrets
    return {
        **env,
        "SLACK_BOT_TOKEN": secrets.bot_token,
        "SLACK_APP_TOKEN": secrets.app_token,
        "SLACK_SIGNING_SECRET": secrets.signing_secret,
        "SLACK_API_URL": slack.api_url,
    }


async def launch(*arguments: str, env: Mapping[str, str], log: Path) -> Program:
    """``python ARGUMENTS`` with its output in ``log``, which is begun anew."""
    with log.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=sink, stderr=sink, env=env
        )
    return Program(process, log)


@asynccontextmanager
async def listening(
    module: str, slack: SlackStandIn, env: Mapping[str, str], log: Path
) -> AsyncIterator[None]:
    """``python -m MODULE`` while it listens to this Slack, and its only listener."""
    program = await launch("-m", module, env=pointed_at(slack, env), log=log)
    try:
        await until(lambda: slack.world.sockets.connected == 1, f"{module} to connect", program)
        yield
    finally:
        code = await program.end()
    if code:
        raise BenchError(f"{module} ended with {code}:\n{_last_lines(log)}")
    await until(lambda: slack.world.sockets.connected == 0, f"{module} to leave")


async def type_command(slack: SlackStandIn, text: str) -> float:
    """Seconds from the command's frame to its ack.

    Raises:
        BenchError: it was not acked.
    """
    answer = await slack.people.command(USER, CHANNEL, text)
    if answer["outcome"] != "acked":
        raise BenchError(f"a command ended with {answer['outcome']}")
    return float(answer["ack_ms"]) / 1000


async def until(condition: Callable[[], bool], what: str, program: Program | None = None) -> None:
    """Look again and again until it holds.

    Raises:
        BenchError: it did not hold in time, or the program ended meanwhile.
    """
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        if program is not None and program.process.returncode is not None:
            raise BenchError(f"waited for {what}, but it ended:\n{_last_lines(program.log)}")
        if time.monotonic() > deadline:
            raise BenchError(f"waited {START_SECONDS:.0f} s for {what}")
        await asyncio.sleep(0.01)


def _last_lines(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:]
