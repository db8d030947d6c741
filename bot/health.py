"""``/healthz``, ``/readyz`` and ``/metrics``; in HTTP mode Slack's requests too."""

import time
from collections.abc import Sequence
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from bot.domain.audit import AuditUnavailableError
from bot.ports import AuditLog

PONG_AGE_SECONDS = 30.0
"""Three ping intervals: an older pong means a socket that only looks connected."""


STOP_SECONDS = 0.5
"""What requests that are being answered get when the bot stops."""


class HealthServer:
    """A small HTTP server on ``host:port``; port 0 = any free one, an empty text = none."""

    def __init__(self, bind: str, audit: AuditLog, more: Sequence[web.RouteDef] = ()) -> None:
        self._bind = bind
        self._audit = audit
        self._more = more
        self._runner: web.AppRunner | None = None
        self.socket: Any = None
        """The Socket Mode client, once there is one."""
        self.ready = False
        self.address = ""
        self._registry = CollectorRegistry()
        self._ready_gauge = Gauge("hermes_bot_ready", "1 when commands are answered", registry=self._registry)
        self._head = Gauge("hermes_bot_audit_rows", "Rows in the audit log", registry=self._registry)

    async def start(self) -> None:
        """Listen."""
        if not self._bind:
            return
        host, _, port = self._bind.rpartition(":")
        routes = web.Application()
        routes.add_routes([
            web.get("/healthz", self._healthz), web.get("/readyz", self._readyz),
            web.get("/metrics", self._metrics),
            *self._more,
        ])  # fmt: skip
        self._runner = web.AppRunner(routes, access_log=None, shutdown_timeout=STOP_SECONDS)
        await self._runner.setup()
        await web.TCPSite(self._runner, host or "127.0.0.1", int(port)).start()
        self.address = "{}:{}".format(*self._runner.addresses[0][:2])

    async def stop(self) -> None:
        """End listening."""
        if self._runner:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _readyz(self, _: web.Request) -> web.Response:
        why = await self._not_ready()
        return web.json_response({"ready": not why, "reasons": why}, status=503 if why else 200)

    async def _metrics(self, _: web.Request) -> web.Response:
        self._ready_gauge.set(0 if await self._not_ready() else 1)
        try:
            self._head.set((await self._audit.head()).seq)
        except AuditUnavailableError:
            self._head.set(float("nan"))
        return web.Response(
            body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def _not_ready(self) -> list[str]:
        reasons = [] if self.ready else ["starting or stopping"]
        if self.socket is not None:
            if not await self.socket.is_connected():
                reasons.append("no connection to Slack")
            elif time.time() - (self.socket.last_ping_pong_time or time.time()) > PONG_AGE_SECONDS:
                reasons.append("Slack's socket does not answer pings")
        try:
            await self._audit.head()
        except AuditUnavailableError as error:
            reasons.append(f"audit log: {error}")
        return reasons
