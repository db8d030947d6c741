"""One HTTP/1.1 connection: as much of the protocol as browsers, proxies and programs use with a Studio.

``http.server`` does it too, but loads a mail parser and TLS, which would cost every sandbox eight megabytes.
"""

from __future__ import annotations

import socketserver
import time
from abc import ABC, abstractmethod
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Response = tuple[int, str, bytes]

_LINE_BYTES = 64 * 1024
_HEADERS = 100
_BODY_BYTES = 1 << 20
_VERSION_WORDS = 3
_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    414: "URI Too Long",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}


class RefusedError(Exception):
    """A request that cannot be read, so that nothing after it on the connection can be either."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Request:
    """What was asked. Names of headers are in lower case; of several of one name the first counts."""

    __slots__ = ("body", "headers", "keeps_open", "method", "path", "query")

    def __init__(self, method: str, target: str, version: str, headers: dict[str, str]) -> None:
        self.method = method
        self.path, _, query = target.partition("#")[0].partition("?")
        self.query = query
        self.headers = headers
        self.body = b""
        wish = headers.get("connection", "").lower()
        self.keeps_open = wish == "keep-alive" if version == "HTTP/1.0" else wish != "close"

    def parameter(self, name: str) -> str:
        """The first value of that name in the query; empty when there is none."""
        for pair in self.query.split("&"):
            key, _, value = pair.partition("=")
            if unquoted(key, plus=" ") == name:
                return unquoted(value, plus=" ")
        return ""


def unquoted(text: str, plus: str = "+") -> str:
    """A text without percent signs for its bytes; in a query, ``plus`` stands for a blank."""
    first, *rest = text.replace("+", plus).encode().split(b"%")
    out = [first]
    for part in rest:
        try:
            byte = bytes.fromhex(part[:2].decode("ascii"))
        except ValueError:
            byte = b""
        out.append(byte + part[2:] if byte else b"%" + part)
    return b"".join(out).decode("utf-8", "replace")


class HttpConnection(socketserver.StreamRequestHandler, ABC):
    """Reads one request after the other and sends what ``respond`` has to say to it."""

    server_name = "hermes-web-ui"
    methods = ("GET", "HEAD", "POST")
    disable_nagle_algorithm = True

    @abstractmethod
    def respond(self, request: Request) -> Response:
        """Status, content type and body of the answer."""

    @abstractmethod
    def refused(self, message: str) -> tuple[str, bytes]:
        """Content type and body of the answer to what is no request."""

    def handle(self) -> None:
        """Until either side is done. A client that has gone needs no answer."""
        with suppress(ConnectionError):
            while self._exchange():
                pass

    def _exchange(self) -> bool:
        """One request and its answer; whether another one may follow."""
        method = ""
        try:
            request = self._head()
            if request is None:
                return False
            method = request.method
            request.body = b"".join(self._body(request))
        except RefusedError as refusal:
            self._send(method, refusal.status, *self.refused(str(refusal)), keeps_open=False)
            return False
        self._send(method, *self.respond(request), keeps_open=request.keeps_open)
        return request.keeps_open

    def _head(self) -> Request | None:
        """A request without its body; None when the client has no more."""
        first = self._line(414)
        if not first.strip():
            return None
        words = first.split()
        if len(words) != _VERSION_WORDS or not words[2].startswith("HTTP/"):
            raise RefusedError(400, "the request line is not HTTP")
        method, target, version = words
        if not version.startswith("HTTP/1."):
            raise RefusedError(505, "only HTTP 1.1 is spoken here")
        headers: dict[str, str] = {}
        while line := self._line(431).rstrip("\r\n"):
            name, colon, value = line.partition(":")
            if not colon or name != name.strip():
                raise RefusedError(400, "a header is not HTTP")
            headers.setdefault(name.lower(), value.strip())
            if len(headers) > _HEADERS:
                raise RefusedError(431, "too many headers")
        if method not in self.methods:
            raise RefusedError(501, f"unsupported method {method}")
        return Request(method, target, version, headers)

    def _body(self, request: Request) -> Iterator[bytes]:
        """The body piece by piece."""
        chunked = request.headers.get("transfer-encoding", "").lower() == "chunked"
        length = request.headers.get("content-length", "0")
        if not chunked and length == "0":
            return
        left = _BODY_BYTES if chunked else _size(length, 10, _BODY_BYTES)
        if request.headers.get("expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not chunked:
            yield self._exactly(left)
            return
        while size := _size(self._line(400).partition(";")[0].strip(), 16, left):
            left -= size
            yield self._exactly(size)
            self._line(400)
        while self._line(431).strip():
            pass

    def _line(self, too_long: int) -> str:
        line = self.rfile.readline(_LINE_BYTES + 1)
        if len(line) > _LINE_BYTES:
            raise RefusedError(too_long, "a line of the request is too long")
        return line.decode("latin-1")

    def _exactly(self, count: int) -> bytes:
        raw = self.rfile.read(count)
        if len(raw) < count:
            raise RefusedError(400, "the body is incomplete")
        return raw

    def _send(self, method: str, status: int, kind: str, raw: bytes, *, keeps_open: bool) -> None:
        """Head and body leave together, or a delayed ACK costs 40 ms."""
        lines = (
            f"HTTP/1.1 {status} {_REASONS.get(status, '')}",
            f"Server: {self.server_name}",
            f"Date: {time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime())}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(raw)}",
            f"Connection: {'keep-alive' if keeps_open else 'close'}",
            "\r\n",
        )
        self.wfile.write("\r\n".join(lines).encode("latin-1") + (b"" if method == "HEAD" else raw))


def _size(digits: str, base: int, most: int) -> int:
    """A length of at most ``most`` bytes."""
    try:
        size = int(digits, base)
    except ValueError:
        size = -1
    if size < 0:
        raise RefusedError(400, "the length of the body is not a number")
    if size > most:
        raise RefusedError(400, "the body is too large")
    return size
