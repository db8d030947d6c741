"""What needs no sandbox: the end of a body, routes, and the rules for a create request."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.standin.cube import bodies
from bot.standin.cube.errors import CubeError
from bot.standin.cube.host_mount import clean, parse
from bot.standin.cube.http_wire import Body, Head, WireError
from bot.standin.cube.platform import platform
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


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("homes/a", 'hostPath must be an absolute path, got "homes/a"'),
        ("", 'hostPath must be an absolute path, got ""'),
        ("/", 'hostPath "/" is not within an allowed mount prefix'),
        ("/etc", 'hostPath "/etc" is not within an allowed mount prefix'),
        ("/data/shared_evil/x", 'hostPath "/data/shared_evil/x" is not within an allowed mount prefix'),
        ("/data/shared/../x", 'hostPath "/data/shared/../x" is not within an allowed mount prefix'),
    ],
)
def test_a_host_path_that_is_not_allowed(source: str, words: str) -> None:
    entry = {"hostPath": source, "mountPath": "/mnt", "readOnly": False}

    with pytest.raises(CubeError) as caught:
        parse(platform("0.7.1"), json.dumps([entry]))

    expected = f'CubeMaster returned error code 130400: "host-mount" entry[0]: {words}'
    assert (caught.value.status, caught.value.message) == (400, expected)


def test_0_5_1_says_it_in_its_own_words() -> None:
    with pytest.raises(CubeError) as caught:
        parse(platform("0.5.1"), '[{"hostPath": "/srv/x", "mountPath": "/mnt", "readOnly": false}]')

    assert caught.value.status == 500
    assert caught.value.message.endswith('hostPath must be under one of [/data/shared/], got "/srv/x"')


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ("hello", "invalid character 'h' looking for beginning of value"),
        ("[", "unexpected end of JSON input"),
        ("[] x", "invalid character 'x' after top-level value"),
        ("{}", "json: cannot unmarshal object into Go value of type []HostDirMount"),
        (
            '[{"hostPath": "/data/shared", "mountPath": "/m", "readOnly": "yes"}]',
            "json: cannot unmarshal string into Go struct field HostDirMount.readOnly of type bool",
        ),
        ('[{"hostPath": "/data/shared", "mountPath": "m"}]', 'mountPath must be an absolute path, got "m"'),
    ],
)
def test_an_annotation_that_is_no_list_of_mounts(annotation: str, words: str) -> None:
    with pytest.raises(CubeError) as caught:
        parse(platform("0.7.1"), annotation)

    assert words in caught.value.message


@pytest.mark.parametrize(
    "variables", [{"LD_PRELOAD": "x"}, {"1BAD": "x"}, {"LONG": "x" * 4097}, {"LINES": "a\nb"}, {"PATH": "/"}]
)
def test_a_variable_that_is_not_allowed(variables: dict[str, str]) -> None:
    with pytest.raises(CubeError, match=next(iter(variables))) as caught:
        bodies.environment({"envVars": variables})

    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"allowOut": ["10.10.0.5/33"]}, "invalid CIDR in allowOut: 10.10.0.5/33"),
        ({"denyOut": ["model.example"]}, "invalid CIDR in denyOut: model.example"),
        ({"allowOut": ["model.example"]}, "include '0.0.0.0/0' in deny_out"),
    ],
)
def test_a_network_policy_that_is_not_allowed(policy: dict[str, list[str]], words: str) -> None:
    with pytest.raises(CubeError) as caught:
        bodies.network(policy, internet=True)

    assert words in caught.value.message


def test_a_domain_may_be_allowed_when_all_else_is_denied() -> None:
    policy = bodies.network({"allowOut": ["model.example"], "denyOut": ["0.0.0.0/0"]}, internet=True)

    assert policy["allowOut"] == ["model.example"]
