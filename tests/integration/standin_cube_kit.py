"""A Cube stand-in with a minimal template, for tests."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from cubesandbox import Config

from bot.standin.clock import StandInClock
from bot.standin.cube import CubeStandIn
from bot.standin.faults import Faults
from bot.standin.node_space import NodeSpace

TEMPLATE_ID = "tpl-" + "0a1b2c3d" * 3
ECHO = """\
#!/usr/bin/python3
import http.server, json, sys

class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = json.dumps({"path": self.path, "headers": dict(self.headers)}).encode()
        self.send_response(302 if self.path.startswith("/away") else 200)
        if self.path.startswith("/away"):
            self.send_header("Location", "/inside")
            self.send_header("Set-Cookie", "a=b; Path=/; HttpOnly")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Echo).serve_forever()
"""


def make_template(templates: Path, **told: Any) -> Path:
    """A template with a preinstalled home and an echo server."""
    directory = templates / "hermes-studio"
    home = directory / "rootfs/root/.hermes"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("from: the image\n")
    program = directory / "rootfs/usr/local/bin/echo-server"
    program.parent.mkdir(parents=True)
    program.write_text(ECHO)
    program.chmod(0o755)
    template = {
        "templateID": TEMPLATE_ID,
        "aliases": ["hermes-studio"],
        "status": "READY",
        "cpuCount": 2,
        "memoryMB": 2048,
        "envdVersion": "0.2.4",
        "imageInfo": "registry.example/hermes-studio:test",
        "exposedPorts": [9000, 49983],
    }
    (directory / "template.json").write_text(json.dumps(template | told))
    return directory


class Rig:
    """A running stand-in with its surroundings."""

    def __init__(self, state: Path, cube: CubeStandIn, clock: StandInClock, faults: Faults) -> None:
        self.state = state
        self.cube = cube
        self.clock = clock
        self.faults = faults
        self.shared = state / "shared"
        host, port = cube.proxy_address
        self.config = Config(
            api_url=cube.api_url, proxy_node_ip=host, proxy_port=port, sandbox_domain=cube.domain
        )

    def api(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.cube.api_url, timeout=30)

    async def create(self, **body: Any) -> dict[str, Any]:
        async with self.api() as api:
            answer = await api.post("/sandboxes", json={"templateID": "hermes-studio", **body})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def state_of(self, sandbox_id: str) -> str:
        async with self.api() as api:
            answer = await api.get(f"/sandboxes/{sandbox_id}")
        return str(answer.json()["state"]) if answer.status_code == 200 else "gone"

    async def ask(
        self, sandbox_id: str, path: str = "/", *, port: int = 49983, method: str = "GET", **options: Any
    ) -> httpx.Response:
        """A request through the proxy, by Host."""
        host, proxy_port = self.cube.proxy_address
        headers = {"Host": f"{port}-{sandbox_id}.localhost", **options.pop("headers", {})}
        async with httpx.AsyncClient(timeout=30) as client:
            return await client.request(
                method, f"http://{host}:{proxy_port}{path}", headers=headers, **options
            )


@contextlib.asynccontextmanager
async def running(
    state: Path,
    platform: str = "0.7.1",
    *,
    nodes: Sequence[str] = ("node-1",),
    template: Mapping[str, Any] | None = None,
    api_key: str | None = None,
) -> AsyncIterator[Rig]:
    """Everything started; everything stopped, also after a failure."""
    templates = state / "templates"
    if not templates.exists():
        make_template(templates, **(template or {}))
    clock, faults = StandInClock(state / "clock"), Faults()
    spaces = [
        NodeSpace(name, state / ("shared" if at == 0 else name), f"10.0.0.{at + 1}")
        for at, name in enumerate(nodes)
    ]
    cube = CubeStandIn(
        state=state,
        platform=platform,
        clock=clock,
        faults=faults,
        nodes=spaces,
        templates_dir=templates,
        api_key=api_key,
    )
    try:
        for space in spaces:
            await space.start()
        await cube.start()
        yield Rig(state, cube, clock, faults)
    finally:
        await cube.stop()
        for space in spaces:
            await space.stop()


async def eventually(look: Callable[[], Any], wanted: Any, seconds: float = 5.0) -> None:
    """Wait until ``await look()`` gives ``wanted``."""
    deadline = time.monotonic() + seconds
    while (seen := await look()) != wanted:
        assert time.monotonic() < deadline, f"still {seen!r}, wanted {wanted!r}"
        await asyncio.sleep(0.02)


def mounts(*entries: tuple[str, str, bool]) -> dict[str, str]:
    """Metadata with host-mounts: source, target, read-only."""
    told = [{"hostPath": source, "mountPath": target, "readOnly": ro} for source, target, ro in entries]
    return {"host-mount": json.dumps(told)}
