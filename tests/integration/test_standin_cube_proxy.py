"""CubeProxy's table of answers, and that it carries bytes faithfully."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from integration.standin_cube_kit import Rig, eventually, running

from bot.standin.cube import proxy

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]
EVERYWHERE = "0.0.0.0"  # noqa: S104  # inside a sandbox
WEBSOCKET = """\
import base64, hashlib, socket
listener = socket.create_server(("0.0.0.0", 8000))
while True:
    connection, _ = listener.accept()
    head = connection.recv(65536).decode()
    key = head.lower().partition("sec-websocket-key: ")[2].split("\\r\\n")[0]
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    answer = "HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
    answer += "Sec-WebSocket-Accept: " + base64.b64encode(digest).decode() + "\\r\\n\\r\\n"
    connection.sendall(answer.encode())
    while data := connection.recv(1000):
        connection.sendall(data.upper())
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_for_all(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    async with running(tmp_path_factory.mktemp("proxy")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def rig(one_for_all: Rig) -> AsyncIterator[Rig]:
    """The stand-in of all tests here, without sandboxes or faults of an earlier one."""
    yield one_for_all
    one_for_all.faults.clear()
    async with one_for_all.api() as api:
        for made in (await api.get("/sandboxes")).json():
            await api.delete(f"/sandboxes/{made['sandboxID']}")


async def _start(rig: Rig, sandbox_id: str, *argv: str) -> None:
    """Start a program in a sandbox that outlives the call."""
    message = json.dumps(
        {
            "process": {
                "cmd": "/bin/bash",
                "args": ["-c", 'setsid "$@" >/dev/null 2>&1 </dev/null &', "-", *argv],
            },
            "stdin": False,
        }
    ).encode()
    answer = await rig.ask(
        sandbox_id,
        "/process.Process/Start",
        method="POST",
        content=b"\0" + len(message).to_bytes(4, "big") + message,
        headers={"Content-Type": "application/connect+json"},
    )
    assert b'"exitCode":0' in answer.content


async def _echoing(rig: Rig, **body: object) -> str:
    made = str((await rig.create(**body))["sandboxID"])
    await _start(rig, made, "/usr/local/bin/echo-server", EVERYWHERE, "9000")

    async def status() -> int:
        return (await rig.ask(made, port=9000)).status_code

    await eventually(status, 200)
    return made


def _raw_host(rig: Rig, host: str, path: str = "/") -> httpx.Response:
    address, port = rig.cube.proxy_address
    return httpx.get(f"http://{address}:{port}{path}", headers={"Host": host})


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "nothing-here.cube.app", "0-abc.localhost"])
async def test_a_host_that_names_no_port_is_400(rig: Rig, host: str) -> None:
    answer = await asyncio.to_thread(_raw_host, rig, host)

    assert (answer.status_code, answer.json()) == (400, {"error": "bad request"})
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("platform", "status", "words"),
    [("0.5.1", 503, "service unavailable"), ("0.6", 503, "service unavailable"), ("0.7.1", 404, "not found")],
)
async def test_an_unknown_id(tmp_path: Path, platform: str, status: int, words: str) -> None:
    async with running(tmp_path, platform) as rig:
        answer = await rig.ask("f" * 32)

    assert (answer.status_code, answer.json()) == (status, {"error": words})
    assert "Retry-After" not in answer.headers


async def test_a_deleted_sandbox_is_unknown(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    async with rig.api() as api:
        await api.delete(f"/sandboxes/{made}")

    assert (await rig.ask(made)).status_code == 404


async def test_a_port_that_nobody_listens_on_is_a_502_page(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]

    answer = await rig.ask(made, port=9000)

    assert answer.status_code == 502
    assert answer.headers["Content-Type"] == "text/html"
    assert "<center><h1>502 Bad Gateway</h1></center>" in answer.text


@pytest.mark.parametrize("said", ["", "this is not HTTP\r\n\r\n"])
async def test_a_program_that_hangs_up_without_an_answer_is_a_502_page(
    rig: Rig, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = (await rig.create())["sandboxID"]
    program = f"""\
import socket
listener = socket.create_server(("{EVERYWHERE}", 8000))
while True:
    connection, _ = listener.accept()
    ready = b"GET /ready" in connection.recv(65536)
    connection.sendall(b"HTTP/1.1 204 No Content\\r\\n\\r\\n" if ready else {said.encode()!r})
    connection.close()
"""
    await _start(rig, made, "/usr/bin/python3", "-c", program)

    async def status() -> int:
        return (await rig.ask(made, "/ready", port=8000)).status_code

    await eventually(status, 204)

    answer = await rig.ask(made, port=8000)

    assert answer.status_code == 502
    assert "<center><h1>502 Bad Gateway</h1></center>" in answer.text
    assert caplog.records == []


async def test_a_program_that_listens_on_loopback_only_is_not_reached(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    await _start(rig, made, "/usr/local/bin/echo-server", "127.0.0.1", "9000")
    await _start(rig, made, "/usr/local/bin/echo-server", EVERYWHERE, "9001")

    async def other() -> int:
        return (await rig.ask(made, port=9001)).status_code

    await eventually(other, 200)

    assert (await rig.ask(made, port=9000)).status_code == 502


async def test_two_sandboxes_have_a_port_9000_each(rig: Rig) -> None:
    first, second = await _echoing(rig), await _echoing(rig)

    answers = [(await rig.ask(made, "/x", port=9000)).json()["headers"]["Host"] for made in (first, second)]

    assert answers == [f"9000-{first}.localhost", f"9000-{second}.localhost"]


async def test_a_dead_data_plane_is_a_504_page(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    rig.faults.arm({"target": "cube", "kind": "data-plane-dead", "delay_s": 0, "sandbox": made})

    dead, alive = await rig.ask(made, "/health"), await rig.ask(made, "/health")

    assert (dead.status_code, alive.status_code) == (504, 204)
    assert "504 Gateway Time-out" in dead.text


async def test_while_pausing_the_answer_is_503_retry_after_2(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    assert rig.cube._machinery is not None
    record = rig.cube._machinery.store.get(made)
    assert record is not None
    record.state = "pausing"

    answer = await rig.ask(made)

    record.state = "running"
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")


async def test_before_0_6_a_request_to_an_api_paused_sandbox_goes_into_the_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proxy._CONNECT_SECONDS == 3
    monkeypatch.setattr(proxy, "_CONNECT_SECONDS", 0.1)
    async with running(tmp_path, "0.5.1") as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")

        answer = await rig.ask(made, "/health")

    assert answer.status_code == 504


async def test_the_token_of_a_restricted_sandbox_is_checked_in_both_headers(rig: Rig) -> None:
    created = await rig.create(network={"allowPublicTraffic": False})
    made, token = created["sandboxID"], created["trafficAccessToken"]

    wrong = await rig.ask(made, "/health", headers={"e2b-traffic-access-token": "EXAMPLE"})
    right = [
        (await rig.ask(made, "/health", headers={name: token})).status_code
        for name in ("e2b-traffic-access-token", "cube-traffic-access-token")
    ]

    assert (wrong.status_code, wrong.json()) == (403, {"error": "forbidden"})
    assert right == [204, 204]


async def test_a_masked_host_reaches_the_service(rig: Rig) -> None:
    made = await _echoing(rig, network={"maskRequestHost": "localhost:${PORT}"})

    answer = await rig.ask(made, port=9000)

    assert answer.json()["headers"]["Host"] == "localhost:9000"


async def test_the_path_form_strips_and_restores_its_prefix(rig: Rig) -> None:
    made = await _echoing(rig)
    address, port = rig.cube.proxy_address
    prefix = f"/sandbox/{made}/9000"
    async with httpx.AsyncClient() as client:
        plain = await client.get(f"http://{address}:{port}{prefix}/a/b?c=d")
        bare = await client.get(f"http://{address}:{port}{prefix}?c=d")
        away = await client.get(f"http://{address}:{port}{prefix}/away")

    assert plain.json()["path"] == "/a/b?c=d"
    assert plain.json()["headers"]["X-Forwarded-Prefix"] == prefix
    assert bare.json()["path"] == "/?c=d"
    assert away.headers["Location"] == f"{prefix}/inside"
    assert away.headers["Set-Cookie"] == f"a=b; Path={prefix}/; HttpOnly"


async def test_with_several_nodes_only_exposed_ports_are_mapped(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=("node-1", "node-2")) as rig:
        near = (await rig.create(distributionScope=["node-1"]))["sandboxID"]
        far = (await rig.create(distributionScope=["node-2"]))["sandboxID"]

        statuses = [
            (await rig.ask(made, port=port)).status_code for made in (near, far) for port in (9000, 7777)
        ]

    assert statuses == [502, 502, 502, 404]


@pytest.mark.parametrize("scope", [["node-2"], ["10.0.0.2"], ["10.0.0.9", "10.0.0.2"]])
async def test_a_scope_names_nodes_by_id_or_host_ip(tmp_path: Path, scope: list[str]) -> None:
    async with running(tmp_path, nodes=("node-1", "node-2")) as rig, rig.api() as api:
        made = (await rig.create(distributionScope=scope))["sandboxID"]
        placed = (await api.get(f"/sandboxes/{made}")).json()["clientID"]

    assert placed == "node-2"


async def test_a_scope_without_a_node_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        body = {"templateID": "hermes-studio", "distributionScope": ["10.0.0.9", ""]}
        answer = await api.post("/sandboxes", json=body)

    assert answer.status_code == 500
    assert "no node in distribution scope" in answer.json()["message"]


async def test_an_upload_of_megabytes_arrives_as_stream_form_and_chunks(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    data = bytes(range(256)) * 20_000
    expected = hashlib.sha256(data).hexdigest()

    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 70_001):
            yield data[at : at + 70_001]

    for options in ({"content": data}, {"files": {"file": ("name", data)}}, {"content": chunks()}):
        answer = await rig.ask(made, "/files?path=/tmp/blob", method="POST", **options)
        assert answer.status_code == 200, answer.text
        read = await rig.ask(made, "/files?path=/tmp/blob")
        assert hashlib.sha256(read.content).hexdigest() == expected


async def test_a_body_over_256_mib_is_refused_before_it_is_sent(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    reader, writer = await asyncio.open_connection(*rig.cube.proxy_address)
    writer.write(
        f"POST /files?path=/tmp/x HTTP/1.1\r\nHost: 49983-{made}.x\r\n"
        f"Content-Length: {2**28 + 1}\r\n\r\n".encode()
    )

    status = await asyncio.wait_for(reader.readline(), 5)

    writer.close()
    assert status == b"HTTP/1.1 413 Request Entity Too Large\r\n"


async def test_a_websocket_is_carried_both_ways(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    await rig.ask(made, "/files?path=/tmp/ws.py", method="POST", content=WEBSOCKET.encode())
    await _start(rig, made, "/usr/bin/python3", "/tmp/ws.py")

    async def listening() -> bool:
        look = ["-c", "grep -q ':1F40 .* 0A ' /proc/net/tcp"]
        answer = await rig.ask(
            made,
            "/process.Process/Start",
            method="POST",
            content=_envelope({"process": {"cmd": "/bin/bash", "args": look}}),
            headers={"Content-Type": "application/connect+json"},
        )
        return b'"exitCode":0' in answer.content

    await eventually(listening, wanted=True)
    reader, writer = await asyncio.open_connection(*rig.cube.proxy_address)
    key = base64.b64encode(b"0123456789abcdef").decode()
    writer.write(
        f"GET / HTTP/1.1\r\nHost: 8000-{made}.x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    writer.write(b"hello")
    first = await asyncio.wait_for(reader.readexactly(5), 5)
    writer.write(b"again")
    second = await asyncio.wait_for(reader.readexactly(5), 5)
    writer.close()

    assert head.startswith(b"HTTP/1.1 101 ")
    assert (first, second) == (b"HELLO", b"AGAIN")


def _envelope(message: object) -> bytes:
    data = json.dumps(message).encode()
    return b"\0" + len(data).to_bytes(4, "big") + data


async def test_output_streams_while_the_command_still_runs(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    address, port = rig.cube.proxy_address
    message = {
        "process": {"cmd": "/bin/bash", "args": ["-c", "echo first; read line; echo $line"]},
        "tag": "reader",
    }
    headers = {"Host": f"49983-{made}.x", "Content-Type": "application/connect+json"}
    seen = b""
    async with (
        httpx.AsyncClient(timeout=10) as client,
        client.stream(
            "POST",
            f"http://{address}:{port}/process.Process/Start",
            content=_envelope(message),
            headers=headers,
        ) as answer,
    ):
        async for chunk in answer.aiter_raw():
            seen += chunk
            if base64.b64encode(b"first\n") in seen and b"sent" not in seen:
                seen += b"sent"
                given = {
                    "process": {"tag": "reader"},
                    "input": {"stdin": base64.b64encode(b"typed\n").decode()},
                }
                sent = await rig.ask(made, "/process.Process/SendInput", method="POST", json=given)
                assert sent.status_code == 200

    assert base64.b64encode(b"typed\n") in seen
    assert b'"exitCode":0' in seen


async def test_a_unary_call_with_the_streaming_type_is_415(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]

    answer = await rig.ask(
        made,
        "/process.Process/SendSignal",
        method="POST",
        content=_envelope({}),
        headers={"Content-Type": "application/connect+json"},
    )

    assert (answer.status_code, answer.headers["Accept-Post"]) == (415, "application/json")


async def test_a_signal_to_an_unknown_process_is_not_found(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    body = {"process": {"pid": 31000}, "signal": "SIGNAL_SIGKILL"}

    answer = await rig.ask(made, "/process.Process/SendSignal", method="POST", json=body)

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_running_processes_are_listed_with_their_tags(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    address, port = rig.cube.proxy_address
    message = {"process": {"cmd": "/bin/sleep", "args": ["60"]}, "tag": "sleeper"}
    headers = {"Host": f"49983-{made}.x", "Content-Type": "application/connect+json"}
    url = f"http://{address}:{port}/process.Process/Start"
    async with (
        httpx.AsyncClient(timeout=10) as client,
        client.stream("POST", url, content=_envelope(message), headers=headers) as answer,
    ):
        await anext(answer.aiter_raw())
        listed = await rig.ask(made, "/process.Process/List", method="POST", json={})

    (process,) = listed.json()["processes"]
    assert (process["tag"], process["config"]["cmd"]) == ("sleeper", "/bin/sleep")


async def test_a_client_that_waits_to_be_told_to_go_on_is_told(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    reader, writer = await asyncio.open_connection(*rig.cube.proxy_address)
    writer.write(
        f"POST /files?path=/tmp/x HTTP/1.1\r\nHost: 49983-{made}.x\r\nExpect: 100-continue\r\n"
        "Content-Length: 5\r\n\r\n".encode()
    )
    told = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    writer.write(b"hello")
    answered = await asyncio.wait_for(reader.readline(), 5)
    writer.close()

    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answered == b"HTTP/1.1 200 OK\r\n"


async def test_a_client_that_leaves_does_not_end_its_command(rig: Rig) -> None:
    made = (await rig.create())["sandboxID"]
    message = {"process": {"cmd": "/bin/bash", "args": ["-c", "sleep 0.3; echo x > /tmp/done"]}}
    body = _envelope(message)
    reader, writer = await asyncio.open_connection(*rig.cube.proxy_address)
    writer.write(
        f"POST /process.Process/Start HTTP/1.1\r\nHost: 49983-{made}.x\r\n"
        f"Content-Type: application/connect+json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    await asyncio.wait_for(reader.readuntil(b"start"), 5)
    writer.close()

    async def done() -> bytes:
        return (await rig.ask(made, "/files?path=/tmp/done")).content

    await eventually(done, b"x\n")
