"""Studio over HTTP: public health, the page for every unknown path, and an API behind authentication."""

from __future__ import annotations

import json

from .auth import UNAUTHORIZED
from .http_connection import HttpConnection
from .page import page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from .auth import Answer
    from .core import Studio
    from .http_connection import Request, Response

_JSON = "application/json; charset=utf-8"


class Handler(HttpConnection):
    """One connection. ``server`` binds the class to its Studio."""

    studio: ClassVar[Studio]

    def respond(self, request: Request) -> Response:
        """Health, page or API. Only the path is logged, because a query may hold a token."""
        try:
            body = _object(request.body)
        except ValueError as problem:
            return _json(400, {"error": str(problem)})
        if request.path == "/health":
            response = _json(200, self.studio.health())
        elif request.path == "/api" or request.path.startswith("/api/"):
            response = _json(*self._api(request, body))
        else:
            response = 200, "text/html; charset=utf-8", page().encode()
        self.studio.log(f"{request.method} {request.path}")
        return response

    def refused(self, message: str) -> tuple[str, bytes]:
        """As every other error of this server."""
        return _json(400, {"error": message})[1:]

    def _api(self, request: Request, body: dict[str, Any]) -> Answer:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        bearer = value.strip() if scheme.lower() == "bearer" else ""
        credential = bearer or request.parameter("token") or None
        method, path = request.method, request.path
        if path.startswith("/api/auth/"):
            answer = self.studio.auth.answer(method, path, body, credential, self.client_address[0])
            if answer:
                return answer
        if not self.studio.auth.allows(credential):
            return UNAUTHORIZED
        return self.studio.api(method, path, body)


def _object(raw: bytes) -> dict[str, Any]:
    """The JSON object of a body, empty without one. Raises ValueError, whose text says what was expected."""
    if not raw:
        return {}
    try:
        value = json.loads(raw)
    except ValueError:
        raise ValueError("the body is not JSON") from None
    if not isinstance(value, dict):
        raise ValueError("the body must be a JSON object")  # noqa: TRY004 - it is the client's mistake
    return value


def _json(status: int, value: dict[str, Any]) -> Response:
    return status, _JSON, json.dumps(value).encode()
