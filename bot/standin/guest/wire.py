"""HTTP/1.1 and Connect framing for the guest's agent: one request per connection, no dependency.

The agent starts with every sandbox, so it imports little; ``http.server`` alone would double the
time a sandbox needs to boot.
"""

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

HEAD_LIMIT = 64 * 1024
FRAME_LIMIT = 64 * 1024 * 1024
_PIECE = 64 * 1024
END_STREAM = 0x02
_COMPRESSED = 0x01
STREAM_TYPE = "application/connect+json"
UNARY_TYPE = "application/json"

_REASONS = {
    200: "OK",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    415: "Unsupported Media Type",
    500: "Internal Server Error",
    501: "Not Implemented",
    504: "Gateway Timeout",
    507: "Insufficient Storage",
}
_NO_CONTENT = 204
_ENVELOPE = struct.Struct(">BI")
# The HTTP status that goes with a Connect error code (connectrpc.com, protocol reference).
_CONNECT_STATUS = {
    "invalid_argument": 400,
    "failed_precondition": 400,
    "unauthenticated": 401,
    "permission_denied": 403,
    "not_found": 404,
    "already_exists": 409,
    "internal": 500,
    "unimplemented": 501,
    "deadline_exceeded": 504,
}


class RpcError(Exception):
    """A Connect error: ``code`` is one of the protocol's names."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def body(self) -> dict[str, str]:
        """The error as JSON."""
        return {"code": self.code, "message": self.message}

    def status(self) -> int:
        """The HTTP status of a unary call that fails so."""
        return _CONNECT_STATUS.get(self.code, 500)


class HttpError(Exception):
    """An error of the plain HTTP part (``/files``)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Request:
    """One request, its body still unread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        head = self._read_head()
        lines = head.decode("latin-1").split("\r\n")
        self.method, target, _version = lines[0].split(" ", 2)
        self.headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        parts = urlsplit(target)
        self.path = unquote(parts.path)
        # One reader for the whole body: whoever comes later goes on where it was left.
        self.pieces = self._read_body()
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))

    def _read_head(self) -> bytes:
        while b"\r\n\r\n" not in self._buffer:
            if len(self._buffer) > HEAD_LIMIT:
                raise ValueError("request head too long")
            self._fill()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        return head

    def _fill(self) -> None:
        data = self._connection.recv(_PIECE)
        if not data:
            raise EOFError("the client closed the connection in the middle of a request")
        self._buffer += data

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._fill()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _some(self, limit: int) -> bytes:
        if not self._buffer:
            self._fill()
        taken, self._buffer = self._buffer[:limit], self._buffer[limit:]
        return taken

    def _line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            self._fill()
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line

    def _read_body(self) -> Iterator[bytes]:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            while size := int(self._line().split(b";")[0], 16):
                yield self._take(size)
                self._take(2)
            while self._line():
                pass
            return
        left = int(self.headers.get("content-length", "0"))
        while left > 0:
            piece = self._some(left)
            left -= len(piece)
            yield piece

    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.pieces)

    def content_type(self) -> str:
        """The media type without parameters."""
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    def message(self) -> dict[str, Any]:
        """The one JSON message of an RPC, enveloped or not. Raises RpcError."""
        body = self.body()
        if self.content_type() == STREAM_TYPE:
            body = _unwrapped(body)
        try:
            parsed = json.loads(body or b"{}")
        except ValueError as error:
            raise RpcError("invalid_argument", f"unmarshal message: {error}") from None
        if not isinstance(parsed, dict):
            raise RpcError("invalid_argument", "unmarshal message: a JSON object is needed")
        return parsed


def _unwrapped(body: bytes) -> bytes:
    """The message of the first envelope. Raises RpcError for a broken or compressed one."""
    if len(body) >= _ENVELOPE.size:
        flags, size = _ENVELOPE.unpack_from(body)
        if flags & _COMPRESSED:
            raise RpcError("internal", "protocol error: compressed message without compression agreed on")
        if _ENVELOPE.size + size <= len(body) and size <= FRAME_LIMIT:
            return body[_ENVELOPE.size : _ENVELOPE.size + size]
    raise RpcError("invalid_argument", "protocol error: incomplete envelope")


class Answer:
    """Writes the answer of one request."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.started = False

    def head(self, status: int, headers: dict[str, str]) -> None:
        """Status line and headers; the connection closes after the answer."""
        self.started = True
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in {**headers, "Connection": "close"}.items()]
        self.raw(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        self._connection.sendall(data)

    def whole(self, status: int, body: bytes, content_type: str, **headers: str) -> None:
        """A complete answer."""
        named = {name.replace("_", "-").title(): value for name, value in headers.items()}
        has_body = status != _NO_CONTENT
        if has_body:
            named = {"Content-Type": content_type, "Content-Length": str(len(body)), **named}
        self.head(status, named)
        if body and has_body:
            self.raw(body)

    def json(self, status: int, value: Any, **headers: str) -> None:
        """A JSON answer."""
        self.whole(status, json.dumps(value, separators=(",", ":")).encode(), UNARY_TYPE, **headers)

    def start_stream(self) -> None:
        """Begin a stream of envelopes."""
        self.head(200, {"Content-Type": STREAM_TYPE, "Transfer-Encoding": "chunked"})

    def frame(self, value: Any, flags: int = 0) -> None:
        """One envelope, uncompressed."""
        data = json.dumps(value, separators=(",", ":")).encode()
        envelope = _ENVELOPE.pack(flags, len(data)) + data
        self.raw(b"%x\r\n%b\r\n" % (len(envelope), envelope))

    def end_stream(self, error: RpcError | None = None) -> None:
        """The last envelope and the end of the body."""
        self.frame({"error": error.body()} if error else {}, END_STREAM)
        self.raw(b"0\r\n\r\n")
