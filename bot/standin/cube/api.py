"""CubeAPI over HTTP: what surrounds every call."""

import hmac
import logging

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bot.standin.cube import api_faults, errors, proxy_answers
from bot.standin.cube.errors import CubeError, EmptyAnswerError, PageError, UnparsedError
from bot.standin.faults import Faults

log = logging.getLogger(__name__)
_MISSING = "Missing authentication: provide 'Authorization: Bearer <token>' or 'X-API-Key: <key>'"
_REJECTED = "Authentication rejected by callback"
_BODY_LIMIT = 16 * 1024 * 1024


def application(faults: Faults, api_key: str | None, routes: list[web.RouteDef]) -> web.Application:
    """The application. With ``api_key``, every path but ``/health`` needs it."""
    app = web.Application(
        middlewares=[
            _unexpected,
            api_faults.on_the_wire(faults),
            _errors,
            _authenticated(api_key),
            api_faults.behind_the_door(faults),
        ],
        client_max_size=_BODY_LIMIT,
    )
    app.add_routes(routes)
    app.on_response_prepare.append(_without_server_header)
    return app


def refusal(error: CubeError) -> web.Response:
    """An error as CubeAPI writes it."""
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
    return web.json_response(
        text=errors.body(error.status, error.message), status=error.status, headers=headers
    )


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
    except PageError as error:
        page = proxy_answers.page_text(error.status).encode()
        return web.Response(status=error.status, body=page, content_type="text/html")
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
