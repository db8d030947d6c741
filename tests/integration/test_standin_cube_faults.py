"""Faults of the Cube stand-in on each platform: exact answers, what they leave behind, and how that ends."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.standin_cube_kit import Rig, eventually, mounts, running

from bot.standin.cube import errors
from bot.standin.cube.platform import VERSIONS
from bot.standin.faults import Faults, UnknownFaultError

pytestmark = pytest.mark.sandbox

TAP = f"CubeMaster returned error code 130589: {errors.TAP_BUSY}"
LOCKED = "sandbox lifecycle operation in progress; retry later"


SHEET = Path(__file__).parents[1] / "data/cube_errors.jsonl"
CASES = {case["id"]: case for case in map(json.loads, SHEET.read_text(encoding="utf-8").splitlines())}
SAME_AS_THE_SHEET = {
    "0.5.1": {"ce-kill-not-normal": ("", "kill")},
    "0.6": {"ce-kill-retry-5-tap": ("resume-tap-busy", "kill")},
    "0.7.1": {
        "ce-create-no-resource": ("create-no-capacity", "create"),
        "ce-create-deadline": ("deadline-exceeded", "create"),
        "ce-create-408-empty": ("empty-408", "create"),
        "ce-create-504-html": ("front-page", "create"),
        "ce-create-429": ("rate-limited", "create"),
        "ce-create-422-plain": ("unparsed-body", "create"),
        "ce-create-master-rate": ("master-rate-limited", "create"),
        "ce-pause-lock": ("lifecycle-locked", "pause"),
        "ce-pause-408": ("empty-408", "pause"),
        "ce-resume-vm-created": ("resume-already-created", "resume"),
        "ce-resume-lock": ("lifecycle-locked", "resume"),
        "ce-connect-tap": ("resume-tap-busy", "connect"),
        "ce-connect-deadline": ("deadline-exceeded", "connect"),
        "ce-kill-retry-2": ("lifecycle-locked", "kill"),
        "ce-kill-408": ("empty-408", "kill"),
        "ce-get-401-rejected": ("auth-rejected", "get"),
        "ce-get-500-master": ("list-fails", "list"),
        "ce-get-502-html": ("front-page", "get"),
        "ce-network-lock": ("lifecycle-locked", "network"),
        "ce-data-502": ("nothing-listens", "data"),
        "ce-data-504": ("data-plane-dead", "data"),
        "ce-data-503-unknown-on-old": ("proxy-unavailable", "data"),
    },
}
"""Cases of the sheet that a fault must answer to the letter: the fault, and the call that meets it."""


async def called(rig: Rig, call: str, made: str) -> httpx.Response:
    one = f"/sandboxes/{made}"
    methods = {
        "create": ("POST", "/sandboxes", {"templateID": "hermes-studio"}),
        "list": ("GET", "/sandboxes", None),
        "get": ("GET", one, None),
        "kill": ("DELETE", one, None),
        "pause": ("POST", f"{one}/pause", None),
        "resume": ("POST", f"{one}/resume", {}),
        "connect": ("POST", f"{one}/connect", {}),
        "network": ("PUT", f"{one}/network", {}),
    }
    if call == "data":
        return await rig.ask(made, "/health")
    method, path, body = methods[call]
    async with rig.api() as api:
        return await api.request(method, path, json=body)


@pytest.mark.parametrize("platform", SAME_AS_THE_SHEET)
async def test_faults_answer_as_the_case_sheet_has_it_to_the_letter(tmp_path: Path, platform: str) -> None:
    different = {}
    async with running(tmp_path, platform) as rig:
        for name, (kind, call) in SAME_AS_THE_SHEET[platform].items():
            case = CASES[name]
            (made,) = (await rig.cube.add_paper({"count": 1}))["sandboxes"]
            if call in {"resume", "connect"} or kind in {"", "resume-tap-busy"}:
                await called(rig, "pause", made)
            if kind:
                arm(rig, kind, delay_s=0, status=case["status"])
            answer = await called(rig, call, made)
            rig.faults.clear()
            wanted = {key.lower(): value for key, value in case["headers"].items()}
            told_after = answer.headers.get("Retry-After"), wanted.get("retry-after")
            if (answer.status_code, answer.text) != (case["status"], case["body"]) or len({*told_after}) > 1:
                different[name] = (answer.status_code, answer.text, *told_after)

    assert different == {}


def arm(rig: Rig, kind: str, **options: Any) -> None:
    rig.faults.arm({"target": "cube", "kind": kind, **options})


def told(answer: httpx.Response) -> tuple[int, str | None, str]:
    """Status, Retry-After, and the message of an error in CubeAPI's or CubeProxy's form."""
    body = answer.json() if answer.content else {}
    return answer.status_code, answer.headers.get("Retry-After"), body.get("message", body.get("error", ""))


@pytest.mark.parametrize(
    ("platform", "deletion"),
    [
        ("0.5.1", (500, None, "CubeMaster returned error code 130593: sandbox not in normal state")),
        ("0.6", (503, "5", TAP)),
        ("0.7.0", (204, None, "")),
        ("0.7.1", (204, None, "")),
    ],
)
async def test_a_tap_that_is_held_keeps_a_sandbox_from_life_and_death(
    tmp_path: Path, platform: str, deletion: tuple[int, str | None, str]
) -> None:
    async with running(tmp_path, platform) as rig, rig.api() as api:
        made = (await rig.create(lifecycle={"onTimeout": "pause", "autoResume": True}))["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")
        arm(rig, "resume-tap-busy")

        first = await api.post(f"/sandboxes/{made}/connect", json={})
        again = await api.post(f"/sandboxes/{made}/resume", json={})
        data_plane = await rig.ask(made, "/health")
        state = await rig.state_of(made)
        deleted = await api.delete(f"/sandboxes/{made}")
        rig.faults.clear()
        repaired = await api.post(f"/sandboxes/{made}/connect", json={})

    assert [told(first), told(again)] == [(500, None, TAP)] * 2
    assert told(data_plane) == (503, "5", "service unavailable")
    assert state == "paused"
    assert told(deleted) == deletion
    assert repaired.status_code == (404 if deleted.status_code == 204 else 200)


@pytest.mark.parametrize("platform", VERSIONS)
async def test_a_pause_that_never_ends(tmp_path: Path, platform: str) -> None:
    async with running(tmp_path, platform) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        arm(rig, "stuck-pausing", delay_s=0)

        paused = await api.post(f"/sandboxes/{made}/pause")
        [listed] = (await api.get("/sandboxes")).json()
        state = await rig.state_of(made)
        refused = [
            told(await api.post(f"/sandboxes/{made}/pause")),
            told(await api.post(f"/sandboxes/{made}/resume", json={})),
            told(await api.delete(f"/sandboxes/{made}")),
        ]
        data_plane = await rig.ask(made, "/health")
        rig.faults.clear()
        after = await rig.state_of(made)
        resumed = await api.post(f"/sandboxes/{made}/connect", json={})

    assert (paused.status_code, paused.content) == (408, b"")
    assert (listed["state"], state) == ("pausing", "running")
    assert told(data_plane) == (503, "2", "service unavailable")
    old, newest = platform in {"0.5.1", "0.6"}, platform == "0.7.1"
    status, prefix = 400 if newest else 500, "CubeMaster returned error code "
    snapshot = f"begin pause snapshot: sandbox {made} already has pause snapshot snap-{made[:12]}"
    assert refused == [
        (500, None, f"{prefix}130490: sandbox is already paused")
        if old
        else (status, None, f"{prefix}130400: {snapshot}"),
        (500, None, f"{prefix}130490: {LOCKED}")
        if old
        else (status, None, f"{prefix}130400: cannot resume: pause rpc timed out and cubelet is not PAUSED"),
        (500, None, f"{prefix}130593: sandbox not in normal state")
        if platform == "0.5.1"
        else (503, "2", f"{prefix}130490: {LOCKED}"),
    ]
    assert (after, resumed.status_code) == ("paused", 200)


async def test_an_idle_pause_can_get_stuck_too(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create(timeout=60, lifecycle={"onTimeout": "pause", "autoResume": True}))[
            "sandboxID"
        ]
        arm(rig, "stuck-pausing")
        rig.clock.advance(61)

        async def listed() -> str:
            return str((await api.get("/sandboxes")).json()[0]["state"])

        await eventually(listed, "pausing")
        answer = await rig.ask(made, "/health")

    assert told(answer) == (503, "2", "service unavailable")


async def test_one_that_was_paused_before_can_get_stuck_too(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")
        await api.post(f"/sandboxes/{made}/connect", json={})
        arm(rig, "stuck-pausing", delay_s=0)

        answer = await api.post(f"/sandboxes/{made}/pause")

        assert answer.status_code == 408
        assert (await api.get("/sandboxes")).json()[0]["state"] == "pausing"


async def test_a_lifecycle_operation_on_its_way_refuses_the_next(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        arm(rig, "lifecycle-locked", times=5)
        answers = [
            await api.post(f"/sandboxes/{made}/pause"),
            await api.post(f"/sandboxes/{made}/connect", json={}),
            await api.put(f"/sandboxes/{made}/network", json={}),
            await api.delete(f"/sandboxes/{made}"),
        ]
        state = await rig.state_of(made)

    locked = f"CubeMaster returned error code 130409: {LOCKED}"
    assert [told(answer) for answer in answers] == [
        (409, None, LOCKED),
        (409, None, locked),
        (409, None, LOCKED),
        (503, "2", f"CubeMaster returned error code 130490: {LOCKED}"),
    ]
    assert state == "running"


@pytest.mark.parametrize("status", [502, 504])
async def test_the_pages_of_the_front_and_of_the_proxy_are_nginx_ones(tmp_path: Path, status: int) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        arm(rig, "front-page", status=status)
        arm(rig, "data-plane-dead" if status == 504 else "nothing-listens", delay_s=0)
        front = await api.get("/sandboxes")
        proxy = await rig.ask(made, "/health")

    title = {502: "502 Bad Gateway", 504: "504 Gateway Time-out"}[status]
    page = (
        f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n"
        "<hr><center>openresty</center>\r\n</body>\r\n</html>\r\n"
    )
    assert [(a.status_code, a.headers["Content-Type"], a.text) for a in (front, proxy)] == [
        (status, "text/html", page)
    ] * 2


async def test_a_rate_limit_and_a_refused_body_have_their_own_forms(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        arm(rig, "rate-limited", operation="list")
        arm(rig, "unparsed-body", operation="create")
        limited = await api.get("/sandboxes")
        unparsed = await api.post("/sandboxes", json={"templateID": "hermes-studio"})
        then = [(await api.get("/sandboxes")).status_code, (await api.get("/health")).status_code]

    assert told(limited) == (429, "1", "rate limit exceeded")
    assert (unparsed.status_code, unparsed.headers["Content-Type"]) == (422, "text/plain; charset=utf-8")
    assert unparsed.text.startswith("Failed to deserialize the JSON body into the target type: ")
    assert then == [200, 200]


async def test_a_mount_namespace_that_is_full_is_no_full_disk(tmp_path: Path) -> None:
    async with running(tmp_path, "0.6") as rig, rig.api() as api:
        arm(rig, "mount-leak", index=1)
        wanted = mounts(("/data/shared", "/a", False), ("/data/shared", "/b", True))
        answer = await api.post("/sandboxes", json={"templateID": "hermes-studio", "metadata": wanted})
        listed = (await api.get("/sandboxes")).json()

    status, _, message = told(answer)
    assert status == 500
    assert message.startswith(
        "CubeMaster returned error code 130545: prepareHostDirVolume: bind mount /data/"
    )
    assert message.endswith("/ro/hostdir-1: no space left on device")
    assert listed == []


async def test_a_node_whose_network_went_dark_darkens_what_ran_on_it_and_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=("node-1", "node-2")) as rig:
        on = {
            node: (await rig.create(distributionScope=[node]))["sandboxID"] for node in ("node-1", "node-2")
        }
        arm(rig, "running-but-dark", node="node-2", delay_s=0)
        statuses = [(await rig.ask(on[node], "/health")).status_code for node in on]
        states = [await rig.state_of(on[node]) for node in on]
        later = (await rig.create(distributionScope=["node-2"]))["sandboxID"]
        new = (await rig.ask(later, "/health")).status_code

    assert statuses == [204, 504]
    assert states == ["running", "running"]
    assert new == 204


async def test_a_list_drops_the_sandboxes_of_one_node(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=("node-1", "node-2")) as rig, rig.api() as api:
        on = {
            node: (await rig.create(distributionScope=[node]))["sandboxID"] for node in ("node-1", "node-2")
        }
        arm(rig, "list-drops-node", node="node-2")
        listed = [entry["sandboxID"] for entry in (await api.get("/sandboxes")).json()]
        listed += [entry["sandboxID"] for entry in (await api.get("/v2/sandboxes")).json()]

        assert listed == [on["node-1"]] * 2
        assert await rig.state_of(on["node-2"]) == "running"


async def test_a_vm_that_has_exited_is_called_running_until_it_is_deleted(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        ill, well = (await rig.create())["sandboxID"], (await rig.create())["sandboxID"]
        arm(rig, "vm-exited", sandbox=ill)
        statuses = [(await rig.ask(one, "/health")).status_code for one in (ill, well)]
        connected = await api.post(f"/sandboxes/{ill}/connect", json={})
        state = await rig.state_of(ill)
        deleted = await api.delete(f"/sandboxes/{ill}")
        after = await rig.state_of(ill)

    assert (statuses, connected.status_code, state) == ([504, 204], 200, "running")
    assert (deleted.status_code, after) == (204, "gone")


async def test_a_node_that_is_gone_takes_its_sandboxes_out_of_reach_and_comes_back(tmp_path: Path) -> None:
    waking = {"onTimeout": "pause", "autoResume": True}
    async with running(tmp_path, nodes=("node-1", "node-2")) as rig, rig.api() as api:
        lost = (await rig.create(distributionScope=["node-2"], lifecycle=waking))["sandboxID"]
        await api.post(f"/sandboxes/{lost}/pause")
        arm(rig, "node-gone", node="node-2", delay_s=0)
        listed = (await api.get("/sandboxes")).json()
        state = await rig.state_of(lost)
        data_plane = told(await rig.ask(lost, "/health"))
        refused = told(await api.post(f"/sandboxes/{lost}/connect", json={}))
        elsewhere = (await rig.create())["clientID"]
        on_it = await api.post(
            "/sandboxes", json={"templateID": "hermes-studio", "distributionScope": ["node-2"]}
        )
        rig.faults.clear()
        back = await rig.ask(lost, "/health")

    assert (listed, state) == ([], "paused")
    assert data_plane == (503, "5", "service unavailable")
    assert refused == (500, None, f"CubeMaster returned error code 130596: {errors.NO_ROUTE}")
    assert elsewhere
    assert "error code 130598" in told(on_it)[2]
    assert back.status_code == 204


def test_conditions_hold_and_the_others_count_down() -> None:
    faults = Faults()
    seen: list[int] = []
    faults.watch(lambda: seen.append(len(faults.report()["armed"])))
    faults.arm({"target": "cube", "kind": "master-down"})
    faults.arm({"target": "cube", "kind": "list-fails"})
    faults.arm({"target": "cube", "kind": "list-drops-node", "times": 2})

    taken = [
        [faults.take("cube", kind) is not None for _ in range(3)]
        for kind in ("master-down", "list-fails", "list-drops-node")
    ]
    faults.mark("tap-held", "a")
    faults.clear()

    assert taken == [[True] * 3, [True, False, False], [True, True, False]]
    assert seen == [1, 2, 3, 2, 1, 0]
    assert not faults.marked("tap-held", "a")


@pytest.mark.parametrize(
    ("more", "words"),
    [({"done": "no"}, "done must be true or false"), ({"status": "bad"}, "status must be a number")],
)
def test_options_of_another_kind_are_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(UnknownFaultError, match=words):
        Faults().arm({"target": "cube", "kind": "front-page", **more})
