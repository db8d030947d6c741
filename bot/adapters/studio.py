"""Port ``Studio``: a sandbox's two ports, seen as a browser sees them, through CubeProxy.

Each look counts as activity and wakes a paused sandbox; whoever asks has decided that this is wanted.
"""

import functools
import json
from dataclasses import dataclass
from typing import Any

import httpx

from bot.domain.cube_errors import DATA_PLANE, FaultClass, classify
from bot.domain.provisioning import PortHealth
from bot.domain.sandbox import ENVD_PORT
from bot.ports import Redactor

WEB_UI = "Web UI"
ENVD = "envd"
TIMEOUT = httpx.Timeout(15.0, connect=5.0)
"""Seconds. Studio asks its agent for the version on each look, which takes 0.3 s when all is well."""

MAX_BODY = 256 * 1024
_NO_CONTENT = 204

_NOTES = {
    FaultClass.NOT_LISTENING: "nothing listens on the port",
    FaultClass.GUEST_UNREACHABLE: "the sandbox cannot be reached",
    FaultClass.NOT_FOUND: "Cube's proxy does not know the sandbox or the port",
    FaultClass.GONE: "the sandbox is gone",
    FaultClass.PAUSED_RETRY_LATER: "the sandbox is paused or busy",
    FaultClass.AUTH: "the proxy asks for an access token",
}
_UNTOLD = frozenset({FaultClass.PAUSED_RETRY_LATER, FaultClass.AUTH, FaultClass.UNAVAILABLE})
"""Answers that say nothing about the port itself."""

_UNSEEN = _UNTOLD | {FaultClass.NOT_FOUND, FaultClass.GONE}
"""Answers of Cube's proxy alone: they say nothing about the sandbox behind it."""

_UNREACHED = frozenset({FaultClass.NOT_LISTENING, FaultClass.GUEST_UNREACHABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What one look came to."""

    ok: bool | None
    note: str = ""
    body: bytes = b""
    reached: bool | None = None


class StudioHttp:
    """Studios on ``port`` of sandboxes behind ``proxy_ip:proxy_port``, or found by DNS without an IP."""

    def __init__(
        self,
        proxy_ip: str,
        proxy_port: int,
        domain: str,
        port: int = 9000,
        redactor: Redactor | None = None,
    ) -> None:
        self._proxy = f"http://{proxy_ip}:{proxy_port}" if proxy_ip else ""
        self._proxy_port = proxy_port
        self._domain = domain
        self._port = port
        self._redactor = redactor

    async def web_ui(self, sandbox_id: str) -> PortHealth:
        """The Web UI by the content of ``/health``: any other path, and a broken Studio, say 200 too."""
        found = await self._get(sandbox_id, self._port)
        if not found.ok:
            return self._health(self._port, WEB_UI, found, found.note)
        note = judge_health(found.body)
        return self._health(self._port, WEB_UI, found, note, ok=not note)

    async def envd(self, sandbox_id: str) -> PortHealth:
        """Cube's command service, which answers ``/health`` with 204."""
        found = await self._get(sandbox_id, ENVD_PORT, wanted=_NO_CONTENT)
        return self._health(ENVD_PORT, ENVD, found, found.note)

    @functools.cached_property
    def _client(self) -> httpx.AsyncClient:
        """Made at its first use: it loads the CA bundle, and a start should not wait for that."""
        return httpx.AsyncClient(trust_env=False, timeout=TIMEOUT, follow_redirects=False)

    async def close(self) -> None:
        """End the connections."""
        if "_client" in vars(self):
            await self._client.aclose()

    def _health(
        self, port: int, name: str, found: "_Found", note: str, *, ok: bool | None = None
    ) -> PortHealth:
        return PortHealth(
            port=port,
            name=name,
            ok=found.ok if ok is None else ok,
            note=self._redactor.text(note) if self._redactor else note,
            reached=found.reached,
        )

    async def _get(self, sandbox_id: str, port: int, *, wanted: int = httpx.codes.OK) -> "_Found":
        host = f"{port}-{sandbox_id}.{self._domain}"
        url = f"{self._proxy or f'http://{host}:{self._proxy_port}'}/health"
        try:
            async with self._client.stream("GET", url, headers={"Host": host}) as response:
                body = await _bounded(response)
        except (httpx.ReadTimeout, httpx.WriteTimeout):
            return _Found(ok=None, note="no answer in time", reached=False)
        except httpx.HTTPError as error:
            return _Found(ok=None, note=f"Cube's proxy does not answer ({type(error).__name__})")
        if response.status_code == wanted:
            return _Found(ok=True, body=body, reached=True)
        if response.is_success or response.is_redirect:
            note = f"answers with HTTP {response.status_code} instead of {wanted}"
            return _Found(ok=False, note=note, body=body, reached=True)
        text = body.decode("utf-8", "replace")
        kind = classify(DATA_PLANE, response.status_code, text, dict(response.headers)).kind
        note = _NOTES.get(kind, f"HTTP {response.status_code}")
        reached = None if kind in _UNSEEN else kind not in _UNREACHED
        return _Found(ok=None if kind in _UNTOLD else False, note=note, body=body, reached=reached)


async def _bounded(response: httpx.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BODY:
            break
    return bytes(body)


def judge_health(body: bytes) -> str:
    """An empty text when Studio works, else what is wrong, for a person.

    ``status`` and ``gateway`` are constants in Studio 0.6 and prove nothing; the agent bridge and a version
    of the agent do.
    """
    try:
        health: Any = json.loads(body)
    except (ValueError, RecursionError):
        health = None
    if not isinstance(health, dict):
        return "answers with a page instead of its health"
    bridge = health.get("agent_bridge")
    if not isinstance(bridge, dict):
        return "does not tell the state of its agent bridge"
    if bridge.get("ready") is not True:
        return f"the agent bridge is not ready ({str(bridge.get('status'))[:40]})"
    version = health.get("version")
    if not isinstance(version, str) or not version.strip():
        return "does not tell the version of its agent"
    return ""
