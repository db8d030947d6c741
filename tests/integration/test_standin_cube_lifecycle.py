"""Pausing, resuming, idling and ending, and what they answer on each platform."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from integration.standin_cube_kit import eventually, running

pytestmark = pytest.mark.sandbox
PAUSING = {"lifecycle": {"onTimeout": "pause", "autoResume": False}}
WAKING = {"lifecycle": {"onTimeout": "pause", "autoResume": True}}
LOCKED = "sandbox lifecycle operation in progress; retry later"


async def test_an_idle_sandbox_is_killed_and_gone_at_the_proxy_for_a_while(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        made = (await rig.create(timeout=60))["sandboxID"]
        rig.clock.advance(61)
        await eventually(lambda: rig.state_of(made), "gone")

        async def answer() -> object:
            told = await rig.ask(made)
            return told.status_code, told.json()

        remembered = await answer()
        rig.clock.advance(61)

        assert remembered == (410, {"error": "gone"})
        await eventually(answer, (404, {"error": "not found"}))


async def test_an_idle_sandbox_is_paused_and_a_request_wakes_it_with_its_memory(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        made = (await rig.create(timeout=60, **WAKING))["sandboxID"]
        address = rig.cube.report()["sandboxes"][0]["guestIP"]
        rig.clock.advance(61)
        await eventually(lambda: rig.state_of(made), "paused")

        answer = await rig.ask(made, "/health")

        assert (answer.status_code, answer.content) == (204, b"")
        assert await rig.state_of(made) == "running"
        assert rig.cube.report()["sandboxes"][0]["guestIP"] != address


async def test_without_auto_resume_a_request_gets_503_and_the_sandbox_stays_paused(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        made = (await rig.create(timeout=60, **PAUSING))["sandboxID"]
        rig.clock.advance(61)
        await eventually(lambda: rig.state_of(made), "paused")

        answer = await rig.ask(made, "/health")

        assert (answer.status_code, answer.json()) == (503, {"error": "service unavailable"})
        assert answer.headers["Retry-After"] == "5"
        assert await rig.state_of(made) == "paused"


async def test_only_proxied_requests_count_as_activity(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        asked = (await rig.create(timeout=60, **PAUSING))["sandboxID"]
        looked_at = (await rig.create(timeout=60, **PAUSING))["sandboxID"]
        rig.clock.advance(40)
        await rig.ask(asked, "/", port=9999)  # nothing listens there, which is activity all the same
        await rig.state_of(looked_at)
        rig.clock.advance(40)

        await eventually(lambda: rig.state_of(looked_at), "paused")

        assert await rig.state_of(asked) == "running"


async def test_a_long_request_counts_only_when_it_ends(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        made = (await rig.create(timeout=60, **PAUSING))["sandboxID"]
        host, port = rig.cube.proxy_address
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(
            f"POST /files?path=/tmp/x HTTP/1.1\r\nHost: 49983-{made}.x\r\nContent-Length: 9\r\n\r\n".encode()
        )
        await writer.drain()

        proxy = rig.cube._proxy

        async def on_its_way() -> bool:
            return proxy is not None and made in proxy._open

        await eventually(on_its_way, wanted=True)
        rig.clock.advance(61)
        await eventually(lambda: rig.state_of(made), "paused")

        # The VM process has ended, and its connections with it.
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()


async def test_a_manual_pause_does_not_save_from_a_timeout_that_kills(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create(timeout=60))["sandboxID"]
        assert (await api.post(f"/sandboxes/{made}/pause")).status_code == 204

        rig.clock.advance(61)

        await eventually(lambda: rig.state_of(made), "gone")


async def test_timeouts_are_counted_from_now_and_never_shortened_by_connect(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create(timeout=600))["sandboxID"]
        ends = [(await api.get(f"/sandboxes/{made}")).json()["endAt"]]
        for path, body in (
            ("connect", {"timeout": 60}),
            ("connect", {"timeout": 900}),
            ("refreshes", {"duration": 7200}),
            ("timeout", {"timeout": 30}),
        ):
            answer = await api.post(f"/sandboxes/{made}/{path}", json=body)
            assert answer.status_code in {200, 204}
            ends.append((await api.get(f"/sandboxes/{made}")).json()["endAt"])
        await api.post(f"/sandboxes/{made}/connect", json={"timeout": -1})
        never = (await api.get(f"/sandboxes/{made}")).json()

    assert ends[0] == ends[1] < ends[2] < ends[3]
    assert ends[4] < ends[0]
    assert "endAt" not in never


async def test_times_that_make_no_sense_are_400(tmp_path: Path) -> None:
    calls = [
        ("connect", {"timeout": 0}),
        ("connect", {"timeout": -2}),
        ("timeout", {"timeout": -2}),
        ("resume", {"timeout": -2}),
        ("refreshes", {"duration": 0}),
        ("refreshes", {"duration": -2}),
    ]
    async with running(tmp_path) as rig, rig.api() as api:
        (made,) = (await rig.cube.add_paper({}))["sandboxes"]

        answers = [await api.post(f"/sandboxes/{made}/{path}", json=body) for path, body in calls]

    assert [answer.status_code for answer in answers] == [400] * 6
    for answer, (_, body) in zip(answers, calls, strict=True):
        assert next(iter(body)) in answer.json()["message"]


async def test_one_operation_per_sandbox_at_a_time(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        assert rig.cube._machinery is not None
        async with rig.cube._machinery.store.lock(made):
            pause = await api.post(f"/sandboxes/{made}/pause")
            connect = await api.post(f"/sandboxes/{made}/connect", json={})
            network = await api.put(f"/sandboxes/{made}/network", json={})
            delete = await api.delete(f"/sandboxes/{made}")

    assert (pause.status_code, pause.json()) == (409, {"code": 409, "message": LOCKED})
    assert (connect.status_code, network.status_code) == (409, 409)
    assert connect.json()["message"] == f"CubeMaster returned error code 130409: {LOCKED}"
    assert (delete.status_code, delete.headers["Retry-After"]) == (503, "2")
    assert delete.json()["message"] == f"CubeMaster returned error code 130490: {LOCKED}"


@pytest.mark.parametrize(
    ("platform", "status", "words"),
    [
        ("0.5.1", 500, "130490: sandbox is already paused"),
        ("0.6", 500, "130490: sandbox is already paused"),
        ("0.7.0", 500, "130400: begin pause snapshot: sandbox "),
        ("0.7.1", 400, "130400: begin pause snapshot: sandbox "),
    ],
)
async def test_pausing_twice(tmp_path: Path, platform: str, status: int, words: str) -> None:
    async with running(tmp_path, platform) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")

        answer = await api.post(f"/sandboxes/{made}/pause")

    assert answer.status_code == status
    assert words in answer.json()["message"]


@pytest.mark.parametrize(
    ("platform", "status"), [("0.5.1", 500), ("0.6", 204), ("0.7.0", 204), ("0.7.1", 204)]
)
async def test_deleting_a_paused_sandbox(tmp_path: Path, platform: str, status: int) -> None:
    async with running(tmp_path, platform) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")

        refused = await api.delete(f"/sandboxes/{made}")
        await api.post(f"/sandboxes/{made}/connect", json={})
        again = await api.delete(f"/sandboxes/{made}")

    assert refused.status_code == status
    assert again.status_code == (204 if status == 500 else 404)


async def test_0_6_resumes_before_it_deletes_and_can_fail_at_that(tmp_path: Path) -> None:
    async with running(tmp_path, "0.6") as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")
        rig.faults.arm({"target": "cube", "kind": "resume-tap-busy"})

        answer = await api.delete(f"/sandboxes/{made}")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "ResourceBusy" in answer.json()["message"]


async def test_a_busy_tap_keeps_a_sandbox_paused(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create(timeout=60, **WAKING))["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")
        rig.faults.arm({"target": "cube", "kind": "resume-tap-busy", "times": 2})

        answer = await api.post(f"/sandboxes/{made}/connect", json={})
        through_the_proxy = await rig.ask(made, "/health")

        assert answer.status_code == 500
        assert "CubeMaster returned error code 130589: Resume vm failed" in answer.json()["message"]
        assert (through_the_proxy.status_code, through_the_proxy.headers["Retry-After"]) == (503, "5")
        assert await rig.state_of(made) == "paused"


@pytest.mark.parametrize(("platform", "kept"), [("0.6", True), ("0.7.0", False), ("0.7.1", True)])
async def test_labels_after_a_pause(tmp_path: Path, platform: str, *, kept: bool) -> None:
    async with running(tmp_path, platform) as rig, rig.api() as api:
        made = (await rig.create(metadata={"hermes-home": "alpha"}))["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")

        found = (await api.get("/sandboxes", params={"metadata": "hermes-home=alpha"})).json()
        told = (await api.get(f"/sandboxes/{made}")).json()

    assert bool(found) is kept
    assert ("metadata" in told) is kept
    assert bool(told["templateID"]) is kept


@pytest.mark.parametrize("platform", ["0.5.1", "0.6"])
async def test_older_platforms_have_no_network_update_and_short_refreshes(
    tmp_path: Path, platform: str
) -> None:
    async with running(tmp_path, platform) as rig, rig.api() as api:
        made = (await rig.create(timeout=60))["sandboxID"]
        network = await api.put(f"/sandboxes/{made}/network", json={})
        refresh = await api.post(f"/sandboxes/{made}/refreshes", json={"duration": 7200})
        ignored = await api.post(f"/sandboxes/{made}/connect", json={"timeout": 0})

    assert (network.status_code, network.content) == (404, b"")
    assert refresh.status_code == 400
    assert ignored.status_code == 200


async def test_resume_needs_a_paused_sandbox_and_sets_a_timeout(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        too_early = await api.post(f"/sandboxes/{made}/resume", json={})
        await api.post(f"/sandboxes/{made}/pause")
        resumed = await api.post(f"/sandboxes/{made}/resume", json={"timeout": 90})
        told = (await api.get(f"/sandboxes/{made}")).json()

    assert too_early.status_code == 409
    assert (resumed.status_code, resumed.json()["sandboxID"]) == (201, made)
    assert "endAt" in told
