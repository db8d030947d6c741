"""HTTP/1.1 heads and bodies as bytes, for a proxy that passes them on unread."""

import re
from dataclasses import dataclass, field

HEAD_LIMIT = 64 * 1024
_CHUNK_LINE_LIMIT = 1024
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class WireError(ValueError):
    """Bytes that are not HTTP."""


@dataclass(slots=True)
class Head:
    """A start line, split at its two blanks, and the headers in their order."""

    start: tuple[str, str, str]
    headers: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def parse(cls, raw: bytes) -> "Head":
        """The head that ``raw`` (through the empty line) holds. Raises WireError."""
        lines = raw.split(b"\r\n")
        first, _, rest = lines[0].decode("latin-1").partition(" ")
        second, _, third = rest.partition(" ")
        # Only a response may leave out its third part, the reason.
        if not second or not (third or first.startswith("HTTP/")):
            raise WireError("malformed start line")
        headers = []
        for line in lines[1:]:
            if not line:
                continue
            name, colon, value = line.partition(b":")
            if not colon or not _TOKEN.fullmatch(name):
                raise WireError("malformed header")
            headers.append((name.decode("latin-1"), value.strip().decode("latin-1")))
        return cls((first, second, third), headers)

    def get(self, name: str) -> str:
        """The values of a header, joined by commas; empty when absent."""
        return ", ".join(value for key, value in self.headers if key.lower() == name)

    def drop(self, *names: str) -> None:
        """Remove headers."""
        self.headers = [(key, value) for key, value in self.headers if key.lower() not in names]

    def put(self, name: str, value: str) -> None:
        """Set a header in place of any that was there."""
        self.drop(name.lower())
        self.headers.append((name, value))

    def encode(self) -> bytes:
        """The head as bytes, through the empty line."""
        lines = [" ".join(self.start).rstrip(), *(f"{name}: {value}" for name, value in self.headers)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Body:
    """Follows a body through a stream of bytes, so that its end is known."""

    def __init__(self, *, length: int | None = 0, chunked: bool = False) -> None:
        self._left = length
        self._chunked = chunked
        self._pending = b""
        self._in_trailer = False
        self.size = 0
        self.done = length == 0 and not chunked

    @classmethod
    def of_request(cls, head: Head) -> "Body":
        """The body that a request head announces. Raises WireError."""
        if "chunked" in head.get("transfer-encoding").lower():
            return cls(length=0, chunked=True)
        return cls(length=_length(head) or 0)

    @classmethod
    def of_response(cls, head: Head, method: str) -> "Body":
        """The body that follows a response head; without a length it lasts to the end of the stream."""
        status = int(head.start[1])
        if method == "HEAD" or status in {204, 304}:
            return cls(length=0)
        if "chunked" in head.get("transfer-encoding").lower():
            return cls(length=0, chunked=True)
        return cls(length=_length(head))

    @property
    def announced(self) -> int | None:
        """Bytes still announced by a length, None when there is none."""
        return None if self._chunked else self._left

    def feed(self, data: bytes) -> bytes:
        """The part of ``data`` that belongs to the body. Raises WireError for broken chunks."""
        if self.done:
            return b""
        if self._chunked:
            return self._feed_chunks(data)
        if self._left is None:
            self.size += len(data)
            return data
        taken = data[: self._left]
        self._left -= len(taken)
        self.size += len(taken)
        self.done = self._left == 0
        return taken

    def _feed_chunks(self, data: bytes) -> bytes:
        """Walk over chunk sizes and chunk data; ``_left`` is what is missing of the present chunk."""
        at = 0
        while at < len(data) and not self.done:
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                self.size += step
                at += step
                continue
            end = data.find(b"\n", at)
            stop = len(data) if end < 0 else end + 1
            self._pending += data[at:stop]
            at = stop
            if len(self._pending) > _CHUNK_LINE_LIMIT:
                raise WireError("chunk size line too long")
            if end >= 0:
                line, self._pending = self._pending.strip(), b""
                self._chunk_line(line)
        return data[:at]

    def _chunk_line(self, line: bytes) -> None:
        if self._in_trailer:
            self.done = not line
            return
        if not line:  # the line end after a chunk's data
            return
        try:
            self._left = int(line.split(b";")[0], 16)
        except ValueError:
            raise WireError("malformed chunk size") from None
        self._in_trailer = self._left == 0


def _length(head: Head) -> int | None:
    given = head.get("content-length")
    if not given:
        return None
    if not given.isdigit():
        raise WireError("malformed content-length")
    return int(given)
