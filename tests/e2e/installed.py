"""One installation as processes: the stand-ins, the bot beside them, and what people see of both."""

import asyncio
import json
import re
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from e2e.threads import OPERATOR, Message, Thread

from bot.demo.browser import Studio, open_studio, sign_in_of
from bot.demo.control import Control, ControlError
from bot.demo.processes import Program, environment, stand_ins, start, start_bot
from bot.demo.reading import thread_text, view_text

OPERATOR2, APPROVER, ADMIN = "U_OPERATOR2", "U_APPROVER", "U_ADMIN"
OUTSIDER, FOREIGNER = "U_OUTSIDER", "U_FOREIGNER"
PEOPLE = (OPERATOR, OPERATOR2, APPROVER, ADMIN, OUTSIDER, FOREIGNER)
OPS = "C_OPS"
CHANNELS = (OPS, "C_ALERTS", "C_AUDIT", "C_PUBLIC", "G_PRIVATE", *(f"D_{user}" for user in PEOPLE))
__all__ = [
    "ADMIN", "APPROVER", "FOREIGNER", "OPERATOR", "OPERATOR2", "OPS", "OUTSIDER", "Installed", "Message",
    "Thread", "installed",
]  # fmt: skip
Launch = Callable[[Path, Path], Awaitable[Program]]
"""Starts a bot with its log in a folder and the stand-ins' ``env_file``; returns when it is ready."""


@dataclass(slots=True)
class Installed:
    """Everything runs. ``bot`` is None while nobody has started it."""

    folder: Path
    where: dict[str, str]
    control: Control
    http: aiohttp.ClientSession
    launch: Launch
    bot: Program | None = None
    since: str = ""
    """The newest message when the test began; what is older was told to an earlier one."""
    programs: list[Program] = field(default_factory=list)

    @property
    def env_file(self) -> Path:
        """The settings of a bot against these stand-ins."""
        return Path(self.where["env_file"])

    @property
    def shared(self) -> Path:
        """The node's ``/data/shared``, seen from this machine."""
        return self.folder / "state/nodes/node-a/shared"

    @property
    def database(self) -> Path:
        """The audit log's file."""
        return Path(self.where["config_file"]).parent / "var/audit.db"

    def config(self) -> str:
        """The bot's TOML file."""
        return Path(self.where["config_file"]).read_text(encoding="utf-8")

    def home(self, home_id: str) -> Path:
        """A home's directory, seen from this machine."""
        return self.shared / "hermes-homes" / home_id

    def access(self, home_id: str) -> dict[str, str]:
        """The sign-in as it is kept on the node."""
        text = (self.home(home_id) / ".hermes-bot/access.json").read_text(encoding="utf-8")
        return {name: str(value) for name, value in json.loads(text).items()}

    def log(self) -> str:
        """All that the bot has logged."""
        return (self.folder / "bot.log").read_text(encoding="utf-8")

    # The bot's process.

    async def start_bot(self) -> None:
        """Start it, and wait until it takes commands."""
        self.bot = await self.launch(self.folder, self.env_file)

    async def end_bot(self) -> int:
        """SIGTERM, as a service manager ends it; gives the exit code."""
        program, self.bot = self.bot, None
        return await program.end() if program else 0

    async def crash_bot(self) -> None:
        """SIGKILL, and the process is gone."""
        program, self.bot = self.bot, None
        if program:
            program.kill()
            await program.process.wait()

    async def run(self, *arguments: str, settings: dict[str, str] | None = None) -> tuple[int, str]:
        """``hermes-bot ARGUMENTS``: the exit code, and what it printed on both outputs."""
        log = self.folder / f"command-{time.monotonic_ns()}.log"
        env = environment(self.env_file) | (settings or {})
        program = await start(*arguments, log=log, env=env)
        self.programs.append(program)
        code = await program.process.wait()
        return code, log.read_text(encoding="utf-8")

    # What people type and see.

    async def type(self, user: str, text: str, *, channel: str = OPS, shows_in: str = "") -> Thread:
        """Type a command; gives the thread it opens, in ``shows_in`` when that is another channel."""
        there = shows_in or channel
        before = {message["ts"] for message in await self.control.messages(there)}
        answer = await self.control.command(user, channel, text)
        assert answer["outcome"] == "acked", answer
        named = re.search(r"(?:home=|stop |pause |resume |keep )(?!mine)(\S+)", text)
        subject = named[1] if named else ""

        def opens_it(message: Message) -> bool:
            new = message["ts"] not in before and not message["thread_ts"]
            words = re.split(r"[*`\s.:,]+", message["text"])
            return new and not message.get("ephemeral_for") and f"<@{user}>" in words and subject in words

        async def look() -> Message | None:
            return next(filter(opens_it, await self.control.messages(there)), None)

        first = await self.control.until(f"a thread for {text.split()[:2]}", look, seconds=20)
        return Thread(self.control, there, first["ts"], subject)

    async def create(self, user: str, text: str, **more: str) -> Thread:
        """Type a create and wait until it has ended well."""
        thread = await self.type(user, f"create {text}", **more)
        told = await thread.ended()
        assert "is ready" in told, told
        return thread

    async def ask(self, user: str, text: str, *, channel: str = OPS) -> str:
        """Type a command that is answered to its person alone; gives the answer."""
        before = {message["ts"] for message in await self.control.messages(channel)}
        answer = await self.control.command(user, channel, text)
        assert answer["outcome"] == "acked", answer
        return await self.whispered(user, channel, before)

    async def whispered(self, user: str, channel: str, before: set[str]) -> str:
        """The next message that only this person sees."""

        async def look() -> Message | None:
            new = [m for m in await self.control.messages(channel) if m["ts"] not in before]
            return next((m for m in new if m.get("ephemeral_for") == user), None)

        return thread_text([await self.control.until(f"an answer for {user}", look, seconds=20)])

    async def told(self, user: str, words: str, *, channel: str = OPS) -> str:
        """A message of this test that only this person sees and that holds these words, waited for."""

        async def seen() -> list[str]:
            messages = await self.control.messages(channel)
            mine = [m for m in messages if m.get("ephemeral_for") == user and m["ts"] > self.since]
            return [thread_text([m]) for m in mine]

        async def look() -> str:
            return next((text for text in await seen() if words in text), "")

        try:
            return str(await self.control.until(f"{words!r} for {user}", look, seconds=20))
        except TimeoutError as error:
            raise AssertionError(f"{error}; they were told\n" + "\n".join(await seen())) from error

    async def answer_to_press(self, thread: Thread, action: str, user: str, message: Message) -> str:
        """Press, and give the answer that only the presser sees."""
        before = {m["ts"] for m in await self.control.messages(thread.channel)}
        await thread.press(action, user, message=message)
        return await self.whispered(user, thread.channel, before)

    async def window(self, user: str) -> str:
        """The top modal of a person, once it says more than that it is being filled."""

        async def look() -> str:
            views = await self.control.views(user)
            text = view_text(views[-1]) if views else ""
            return "" if "One moment" in text else text

        return str(await self.control.until(f"a window of {user}", look, seconds=20))

    async def studio(self, user: str, sandbox: str) -> tuple[Studio, tuple[str, str, str, str]]:
        """Sign in with what the person's window shows; gives (address, user name, password, token) too."""
        studio, view = await open_studio(
            self.control, self.http, self.where["cube_proxy"], user=user, sandbox=sandbox
        )
        return studio, sign_in_of(view)

    # What is really there.

    async def sandboxes(self, home_id: str = "") -> list[str]:
        """The sandboxes that Cube lists, all of them or those of one home."""
        async with self.http.get(self.where["cube_api"] + "/sandboxes") as answer:
            listed = await answer.json()
        return [
            one["sandboxID"]
            for one in listed
            if not home_id or one.get("metadata", {}).get("hermes-home") == home_id
        ]

    def rows(self, **wanted: str) -> list[dict[str, Any]]:
        """The audit rows with these column values, oldest first, read without touching them."""
        where = " AND ".join(f"{name} = ?" for name in wanted) or "1"
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as base:
            base.row_factory = sqlite3.Row
            found = base.execute(f"SELECT * FROM audit WHERE {where} ORDER BY seq", [*wanted.values()])  # noqa: S608 - column names of ours
            return [dict(row) for row in found]

    async def recorded(self, **wanted: str) -> dict[str, Any]:
        """The first audit row with these column values, waited for without giving way for long."""
        deadline = time.monotonic() + 30
        while not (found := self.rows(**wanted)):
            if time.monotonic() > deadline:
                last = [(row["home"], row["phase"], row["code"], row["reason"]) for row in self.rows()[-12:]]
                raise AssertionError(f"no audit row {wanted}; the last ones are {last}")
            await asyncio.sleep(0.002)
        return found[0]

    async def fault(self, target: str, kind: str, **more: Any) -> None:
        """Arm a fault of the stand-ins."""
        await self.control.post("/faults", target=target, kind=kind, **more)

    async def unarm(self) -> None:
        """Disarm all faults."""
        await self.control.delete("/faults")

    async def begin(self) -> None:
        """Let what has been said so far count no more."""
        stamps = [m["ts"] for channel in CHANNELS for m in await self.control.messages(channel)]
        self.since = max(stamps, default="")

    async def tidy(self) -> None:
        """Make it as new for the next test: no faults, windows, whispers or sandboxes, and a running bot."""
        await self.unarm()
        for user in PEOPLE:
            await self.control.post("/reload", user=user)
            with suppress(ControlError):
                await self.control.post("/close", user=user, clear=True)
        if self.bot is None or self.bot.process.returncode is not None:
            await self.start_bot()
        for sandbox in await self.sandboxes():
            async with self.http.delete(f"{self.where['cube_api']}/sandboxes/{sandbox}") as answer:
                await answer.read()


@asynccontextmanager
async def installed(launch: Launch = start_bot, *arguments: str) -> AsyncIterator[Installed]:
    """Start everything; stop everything, also after a failure."""
    with tempfile.TemporaryDirectory(prefix="hermes-e2e-") as name:
        folder = Path(name)
        async with (
            stand_ins(folder, *arguments) as where,
            Control(where["control"]) as control,
            aiohttp.ClientSession() as http,
        ):
            if launch is not start_bot:  # a bot that paces itself in hundredths of a second
                await control.post("/rates", speed=100)
            site = Installed(folder, where, control, http, launch)
            try:
                await site.start_bot()
                yield site
            finally:
                await site.end_bot()
                for program in site.programs:
                    await program.end()
