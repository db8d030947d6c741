"""Every way in which Cube is known to fail, through the official SDK: its class, and what is true then."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import pytest_asyncio
from contract.standin_world import World, places_of, spec_of, world

from bot.adapters.cube_sdk import ATTEMPTS, classify
from bot.domain.cube_errors import DATA_PLANE, CubeFault
from bot.domain.cube_errors import FaultClass as Kind
from bot.domain.errors import CubeError
from bot.domain.sandbox import SandboxState
from bot.standin.faults import KINDS

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

PORT = 9000


@dataclass(frozen=True)
class Case:
    """A fault, the call that meets it, and what the call must come to."""

    kind: str
    call: str
    expected: Kind
    advice: str
    words: str
    retryable: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    made: bool | None = None
    """For a create: whether a sandbox exists afterwards."""

    def __str__(self) -> str:
        how = "-".join(str(value) for value in self.options.values())
        return f"{self.kind}-{self.call}" + (f"-{how}" if how else "")


def case(kind: str, call: str, expected: Kind, advice: str, words: str, **more: Any) -> Case:
    known = {"retryable", "made"}
    return Case(
        kind, call, expected, advice, words,
        options={name: value for name, value in more.items() if name not in known},
        **{name: value for name, value in more.items() if name in known},
    )  # fmt: skip


LOOK = "search-before-retry"
DOWN = "cube-unavailable"
CASES = [
    case("create-no-capacity", "create", Kind.NO_CAPACITY, "show-capacity-back-off", "130597: no more res",
         retryable=True, made=False),
    case("create-408-after-success", "create", Kind.UNKNOWN_OUTCOME, LOOK, "HTTP 408", made=True),
    case("create-deadline-after-success", "create", Kind.UNKNOWN_OUTCOME, LOOK, "130595: context deadline",
         made=True),
    case("drop-after-write", "create", Kind.UNKNOWN_OUTCOME, LOOK, "before the answer", made=True),
    case("empty-408", "create", Kind.UNKNOWN_OUTCOME, LOOK, "HTTP 408", made=True),
    case("empty-408", "create", Kind.UNKNOWN_OUTCOME, LOOK, "HTTP 408", made=False, done=False),
    case("empty-408", "kill", Kind.UNKNOWN_OUTCOME, LOOK, "HTTP 408"),
    case("deadline-exceeded", "create", Kind.UNKNOWN_OUTCOME, LOOK, "130595", made=True),
    case("deadline-exceeded", "create", Kind.UNKNOWN_OUTCOME, LOOK, "130595", made=False, done=False),
    case("front-page", "create", Kind.UNKNOWN_OUTCOME, LOOK, "502 Bad Gateway", made=False),
    case("front-page", "create", Kind.UNKNOWN_OUTCOME, LOOK, "504 Gateway Time-out", made=True, status=504,
         done=True),
    case("front-page", "get", Kind.UNAVAILABLE, DOWN, "502 Bad Gateway", retryable=True),
    case("front-page", "list", Kind.UNAVAILABLE, DOWN, "504 Gateway Time-out", retryable=True, status=504),
    case("front-page", "kill", Kind.UNKNOWN_OUTCOME, LOOK, "504 Gateway Time-out", status=504),
    case("mount-source-missing", "create", Kind.MOUNT_SOURCE_MISSING, "create-source-dir", "no such file",
         made=False),
    case("mount-leak", "create", Kind.UNAVAILABLE, DOWN, "130545: prepareHostDirVolume", retryable=True,
         made=False),
    case("node-connection-failed", "create", Kind.NODE_UNREACHABLE, "check-node", "130596: ConnHostFailed",
         retryable=True, made=False),
    case("master-rate-limited", "create", Kind.RATE_LIMITED, "slow-down", "130592: rate limited",
         retryable=True, made=False),
    case("unparsed-body", "create", Kind.BAD_REQUEST, "fix-request", "Failed to deserialize", made=False),
    case("auth-rejected", "list", Kind.AUTH, "check-api-key", "Authentication rejected by callback"),
    case("list-fails", "list", Kind.UNAVAILABLE, DOWN, "130593: MasterInternalError", retryable=True),
    case("master-down", "get", Kind.UNAVAILABLE, DOWN, "CubeMaster", retryable=True),
    case("master-down", "create", Kind.UNAVAILABLE, DOWN, "CubeMaster", retryable=True, made=False),
    case("api-down", "kill", Kind.UNAVAILABLE, DOWN, "service unavailable", retryable=True),
    case("resume-tap-busy", "resume", Kind.UNRESUMABLE_TAP_BUSY, "recreate-keep-home", "ResourceBusy"),
    case("resume-already-created", "resume", Kind.UNRESUMABLE_TAP_BUSY, "recreate-keep-home",
         "VM is already created, status: launched"),
    case("resume-no-room", "resume", Kind.NO_CAPACITY, "show-capacity-back-off",
         "need 2048MB > quota 1024MB", retryable=True),
    case("lifecycle-locked", "resume", Kind.CONFLICT_RETRY, "wait-and-retry", "130409: sandbox lifecycle",
         retryable=True),
    case("data-plane-dead", "run", Kind.GUEST_UNREACHABLE, "retry-then-report-route", "504", retryable=True,
         delay_s=0.05),
    case("running-but-dark", "run", Kind.GUEST_UNREACHABLE, "retry-then-report-route", "504", retryable=True,
         delay_s=0.05),
    case("vm-exited", "run", Kind.GUEST_UNREACHABLE, "retry-then-report-route", "504", retryable=True),
    case("node-gone", "run", Kind.GUEST_UNREACHABLE, "retry-then-report-route", "504", retryable=True,
         delay_s=0.05),
    case("node-gone", "kill", Kind.NODE_UNREACHABLE, "check-node", "130596: ConnHostFailed", retryable=True),
    case("node-gone", "create", Kind.UNAVAILABLE, DOWN, "130598", retryable=True, made=False),
    case("nothing-listens", "run", Kind.NOT_LISTENING, "list-listeners", "502 Bad Gateway", retryable=True),
    case("proxy-unavailable", "run", Kind.UNAVAILABLE, DOWN, "service unavailable", retryable=True),
]  # fmt: skip
ELSEWHERE = {
    # These change what is told or come to pass; the tests below and those of guest and Studio show how.
    "slow-api", "studio-never-ready", "studio-does-not-start", "read-only-home", "list-drops-node",
    "labels-lost", "rate-limited", "resume-then-paused", "stuck-pausing",
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("cube-faults")) as running:
        await running.node.prepare(places_of("alpha"), launch_env={}, min_free_bytes=0)
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(there: World) -> AsyncIterator[str]:
    made = await there.cube.create(spec_of("alpha", request="r-before"))
    yield made.sandbox_id
    there.faults.clear()
    for view in await there.cube.list():
        await there.cube.kill(view.sandbox_id)


def arm(there: World, kind: str, **options: Any) -> None:
    there.faults.arm({"target": "cube", "kind": kind, **options})


async def pause(there: World, sandbox: str) -> httpx.Response:
    """As somebody else does it: the port has no pause."""
    return await raw(there, "POST", f"/sandboxes/{sandbox}/pause")


async def raw(there: World, method: str, path: str, **options: Any) -> httpx.Response:
    async with httpx.AsyncClient(base_url=there.cube._config.api_url, timeout=10) as client:
        return await client.request(method, path, **options)


def calls_on(there: World, sandbox: str) -> dict[str, Callable[[], Awaitable[object]]]:
    cube = there.cube
    return {
        "create": lambda: cube.create(spec_of("alpha", request="r-now")),
        "list": cube.list,
        "get": lambda: cube.get(sandbox),
        "kill": lambda: cube.kill(sandbox),
        "resume": lambda: cube.resume(sandbox),
        "run": lambda: cube.run(sandbox, "true", deadline=4),
    }


async def failed(call: Callable[[], Awaitable[object]]) -> CubeFault:
    with pytest.raises(CubeError) as told:
        await call()
    return told.value.fault


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_fault_has_its_class_and_its_truth(there: World, sandbox: str, case: Case) -> None:
    if case.call == "resume":
        await pause(there, sandbox)
    arm(there, case.kind, **case.options)
    before = there.faults.calls.copy()

    fault = await failed(calls_on(there, sandbox)[case.call])

    met = there.faults.calls - before
    there.faults.clear()
    assert (fault.kind, fault.retryable, fault.advice_key) == (case.expected, case.retryable, case.advice)
    assert case.words in fault.message
    asked = {"resume": "connect", "run": "data_plane"}.get(case.call, case.call)
    assert met == {f"cube {asked}": 1}  # nothing was tried again
    if case.made is not None:
        found = await there.cube.list(labels={"hermes-request": "r-now"})
        assert len(found) == int(case.made)
    if case.call == "resume":
        view = await there.cube.get(sandbox)
        assert view is not None
        assert view.state is SandboxState.PAUSED


async def test_every_kind_of_fault_has_its_class_tested() -> None:
    assert {case.kind for case in CASES} | ELSEWHERE == KINDS["cube"].keys()


@pytest.mark.parametrize(
    ("call", "kind", "wait", "asked"),
    [
        ("create", "rate-limited", 1, "create"),
        ("kill", "lifecycle-locked", 2, "kill"),
    ],
)
async def test_what_cube_asks_to_wait_is_waited_and_then_it_works(
    there: World, sandbox: str, call: str, kind: str, wait: int, asked: str
) -> None:
    arm(there, kind)
    before, loop = there.faults.calls[f"cube {asked}"], asyncio.get_running_loop()
    began = loop.time()

    await calls_on(there, sandbox)[call]()

    assert loop.time() - began >= wait
    assert there.faults.calls[f"cube {asked}"] - before == 2


async def test_a_cube_that_always_asks_to_wait_is_asked_three_times(there: World, sandbox: str) -> None:
    arm(there, "rate-limited", retry_after=0, times=100)
    before = there.faults.calls["cube get"]

    fault = await failed(lambda: there.cube.get(sandbox))

    assert (fault.kind, fault.retry_after_s) == (Kind.RATE_LIMITED, 0)
    assert there.faults.calls["cube get"] - before == ATTEMPTS


async def test_a_wait_beyond_the_deadline_is_not_begun(there: World, sandbox: str) -> None:
    arm(there, "rate-limited", retry_after=3600)

    fault = await asyncio.wait_for(failed(lambda: there.cube.get(sandbox)), 5)

    assert (fault.kind, fault.retry_after_s) == (Kind.RATE_LIMITED, 3600)


async def test_a_pause_that_never_ends_is_pausing_in_the_list_and_running_by_id(
    there: World, sandbox: str
) -> None:
    arm(there, "stuck-pausing", delay_s=0.05)
    answer = await pause(there, sandbox)

    [listed] = await there.cube.list()
    by_id = await there.cube.get(sandbox)
    resumed = await failed(lambda: there.cube.resume(sandbox))
    refused = await raw(there, "DELETE", f"/sandboxes/{sandbox}")
    there.faults.clear()
    [after] = await there.cube.list()

    assert classify("pause", answer.status_code, answer.text, answer.headers).kind is Kind.UNKNOWN_OUTCOME
    assert (listed.state, by_id and by_id.state) == (SandboxState.PAUSING, SandboxState.RUNNING)
    assert (resumed.kind, "cubelet is not PAUSED" in resumed.message) == (Kind.BAD_REQUEST, True)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
    assert classify("kill", 503, refused.text, refused.headers).kind is Kind.CONFLICT_RETRY
    assert after.state is SandboxState.PAUSED


async def test_a_proxy_in_front_of_a_pausing_sandbox_asks_for_two_seconds(there: World, sandbox: str) -> None:
    arm(there, "stuck-pausing", delay_s=0)
    await pause(there, sandbox)
    before = there.faults.calls["cube data_plane"]

    fault = await failed(lambda: there.cube.run(sandbox, "true", deadline=1))

    assert (fault.kind, fault.retry_after_s) == (Kind.PAUSED_RETRY_LATER, 2)
    assert there.faults.calls["cube data_plane"] - before == 1  # two seconds do not fit into one


async def test_a_list_that_drops_a_node_still_leaves_the_sandbox_to_be_asked_for(
    there: World, sandbox: str
) -> None:
    arm(there, "list-drops-node", node="node-1")
    elsewhere = await there.cube.list()
    by_id = await there.cube.get(sandbox)
    there.faults.clear()

    assert elsewhere == []
    assert by_id is not None
    assert [view.sandbox_id for view in await there.cube.list()] == [sandbox]


async def test_lost_labels_are_lost_in_list_and_get_once_it_was_paused(there: World, sandbox: str) -> None:
    arm(there, "labels-lost")
    before = await there.cube.get(sandbox)
    await pause(there, sandbox)

    [listed], by_id = await there.cube.list(), await there.cube.get(sandbox)

    assert before is not None
    assert before.home == "alpha"
    assert by_id is not None
    assert [(view.metadata, view.template) for view in (listed, by_id)] == [({}, "")] * 2
    assert await there.cube.list(labels={"hermes-home": "alpha"}) == []


async def test_a_resume_that_is_paused_again_at_once_answers_well(there: World, sandbox: str) -> None:
    await pause(there, sandbox)
    arm(there, "resume-then-paused")

    await there.cube.resume(sandbox)
    first = await there.cube.get(sandbox)
    await there.cube.resume(sandbox)
    second = await there.cube.get(sandbox)

    assert first is not None
    assert second is not None
    assert (first.state, second.state) == (SandboxState.PAUSED, SandboxState.RUNNING)


async def test_what_is_made_after_the_network_went_dark_can_be_reached(there: World, sandbox: str) -> None:
    arm(there, "running-but-dark", delay_s=0.02)
    new = (await there.cube.create(spec_of("alpha", request="r-new"))).sandbox_id

    dark = await failed(lambda: there.cube.run(sandbox, "true", deadline=4))
    result = await there.cube.run(new, "true", deadline=4)
    by_id = await there.cube.get(sandbox)
    there.faults.clear()

    assert dark.kind is Kind.GUEST_UNREACHABLE
    assert result.exit_code == 0
    assert by_id is not None
    assert by_id.state is SandboxState.RUNNING
    assert (await there.cube.run(sandbox, "true", deadline=4)).exit_code == 0


async def test_health_says_ok_while_cubemaster_is_down(there: World, sandbox: str) -> None:
    arm(there, "master-down")

    assert await there.cube.healthy()
    assert (await failed(there.cube.list)).status == 500


async def test_the_words_of_the_proxy_are_the_data_planes(there: World, sandbox: str) -> None:
    arm(there, "nothing-listens", port=PORT)
    ip, port = there.cube._config.proxy_node_ip, there.cube._config.proxy_port
    async with httpx.AsyncClient() as client:
        answers = [
            await client.get(f"http://{ip}:{port}/", headers={"Host": f"{at}-{sandbox}.localhost"})
            for at in (49983, PORT)
        ]

    assert [answer.status_code for answer in answers] == [404, 502]
    assert classify(DATA_PLANE, 502, answers[1].text, answers[1].headers).kind is Kind.NOT_LISTENING
