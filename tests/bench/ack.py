"""How long a typed command waits for its ack: at a steady pace, and many at once."""

import asyncio
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.standin.slack import SlackStandIn
from tests.bench.figures import Figure, Target, figure, milliseconds, percentile, ratio
from tests.bench.workspace import listening, type_command, until, workspace

STEADY = "ack_p99_50_per_second"
BURST = "ack_p99_500_at_once"
TARGETS = {STEADY: Target(4.0), BURST: Target(5.0)}

RATE = 50
"""Commands per second."""
SECONDS = 20.0
AT_ONCE = 500
BURSTS = 5
WARM_UP = 100
TEXT = "whoami"
"""Real work after the ack: roles are read, a message is made, redacted and posted."""

FLOOR = "tests.bench.empty_bolt"
BOT = "tests.bench.loaded_bot"


@dataclass(slots=True)
class Acks:
    """What was seen of one program, in seconds."""

    steady: list[float] = field(default_factory=list)
    bursts: list[list[float]] = field(default_factory=list)

    @property
    def burst_p99(self) -> float:
        """The middle one of the bursts' p99."""
        return statistics.median(percentile(burst, 99) for burst in self.bursts)


async def measure(folder: Path, env: Mapping[str, str]) -> dict[str, Figure]:
    """The two figures. The floor is measured before and after the bot, half as long each time."""
    floor, bot = Acks(), Acks()
    async with workspace(folder / "slack") as slack:
        for module, acks, share in ((FLOOR, floor, 0.5), (BOT, bot, 1.0), (FLOOR, floor, 0.5)):
            async with listening(module, slack, env, folder / f"{module}.log"):
                await _warm_up(slack, answered=module == BOT)
                acks.steady += await at_pace(slack, SECONDS * share)
                for _ in range(BURSTS):
                    acks.bursts.append(await at_once(slack, answered=module == BOT))
    return {
        STEADY: figure(
            ratio(percentile(bot.steady, 99), percentile(floor.steady, 99)),
            TARGETS[STEADY],
            **milliseconds(bot.steady),
            floor=milliseconds(floor.steady),
        ),
        BURST: figure(
            ratio(bot.burst_p99, floor.burst_p99),
            TARGETS[BURST],
            **_bursts(bot),
            floor=_bursts(floor),
        ),
    }


async def at_pace(slack: SlackStandIn, seconds: float) -> list[float]:
    """``RATE`` commands a second, each typed at its moment whatever became of those before."""
    clock = asyncio.get_running_loop()
    begin = clock.time()
    typed = []
    for number in range(int(seconds * RATE)):
        await asyncio.sleep(begin + number / RATE - clock.time())
        typed.append(asyncio.create_task(type_command(slack, TEXT)))
    return await asyncio.gather(*typed)


async def at_once(slack: SlackStandIn, *, answered: bool) -> list[float]:
    """``AT_ONCE`` commands in one moment; then wait until the listener has answered all of them."""
    before = _answers(slack)
    acks = await asyncio.gather(*(type_command(slack, TEXT) for _ in range(AT_ONCE)))
    if answered:
        await until(lambda: _answers(slack) >= before + AT_ONCE, f"the answers to {AT_ONCE} commands")
    return acks


async def _warm_up(slack: SlackStandIn, *, answered: bool) -> None:
    before = _answers(slack)
    for _ in range(WARM_UP):
        await type_command(slack, TEXT)
    if answered:
        await until(lambda: _answers(slack) >= before + WARM_UP, "the answers to the warm-up")


def _answers(slack: SlackStandIn) -> int:
    return sum(1 for call in slack.world.transcript if call["method"] == "response_url")


def _bursts(acks: Acks) -> Figure:
    everything = [ack for burst in acks.bursts for ack in burst]
    return {
        "p50_ms": round(percentile(everything, 50) * 1000, 2),
        "p99_ms": round(acks.burst_p99 * 1000, 2),
        "p99_ms_of_each": [round(percentile(burst, 99) * 1000, 1) for burst in acks.bursts],
        "n": len(everything),
    }
