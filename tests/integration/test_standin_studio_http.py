"""The HTTP of the stand-in's Studio, byte by byte."""

import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest

from bot.standin.guest.studio.http_connection import HttpConnection, Request, Response, unquoted


class _Echo(HttpConnection):
    def respond(self, request: Request) -> Response:
        told = f"{request.method} {request.path} {request.parameter('token')} {request.body.decode()}"
        return 200, "text/plain", told.encode()

    def refused(self, message: str) -> tuple[str, bytes]:
        return "text/plain", message.encode()


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Echo) as server:
        server.daemon_threads = True
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield server.server_address[0], server.server_address[1]
        server.shutdown()
        serving.join()


def _said(address: tuple[str, int], raw: bytes) -> bytes:
    """All that the server says to these bytes, after which the client sends no more."""
    with socket.create_connection(address, timeout=5) as client:
        client.sendall(raw)
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as answer:
            return answer.read()


def _bodies(said: bytes) -> list[bytes]:
    return [part.partition(b"\r\n\r\n")[2] for part in said.split(b"HTTP/1.1 ")[1:]]


def test_requests_follow_each_other_on_one_connection(address: tuple[str, int]) -> None:
    first = b"POST /one HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"
    said = _said(address, first + b"GET /two?a=1&token=a%2Bb HTTP/1.1\r\n\r\n")
    assert _bodies(said) == [b"POST /one  hi", b"GET /two a+b "]
    assert said.count(b"Connection: keep-alive\r\n") == 2


@pytest.mark.parametrize(
    "first", [b"GET /one HTTP/1.0\r\n\r\n", b"GET /one HTTP/1.1\r\nConnection: close\r\n\r\n"]
)
def test_a_connection_ends_when_the_client_wants_it(address: tuple[str, int], first: bytes) -> None:
    said = _said(address, first + b"GET /two HTTP/1.1\r\n\r\n")
    assert _bodies(said) == [b"GET /one  "]
    assert b"Connection: close\r\n" in said


def test_an_old_client_may_keep_its_connection(address: tuple[str, int]) -> None:
    first = b"GET /one HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"
    said = _said(address, first + b"GET /two HTTP/1.1\r\n\r\n")
    assert _bodies(said) == [b"GET /one  ", b"GET /two  "]


def test_head_tells_the_length_and_sends_nothing(address: tuple[str, int]) -> None:
    said = _said(address, b"HEAD /page HTTP/1.1\r\n\r\n")
    assert b"Content-Length: 12\r\n" in said
    assert said.endswith(b"\r\n\r\n")


def test_a_body_in_chunks_is_put_together(address: tuple[str, int]) -> None:
    chunks = b"3\r\none\r\n4;kind=x\r\n two\r\n0\r\nTrailer: x\r\n\r\n"
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    said = _said(address, head + chunks + b"GET /next HTTP/1.1\r\n\r\n")
    assert _bodies(said) == [b"POST /  one two", b"GET /next  "]


def test_a_client_that_asks_first_is_told_to_go_on(address: tuple[str, int]) -> None:
    head = b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(address, timeout=5) as client:
        client.sendall(head)
        told = client.recv(100)
        client.sendall(b"hi")
        answer = client.recv(1000)
    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("raw", "status", "said"),
    [
        (b"nonsense\r\n\r\n", 400, b"the request line is not HTTP"),
        (b"GET / HTTP/2.0\r\n\r\n", 505, b"only HTTP 1.1 is spoken here"),
        (b"DELETE / HTTP/1.1\r\n\r\n", 501, b"unsupported method DELETE"),
        (b"GET /" + b"x" * 65536 + b" HTTP/1.1\r\n\r\n", 414, b"a line of the request is too long"),
        (b"GET / HTTP/1.1\r\n" + b"x" * 65537 + b"\r\n\r\n", 431, b"a line of the request is too long"),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: 1\r\n" % n for n in range(101)), 431, b"too many headers"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, b"a header is not HTTP"),
        (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400, b"the length of the body is not a number"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, b"the length of the body is not a number"),
        (b"POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 400, b"the body is too large"),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n",
            400,
            b"the body is too large",
        ),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nhi", 400, b"the body is incomplete"),
    ],
)
def test_what_cannot_be_read_is_refused_and_ends_the_connection(
    address: tuple[str, int], raw: bytes, status: int, said: bytes
) -> None:
    answer = _said(address, raw)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"Connection: close\r\n" in answer
    assert _bodies(answer) == [said]


@pytest.mark.parametrize(
    ("text", "meant"), [("a%20b+c", "a b+c"), ("100%", "100%"), ("%zz%  ", "%zz%  "), ("%C3%A4%ff", "ä�")]
)
def test_percent_signs_stand_for_bytes(text: str, meant: str) -> None:
    assert unquoted(text) == meant
