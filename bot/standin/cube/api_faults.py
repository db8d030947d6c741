"""The faults that any call of CubeAPI can meet, in the order in which a real call comes past them."""

import asyncio
from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot.standin.cube import errors
from bot.standin.cube.errors import CubeError, EmptyAnswerError, PageError, UnparsedError
from bot.standin.faults import Fault, Faults

_CHANGES = frozenset({"POST", "PUT", "DELETE", "PATCH"})
_LISTS = frozenset({"list", "list_v2"})
_OFF_HANDS = 300
_UNPARSED = (
    'Failed to deserialize the JSON body into the target type: timeout: invalid type: string "2h", '
    "expected i64 at line 1 column 58"
)
_REDIS = "MasterInternalError: redis: connection pool timeout"

Raise = Callable[[Fault], Exception]


def _operation(request: web.Request) -> str:
    """The name of the call, for faults that are meant for one: the route's name."""
    return request.match_info.route.name or request.path


def _concerns(request: web.Request) -> dict[str, object]:
    """What a fault may be narrowed to."""
    return {"operation": _operation(request), "sandbox": request.match_info.get("id")}


def on_the_wire(faults: Faults) -> Middleware:
    """What befalls request and answer outside CubeAPI. Every call is counted here."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        match = _concerns(request)
        faults.count("cube", _operation(request))
        if faults.take("cube", "api-down", **match):
            return web.json_response(text=errors.body(503, "service unavailable"), status=503)
        answer = await handler(request)
        slow = faults.take("cube", "slow-api", **match)
        if slow is not None:
            await asyncio.sleep(slow.number("delay_s", 2.0))
        changed = request.method in _CHANGES and answer.status < _OFF_HANDS
        if changed and faults.take("cube", "drop-after-write", **match):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        return answer

    return middleware


def behind_the_door(faults: Faults) -> Middleware:
    """What a call meets that was let in: refusals before anything is done, and answers that get lost."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        match, change = _concerns(request), request.method in _CHANGES
        _refuse(faults, request, match)
        for kind, made in _LOST.items():
            fault = faults.peek("cube", kind, **match)
            if fault and (change or kind == "front-page") and not _done(fault, change=change):
                faults.take("cube", kind, **match)
                raise made(fault)
        answer = await handler(request)
        for kind, made in _LOST.items():
            if change and answer.status < _OFF_HANDS:
                fault = faults.take("cube", kind, **match)
                if fault:
                    raise made(fault)
        return answer

    return middleware


def _done(fault: Fault, *, change: bool) -> bool:
    """Whether the call is carried out before its answer is lost. There is nothing to do about a read."""
    return change and fault.flag("done", default=fault.kind != "front-page")


_LOST: dict[str, Raise] = {
    "empty-408": lambda _: EmptyAnswerError(408),
    "deadline-exceeded": lambda _: errors.master(500, 130595, "context deadline exceeded"),
    "front-page": lambda fault: PageError(int(fault.number("status", 502))),
}
"""The answers after which nobody knows what has happened."""

_REFUSALS: dict[str, Raise] = {
    "auth-rejected": lambda _: CubeError(401, "Authentication rejected by callback"),
    "rate-limited": lambda fault: CubeError(
        429, "rate limit exceeded", retry_after=int(fault.number("retry_after", 1))
    ),
    "master-rate-limited": lambda _: errors.master(500, 130592, "rate limited"),
    "unparsed-body": lambda _: UnparsedError(422, _UNPARSED),
    "node-connection-failed": lambda _: errors.master(500, 130596, errors.NO_ROUTE),
    "list-fails": lambda _: errors.master(500, 130593, _REDIS),
    "master-down": lambda _: CubeError(500, errors.MASTER_DOWN),
}


def _refuse(faults: Faults, request: web.Request, match: dict[str, object]) -> None:
    """Raise the first armed refusal that concerns this call."""
    operation, method = _operation(request), request.method
    for kind, made in _REFUSALS.items():
        concerned = {
            "list-fails": operation in _LISTS,
            "unparsed-body": method in {"POST", "PUT"},
            "node-connection-failed": method in _CHANGES,
        }.get(kind, operation != "health")
        fault = faults.take("cube", kind, **match) if concerned else None
        if fault is not None:
            raise made(fault)
