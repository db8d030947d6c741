"""CubeAPI over HTTP: what surrounds every call."""

import asyncio
import hmac
import logging

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot.standin.cube.errors import CubeError, EmptyAnswerError, UnparsedError
from bot.standin.faults import Faults

log = logging.getLogger(__name__)
_MISSING = "Missing authentication: provide 'Authorization: Bearer <token>' or 'X-API-Key: <key>'"
_REJECTED = "Authentication rejected by callback"
_CHANGES = frozenset({"POST", "PUT", "DELETE", "PATCH"})
_BODY_LIMIT = 16 * 1024 * 1024


def application(faults: Faults, api_key: str | None, routes: list[web.RouteDef]) -> web.Application:
    """The application. With ``api_key``, every path but ``/health`` needs it."""
    app = web.Application(
        middlewares=[_unexpected, _faulty(faults), _errors, _authenticated(api_key)],
        client_max_size=_BODY_LIMIT,
    )
    app.add_routes(routes)
    app.on_response_prepare.append(_without_server_header)
    return app


def refusal(error: CubeError) -> web.Response:
    """An error as CubeAPI writes it."""
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
    return web.json_response(
        {"code": error.status, "message": error.message}, status=error.status, headers=headers
    )


def _operation(request: web.Request) -> str:
    """The name of the call, for faults that are meant for one: the route's name."""
    return request.match_info.route.name or request.path


def _faulty(faults: Faults) -> Middleware:
    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        operation = _operation(request)
        if faults.take("cube", "api-down", operation=operation):
            return refusal(CubeError(503, "service unavailable"))
        answer = await handler(request)
        slow = faults.take("cube", "slow-api", operation=operation)
        if slow is not None:
            await asyncio.sleep(slow.number("delay_s", 2.0))
        changed = request.method in _CHANGES and answer.status < 300  # noqa: PLR2004  # a change was made
        if changed and faults.take("cube", "drop-after-write", operation=operation):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        return answer

    return middleware


@web.middleware
async def _unexpected(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What nobody foresaw is an answer of CubeAPI too, never the framework's page; the log has the reason."""
    try:
        return await handler(request)
    except Exception:
        log.exception("%s %s broke", request.method, request.path)
        return refusal(CubeError(500, "internal server error"))


async def _without_server_header(request: web.Request, response: web.StreamResponse) -> None:
    """CubeAPI does not name what it is written with."""
    del request
    response.headers.popall("Server", None)


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except CubeError as error:
        return refusal(error)
    except UnparsedError as error:
        return web.Response(status=error.status, text=error.text)
    except EmptyAnswerError as error:
        return web.Response(status=error.status)
    except web.HTTPException as error:
        # The framework's own 404 and 405 have no body; a body that is too large says so.
        headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
        return web.Response(status=error.status, headers=headers)


def _authenticated(api_key: str | None) -> Middleware:
    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if api_key is not None and request.path != "/health":
            scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
            given = bearer if scheme.lower() == "bearer" else request.headers.get("X-API-Key", "")
            if not given:
                raise CubeError(401, _MISSING)
            if not hmac.compare_digest(given.encode(), api_key.encode()):
                raise CubeError(401, _REJECTED)
        return await handler(request)

    return middleware
