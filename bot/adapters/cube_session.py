"""HTTP as this bot needs it below the official SDK: with deadlines, bounds and the whole answer.

The SDK opens a fresh ``requests.Session`` in each of its class methods. Such a session waits for ever, obeys
proxy variables even towards loopback, and the SDK drops the status line's companions (``Retry-After``). Its
modules look the name ``requests`` up when they call it, which is the one seam there is: ``install`` puts a
stand-in for that name there, and inside ``using(session)`` it hands out our session. In any other thread the
SDK gets what it always got.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import cubesandbox._template
import cubesandbox.sandbox
import httpx
import requests

MAX_BODY = 64 * 1024 * 1024
"""Bytes of one control-plane answer; a list of ten thousand sandboxes is far below."""

MAX_STREAM = 16 * 1024 * 1024
"""Bytes of one command's output stream; a sandbox may send without end."""

CONNECT_SECONDS = 5.0
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer with an error status, as received."""

    status: int
    body: str
    headers: Mapping[str, str]


class PatientSession(requests.Session):
    """A session with a deadline for the whole exchange. One thread at a time.

    ``close`` keeps the connections, because the SDK calls it whenever one of its handles is collected;
    ``shut`` gives them up.
    """

    def __init__(self, api_url: str) -> None:
        super().__init__()
        host = urlsplit(api_url).hostname or ""
        self.trust_env = not (host in {"localhost", "::1"} or host.startswith("127."))
        self.deadline = 0.0
        """Monotonic seconds."""
        self.refused: Answer | None = None
        self.sent = False
        """Whether a request may have left since ``begin``."""

    def begin(self, seconds: float) -> None:
        """Start an exchange that may take this long."""
        self.deadline = time.monotonic() + seconds
        self.refused = None
        self.sent = False

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send with what is left of the deadline and read the whole, bounded body."""
        left = self._left()
        kwargs |= {"timeout": (min(CONNECT_SECONDS, left), left), "stream": True}
        self.sent = True
        try:
            response = super().send(request, **kwargs)
        except (requests.ConnectTimeout, requests.ConnectionError) as error:
            self.sent = not _never_connected(error)
            raise
        response._content = self._read(response)  # noqa: SLF001 - how requests itself stores a read body
        if not response.ok:
            self.refused = Answer(response.status_code, response.text, dict(response.headers))
        return response

    def _read(self, response: requests.Response) -> bytes:
        body = bytearray()
        for chunk in response.iter_content(_CHUNK):
            body += chunk
            self._left()
            if len(body) > MAX_BODY:
                raise requests.ConnectionError(f"the answer is longer than {MAX_BODY} bytes")
        return bytes(body)

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise requests.ReadTimeout("the deadline has passed")
        return left

    def close(self) -> None:
        """Keep the connections for the next call."""

    def shut(self) -> None:
        """Close the connections."""
        super().close()


def _never_connected(error: Exception) -> bool:
    """Whether the failure came before a connection stood, so that nothing can have been done."""
    if isinstance(error, requests.ConnectTimeout):
        return True
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return type(reason).__name__ in {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"}


_current = threading.local()


class _SdkRequests:
    """What the SDK's modules see as ``requests``: all of it, with another ``Session``."""

    def __getattr__(self, name: str) -> Any:
        return getattr(requests, name)

    def Session(self) -> requests.Session:  # noqa: N802 - the name the SDK calls
        """The session of this thread's call, or a plain one."""
        session: requests.Session | None = getattr(_current, "session", None)
        return session or requests.Session()


_SDK_REQUESTS = _SdkRequests()


def install() -> None:
    """Let the SDK's control-plane modules take their sessions from ``using``. Idempotent."""
    for module in (cubesandbox.sandbox, cubesandbox._template):  # noqa: SLF001 - see the module's docstring
        module.requests = _SDK_REQUESTS


@contextmanager
def using(session: PatientSession) -> Iterator[None]:
    """Give the SDK this session for all its calls in this thread."""
    _current.session = session
    try:
        yield
    finally:
        _current.session = None


class BoundedStream(httpx.SyncByteStream):
    """A response body that ends with an error past a size or a moment, whatever the sender does."""

    def __init__(self, inner: httpx.SyncByteStream, deadline: float) -> None:
        self._inner = inner
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        """The chunks, until one of the bounds is met."""
        size = 0
        for chunk in self._inner:
            size += len(chunk)
            if size > MAX_STREAM:
                raise httpx.ReadError(f"the command wrote more than {MAX_STREAM} bytes")
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("the deadline has passed")
            yield chunk

    def close(self) -> None:
        """Give the connection up."""
        self._inner.close()
