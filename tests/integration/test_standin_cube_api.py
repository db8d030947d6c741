"""CubeAPI's words and statuses, host-mount rules, and the faults that can be switched on."""

import asyncio
import datetime as dt
import json
import shutil
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.standin_cube_kit import Rig, mounts, running

from bot.domain.heartbeat import Inside, heartbeat
from bot.standin.cube import paper_beats
from bot.standin.cube.api_templates import TemplateCalls

pytestmark = pytest.mark.sandbox


async def _post(rig: Rig, path: str = "/sandboxes", **options: object) -> httpx.Response:
    async with rig.api() as api:
        return await api.post(path, **options)


async def test_a_body_that_does_not_parse_is_plain_text(tmp_path: Path) -> None:
    kind = {"Content-Type": "application/json"}
    async with running(tmp_path) as rig:
        answers = [
            await _post(rig, content="{", headers=kind),
            await _post(rig, content="{}", headers={"Content-Type": "text/plain"}),
            await _post(rig, content="{}", headers=kind),
            await _post(rig, json={"templateID": "x", "timeout": "2h"}),
            await _post(rig, json={"templateID": "x", "metadata": {"a": 1}}),
        ]

    assert [answer.status_code for answer in answers] == [400, 415, 422, 422, 422]
    assert {answer.headers["Content-Type"] for answer in answers} == {"text/plain; charset=utf-8"}
    for answer, words in zip(
        answers,
        (
            "Failed to parse the request body as JSON",
            "Expected request with `Content-Type: application/json`",
            "missing field `templateID`",
            'timeout: invalid type: string "2h", expected i64',
            "metadata.a: invalid type: integer `1`, expected a string",
        ),
        strict=True,
    ):
        assert words in answer.text


async def test_what_nobody_foresaw_is_an_answer_of_cubeapi_and_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(TemplateCalls, "health", broken)
    async with running(tmp_path) as rig, rig.api() as api:
        answer = await api.get("/health")

    assert (answer.status_code, answer.json()) == (500, {"code": 500, "message": "internal server error"})
    assert "a bug of ours" in caplog.text


async def test_no_answer_names_the_framework(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        answers = [await api.get(path) for path in ("/health", "/sandboxes/unknown", "/nowhere")]

    assert [answer.status_code for answer in answers] == [200, 404, 404]
    assert not any("Server" in answer.headers for answer in answers)


@pytest.mark.parametrize(("version", "status"), [("0.7.0", 500), ("0.7.1", 400)])
async def test_a_host_path_that_is_not_allowed_over_http(tmp_path: Path, version: str, status: int) -> None:
    async with running(tmp_path, version) as rig:
        body = {"templateID": "hermes-studio", "metadata": mounts(("/data/shared_evil", "/mnt", False))}
        answer = await _post(rig, json=body)

    words = 'entry[0]: hostPath "/data/shared_evil" is not within an allowed mount prefix'
    message = f'CubeMaster returned error code 130400: "host-mount" {words}'
    assert (answer.status_code, answer.json()) == (status, {"code": status, "message": message})


@pytest.mark.parametrize("annotation", ["", "  ", "[]", "null"])
async def test_no_mounts_at_all_is_fine(tmp_path: Path, annotation: str) -> None:
    async with running(tmp_path) as rig:
        made = await rig.create(metadata={"host-mount": annotation})

        assert await rig.state_of(made["sandboxID"]) == "running"


async def test_the_prefix_itself_and_a_path_that_cleans_into_it_are_fine(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        (rig.shared / "inside").mkdir()
        metadata = mounts(("/data/shared", "/one", True), ("/data/shared/x/..//./inside/", "/two", False))
        made = await rig.create(metadata=metadata)
        written = await rig.ask(made["sandboxID"], "/files?path=/two/file", method="POST", content=b"x")
        through_the_other = await rig.ask(made["sandboxID"], "/files?path=/one/inside/file")

    assert (written.status_code, through_the_other.content) == (200, b"x")


async def test_a_file_as_a_source_is_not_a_directory(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        (rig.shared / "file").write_text("x")
        body = {"templateID": "hermes-studio", "metadata": mounts(("/data/shared/file", "/mnt", True))}
        answer = await _post(rig, json=body)

    assert answer.status_code == 500
    assert answer.json()["message"].startswith(
        "CubeMaster returned error code 130545: prepareHostDirVolume: bind mount /data/shared/file -> "
    )
    assert answer.json()["message"].endswith("/ro/hostdir-0: not a directory")


async def test_what_cubeapi_checks_itself_is_400(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        answer = await _post(rig, json={"templateID": "hermes-studio", "envVars": {"LD_PRELOAD": "x"}})

    message = "invalid environment variable name: LD_PRELOAD"
    assert (answer.status_code, answer.json()) == (400, {"code": 400, "message": message})


@pytest.mark.parametrize(
    ("platform", "status", "message"),
    [
        ("0.6", 500, "CubeMaster returned error code 130404: template nope not found"),
        ("0.7.1", 404, "template nope not found"),
    ],
)
async def test_an_unknown_template(tmp_path: Path, platform: str, status: int, message: str) -> None:
    async with running(tmp_path, platform) as rig:
        answer = await _post(rig, json={"templateID": "nope"})

    assert (answer.status_code, answer.json()) == (status, {"code": status, "message": message})


async def test_lists_filter_by_metadata_state_and_limit(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        await rig.cube.add_paper({"count": 3, "metadata": {"team": "a b", "hermes-home": "paper-{n}"}})
        await rig.cube.add_paper({"count": 2, "state": "paused", "metadata": {"team": "other"}})

        async def count(path: str, **query: str) -> int:
            return len((await api.get(path, params=query)).json())

        counts = [
            await count("/sandboxes"),
            await count("/sandboxes", metadata="team=a%20b&hermes-home=paper-1"),
            await count("/v2/sandboxes", state="paused"),
            await count("/v2/sandboxes", state="paused,running"),
            await count("/v2/sandboxes", limit="2"),
        ]

    assert counts == [5, 1, 2, 5, 2]


async def test_a_paper_home_that_is_no_id_writes_nothing_on_the_node(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        before = sorted(tmp_path.rglob("heartbeat.json"))
        await rig.cube.add_paper({"metadata": {"hermes-home": "../../escape"}})

        assert sorted(tmp_path.rglob("heartbeat.json")) == before == []
        assert not list(tmp_path.rglob("escape"))


@pytest.mark.parametrize("body", [{"metadata": ["x"]}, {"count": True}, {"count": 0}, {"state": "gone"}])
async def test_a_wrong_paper_order_is_one_sentence(tmp_path: Path, body: dict[str, object]) -> None:
    async with running(tmp_path) as rig:
        with pytest.raises(ValueError, match="count is a positive number, state one of running"):
            await rig.cube.add_paper(body)


async def test_paper_sandboxes_have_a_heartbeat_and_a_life_but_no_process(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.cube.add_paper({"count": 2, "metadata": {"hermes-home": "alpha"}}))["sandboxes"]
        heartbeat = json.loads((rig.shared / "hermes-homes/alpha-0/.hermes-bot/heartbeat.json").read_text())
        dark = await rig.ask(made[0])
        await api.post(f"/sandboxes/{made[0]}/pause")
        paused = await rig.state_of(made[0])
        await api.post(f"/sandboxes/{made[0]}/connect", json={})
        resumed = await rig.state_of(made[0])
        await api.delete(f"/sandboxes/{made[0]}")
        gone = await rig.state_of(made[0])

    assert heartbeat["sandbox"] == made[0]
    assert (dark.status_code, paused, resumed, gone) == (502, "paused", "running", "gone")


def told_in(rig: Rig, home: str) -> tuple[dict[str, Any], float]:
    """A home's heartbeat, and when it was written."""
    file = rig.shared / "hermes-homes" / home / ".hermes-bot/heartbeat.json"
    return json.loads(file.read_text()), file.stat().st_mtime


async def test_a_paper_heartbeat_tells_what_a_healthy_sandbox_would_or_what_was_asked_for(
    tmp_path: Path,
) -> None:
    broken = {"studio": "not-ready", "note": "the agent bridge is not ready", "age_s": 300}
    async with running(tmp_path) as rig:
        await rig.cube.add_paper({"metadata": {"hermes-home": "well"}})
        await rig.cube.add_paper({"metadata": {"hermes-home": "broken"}, "heartbeat": broken})
        await rig.cube.add_paper({"metadata": {"hermes-home": "none"}, "heartbeat": False})
        with pytest.raises(ValueError, match="heartbeat is false for none, or a map"):
            await rig.cube.add_paper({"metadata": {"hermes-home": "wrong"}, "heartbeat": {"age_s": "old"}})

        (well, now), (told, then) = told_in(rig, "well"), told_in(rig, "broken")

        assert heartbeat(well, age=time.time() - now).studio is Inside.READY
        assert heartbeat(well, age=0.0).memory_total == 2048 * 1024 * 1024
        assert heartbeat(told, age=time.time() - then).note == "the agent bridge is not ready"
        assert 299 < now - then < 310
        assert abs(dt.datetime.fromisoformat(told["at"]).timestamp() - then) < 0.01
        assert not (rig.shared / "hermes-homes/none").exists()
        assert not (rig.shared / "hermes-homes/wrong").exists()


async def test_paper_sandboxes_beat_while_they_run_and_their_home_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_beats, "BEAT_SECONDS", 0.0)
    monkeypatch.setattr(paper_beats, "_LOOK_SECONDS", 0.01)
    async with running(tmp_path) as rig, rig.api() as api:
        names = {"count": 5, "metadata": {"hermes-home": "p-{n}"}}
        made = (await rig.cube.add_paper(names))["sandboxes"]
        await rig.cube.add_paper({"metadata": {"hermes-home": "old"}, "heartbeat": {"age_s": 300}})
        await api.post(f"/sandboxes/{made[1]}/pause")
        await api.delete(f"/sandboxes/{made[2]}")
        shutil.rmtree(rig.shared / "hermes-homes/p-3")
        rig.faults.arm({"target": "cube", "kind": "vm-exited", "sandbox": made[4]})
        at_first = {home: told_in(rig, home)[1] for home in ("p-0", "p-1", "p-2", "p-4", "old")}
        async with asyncio.timeout(10):
            while told_in(rig, "p-0")[1] < at_first["p-0"] + 0.3:  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.01)

        later = {home: told_in(rig, home)[1] for home in at_first}
        await api.post(f"/sandboxes/{made[1]}/connect", json={})
        async with asyncio.timeout(10):
            while told_in(rig, "p-1")[1] == later["p-1"]:  # noqa: ASYNC110 - see above
                await asyncio.sleep(0.01)

    assert {home for home, when in later.items() if when > at_first[home] + 0.1} == {"p-0"}
    assert not (rig.shared / "hermes-homes/p-3").exists()


async def test_pausing_is_shown_by_the_list_only(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        (made,) = (await rig.cube.add_paper({"state": "pausing"}))["sandboxes"]

        (listed,) = (await api.get("/sandboxes")).json()

        assert listed["state"] == "pausing"
        assert await rig.state_of(made) == "running"


async def test_with_a_key_everything_but_health_needs_it(tmp_path: Path) -> None:
    key = "EXAMPLE-key"
    async with running(tmp_path, api_key=key) as rig, rig.api() as api:
        statuses = [
            (await api.get("/health")).status_code,
            (await api.get("/sandboxes")).status_code,
            (await api.get("/sandboxes", headers={"X-API-Key": "wrong"})).status_code,
            (await api.get("/sandboxes", headers={"X-API-Key": key})).status_code,
            (await api.get("/sandboxes", headers={"Authorization": f"Bearer {key}"})).status_code,
        ]

    assert statuses == [200, 401, 401, 200, 200]


async def test_unknown_paths_and_methods_have_no_body(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        path, method = await api.get("/nodes"), await api.post("/v2/sandboxes", json={})

    assert (path.status_code, path.content, method.status_code, method.content) == (404, b"", 405, b"")


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("create-no-capacity", 500, "CubeMaster returned error code 130597: no more resource"),
        ("mount-source-missing", 500, "130545: prepareHostDirVolume: bind mount /data/shared -> "),
        ("api-down", 503, "service unavailable"),
    ],
)
async def test_a_create_that_fails_makes_nothing(tmp_path: Path, kind: str, status: int, words: str) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        rig.faults.arm({"target": "cube", "kind": kind})
        body = {"templateID": "hermes-studio", "metadata": mounts(("/data/shared", "/mnt", False))}
        answer = await _post(rig, json=body)
        listed = (await api.get("/sandboxes")).json()

    assert answer.status_code == status
    assert words in answer.json()["message"]
    assert "Retry-After" not in answer.headers
    assert listed == []


@pytest.mark.parametrize(
    ("kind", "status", "text"),
    [
        ("create-408-after-success", 408, ""),
        (
            "create-deadline-after-success",
            500,
            '{"code":500,"message":"CubeMaster returned error code 130595: context deadline exceeded"}',
        ),
    ],
)
async def test_a_create_whose_answer_is_lost_has_made_a_sandbox(
    tmp_path: Path, kind: str, status: int, text: str
) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        rig.faults.arm({"target": "cube", "kind": kind})
        answer = await _post(rig, json={"templateID": "hermes-studio", "metadata": {"hermes-request": "r1"}})
        found = (await api.get("/sandboxes", params={"metadata": "hermes-request=r1"})).json()

    assert (answer.status_code, answer.text) == (status, text)
    assert len(found) == 1


async def test_a_dropped_connection_has_written(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        rig.faults.arm({"target": "cube", "kind": "drop-after-write", "operation": "create"})

        with pytest.raises(httpx.RemoteProtocolError):
            await _post(rig, json={"templateID": "hermes-studio"})

        assert len((await api.get("/sandboxes")).json()) == 1


async def test_a_slow_answer_comes_after_its_delay(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        rig.faults.arm({"target": "cube", "kind": "slow-api", "delay_s": 0.3})
        loop = asyncio.get_running_loop()
        began = loop.time()

        await api.get("/sandboxes")

        assert loop.time() - began >= 0.3


@pytest.mark.parametrize(
    ("kind", "told"), [("studio-never-ready", "never-ready"), ("studio-does-not-start", "does-not-start")]
)
async def test_studio_faults_are_told_inside(tmp_path: Path, kind: str, told: str) -> None:
    async with running(tmp_path) as rig:
        rig.faults.arm({"target": "cube", "kind": kind})
        ill, well = await rig.create(), await rig.create()
        path = "/files?path=/run/standin/faults.json"
        first, second = await rig.ask(ill["sandboxID"], path), await rig.ask(well["sandboxID"], path)

    assert first.json() == {"studio": told}
    assert second.status_code == 404


async def test_a_read_only_home_refuses_though_the_api_shows_it_writable(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        rig.faults.arm({"target": "cube", "kind": "read-only-home"})
        made = await rig.create(metadata=mounts(("/data/shared", "/root/.hermes", False)))
        answer = await rig.ask(made["sandboxID"], "/files?path=/root/.hermes/x", method="POST", content=b"x")
        (listed,) = (await api.get("/sandboxes")).json()

    assert "read-only file system" in answer.json()["message"]
    assert listed["volumeMounts"] == [{"name": "hostdir-0", "path": "/root/.hermes", "readOnly": False}]
