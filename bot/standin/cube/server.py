"""The Cube stand-in as one thing to start and stop."""

import asyncio
import fcntl
import json
import logging
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from aiohttp import web

import bot
from bot.standin.clock import StandInClock
from bot.standin.cube import api, freezer, paper, skeleton
from bot.standin.cube.api_sandboxes import SandboxCalls
from bot.standin.cube.api_templates import TemplateCalls
from bot.standin.cube.creation import Creation
from bot.standin.cube.forks import ForkServer
from bot.standin.cube.lifecycle import Lifecycle, Machinery
from bot.standin.cube.paper_beats import PaperBeats
from bot.standin.cube.platform import platform as rules
from bot.standin.cube.proxy import Proxy
from bot.standin.cube.record import Record, Store
from bot.standin.cube.runtime import BootError
from bot.standin.cube.sweeper import Sweeper
from bot.standin.cube.templates import Templates
from bot.standin.cube.threads import Threads
from bot.standin.faults import Faults
from bot.standin.node_space import NodeSpace, require_namespaces

log = logging.getLogger(__name__)
_LOOPBACK = "127.0.0.1"
_STOP_SECONDS = 1.0


class CubeStandIn:
    """CubeAPI, CubeProxy and the sandboxes behind them, on loopback.

    ``state`` keeps sandboxes and ports over a restart; ``nodes`` are started by the caller, before
    this and stopped after it; ``platform`` is one of ``bot.standin.cube.platform.VERSIONS``;
    ``api_key``, when given, is needed for every call but ``/health``.
    """

    domain = "localhost"

    def __init__(
        self,
        *,
        state: Path,
        platform: str,
        clock: StandInClock,
        faults: Faults,
        nodes: Sequence[NodeSpace],
        templates_dir: Path,
        api_key: str | None = None,
    ) -> None:
        if not nodes:
            raise ValueError("a Cube stand-in needs at least one node")
        self._directory = state.resolve() / "cube"
        self._platform = rules(platform)
        self._clock = clock
        self._faults = faults
        self._nodes = list(nodes)
        self._templates = Templates(templates_dir)
        self._api_key = api_key
        checkout = Path(bot.__file__).resolve().parents[1]
        self._hidden = tuple(str(path) for path in (state.resolve(), checkout, templates_dir.resolve()))
        self._machinery: Machinery | None = None
        self._threads: Threads | None = None
        self._lock: TextIO | None = None
        self._lifecycle: Lifecycle | None = None
        self._creation: Creation | None = None
        self._sweeper: Sweeper | None = None
        self._beats: PaperBeats | None = None
        self._proxy: Proxy | None = None
        self._runner: web.AppRunner | None = None
        self.api_url = ""
        self.proxy_address: tuple[str, int] = (_LOOPBACK, 0)

    async def start(self) -> None:
        """Serve, after booting again what was running. Raises NamespaceError where that is not allowed."""
        require_namespaces()
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        self._lock = _locked(self._directory)
        store, threads = Store(self._directory / "sandboxes"), Threads()
        self._threads = threads
        await threads.run(store.load)
        chosen = await threads.run(freezer.choose, self._directory)
        machinery = Machinery(self._platform, self._clock, self._faults, store, chosen, threads, ForkServer())
        self._machinery = machinery
        await machinery.forks.start()
        await threads.run(skeleton.build, self._directory / "skeleton")
        await threads.run(_drop_unfinished, store)
        creation = Creation(machinery, self._nodes, self._templates, self._directory, self._hidden)
        proxy = Proxy(machinery, self._require_lifecycle, self._nodes[0].node_id)
        lifecycle = Lifecycle(machinery, creation.runtime, proxy.break_connections)
        self._creation, self._lifecycle, self._proxy = creation, lifecycle, proxy
        await asyncio.gather(*(self._boot_again(record, creation) for record in store))
        await self._listen(machinery, lifecycle, creation, proxy)
        self._sweeper = Sweeper(machinery, lifecycle)
        self._sweeper.start()
        self._beats = PaperBeats(machinery, self._nodes)
        self._beats.start()

    def _require_lifecycle(self) -> Lifecycle:
        if self._lifecycle is None:
            raise RuntimeError("the Cube stand-in is not started")
        return self._lifecycle

    async def _boot_again(self, record: Record, creation: Creation) -> None:
        """Boot a sandbox of before from its layers. One that fails stays: running by name, dark."""
        if record.paper or record.state != "running":
            return
        try:
            self._require_lifecycle().runtimes[record.sandbox_id] = await creation.boot(record)
        except BootError as error:
            log.warning("sandbox %s could not be booted again: %s", record.sandbox_id, error)

    async def _listen(
        self, machinery: Machinery, lifecycle: Lifecycle, creation: Creation, proxy: Proxy
    ) -> None:
        ports = self._directory / "ports.json"
        before: dict[str, int] = json.loads(ports.read_text()) if ports.exists() else {}
        api_socket = _bound(before.get("api", 0))
        proxy_socket = _bound(before.get("proxy", 0))
        self.proxy_address = (_LOOPBACK, proxy_socket.getsockname()[1])
        api_port = api_socket.getsockname()[1]
        self.api_url = f"http://{_LOOPBACK}:{api_port}"
        sandboxes = SandboxCalls(machinery, lifecycle, creation, self.domain)
        templates = TemplateCalls(self._platform, self._templates, [node.node_id for node in self._nodes])
        routes = [*sandboxes.routes(), *templates.routes()]
        self._runner = web.AppRunner(
            api.application(self._faults, self._api_key, routes),
            access_log=None,
            shutdown_timeout=_STOP_SECONDS,
        )
        await self._runner.setup()
        await web.SockSite(self._runner, api_socket).start()
        await proxy.start(proxy_socket)
        ports.write_text(json.dumps({"api": api_port, "proxy": self.proxy_address[1]}))

    async def stop(self) -> None:
        """End every process and connection. Layers and records stay for the next start."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        if self._proxy is not None:
            await self._proxy.stop()
        await self._end_background()
        if self._lifecycle is not None:
            await self._lifecycle.close()
            runtimes = list(self._lifecycle.runtimes.values())
            self._lifecycle.runtimes.clear()
            for result in await asyncio.gather(
                *(runtime.kill() for runtime in runtimes), return_exceptions=True
            ):
                if isinstance(result, BaseException):
                    log.error("a sandbox did not end cleanly: %s", result)
        machinery, self._machinery = self._machinery, None
        if machinery is not None:
            machinery.store.flush()
            await machinery.forks.stop()
            machinery.freezer.close()
        if self._threads is not None:
            self._threads.close()
            self._threads = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def _end_background(self) -> None:
        if self._beats is not None:
            await self._beats.stop()
            self._beats = None
        if self._sweeper is not None:
            await self._sweeper.stop()
            self._sweeper = None

    async def add_paper(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """``POST /paper``: make paper sandboxes and say which. Raises paper.PaperError for a bad body."""
        if self._machinery is None:
            raise RuntimeError("the Cube stand-in is not started")
        template = str(body.get("templateID", "hermes-studio"))
        found = self._templates.find(template)
        made = paper.records(
            body,
            now=self._clock.time(),
            node_id=self._nodes[0].node_id,
            template_id=found.template_id if found else template,
        )
        told, age = paper.heartbeat_told(body)
        for node in self._nodes:
            here = [record for record in made if record.node_id == node.node_id]
            if told is not None:
                await self._machinery.threads.run(paper.write_heartbeats, here, node.shared, told, age)
        if self._beats is not None:
            self._beats.note(made)
        for record in made:
            self._machinery.store.add(record)
        self._machinery.store.save_paper()
        return {"sandboxes": [record.sandbox_id for record in made]}

    def report(self) -> dict[str, Any]:
        """The sandboxes as the console shows them. Times are seconds since the epoch."""
        records = self._machinery.store.newest_first() if self._machinery else []
        return {
            "platform": self._platform.version,
            "sandboxes": [
                {
                    "sandboxID": record.sandbox_id,
                    "state": record.state,
                    "node": record.node_id,
                    "template": record.asked_template,
                    "metadata": record.metadata,
                    "guestIP": record.guest_ip,
                    "startedAt": record.created_at,
                    "deadline": record.deadline,
                    "paper": record.paper,
                }
                for record in records
            ],
        }


def _locked(directory: Path) -> TextIO:
    """Hold the state directory: a second stand-in would take the first one's sandboxes for leftovers."""
    directory.mkdir(parents=True, exist_ok=True)
    held = (directory / "lock").open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        raise RuntimeError(
            f"another stand-in is running on {directory.parent}: stop it, or choose another --state"
        ) from None
    return held


def _drop_unfinished(store: Store) -> None:
    """Remove layers of sandboxes whose creation or end was cut short."""
    for home in store.homes():
        if store.get(home.name) is None:
            shutil.rmtree(home, ignore_errors=True)


def _bound(port: int) -> socket.socket:
    """A loopback socket on ``port``, or on a free one when it is taken or 0."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((_LOOPBACK, port))
    except OSError:
        made.bind((_LOOPBACK, 0))
    made.setblocking(False)  # noqa: FBT003  # the only way to say it
    return made
