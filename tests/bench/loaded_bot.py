"""A program: the bot as ``hermes-bot serve`` runs it, with the watcher's load in its process."""

import asyncio
import sys

from bot.app import serve
from bot.settings import load
from tests.bench.load import watching

if __name__ == "__main__":
    with watching():
        code = asyncio.run(serve(load()))
    sys.exit(code)
