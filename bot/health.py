"""``/healthz``, ``/readyz`` and ``/metrics``; in HTTP mode Slack's requests too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from bot.domain.audit import AuditUnavailableError
from bot.domain.link import LinkState
from bot.ports import AuditLog

STOP_SECONDS = 0.5
"""What requests that are being answered get when the bot stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReport:
    """How the link to Slack stands."""

    state: str
    """A word of ``LinkState``."""
    reasons: tuple[str, ...] = ()
    """Why it is not ready; empty while it is, even if it is in doubt."""
    since: datetime | None = None
    """When the doubts began that ended in this."""
    pong_age: float | None = None
    """Seconds; None without a connected socket."""
    reconnects: int = 0


class HealthServer:
    """A small HTTP server on ``host:port``; port 0 = any free one, an empty text = none."""

    def __init__(self, bind: str, audit: AuditLog, more: Sequence[web.RouteDef] = ()) -> None:
        self._bind = bind
        self._audit = audit
        self._more = more
        self._runner: web.AppRunner | None = None
        self.link: Callable[[], LinkReport] | None = None
        """Reports on the link to Slack, once there is one."""
        self.ready = False
        self.address = ""
        self._registry = CollectorRegistry()
        self._ready_gauge = Gauge("hermes_bot_ready", "1 when commands are answered", registry=self._registry)
        self._head = Gauge("hermes_bot_audit_rows", "Rows in the audit log", registry=self._registry)
        self._state = Gauge(
            "hermes_bot_link_state", "1 for the state that the link to Slack is in", ["state"],
            registry=self._registry,
        )  # fmt: skip
        self._pong = Gauge(
            "hermes_bot_link_pong_age_seconds", "Since Slack's socket answered a ping; NaN without a socket",
            registry=self._registry,
        )  # fmt: skip
        self._reconnects = Gauge(
            "hermes_bot_link_reconnects", "Connections to Slack after the first one", registry=self._registry
        )

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
        report = self.link() if self.link else None
        if report and report.reasons:
            trouble = {"status": "not ready", "reasons": list(report.reasons), "since": _stamp(report.since)}
            return web.json_response(trouble, status=503)
        return web.json_response({"status": "ok"})

    async def _readyz(self, _: web.Request) -> web.Response:
        why = await self._not_ready()
        body: dict[str, Any] = {"ready": not why, "reasons": why}
        if self.link and (since := self.link().since):
            body["since"] = _stamp(since)
        return web.json_response(body, status=503 if why else 200)

    async def _metrics(self, _: web.Request) -> web.Response:
        self._ready_gauge.set(0 if await self._not_ready() else 1)
        self._set_link(self.link() if self.link else None)
        try:
            self._head.set((await self._audit.head()).seq)
        except AuditUnavailableError:
            self._head.set(float("nan"))
        return web.Response(
            body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    def _set_link(self, report: LinkReport | None) -> None:
        for state in LinkState:
            self._state.labels(state.value).set(1 if report and report.state == state.value else 0)
        age = report.pong_age if report else None
        self._pong.set(float("nan") if age is None else age)
        self._reconnects.set(report.reconnects if report else 0)

    async def _not_ready(self) -> list[str]:
        reasons = [] if self.ready else ["starting or stopping"]
        if self.link:
            reasons += self.link().reasons
        try:
            await self._audit.head()
        except AuditUnavailableError as error:
            reasons.append(f"audit log: {error}")
        return reasons


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")
