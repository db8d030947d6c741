"""A program: starts the bot, and once it is ready writes which modules of libraries it has loaded.

The answer is a JSON list in the order in which they were begun, so that importing them one by one in that
order repeats what the bot's start did.
"""

import asyncio
import json
import logging
import os
import signal
import sys
import sysconfig
from pathlib import Path

import bot.cli  # noqa: F401 - what the command line loads belongs to it
from bot.app import serve
from bot.settings import load


def of_libraries() -> list[str]:
    """Names of the loaded modules that were installed, and not part of Python or this project."""
    installed = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
    return [
        name
        for name, module in sys.modules.copy().items()
        if (spec := getattr(module, "__spec__", None)) is not None
        and spec.name == name
        and spec.origin is not None
        and any(Path(spec.origin).is_relative_to(folder) for folder in installed)
    ]


class WhenReady(logging.Handler):
    """Writes the list when the bot logs that it is ready, then asks it to stop."""

    def __init__(self, answer: Path) -> None:
        super().__init__()
        self._answer = answer

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "ready":
            whole = self._answer.with_suffix(".new")
            whole.write_text(json.dumps(of_libraries()))
            whole.rename(self._answer)
            os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    logging.getLogger("bot.app").addHandler(WhenReady(Path(sys.argv[1])))
    asyncio.run(serve(load()))
