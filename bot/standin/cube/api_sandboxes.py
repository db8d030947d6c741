"""The sandbox calls of CubeAPI."""

import secrets
from typing import Any

from aiohttp import web

from bot.standin.cube import bodies, creation, errors, views
from bot.standin.cube.creation import Creation
from bot.standin.cube.errors import CubeError, EmptyAnswerError
from bot.standin.cube.lifecycle import Lifecycle, Machinery
from bot.standin.cube.record import NEVER, Record

_LIST_LIMIT = 100
_OLD_REFRESH_LIMIT_S = 3600


class SandboxCalls:
    """Handlers of ``/sandboxes``."""

    def __init__(self, machinery: Machinery, lifecycle: Lifecycle, make: Creation, domain: str) -> None:
        self._machinery = machinery
        self._platform = machinery.platform
        self._lifecycle = lifecycle
        self._creation = make
        self._domain = domain

    def routes(self) -> list[web.RouteDef]:
        """Paths, methods and names; a fault's ``operation`` is such a name."""
        one = "/sandboxes/{id}"
        routes = [
            web.post("/sandboxes", self.create, name="create"),
            web.get("/sandboxes", self.list_all, name="list"),
            web.get("/v2/sandboxes", self.list_v2, name="list_v2"),
            web.get(one, self.get, name="get"),
            web.delete(one, self.delete, name="kill"),
            web.post(f"{one}/pause", self.pause, name="pause"),
            web.post(f"{one}/resume", self.resume, name="resume"),
            web.post(f"{one}/connect", self.connect, name="connect"),
            web.post(f"{one}/timeout", self.set_timeout, name="timeout"),
            web.post(f"{one}/refreshes", self.refresh, name="refresh"),
            web.get(f"{one}/logs", self.logs, name="logs"),
            web.post(f"{one}/snapshots", self.snapshot, name="snapshot"),
            web.post(f"{one}/rollback", self.snapshot, name="rollback"),
        ]
        if self._platform.has_network_update:
            routes.append(web.put(f"{one}/network", self.update_network, name="network"))
        return routes

    def _record(self, request: web.Request) -> Record:
        return self._lifecycle.require(request.match_info["id"])

    async def create(self, request: web.Request) -> web.Response:
        """``POST /sandboxes``."""
        body = await bodies.parsed(request, creation.SHAPE, required=("templateID",))
        record = await self._creation.create(body, self._lifecycle)
        if self._machinery.faults.take("cube", "create-408-after-success"):
            raise EmptyAnswerError(408)
        if self._machinery.faults.take("cube", "create-deadline-after-success"):
            raise errors.master(500, 130595, "context deadline exceeded")
        answer = views.created(record, self._domain, client_id=secrets.token_hex(16))
        if record.traffic_token:
            answer["trafficAccessToken"] = record.traffic_token
        return web.json_response(answer, status=201)

    async def list_all(self, request: web.Request) -> web.Response:
        """``GET /sandboxes``."""
        return self._listing(self._matching(request))

    async def list_v2(self, request: web.Request) -> web.Response:
        """``GET /v2/sandboxes``: any state but the two known ones is no filter; no pages."""
        records = self._matching(request)
        wanted = request.query.get("state")
        if wanted in {"running", "paused"}:
            records = [record for record in records if record.state == wanted]
        limit = request.query.get("limit", str(_LIST_LIMIT))
        if not limit.isdigit():
            raise errors.UnparsedError(
                400, "Failed to deserialize query string: limit: invalid digit found in string"
            )
        return self._listing(records[: int(limit)])

    def _matching(self, request: web.Request) -> list[Record]:
        records = self._machinery.store.newest_first()
        dropping = self._machinery.faults.take("cube", "list-drops-node")
        if dropping is not None:
            node = dropping.options.get("node")
            records = [record for record in records if node not in (None, record.node_id)]
        records = [record for record in records if not self._lifecycle.ills.is_cut_off(record)]
        return views.matching(records, request.query, self._lost)

    def _lost(self, record: Record) -> bool:
        return views.lost(record, self._platform, self._machinery.faults)

    def _listing(self, records: list[Record]) -> web.Response:
        entries = [views.listed(record, self._platform, lost=self._lost(record)) for record in records]
        return web.json_response(entries)

    async def get(self, request: web.Request) -> web.Response:
        """``GET /sandboxes/{id}``."""
        record = self._record(request)
        detail = views.detailed(record, self._platform, self._domain, lost=self._lost(record))
        return web.json_response(detail)

    async def delete(self, request: web.Request) -> web.Response:
        """``DELETE /sandboxes/{id}``."""
        await self._lifecycle.delete(self._record(request))
        return web.Response(status=204)

    async def pause(self, request: web.Request) -> web.Response:
        """``POST …/pause``."""
        await self._lifecycle.pause(self._record(request))
        return web.Response(status=204)

    async def resume(self, request: web.Request) -> web.Response:
        """``POST …/resume``."""
        body = await bodies.parsed(request, {"timeout": int, "autoPause": bool})
        record = self._record(request)
        timeout: int | None = body.get("timeout")
        _check_timeout(timeout, "timeout")
        if record.state == "running":
            raise CubeError(409, f"sandbox {record.sandbox_id} is already running")
        async with self._lifecycle.lock(record, "resume", code=130409):
            await self._lifecycle.resume(record, "resume")
            if timeout is not None:
                record.set_timeout(self._machinery.clock.time(), timeout)
            if body.get("autoPause") is not None:
                record.on_timeout = "pause" if body["autoPause"] else "kill"
            self._machinery.store.save(record)
            await self._lifecycle.pause_again(record, "resume")
        return web.json_response(self._answer(record), status=201)

    async def connect(self, request: web.Request) -> web.Response:
        """``POST …/connect``: resumes a paused sandbox; a timeout never shortens what is left."""
        body = await bodies.parsed(request, {"timeout": int})
        record = self._record(request)
        timeout: int | None = body.get("timeout")
        honoured = self._platform.connect_sets_timeout
        if honoured and timeout is not None and (timeout == 0 or timeout < NEVER):
            raise CubeError(400, "invalid timeout: must be -1 or a positive number of seconds")
        async with self._lifecycle.lock(record, "connect", code=130409):
            was_paused = record.state == "paused"
            if was_paused or self._lifecycle.ills.is_stuck_pausing(record):
                await self._lifecycle.resume(record, "connect")
            if honoured and timeout is not None:
                record.extend(self._machinery.clock.time(), timeout)
                self._machinery.store.save(record)
            if was_paused:
                await self._lifecycle.pause_again(record, "connect")
        return web.json_response(self._answer(record))

    def _answer(self, record: Record) -> dict[str, Any]:
        return views.created(record, self._domain, client_id=record.node_id)

    async def set_timeout(self, request: web.Request) -> web.Response:
        """``POST …/timeout``: counted from now; 0 is the next look of the sweeper."""
        body = await bodies.parsed(request, {"timeout": int}, required=("timeout",))
        record = self._record(request)
        _check_timeout(body["timeout"], "timeout")
        record.set_timeout(self._machinery.clock.time(), body["timeout"])
        self._machinery.store.save(record)
        return web.Response(status=204)

    async def refresh(self, request: web.Request) -> web.Response:
        """``POST …/refreshes``."""
        body = await bodies.parsed(request, {"duration": int})
        record = self._record(request)
        duration: int | None = body.get("duration")
        if duration is not None:
            self._check_duration(duration)
        seconds = record.timeout_s if duration is None else duration
        record.extend(self._machinery.clock.time(), seconds)
        self._machinery.store.save(record)
        return web.Response(status=204)

    def _check_duration(self, duration: int) -> None:
        if self._platform.long_refreshes:
            if duration == 0 or duration < NEVER:
                raise CubeError(400, "invalid duration: must be -1 or a positive number of seconds")
        elif not 0 <= duration <= _OLD_REFRESH_LIMIT_S:
            raise CubeError(400, f"invalid duration: must be between 0 and {_OLD_REFRESH_LIMIT_S}")

    async def update_network(self, request: web.Request) -> web.Response:
        """``PUT …/network``: the whole policy, replacing the one before."""
        shape: bodies.Shape = {
            "allowInternetAccess": bool,
            "allowPublicTraffic": bool,
            "maskRequestHost": str,
        }
        body = await bodies.parsed(request, shape)
        record = self._record(request)
        policy = bodies.network(body, internet=body.get("allowInternetAccess", True))
        async with self._lifecycle.lock(record, "network"):
            if record.state != "running":
                raise CubeError(409, f"sandbox {record.sandbox_id} is not running")
            record.network = policy
            self._machinery.store.save(record)
        return web.Response(status=204)

    async def logs(self, request: web.Request) -> web.Response:
        """``GET …/logs``: the placeholder that the real system answers with."""
        self._record(request)
        line = "(log streaming not yet available for this sandbox)"
        return web.json_response({"logs": [{"timestamp": "", "line": line}], "logEntries": []})

    async def snapshot(self, request: web.Request) -> web.Response:
        """Snapshots and rollback belong to the real system."""
        self._record(request)
        raise CubeError(501, "snapshots are not available on this stand-in")


def _check_timeout(timeout: int | None, name: str) -> None:
    if timeout is not None and timeout < NEVER:
        raise CubeError(400, f"invalid {name}: must be -1, 0 or a positive number of seconds")
