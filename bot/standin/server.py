"""All stand-ins together: start them in order, say where they are, serve, leave nothing behind."""

import asyncio
import fcntl
import json
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bot.standin import bot_files
from bot.standin.clock import StandInClock
from bot.standin.console import Console, Truth
from bot.standin.control import Control
from bot.standin.cube import CubeStandIn
from bot.standin.cube.platform import VERSIONS
from bot.standin.faults import Faults
from bot.standin.listener import Listener
from bot.standin.node import NodeServer
from bot.standin.node_space import NamespaceError, NodeSpace
from bot.standin.slack import SlackStandIn
from bot.standin.templates import TemplateError, add_template, ensure_templates, seed_default_home

_MOST_NODES = 26


class StandInError(RuntimeError):
    """The stand-ins cannot run as they were asked to; the text is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The running parts."""

    state: Path
    clock: StandInClock
    slack: SlackStandIn
    cube: CubeStandIn
    nodes: tuple[NodeServer, ...]
    node_ids: tuple[str, ...]
    listener: Listener

    @property
    def env_file(self) -> Path:
        """The environment of a bot that runs against these stand-ins."""
        return self.state / "bot" / "env"

    @property
    def config_file(self) -> Path:
        """Its TOML file, in a directory of its own: the audit database comes to lie beside it."""
        return self.state / "bot" / "hermes-bot.toml"

    def where(self) -> dict[str, str]:
        """The one JSON line of the stand-ins."""
        proxy_host, proxy_port = self.cube.proxy_address
        ssh_host, ssh_port = self.nodes[0].address
        return {
            "control": self.listener.url,
            "slack_api": self.slack.api_url,
            "cube_api": self.cube.api_url,
            "cube_proxy": f"{proxy_host}:{proxy_port}",
            "node_ssh": f"{ssh_host}:{ssh_port}",
            "console": f"{self.listener.url}/console",
            "env_file": str(self.env_file),
            "config_file": str(self.config_file),
        }

    def write_bot_files(self) -> None:
        """Write what `hermes-bot serve` needs."""
        proxy_host, proxy_port = self.cube.proxy_address
        access = [
            bot_files.NodeAccess(
                node_id,
                *server.address,
                user=server.user,
                key=server.client_key,
                known_hosts=server.known_hosts,
            )
            for node_id, server in zip(self.node_ids, self.nodes, strict=True)
        ]
        bot_files.write_config_file(self.config_file, nodes=access, proxy_port=proxy_port)
        secrets = self.slack.secrets
        bot_files.write_env_file(
            self.env_file,
            {
                "SLACK_BOT_TOKEN": secrets.bot_token,
                "SLACK_APP_TOKEN": secrets.app_token,
                "SLACK_SIGNING_SECRET": secrets.signing_secret,
                "SLACK_API_URL": self.slack.api_url,
                "CUBE_API_URL": self.cube.api_url,
                "CUBE_TEMPLATE_ID": "hermes-studio",
                "CUBE_PROXY_NODE_IP": proxy_host,
                "CUBE_PROXY_PORT_HTTP": str(proxy_port),
                "CUBE_SANDBOX_DOMAIN": "localhost",
                "HERMES_BOT_CONFIG": str(self.config_file),
                "HERMES_BOT_HTTP": "127.0.0.1:0",
                "HERMES_BOT_CLOCK_OFFSET_FILE": str(self.clock.offset_file),
            },
        )


async def serve(
    *,
    state: Path | None,
    platform: str,
    nodes: int,
    templates: Mapping[str, Path],
    announce: Callable[[str], None],
    until: asyncio.Event | None = None,
) -> None:
    """Run all stand-ins until SIGTERM, SIGINT or ``until``.

    Args:
        state: Where state lives over restarts; None makes a directory and removes it at the end.
        platform: The Cube version to behave like.
        nodes: How many Cubelet nodes, each with its own SSH server and shared directory.
        templates: More templates: name → directory.
        announce: Called once with one JSON line when everything listens.
        until: Stop when it is set; signals are then left to the caller.

    Raises:
        StandInError: ``nodes``, ``platform``, ``state`` or a template cannot be served, or this machine
            does not allow the namespaces that sandboxes need.
    """
    if not 1 <= nodes <= _MOST_NODES:
        raise StandInError(f"nodes must be 1 to {_MOST_NODES}, for example --nodes 2")
    if platform not in VERSIONS:
        raise StandInError(f"platform must be one of {', '.join(VERSIONS)}, not {platform!r}")
    stop = until or asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = () if until is not None else (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        with _directory(state) as home:
            async with AsyncExitStack() as started:
                try:
                    installation = await _start(started, home, platform, nodes, templates)
                except (NamespaceError, TemplateError) as refused:
                    raise StandInError(str(refused)) from refused
                announce(json.dumps(installation.where()))
                await stop.wait()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def _start(
    started: AsyncExitStack, state: Path, platform: str, nodes: int, templates: Mapping[str, Path]
) -> Installation:
    """Start each part after those it needs; ``started`` stops them in the opposite order."""
    clock, faults = StandInClock(state / "clock-offset"), Faults()
    templates_dir = state / "templates"
    await asyncio.to_thread(_prepare_templates, templates_dir, templates)
    spaces: list[NodeSpace] = []
    servers: list[NodeServer] = []
    for number in range(nodes):
        node_id = f"node-{chr(ord('a') + number)}"
        space = NodeSpace(node_id, state / "nodes" / node_id / "shared", f"10.0.0.{number + 1}")
        started.push_async_callback(space.stop)
        await space.start()
        await asyncio.to_thread(seed_default_home, space.shared)
        server = NodeServer(state=state, space=space, faults=faults)
        started.push_async_callback(server.stop)
        await server.start()
        spaces.append(space)
        servers.append(server)
    cube = CubeStandIn(
        state=state, platform=platform, clock=clock, faults=faults, nodes=spaces, templates_dir=templates_dir
    )
    started.push_async_callback(cube.stop)
    await cube.start()
    slack = SlackStandIn(state=state, clock=clock, faults=faults)
    started.push_async_callback(slack.stop)
    await slack.start()
    control = Control(slack=slack, clock=clock, faults=faults, make_paper=cube.add_paper).application()
    truth = Truth(
        clock=clock,
        faults=faults,
        report=cube.report,
        shared={space.node_id: space.shared for space in spaces},
        config_file=state / "bot" / "hermes-bot.toml",
    )
    Console(slack, truth).add_to(control)
    listener = Listener(control, kept_port=state / "control-port")
    started.push_async_callback(listener.stop)
    await listener.start()
    ids = tuple(space.node_id for space in spaces)
    installation = Installation(state, clock, slack, cube, tuple(servers), ids, listener)
    installation.write_bot_files()
    return installation


def _prepare_templates(folder: Path, more: Mapping[str, Path]) -> None:
    ensure_templates(folder)
    for name, source in more.items():
        add_template(folder, name, source)


@contextmanager
def _directory(state: Path | None) -> Iterator[Path]:
    """The state directory, locked; a made one is removed at the end."""
    if state is None:
        with tempfile.TemporaryDirectory(prefix="hermes-standin-") as made, _locked(Path(made)) as home:
            yield home
        return
    with _locked(state) as home:
        yield home


@contextmanager
def _locked(state: Path) -> Iterator[Path]:
    home = state.resolve()
    lock: TextIO
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (home / "lock").open("w")
    except OSError as refused:
        raise StandInError(
            f"{state} cannot hold the state ({refused.strerror}): give a directory, as in --state ./standin"
        ) from refused
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StandInError(
                f"another stand-in serves from {state}: stop it, or give another --state"
            ) from None
        yield home
