"""A Cube and a node of the stand-ins, with our adapters on them, for the contract suites."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.adapters.cube_sdk import CubeSdk
from bot.adapters.guest import GuestPrograms
from bot.adapters.node_ssh import SshNode
from bot.adapters.studio import StudioHttp
from bot.domain.rules import Deadlines
from bot.domain.sandbox import (
    HOME_KEY,
    NODE_KEY,
    OWNER_KEY,
    REQUEST_KEY,
    WORKSPACE_KEY,
    CreateSpec,
    Places,
)
from bot.standin.clock import StandInClock
from bot.standin.cube.server import CubeStandIn
from bot.standin.faults import Faults
from bot.standin.node import NodeServer
from bot.standin.node_space import NodeSpace
from bot.standin.templates import ensure_templates, seed_default_home

DEADLINES = Deadlines(control=10, create=20, node=20, guest=30, studio=30)


@dataclass(kw_only=True)
class World:
    """The servers' handles and the adapters on them. ``shared`` is the node's ``/data/shared``."""

    shared: Path
    faults: Faults
    cube: CubeSdk
    node: SshNode
    guest: GuestPrograms
    studio: StudioHttp
    server: NodeServer

    def home(self, home_id: str) -> Path:
        """The home's directory on the host."""
        return self.shared / "hermes-homes" / home_id

    async def provisioned(
        self, name: str, *, template: str = "hermes-studio", env: Mapping[str, str] | None = None
    ) -> str:
        """A sandbox with a seeded home and a workspace of this name; its id."""
        places = places_of(name)
        await self.node.prepare(places, launch_env=env or {"GREETING": "hello"}, min_free_bytes=0)
        await self.node.seed(places)
        return (await self.cube.create(spec_of(name, template=template))).sandbox_id

    def impatient_guest(self) -> GuestPrograms:
        """One that gives a Studio a second and a half."""
        return GuestPrograms(self.cube, deadlines=replace(DEADLINES, studio=1.5))


def places_of(name: str) -> Places:
    """Home and workspace of one name."""
    return Places(shared_root="/data/shared", home_id=name, workspace_id=name)


def spec_of(name: str, *, template: str = "hermes-studio", request: str = "r-1") -> CreateSpec:
    """What is asked of Cube for the home and workspace of one name."""
    labels = {
        HOME_KEY: name,
        WORKSPACE_KEY: name,
        OWNER_KEY: "U_OPERATOR",
        NODE_KEY: "node-1",
        REQUEST_KEY: request,
    }
    return CreateSpec(template=template, timeout=900, mounts=places_of(name).mounts(), labels=labels)


@asynccontextmanager
async def world(directory: Path, *, platform: str = "0.7.1", api_key: str = "") -> AsyncIterator[World]:
    """Start everything in ``directory``, and leave nothing behind."""
    shared, templates, faults = directory / "shared", directory / "templates", Faults()
    shared.mkdir(parents=True)
    ensure_templates(templates)
    seed_default_home(shared)
    space = NodeSpace("node-1", shared)
    server = NodeServer(state=directory / "node", space=space, faults=faults)
    stand_in = CubeStandIn(
        state=directory / "cube",
        platform=platform,
        clock=StandInClock(directory / "clock"),
        faults=faults,
        nodes=[space],
        templates_dir=templates,
        api_key=api_key or None,
    )
    await space.start()
    try:
        await server.start()
        await stand_in.start()
        ip, port = stand_in.proxy_address
        cube = CubeSdk(stand_in.api_url, api_key, ip, port, stand_in.domain, deadlines=DEADLINES)
        node = SshNode(
            "node-1",
            *server.address,
            server.user,
            server.client_key,
            server.known_hosts,
            deadlines=DEADLINES,
        )
        studio = StudioHttp(ip, port, stand_in.domain)
        there = World(
            shared=shared,
            faults=faults,
            cube=cube,
            node=node,
            guest=GuestPrograms(cube, deadlines=DEADLINES),
            studio=studio,
            server=server,
        )
        try:
            yield there
        finally:
            await node.close()
            await studio.close()
            cube.close()
    finally:
        await stand_in.stop()
        await server.stop()
        await space.stop()
