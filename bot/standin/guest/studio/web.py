"""Studio over HTTP: public health, the page for every unknown path, and an API behind authentication."""

import json
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from .auth import UNAUTHORIZED, Answer
from .core import Studio
from .page import page

_MAX_BODY = 1 << 20


class Handler(BaseHTTPRequestHandler):
    """One connection. ``server`` binds the class to its Studio."""

    studio: ClassVar[Studio]
    protocol_version = "HTTP/1.1"
    server_version = "hermes-web-ui"
    wbufsize = -1  # head and body leave together, or a delayed ACK costs 40 ms
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Health, page or API."""
        self._serve("GET")

    def do_HEAD(self) -> None:
        """As GET, without the body."""
        self._serve("HEAD")

    def do_POST(self) -> None:
        """An API call."""
        self._serve("POST")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server names it
        """Queries may hold a token, so that the library's own log line is not used."""

    def _serve(self, method: str) -> None:
        url = urlsplit(self.path)
        body, problem = self._body()
        if problem:
            self._json(400, {"error": problem})
        elif url.path == "/health":
            self._json(200, self.studio.health())
        elif url.path == "/api" or url.path.startswith("/api/"):
            self._json(*self._api(method, url.path, body, parse_qs(url.query)))
        else:
            self._send(200, "text/html; charset=utf-8", page().encode())
        self.studio.log(f"{method} {url.path}")

    def _api(self, method: str, path: str, body: dict[str, Any], query: dict[str, list[str]]) -> Answer:
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        bearer = value.strip() if scheme.lower() == "bearer" else ""
        credential = bearer or query.get("token", [""])[0] or None
        if path.startswith("/api/auth/"):
            answer = self.studio.auth.answer(method, path, body, credential, self.client_address[0])
            if answer:
                return answer
        if not self.studio.auth.allows(credential):
            return UNAUTHORIZED
        return self.studio.api(method, path, body)

    def _body(self) -> tuple[dict[str, Any], str]:
        length = int(self.headers.get("Content-Length") or 0)
        if not length:
            return {}, ""
        if length > _MAX_BODY:
            self.close_connection = True
            return {}, "the body is too large"
        try:
            value = json.loads(self.rfile.read(length))
        except ValueError:
            return {}, "the body is not JSON"
        return (value, "") if isinstance(value, dict) else ({}, "the body must be a JSON object")

    def _json(self, status: int, value: dict[str, Any]) -> None:
        self._send(status, "application/json; charset=utf-8", json.dumps(value).encode())

    def _send(self, status: int, kind: str, raw: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)
