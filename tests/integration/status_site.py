"""Stand-ins with paper sandboxes, and the Slack side of a bot on them: real Cube and node, chat in memory."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from contract.doubles_audit import MemoryAuditLog
from contract.doubles_chat import Kept
from installation import install
from slack_desk import Desk, open_desk, shown

from bot.adapters.cube_sdk import CubeSdk
from bot.adapters.node_ssh import SshNode
from bot.adapters.studio import StudioHttp
from bot.adapters.system import SystemClock
from bot.demo.control import Control
from bot.demo.processes import environment, stand_ins
from bot.domain.actors import Actor
from bot.domain.audit import AuditEvent
from bot.domain.outcome import Done
from bot.domain.rules import NodeRules
from bot.domain.sandbox import SandboxView
from bot.usecases.status import Scope, seen_of, survey

USER = "U_OPERATOR"
NODE = "node-a"


class HurriedClock(SystemClock):
    """The stand-ins' time; whoever sleeps is ahead of it at once, so that nobody waits for long patience."""

    ahead = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead)

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        self.ahead += seconds
        await asyncio.sleep(0.001)


@dataclass(kw_only=True)
class Site:
    """The running stand-ins and everything to ask them with."""

    control: Control
    cube: CubeSdk
    desk: Desk
    log: MemoryAuditLog
    state: Path
    proxy: str
    """Host and port of Cube's proxy."""

    async def paper(self, home: str, *, known: bool = True, **body: Any) -> list[str]:
        """Paper sandboxes with our labels; ``known`` = as our log would know them."""
        labels = {
            "hermes-home": home,
            "hermes-workspace": "project",
            "hermes-owner": USER,
            "hermes-node": NODE,
            "hermes-request": f"r-{home}",
        }
        given = {"count": 1, "state": "running", "timeout": 900, "metadata": labels, "auto_resume": True}
        made: list[str] = (await self.control.post("/paper", **(given | body)))["sandboxes"]
        for sandbox in made if known else ():
            await self._noted(sandbox, home, idle=(given | body)["timeout"])
        return made

    async def _noted(self, sandbox: str, home: str, *, idle: int) -> None:
        about: dict[str, Any] = {
            "request_id": f"r-{home}", "actor": USER, "actor_kind": "user", "action": "create",
            "home": home, "workspace": "project", "node": NODE,
        }  # fmt: skip
        details = {"owner": USER, "idle": idle, "template": "hermes-studio"}
        await self.log.append(AuditEvent(**about, phase="intent", details=details))
        await self.log.append(AuditEvent(**about, phase="step", code="step-5", sandbox=sandbox))

    async def calls(self) -> Counter[str]:
        """Every request that Cube, its proxy and the node have had so far."""
        return Counter((await self.control.get("/faults"))["calls"])

    async def later(self, seconds: float) -> None:
        """Move the clock of the stand-ins and the bot."""
        await self.control.post("/clock", advance_s=seconds)

    async def listed(self) -> Mapping[str, SandboxView]:
        """Every sandbox by its id, as Cube lists it."""
        return {view.sandbox_id: view for view in await self.cube.list()}

    async def status(self, text: str = "status") -> Kept:
        """What a person is told."""
        await self.desk.command(USER, text)
        return self.desk.chat.seen_by(USER)[-1]

    async def words(self) -> dict[str, tuple[str, str]]:
        """By home: the state word and the sentence of its sandbox in the list."""
        found = await survey(Actor(USER), Scope.ALL, self.desk.world.deps)
        assert isinstance(found, Done), found
        seen = await seen_of(found.value, 0, len(found.value.views), self.desk.world.deps)
        return {one.view.home: (one.judged.condition.value, one.judged.sentence) for one in seen}

    async def word(self, home: str) -> tuple[str, str]:
        """Those of one home; the card of its sandbox says the same word."""
        word, sentence = (await self.words())[home]
        assert f"{home}: {word}" in shown(await self.status(f"status {home}"))
        return word, sentence


@asynccontextmanager
async def status_site(folder: Path) -> AsyncIterator[Site]:
    """Start the stand-ins, and end everything."""
    async with stand_ins(folder) as where, Control(where["control"]) as control:
        env = environment(Path(where["env_file"]))
        keys = folder / "state/ssh" / NODE
        host, port = where["node_ssh"].split(":")
        ip, proxy_port = where["cube_proxy"].split(":")
        cube = CubeSdk(env["CUBE_API_URL"], env.get("CUBE_API_KEY", ""))
        node = SshNode(NODE, host, int(port), "root", str(keys / "client_key"), str(keys / "known_hosts"))
        studio = StudioHttp(ip, int(proxy_port), env["CUBE_SANDBOX_DOMAIN"])
        clock = HurriedClock(Path(env["HERMES_BOT_CLOCK_OFFSET_FILE"]))
        world = install(nodes=(NodeRules(id=NODE),))
        log = world.log = MemoryAuditLog(clock.now)
        world.deps = replace(
            world.deps, cube=cube, nodes={NODE: node}, studio=studio, clock=clock, log=log
        )  # fmt: skip
        try:
            yield Site(
                control=control,
                cube=cube,
                desk=open_desk(world=world),
                log=log,
                state=folder / "state",
                proxy=where["cube_proxy"],
            )
        finally:
            await node.close()
            await studio.close()
            cube.close()
