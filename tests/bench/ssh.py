"""What our port ``Node`` adds to a command on an SSH connection that is open already."""

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import asyncssh

from bot.settings import NodeSettings
from tests.bench.figures import Figure, Target, figure, milliseconds, percentile, ratio
from tests.bench.installation import installed

FIGURE = "ssh_reuse"
TARGETS = {FIGURE: Target(1.5)}
PAIRS = 400
WARM_UP = 30
COMMAND = "true"


async def measure(_: Path, env: Mapping[str, str]) -> dict[str, Figure]:
    """The figure: both take turns on connections of their own to the same node."""
    async with installed(env) as (deps, settings):
        configured = settings.toml.nodes[0]
        node = deps.nodes[configured.id]
        async with await log_in(configured) as connection:

            async def through_port() -> None:
                result = await node.run(COMMAND)
                assert result.exit_code == 0, result.stderr

            async def raw() -> None:
                await connection.run(COMMAND, check=True)

            await _timed(WARM_UP, through_port, raw)
            port_seconds, raw_seconds = await _timed(PAIRS, through_port, raw)
    value = ratio(percentile(port_seconds, 50), percentile(raw_seconds, 50))
    about = {**milliseconds(port_seconds), "raw": milliseconds(raw_seconds)}
    return {FIGURE: figure(value, TARGETS[FIGURE], **about)}


async def log_in(node: NodeSettings) -> asyncssh.SSHClientConnection:
    """A plain connection to the node, with the bot's key."""
    return await asyncssh.connect(
        node.host,
        node.port,
        username=node.user,
        client_keys=[str(node.key)],
        known_hosts=str(node.known_hosts),
        config=None,
        agent_path=None,
    )


async def _timed(pairs: int, *contenders: Callable[[], Awaitable[None]]) -> tuple[list[float], ...]:
    """Durations of each, in seconds. Who begins a round changes from one round to the next."""
    seconds: tuple[list[float], ...] = tuple([] for _ in contenders)
    for number in range(pairs):
        turns = list(zip(contenders, seconds, strict=True))
        for contender, durations in turns if number % 2 else reversed(turns):
            begin = time.perf_counter()
            await contender()
            durations.append(time.perf_counter() - begin)
    return seconds
