"""``python -m tests.bench``: one JSON object with the figures on stdout, what is going on on stderr.

Ends with 0 when every figure was measured, whether or not it met its target, and with 1 otherwise.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from bot.demo.processes import environment, stand_ins
from tests.bench import ack, audit, cold_start, memory, provision, sandboxes, ssh, status
from tests.bench.figures import Figure, Target, not_measured

Measure = Callable[[Path, Mapping[str, str]], Awaitable[dict[str, Figure]]]
Part = tuple[Measure, Mapping[str, Target]]

PARTS: tuple[Part, ...] = (
    (ssh.measure, ssh.TARGETS),
    (sandboxes.measure, sandboxes.TARGETS),
    (status.measure, status.TARGETS),
    (provision.measure, provision.TARGETS),
    (cold_start.measure, cold_start.TARGETS),
    (ack.measure, ack.TARGETS),
    (memory.measure, memory.TARGETS),
)
"""What needs the stand-ins, the quick ones first."""


async def bench(folder: Path) -> dict[str, Figure]:
    """All figures. ``folder`` takes whatever is made meanwhile."""
    figures = await _measured((audit.measure, audit.TARGETS), folder, {})
    async with AsyncExitStack() as opened:
        try:
            where = await opened.enter_async_context(stand_ins(folder))
        except (RuntimeError, OSError, TimeoutError) as error:
            return figures | {
                name: not_measured(target, _told(error))
                for _, targets in PARTS
                for name, target in targets.items()
            }
        env = environment(Path(where["env_file"]))
        for part in PARTS:
            figures |= await _measured(part, folder, env)
    return figures


async def _measured(part: Part, folder: Path, env: Mapping[str, str]) -> dict[str, Figure]:
    measure, targets = part
    begin = time.monotonic()
    try:
        figures = await measure(folder, env)
    except Exception as error:  # noqa: BLE001 - the figures of other parts are worth having
        why = _told(error)
        figures = {name: not_measured(target, why) for name, target in targets.items()}
    for name, found in figures.items():
        _say(f"{name}: {found['value']} ({found['bound']} {found['target']})")
    _say(f"  {time.monotonic() - begin:.0f} s")
    return figures


def _told(error: BaseException) -> str:
    traceback.print_exception(error)
    return f"{type(error).__name__}: {error}"[:1000]


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


async def _bench_until_told() -> dict[str, Figure]:
    """On SIGTERM everything that was started is ended, as on Ctrl-C."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        return await bench(Path(folder))


def main() -> int:
    """Measure and print."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # everything here is on loopback
    try:
        figures = asyncio.run(_bench_until_told())
    except (asyncio.CancelledError, KeyboardInterrupt):
        _say("Stopped before the end: no figures. What was started has ended.")
        return 1
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    return 1 if any("error" in found for found in figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
