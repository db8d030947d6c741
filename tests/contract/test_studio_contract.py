"""What every ``Studio`` says: the double, and the HTTP adapter on the stand-in."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from contract.doubles import MemoryCube, MemoryGuest, MemoryNode, MemoryStudio
from contract.standin_world import World, places_of, spec_of, world

from bot.adapters.studio import StudioHttp, judge_health
from bot.domain.sandbox import ENVD_PORT
from bot.ports import Cube, Guest, Node, Studio

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

GOOD: dict[str, Any] = {
    "status": "ok",
    "gateway": "running",
    "version": "v0.19.0 (2026.7.20)",
    "agent_bridge": {"status": "ready", "ready": True},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("studio-world")) as running:
        yield running


@dataclass
class Side:
    cube: Cube
    node: Node
    guest: Guest
    studio: Studio


@pytest_asyncio.fixture(params=["memory", "standin"], loop_scope="module")
async def side(request: pytest.FixtureRequest, there: World) -> AsyncIterator[Side]:
    if request.param == "memory":
        cube, node = MemoryCube(), MemoryNode()
        guest = MemoryGuest(cube, node)
        yield Side(cube, node, guest, MemoryStudio(cube, guest))
        return
    yield Side(there.cube, there.node, there.guest, there.studio)
    there.faults.clear()
    for view in await there.cube.list():
        await there.cube.kill(view.sandbox_id)


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(side: Side) -> str:
    await side.node.prepare(places_of("alpha"), launch_env={}, min_free_bytes=0)
    await side.node.seed(places_of("alpha"))
    return (await side.cube.create(spec_of("alpha"))).sandbox_id


async def test_a_started_studio_is_healthy(side: Side, sandbox: str) -> None:
    await side.guest.start_studio(sandbox, port=9000, auth="auto")

    health = await side.studio.web_ui(sandbox)

    assert (health.port, health.ok, health.note, health.reached) == (9000, True, "", True)


async def test_where_no_studio_runs_nothing_listens(side: Side, sandbox: str) -> None:
    health = await side.studio.web_ui(sandbox)

    assert (health.ok, health.note, health.reached) == (False, "nothing listens on the port", False)


async def test_envd_answers_in_a_new_sandbox(side: Side, sandbox: str) -> None:
    health = await side.studio.envd(sandbox)

    assert (health.port, health.ok, health.note) == (ENVD_PORT, True, "")


async def test_an_absent_sandbox_is_not_healthy(side: Side) -> None:
    assert not (await side.studio.envd("0" * 32)).ok
    assert not (await side.studio.web_ui("0" * 32)).ok


async def test_a_dead_route_is_said(there: World) -> None:
    name = await there.provisioned("routed")
    there.faults.arm({"target": "cube", "kind": "data-plane-dead", "delay_s": 0.05, "times": 5})

    health = await there.studio.envd(name)

    there.faults.clear()
    await there.cube.kill(name)
    assert (health.ok, health.note, health.reached) == (False, "the sandbox cannot be reached", False)


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (json.dumps(GOOD), ""),
        ("<!doctype html><html></html>", "answers with a page instead of its health"),
        (json.dumps({**GOOD, "agent_bridge": None}), "does not tell the state of its agent bridge"),
        (json.dumps({"status": "ok", "gateway": "running"}), "does not tell the state of its agent bridge"),
        (
            json.dumps({**GOOD, "agent_bridge": {"status": "unknown", "ready": False}}),
            "the agent bridge is not ready (unknown)",
        ),
        (
            json.dumps({**GOOD, "agent_bridge": {"status": "odd", "ready": "true"}}),
            "the agent bridge is not ready (odd)",
        ),
        (json.dumps({**GOOD, "version": ""}), "does not tell the version of its agent"),
        (json.dumps({**GOOD, "version": None}), "does not tell the version of its agent"),
        ("[" * 100_000, "answers with a page instead of its health"),
        ("null", "answers with a page instead of its health"),
    ],
)
async def test_health_is_judged_by_content(body: str, note: str) -> None:
    assert judge_health(body.encode()) == note


@pytest.mark.parametrize(
    ("answer", "ok", "note", "reached"),
    [
        (
            b"HTTP/1.1 503 X\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n",
            None,
            "the sandbox is paused or busy",
            None,
        ),
        (b"HTTP/1.1 410 X\r\nContent-Length: 0\r\n\r\n", False, "the sandbox is gone", None),
        (b"HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n", None, "the proxy asks for an access token", None),
        (
            b"HTTP/1.1 302 X\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
            False,
            "answers with HTTP 302 instead of 200",
            True,
        ),
        (b"HTTP/1.1 418 X\r\nContent-Length: 0\r\n\r\n", False, "HTTP 418", True),
        (b"garbage\r\n\r\n", None, "Cube's proxy does not answer (RemoteProtocolError)", None),
        (b"", None, "Cube's proxy does not answer (RemoteProtocolError)", None),
    ],
)
async def test_what_the_proxy_says_is_put_plainly(
    answer: bytes,
    ok: bool | None,  # noqa: FBT001 - a table
    note: str,
    reached: bool | None,  # noqa: FBT001 - a table
) -> None:
    async with answering(answer) as (port, seen):
        studio = StudioHttp("127.0.0.1", port, "cube.app")

        health = await studio.web_ui("ab" * 16)

        await studio.close()
    assert (health.ok, health.note, health.reached) == (ok, note, reached)
    assert b"Host: 9000-" + b"ab" * 16 + b".cube.app\r\n" in seen[0]


async def test_a_body_without_end_is_cut() -> None:
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 3_000_000
    async with answering(endless) as (port, _):
        studio = StudioHttp("127.0.0.1", port, "cube.app")

        health = await studio.web_ui("ab" * 16)

        await studio.close()
    assert health.note == "answers with a page instead of its health"


async def test_a_proxy_that_is_not_there_leaves_it_open() -> None:
    async with answering(b"") as (port, _):
        pass
    studio = StudioHttp("127.0.0.1", port, "cube.app")

    health = await studio.envd("ab" * 16)

    await studio.close()
    assert health.ok is health.reached is None


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that gives one answer to everything; its port, and the requests it has seen."""
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], seen
