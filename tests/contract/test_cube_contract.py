"""What every ``Cube`` does: the double, and the SDK adapter on the stand-in."""

import asyncio
import json
import shutil
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from contract.doubles import MemoryCube
from contract.standin_world import World, places_of, spec_of, world

from bot.adapters.cube_sdk import CubeSdk
from bot.domain.cube_errors import FaultClass
from bot.domain.errors import CubeError
from bot.domain.rules import Deadlines
from bot.domain.sandbox import HOST_MOUNT_KEY, MOUNTS_KEY, REQUEST_KEY, SandboxState
from bot.ports import Cube

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

ABSENT = "0" * 32


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("cube-world")) as running:
        for name in ("alpha", "beta"):
            await running.node.prepare(places_of(name), launch_env={}, min_free_bytes=0)
        yield running


@pytest_asyncio.fixture(params=["memory", "standin"], loop_scope="module")
async def cube(request: pytest.FixtureRequest, there: World) -> AsyncIterator[Cube]:
    if request.param == "memory":
        yield MemoryCube()
        return
    yield there.cube
    for view in await there.cube.list():
        await there.cube.kill(view.sandbox_id)


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(there: World) -> AsyncIterator[str]:
    made = await there.cube.create(spec_of("alpha"))
    yield made.sandbox_id
    there.faults.clear()
    if await there.cube.get(made.sandbox_id):
        await there.cube.kill(made.sandbox_id)


async def test_a_made_sandbox_shows_what_was_asked_for(cube: Cube) -> None:
    spec = spec_of("alpha", request="r-7")

    made = await cube.create(spec)
    found = await cube.get(made.sandbox_id)

    assert found is not None
    assert found.state is SandboxState.RUNNING
    assert (found.home, found.workspace, found.owner, found.node) == (
        "alpha",
        "alpha",
        "U_OPERATOR",
        "node-1",
    )
    assert (made.request, found.request) == ("r-7", "r-7")
    assert MOUNTS_KEY in found.metadata
    assert HOST_MOUNT_KEY not in made.metadata | found.metadata
    assert [read_only for _, read_only in found.mounts] == [False, False, True]
    assert found.started_at


async def test_the_list_is_filtered_by_all_labels(cube: Cube) -> None:
    first = await cube.create(spec_of("alpha", request="r-1"))
    second = await cube.create(spec_of("beta", request="r-2"))

    everything = await cube.list()
    found = await cube.list(labels={REQUEST_KEY: "r-2", "hermes-home": "beta"})
    nothing = await cube.list(labels={REQUEST_KEY: "r-1", "hermes-home": "beta"})

    assert {v.sandbox_id for v in everything} == {first.sandbox_id, second.sandbox_id}
    assert [v.sandbox_id for v in found] == [second.sandbox_id]
    assert nothing == []


async def test_labels_with_special_characters_are_matched_exactly(cube: Cube) -> None:
    odd = "cli:jörg & co=1%"
    spec = spec_of("alpha")
    made = await cube.create(replace(spec, labels={**spec.labels, "hermes-owner": odd}))

    found = await cube.list(labels={"hermes-owner": odd})

    assert [v.sandbox_id for v in found] == [made.sandbox_id]


async def test_what_is_not_there_is_none(cube: Cube) -> None:
    assert await cube.get(ABSENT) is None
    assert await cube.template("no-such-template") is None


async def test_killing_twice_says_that_it_is_gone(cube: Cube) -> None:
    made = await cube.create(spec_of("alpha"))
    await cube.kill(made.sandbox_id)

    with pytest.raises(CubeError) as gone:
        await cube.kill(made.sandbox_id)

    assert gone.value.fault.kind is FaultClass.NOT_FOUND
    assert gone.value.fault.advice_key == "already-deleted"
    assert await cube.get(made.sandbox_id) is None


async def pause(cube: Cube, sandbox_id: str) -> None:
    """As somebody else does it: the port has no pause."""
    if isinstance(cube, MemoryCube):
        cube.set_state(sandbox_id, SandboxState.PAUSED)
    elif isinstance(cube, CubeSdk):
        await asyncio.to_thread(lambda: cube._handle(sandbox_id).pause())


async def test_resume_wakes_a_paused_sandbox_and_leaves_a_running_one(cube: Cube) -> None:
    made = (await cube.create(spec_of("alpha"))).sandbox_id
    await pause(cube, made)
    before = await cube.get(made)

    await cube.resume(made)
    await cube.resume(made)

    after = await cube.get(made)
    assert [view.state for view in (before, after) if view] == [SandboxState.PAUSED, SandboxState.RUNNING]


async def test_what_is_stuck_in_pausing_is_refused_everything(there: World, cube: Cube) -> None:
    made = (await cube.create(spec_of("alpha"))).sandbox_id
    if isinstance(cube, MemoryCube):
        cube.set_state(made, SandboxState.PAUSING)
    else:
        there.faults.arm({"target": "cube", "kind": "stuck-pausing", "delay_s": 0})
        async with httpx.AsyncClient(base_url=there.cube._config.api_url) as client:
            await client.post(f"/sandboxes/{made}/pause")

    [listed], by_id = await cube.list(), await cube.get(made)
    refused = []
    for call in (cube.resume(made), cube.run(made, "true", deadline=0.5)):
        with pytest.raises(CubeError) as told:
            await call
        refused.append(told.value.fault.kind)
    there.faults.clear()
    if isinstance(cube, MemoryCube):
        with pytest.raises(CubeError) as told:
            await cube.kill(made)
        assert (told.value.fault.kind, told.value.fault.retry_after_s) == (FaultClass.CONFLICT_RETRY, 2)

    assert (listed.state, by_id and by_id.state) == (SandboxState.PAUSING, SandboxState.RUNNING)
    assert refused == [FaultClass.BAD_REQUEST, FaultClass.PAUSED_RETRY_LATER]


async def test_resume_of_what_is_not_there_is_not_found(cube: Cube) -> None:
    with pytest.raises(CubeError) as absent:
        await cube.resume(ABSENT)

    assert absent.value.fault.kind is FaultClass.NOT_FOUND


async def test_resume_keeps_the_idle_timeout(there: World, sandbox: str) -> None:
    await pause(there.cube, sandbox)

    await there.cube.resume(sandbox)

    view = await there.cube.get(sandbox)
    assert view is not None
    assert view.end_at is not None
    left = datetime.fromisoformat(view.end_at) - datetime.now(UTC)
    assert 800 < left.total_seconds() <= 901  # spec_of asks for 900


async def test_a_sandbox_that_cannot_be_resumed_keeps_its_class(there: World, sandbox: str) -> None:
    await pause(there.cube, sandbox)
    there.faults.arm({"target": "cube", "kind": "resume-tap-busy"})

    with pytest.raises(CubeError) as busy:
        await there.cube.resume(sandbox)

    assert busy.value.fault.kind is FaultClass.UNRESUMABLE_TAP_BUSY


async def test_a_template_is_found_by_id_and_by_alias(cube: Cube) -> None:
    by_alias = await cube.template("hermes-studio")

    assert by_alias is not None
    assert by_alias.ready
    assert await cube.template(by_alias.template_id) == by_alias
    listed = {one.template_id: (one.name, one.status) for one in await cube.templates()}
    assert listed[by_alias.template_id] == (by_alias.name, by_alias.status)


async def test_templates_that_are_not_ready_are_listed_as_such(there: World) -> None:
    folders = {there.shared.parent / "templates" / name: name for name in ("building", "failed")}
    for folder, name in folders.items():
        folder.mkdir()
        (folder / "template.json").write_text(json.dumps({"aliases": [name], "status": name.upper()}))

    found = {template.name: template for template in await there.cube.templates()}

    for folder in folders:
        shutil.rmtree(folder)

    assert [found[name].ready for name in ("hermes-studio", "building", "failed")] == [True, False, False]
    assert (found["building"].status, found["building"].template_id) == ("BUILDING", "tpl-building")


async def test_an_unknown_template_is_its_own_class(cube: Cube) -> None:
    with pytest.raises(CubeError) as refused:
        await cube.create(spec_of("alpha", template="no-such-template"))

    assert refused.value.fault.kind is FaultClass.TEMPLATE_NOT_FOUND


async def test_health(cube: Cube) -> None:
    assert await cube.healthy()


async def test_a_command_in_an_absent_sandbox_is_not_found(cube: Cube) -> None:
    with pytest.raises(CubeError) as refused:
        await cube.run(ABSENT, "true")

    assert refused.value.fault.kind is FaultClass.NOT_FOUND


async def test_a_command_gives_output_error_and_code(there: World, sandbox: str) -> None:
    result = await there.cube.run(sandbox, 'echo "$GIVEN"; id -u >&2; exit 3', env={"GIVEN": "a b"})

    assert (result.exit_code, result.stdout, result.stderr) == (3, "a b\n", "0\n")


async def test_command_output_is_cut_at_one_mebibyte(there: World, sandbox: str) -> None:
    result = await there.cube.run(sandbox, "head -c 3000000 /dev/zero | tr '\\0' x")

    assert len(result.stdout) == 1024 * 1024


async def test_a_command_that_writes_without_end_is_ended(there: World, sandbox: str) -> None:
    with pytest.raises(CubeError) as ended:
        await there.cube.run(sandbox, "cat /dev/zero", deadline=20)

    assert ended.value.fault.kind is FaultClass.UNKNOWN_OUTCOME


async def test_a_command_past_its_deadline_has_an_unknown_outcome(there: World, sandbox: str) -> None:
    begun = time.monotonic()

    with pytest.raises(CubeError) as late:
        await there.cube.run(sandbox, "sleep 30", deadline=0.5)

    assert late.value.fault.kind is FaultClass.UNKNOWN_OUTCOME
    assert time.monotonic() - begun < 5


async def test_a_deadline_of_zero_is_refused(there: World, sandbox: str) -> None:
    with pytest.raises(ValueError, match="positive"):
        await there.cube.run(sandbox, "true", deadline=0)


@pytest.mark.parametrize(
    "kind", ["create-408-after-success", "create-deadline-after-success", "drop-after-write"]
)
async def test_a_create_whose_answer_is_lost_is_unknown_and_found_by_its_request(
    there: World, kind: str
) -> None:
    there.faults.arm({"target": "cube", "kind": kind})

    with pytest.raises(CubeError) as lost:
        await there.cube.create(spec_of("alpha", request=f"r-{kind}"))

    found = await there.cube.list(labels={REQUEST_KEY: f"r-{kind}"})
    assert lost.value.fault.kind is FaultClass.UNKNOWN_OUTCOME
    assert len(found) == 1
    await there.cube.kill(found[0].sandbox_id)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("create-no-capacity", FaultClass.NO_CAPACITY),
        ("mount-source-missing", FaultClass.MOUNT_SOURCE_MISSING),
        ("api-down", FaultClass.UNAVAILABLE),
    ],
)
async def test_refusals_of_create_keep_their_class(there: World, kind: str, expected: FaultClass) -> None:
    there.faults.arm({"target": "cube", "kind": kind})

    with pytest.raises(CubeError) as refused:
        await there.cube.create(spec_of("alpha", request="r-refused"))

    there.faults.clear()
    assert refused.value.fault.kind is expected
    assert await there.cube.list(labels={REQUEST_KEY: "r-refused"}) == []


async def test_looking_does_not_wake_a_paused_sandbox(there: World, sandbox: str) -> None:
    await asyncio.to_thread(lambda: there.cube._handle(sandbox).pause())

    looks = [await there.cube.get(sandbox), *(await there.cube.list())]

    assert [view.state for view in looks if view] == [SandboxState.PAUSED] * 2


async def test_a_dead_data_plane_is_told_from_a_missing_sandbox(there: World, sandbox: str) -> None:
    there.faults.arm({"target": "cube", "kind": "data-plane-dead", "delay_s": 0.05})

    with pytest.raises(CubeError) as dead:
        await there.cube.run(sandbox, "true")

    assert dead.value.fault.kind is FaultClass.GUEST_UNREACHABLE


async def test_many_calls_at_once_all_succeed(there: World, sandbox: str) -> None:
    views = await asyncio.gather(*(there.cube.get(sandbox) for _ in range(60)))

    assert {view.sandbox_id for view in views if view} == {sandbox}


async def test_a_wrong_key_is_an_auth_fault(tmp_path: Path) -> None:
    async with world(tmp_path, api_key="right-EXAMPLE") as guarded:
        wrong = CubeSdk(guarded.cube._config.api_url, "wrong-EXAMPLE")
        try:
            with pytest.raises(CubeError) as refused:
                await wrong.list()
        finally:
            wrong.close()
        assert await guarded.cube.list() == []
    assert refused.value.fault.kind is FaultClass.AUTH
    assert "wrong-EXAMPLE" not in str(refused.value)


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A TCP server that treats each connection as told; its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    ended = threading.Event()
    held: list[socket.socket] = []

    def accept() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            held.append(connection)
            serve(connection)

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        for connection in held:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for more to come
        thread.join()
        for connection in (*held, listener):
            connection.close()


def short(url: str, **more: int) -> CubeSdk:
    return CubeSdk(url, deadlines=Deadlines(control=0.4, create=0.4), **more)


async def test_a_cubeapi_that_never_answers_costs_a_deadline_and_no_thread() -> None:
    with server(lambda _: None) as url:
        cube = short(url, threads=1)

        with pytest.raises(CubeError) as read:
            await cube.list()
        with pytest.raises(CubeError) as change:
            await cube.create(spec_of("alpha"))

        assert read.value.fault.kind is FaultClass.UNAVAILABLE
        assert change.value.fault.kind is FaultClass.UNKNOWN_OUTCOME
        assert not await cube.healthy()
        cube.close()


async def test_nothing_can_have_happened_without_a_connection() -> None:
    with server(lambda _: None) as url:
        pass  # nobody listens there any more
    cube = short(url)

    with pytest.raises(CubeError) as change:
        await cube.create(spec_of("alpha"))
    with pytest.raises(CubeError) as command:
        await cube.run(ABSENT, "true", deadline=1)

    assert change.value.fault.kind is FaultClass.UNAVAILABLE
    assert command.value.fault.kind is FaultClass.UNAVAILABLE
    cube.close()


async def test_an_answer_that_drips_ends_at_the_deadline() -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        stop = time.monotonic() + 2
        while time.monotonic() < stop:
            try:
                connection.sendall(b"1\r\n \r\n")
            except OSError:
                return
            time.sleep(0.02)

    with server(drip) as url:
        cube = short(url)
        begun = time.monotonic()

        with pytest.raises(CubeError) as late:
            await cube.list()

        assert time.monotonic() - begun < 1.5
        assert late.value.fault.kind is FaultClass.UNAVAILABLE
        cube.close()


async def test_a_read_survives_a_connection_that_was_closed_meanwhile() -> None:
    answers = [b'{"status": "ok"}', None, b'{"status": "ok"}']

    def one_answer_each(connection: socket.socket) -> None:
        while (request := connection.recv(65536)) and (body := answers.pop(0)) is not None:
            assert request.startswith(b"GET /health")
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        connection.close()

    with server(one_answer_each) as url:
        cube = CubeSdk(url, threads=1)

        assert await cube.healthy()
        assert await cube.healthy()  # its kept connection ends under it, and it asks once more

        cube.close()
    assert answers == []


async def test_a_sandbox_whose_command_service_drips_costs_a_deadline() -> None:
    frame = b"\x00\x00\x00\x00\x02{}"
    ended = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\n\r\n")
        while not ended.wait(0.02):
            try:
                connection.sendall(frame)
            except OSError:
                return

    with server(drip) as url:
        cube = CubeSdk("http://127.0.0.1:9", proxy_ip="127.0.0.1", proxy_port=int(url.rpartition(":")[2]))
        begun = time.monotonic()

        with pytest.raises(CubeError) as late:
            await cube.run(ABSENT, "true", deadline=0.3)

        ended.set()
        assert late.value.fault.kind is FaultClass.UNKNOWN_OUTCOME
        assert time.monotonic() - begun < 2.5
        cube.close()


@pytest.mark.parametrize("body", [b"<html>hello</html>", b'{"sandboxID": 5', b"[]"])
async def test_a_create_answered_with_nonsense_is_unknown(body: bytes) -> None:
    def nonsense(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    with server(nonsense) as url:
        cube = short(url)

        with pytest.raises(CubeError) as unknown:
            await cube.create(spec_of("alpha"))

        assert unknown.value.fault.kind is FaultClass.UNKNOWN_OUTCOME
        cube.close()


async def test_a_sandbox_cannot_send_our_commands_on_to_another() -> None:
    asked: list[bytes] = []

    def elsewhere(connection: socket.socket) -> None:
        asked.append(connection.recv(65536).split(b"\r\n", 1)[0])
        there = b"http://49983-%s.cube.app/process.Process/Start" % (b"1" * 32)
        connection.sendall(
            b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: " + there + b"\r\n\r\n"
        )

    with server(elsewhere) as url:
        port = int(url.rpartition(":")[2])
        cube = CubeSdk("http://127.0.0.1:9", proxy_ip="127.0.0.1", proxy_port=port)

        with pytest.raises(CubeError):
            await cube.run(ABSENT, "true", deadline=2)

        assert asked == [b"POST /process.Process/Start HTTP/1.1"]
        cube.close()


async def test_proxy_variables_are_not_obeyed_towards_loopback(
    there: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert await there.cube.healthy()
    assert isinstance(await there.cube.list(), list)
