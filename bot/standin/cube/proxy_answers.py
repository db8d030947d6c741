"""What CubeProxy says itself: JSON from its Lua, HTML from nginx."""

import json

_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    410: "Gone",
    413: "Request Entity Too Large",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Temporarily Unavailable",
    504: "Gateway Time-out",
}
_WORDS = {400: "bad request", 403: "forbidden", 404: "not found", 410: "gone", 503: "service unavailable"}


def said(status: int, *, retry_after: int | None = None) -> bytes:
    """A JSON answer ``{"error": words}``."""
    body = json.dumps({"error": _WORDS[status]}, separators=(",", ":")).encode()
    extra = f"Retry-After: {retry_after}\r\n" if retry_after is not None else ""
    return _answer(status, "application/json", body, extra)


def unsupported(message: str) -> bytes:
    """501 with the error body of CubeAPI, for what only the real system has."""
    return _answer(501, "application/json", json.dumps({"code": 501, "message": message}).encode(), "")


def page(status: int) -> bytes:
    """An nginx error page as a whole answer."""
    return _answer(status, "text/html", page_text(status).encode(), "")


def page_text(status: int) -> str:
    """The HTML of an nginx error page."""
    title = f"{status} {_REASONS[status]}"
    return (
        f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n"
        "<hr><center>openresty</center>\r\n</body>\r\n</html>\r\n"
    )


def _answer(status: int, kind: str, body: bytes, extra: str) -> bytes:
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nServer: openresty\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\n{extra}Connection: close\r\n\r\n"
    )
    return head.encode() + body
