"""``multipart/form-data`` read as a stream, so that an upload is never in memory as a whole."""

from collections.abc import Iterator

from bot.standin.guest.wire import HttpError, Request


class _Window:
    """The part of a body that has been read and not yet used."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        # The first boundary has no line end before it; with one, all boundaries look alike.
        self._buffer = bytearray(b"\r\n")

    def _more(self) -> None:
        piece = next(self._pieces, None)
        if piece is None:
            raise HttpError(400, "multipart: NextPart: EOF")
        self._buffer.extend(piece)

    def until(self, end: bytes) -> Iterator[bytes]:
        """What stands before ``end``, which is used up too."""
        while (at := self._buffer.find(end)) < 0:
            safe = len(self._buffer) - len(end)
            if safe > 0:
                yield bytes(self._buffer[:safe])
                del self._buffer[:safe]
            self._more()
        if at:
            yield bytes(self._buffer[:at])
        del self._buffer[: at + len(end)]

    def starts_with(self, wanted: bytes) -> bool:
        """Whether ``wanted`` comes next."""
        while len(self._buffer) < len(wanted):
            self._more()
        return self._buffer.startswith(wanted)


def parts(request: Request) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The parts named ``file``: file name and content. Raises HttpError for a broken form."""
    _, found, boundary = request.headers.get("content-type", "").partition("boundary=")
    if not found:
        raise HttpError(400, "multipart form without a boundary")
    mark = b"\r\n--" + boundary.split(";")[0].strip().strip('"').encode("latin-1")
    window = _Window(request.pieces)
    _skip(window.until(mark))
    while not window.starts_with(b"--"):
        head = b"".join(window.until(b"\r\n\r\n")).decode("utf-8", "replace")
        content = window.until(mark)
        if _parameter(head, "name") == "file":
            yield _parameter(head, "filename"), content
        _skip(content)


def _skip(pieces: Iterator[bytes]) -> None:
    for _ in pieces:
        pass


def _parameter(head: str, name: str) -> str:
    for field in head.replace("\r\n", ";").split(";"):
        key, _, value = field.strip().partition("=")
        if key.lower() == name:
            return value.strip('"')
    return ""
