"""The proxy finds the end of a body wherever the network cuts it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.standin.cube.host_mount import clean
from bot.standin.cube.http_wire import Body, Head, WireError
from bot.standin.cube.proxy_route import route_of


def _chunked(pieces: list[bytes]) -> bytes:
    encoded = b"".join(b"%x;note=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece)
    return encoded + b"0\r\nTrailer: x\r\n\r\n"


@given(
    st.lists(st.binary(min_size=1, max_size=300), max_size=5),
    st.lists(st.integers(1, 50), min_size=1),
    st.binary(),
)
def test_chunks_end_where_they_end(pieces: list[bytes], steps: list[int], following: bytes) -> None:
    encoded = _chunked(pieces)
    stream, body, passed, turn = encoded + following, Body(chunked=True), b"", 0

    while stream and not body.done:
        step = steps[turn % len(steps)]
        passed += body.feed(stream[:step])
        stream, turn = stream[step:], turn + 1

    assert body.done
    assert passed == encoded
    assert body.size == sum(map(len, pieces))


@given(st.binary(max_size=500), st.binary(max_size=50))
def test_a_length_is_kept(data: bytes, following: bytes) -> None:
    body = Body(length=len(data))

    passed = body.feed(data + following)

    assert (passed, body.done) == (data, True)


@pytest.mark.parametrize("raw", [b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n", b"\r\n\r\n"])
def test_what_is_no_http_is_refused(raw: bytes) -> None:
    with pytest.raises(WireError):
        Head.parse(raw)


@pytest.mark.parametrize(
    ("host", "path", "expected"),
    [
        ("9000-abc.cube.app", "/", ("abc", 9000, "")),
        ("9000-abc.localhost:8080", "/x", ("abc", 9000, "")),
        ("9000-abc", "/", ("abc", 9000, "")),
        ("proxy", "/sandbox/abc/9000", ("abc", 9000, "/sandbox/abc/9000")),
        ("proxy:80", "/sandbox/abc/9000/x?y", ("abc", 9000, "/sandbox/abc/9000")),
        ("proxy", "/sandbox/abc/9000x", None),
        ("proxy", "/", None),
        ("70000-abc.x", "/", None),
        ("abc-9000.x", "/", None),
    ],
)
def test_a_route_is_found_by_host_or_path(
    host: str, path: str, expected: tuple[str, int, str] | None
) -> None:
    head = Head(("GET", path, "HTTP/1.1"), [("Host", host)])

    route = route_of(head)

    assert (None if route is None else (route.sandbox_id, route.port, route.prefix)) == expected


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        ("", "."),
        ("/", "/"),
        ("//a//b/", "/a/b"),
        ("/a/./b/../c", "/a/c"),
        ("/../..", "/"),
        ("a/..", "."),
        ("../a/../..", "../.."),
        ("/data/shared/..", "/data"),
    ],
)
def test_paths_are_cleaned_as_go_does(path: str, cleaned: str) -> None:
    assert clean(path) == cleaned
