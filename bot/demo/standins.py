"""``hermes-bot standin``: the servers, and on request the bot beside them for the console."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bot.demo.processes import Program, start_bot
from bot.standin.server import StandInError, serve


async def run_standins(
    *, state: Path | None, platform: str, nodes: int, templates: Mapping[str, Path], with_bot: bool
) -> int:
    """Serve until SIGTERM. The first line on stdout is the JSON line with the addresses.

    Gives 0, or 2 when they cannot run as asked; stderr says why.
    """
    bots: list[asyncio.Task[Program]] = []
    with tempfile.TemporaryDirectory(prefix="hermes-bot-log-") as folder:

        def announce(line: str) -> None:
            sys.stdout.write(line.rstrip("\n") + "\n")
            sys.stdout.flush()
            if with_bot:
                where = json.loads(line)
                sys.stderr.write(f"Open {where['console']} in a browser. End with Ctrl-C.\n")
                bots.append(asyncio.create_task(start_bot(Path(folder), Path(where["env_file"]))))

        try:
            await serve(state=state, platform=platform, nodes=nodes, templates=templates, announce=announce)
        except StandInError as error:
            sys.stderr.write(f"hermes-bot: {error}\n")
            return 2
        finally:
            for bot in bots:
                await (await bot).end()
    return 0
