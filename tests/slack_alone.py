"""The bot as a process with Slack's stand-in alone, in the test's own process and behind a relay.

Cube and the node are addresses where nobody listens: what is tested here never comes so far. The bot is less
patient with its link than a real one, by one to twenty.
"""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp

import bot.app
from bot import ending
from bot.adapters import slack_chat, slack_pace
from bot.demo.processes import Program, environment
from bot.demo.tied import tie_to
from bot.domain.link import Patience
from bot.settings import load
from bot.standin.bot_files import NodeAccess, write_config_file
from bot.standin.clock import StandInClock
from bot.standin.faults import Faults
from bot.standin.slack import SlackStandIn

SHORT = Patience(
    ping=0.2,
    pong=0.6,
    quiet=60.0,
    probe=0.5,
    probe_again=0.3,
    steady=0.5,
    not_ready=1.5,
    give_up=8.0,
    pause=0.1,
)
HTTP = "--http"
USER, CHANNEL = "U_OPERATOR", "C_OPS"


class Relay:
    """Passes bytes on between the bot and Slack, until it is told to hold them, or to close."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._server: asyncio.Server | None = None
        self._passing = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self) -> None:
        self._passing.set()
        self._server = await asyncio.start_server(self._take, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def go_silent(self) -> None:
        """Nothing arrives any more, in neither direction, and no connection ends."""
        self._passing.clear()

    def speak(self) -> None:
        """What was held goes on its way."""
        self._passing.set()

    def cut(self) -> None:
        """Every connection ends at once, as a network does it."""
        for pair in set(self._pairs):
            for writer in pair:
                writer.transport.abort()

    async def stop(self) -> None:
        """Nobody listens any more."""
        if self._server:
            self._server.close()
        self.cut()
        for task in set(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, far_writer)
        self._pairs.add(pair)
        ways = [
            asyncio.create_task(self._pass(reader, far_writer)),
            asyncio.create_task(self._pass(far_reader, writer)),
        ]
        self._tasks.update(ways)
        await asyncio.wait(ways)
        self._tasks.difference_update(ways)
        self._pairs.discard(pair)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._passing.wait()
                writer.write(data)
                await writer.drain()
        with suppress(ConnectionError, RuntimeError):
            writer.close()


@dataclass(slots=True)
class Alone:
    """Slack, the relay in front of it, and the bot."""

    folder: Path
    slack: SlackStandIn
    relay: Relay
    http: aiohttp.ClientSession
    env: dict[str, str]
    programs: list[Program] = field(default_factory=list)

    @property
    def bot(self) -> Program:
        return self.programs[-1]

    def log(self) -> str:
        return (self.folder / "bot.log").read_text(encoding="utf-8")

    async def start(self, *options: str, ready: bool = True, env: Mapping[str, str] | None = None) -> Program:
        """Start the bot, and wait until it is ready, or at least begins to try."""
        log = self.folder / "bot.log"
        begin = log.stat().st_size if log.exists() else 0
        with log.open("ab") as sink:
            process = await asyncio.create_subprocess_exec(
                sys.executable, __file__, str(os.getpid()), *options,
                stdin=asyncio.subprocess.DEVNULL, stdout=sink, stderr=sink, env=self.env | dict(env or {}),
            )  # fmt: skip
        self.programs.append(Program(process, log))
        if ready:
            await self.until(
                lambda: '"event": "ready"' in self.log()[begin:] or process.returncode is not None
            )
            assert process.returncode is None, self.log()[-3000:]
        return self.bot

    async def until(self, condition: Callable[[], bool], *, seconds: float = 20.0) -> None:
        """Look again and again until it holds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not condition():
            assert loop.time() < deadline, f"it did not happen in {seconds} s; the log:\n{self.log()[-3000:]}"
            await asyncio.sleep(0.02)

    async def command(self, text: str = "whoami") -> str:
        """Type a command; gives what became of it."""
        answer = await self.slack.people.command(USER, CHANNEL, text)
        return str(answer["outcome"])

    def whispers(self, user: str = USER) -> str:
        """All that only this person was told."""
        return "\n".join(m["text"] for m in self.slack.messages(CHANNEL) if m.get("ephemeral_for") == user)

    def address(self) -> str:
        """Where the bot that was started last listens."""
        return re.findall(r'"http": "([^"]+)"', self.log())[-1]

    def calls(self, method: str) -> int:
        return sum(1 for call in self.slack.world.transcript if call["method"] == method)

    async def health(self, path: str) -> tuple[int, dict[str, Any]]:
        """The status and the body of one of the bot's own pages."""
        async with self.http.get(f"http://{self.address()}{path}") as answer:
            return answer.status, await answer.json(content_type=None) if path != "/metrics" else {
                "text": await answer.text()
            }

    async def health_until(self, path: str, status: int, *, seconds: float = 20.0) -> dict[str, Any]:
        """The body, once it has this status."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while (seen := await self.health(path))[0] != status:
            assert loop.time() < deadline, f"{path} still gives {seen}; the log:\n{self.log()[-3000:]}"
            await asyncio.sleep(0.02)
        return seen[1]


@asynccontextmanager
async def slack_alone(folder: Path) -> AsyncIterator[Alone]:
    """Start Slack and the relay; end the bots that the test has started."""
    slack = SlackStandIn(state=folder / "slack", clock=StandInClock(folder / "clock-offset"), faults=Faults())
    slack.world.limits.quicken(100)  # the bot is quicker than a real one, so its Slack is as well
    await slack.start()
    relay = Relay(int(slack.world.base_url.rpartition(":")[2]))
    await relay.start()
    slack.world.base_url = f"http://127.0.0.1:{relay.port}"
    nowhere = NodeAccess("node-a", "127.0.0.1", 9, "root", folder / "key", folder / "known_hosts")
    for file in (nowhere.key, nowhere.known_hosts):
        file.touch(mode=0o600)
    write_config_file(folder / "bot/hermes-bot.toml", nodes=[nowhere], proxy_port=9)
    (folder / "bot/env").touch()
    env = environment(folder / "bot/env") | {
        "SLACK_BOT_TOKEN": slack.secrets.bot_token,
        "SLACK_APP_TOKEN": slack.secrets.app_token,
        "SLACK_SIGNING_SECRET": slack.secrets.signing_secret,
        "SLACK_API_URL": slack.api_url,
        "CUBE_API_URL": "http://127.0.0.1:9",
        "HERMES_BOT_CONFIG": str(folder / "bot/hermes-bot.toml"),
        "HERMES_BOT_HTTP": "127.0.0.1:0",
        "HERMES_BOT_LOG": "json",
    }
    async with aiohttp.ClientSession() as http:
        alone = Alone(folder, slack, relay, http, env)
        try:
            yield alone
        finally:
            for program in alone.programs:
                if program.process.returncode is None:
                    program.kill()
                await program.process.wait()
            await relay.stop()
            await slack.stop()


def main() -> int:
    """Serve until SIGTERM, or until the tests have ended."""
    tie_to(int(sys.argv[1]))
    slack_chat.EDIT_EVERY = slack_pace.MESSAGE_EVERY = 0.01
    bot.app.PATIENCE = replace(SHORT)
    return ending.run(bot.app.serve(load(), http=HTTP in sys.argv))


if __name__ == "__main__":
    sys.exit(main())
