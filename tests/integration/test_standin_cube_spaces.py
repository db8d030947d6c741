"""What a sandbox can and cannot see, what outlives what, and that nothing is left behind."""

import asyncio
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from cubesandbox import Sandbox
from integration.standin_cube_kit import TEMPLATE_ID, Rig, eventually, make_template, mounts, running

import bot
from bot.standin.cube import freezer

pytestmark = pytest.mark.sandbox
CHECKOUT = Path(bot.__file__).resolve().parents[1]


async def _run(rig: Rig, sandbox_id: str, command: str) -> str:
    def call() -> str:
        result = Sandbox.connect(sandbox_id, config=rig.config).commands.run(command, timeout=20)
        return str(result.stdout)

    return await asyncio.to_thread(call)


def _host_mounts() -> list[str]:
    return Path("/proc/self/mounts").read_text().splitlines()


def _descendants(pid: int | None = None) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


async def test_the_host_is_not_visible(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        (rig.shared / "secret").write_text("x")
        made = (await rig.create())["sandboxID"]
        hidden = ["/data", "/home/*/.ssh", "/mnt/*", str(CHECKOUT), str(tmp_path)]
        listing = await _run(rig, made, f"ls -d {' '.join(hidden)} 2>/dev/null; ls -A /root /home /opt /tmp")
        first_process = await _run(
            rig, made, "tr '\\0' '\\n' </proc/1/cmdline; tr '\\0' '\\n' </proc/1/environ"
        )

    assert listing == "/home:\nuser\n\n/opt:\n\n/root:\n.hermes\n\n/tmp:\n"
    assert str(CHECKOUT) not in first_process
    assert str(tmp_path) not in first_process


async def test_a_sandbox_has_namespaces_of_its_own(tmp_path: Path) -> None:
    names = ("mnt", "pid", "net", "uts", "ipc")
    async with running(tmp_path) as rig:
        made = (await rig.create())["sandboxID"]
        inside = await _run(
            rig, made, f"for n in {' '.join(names)}; do readlink /proc/self/ns/$n; done; hostname"
        )

    outside = [os.readlink(f"/proc/self/ns/{name}") for name in names]  # noqa: PTH115  # waits for nothing
    *namespaces, hostname = inside.split()
    assert not set(namespaces) & set(outside)
    assert hostname == made[:12]


async def test_root_in_a_sandbox_cannot_undo_its_walls(tmp_path: Path) -> None:
    commands = {
        "remount": "mount -o remount,rw,bind /opt/skills",
        "device": "mknod /tmp/disk b 8 0",
        "kernel": "echo x > /proc/sys/kernel/core_pattern",
        "write": "touch /opt/skills/x",
    }
    async with running(tmp_path) as rig:
        made = (await rig.create(metadata=mounts(("/data/shared", "/opt/skills", True))))["sandboxID"]
        results = {
            name: await _run(rig, made, f"{command} >/dev/null 2>&1 && echo done || echo refused")
            for name, command in commands.items()
        }

    assert results == dict.fromkeys(commands, "refused\n")


async def test_there_is_no_outbound_network(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        port = rig.cube.proxy_address[1]
        made = (await rig.create())["sandboxID"]
        targets = (f"127.0.0.1/{port}", "192.0.2.1/80", "169.254.68.5/80")
        tries = "; ".join(f"(</dev/tcp/{target}) 2>/dev/null && echo open {target}" for target in targets)

        assert await _run(rig, made, f"{tries}; true") == ""


async def test_parents_are_mounted_first_whatever_their_order(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        (rig.shared / "parent/child").mkdir(parents=True)
        (rig.shared / "other").mkdir()
        metadata = mounts(("/data/shared/other", "/in/child", False), ("/data/shared/parent", "/in", True))
        made = (await rig.create(metadata=metadata))["sandboxID"]
        await _run(rig, made, "touch /in/child/written; touch /in/refused")

        assert [path.name for path in (rig.shared / "other").iterdir()] == ["written"]
        assert not (rig.shared / "parent/refused").exists()


async def test_a_link_in_the_shared_directory_is_followed_as_on_a_node(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        (rig.shared / "real").mkdir()
        (rig.shared / "real/file").write_text("found")
        (rig.shared / "link").symlink_to("/data/shared/real")
        made = (await rig.create(metadata=mounts(("/data/shared/link", "/mnt", True))))["sandboxID"]

        assert await _run(rig, made, "cat /mnt/file") == "found"


async def test_files_written_as_root_belong_to_root_on_the_node(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        made = (await rig.create(metadata=mounts(("/data/shared", "/mnt", False))))["sandboxID"]
        await _run(rig, made, "umask 027; echo x > /mnt/file; chown 1000:1000 /mnt/file")

        details = (rig.shared / "file").stat()

    assert (details.st_uid, details.st_mode & 0o777) == (1000, 0o640)


async def test_changes_outlive_a_restart_but_processes_do_not(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, rig.api() as api:
        alive, paused = [(await rig.create(metadata={"n": name}))["sandboxID"] for name in ("a", "p")]
        ports = (rig.cube.api_url, rig.cube.proxy_address)
        for made in (alive, paused):
            await _run(rig, made, "echo kept > /root/kept; echo kept > /usr/local/bin/kept")
            await _run(rig, made, "setsid sleep 999 >/dev/null 2>&1 </dev/null &")
        await api.post(f"/sandboxes/{paused}/pause")
        await rig.cube.add_paper({"metadata": {"paper": "yes"}})

    async with running(tmp_path) as rig, rig.api() as api:
        states = [await rig.state_of(made) for made in (alive, paused)]
        listed = (await api.get("/sandboxes")).json()
        look = "cat /root/kept /usr/local/bin/kept; pgrep -x sleep"
        seen = [await _run(rig, made, look) for made in (alive, paused)]

        assert (rig.cube.api_url, rig.cube.proxy_address) == ports

    assert states == ["running", "paused"]
    assert sorted(entry["metadata"].popitem() for entry in listed) == [
        ("n", "a"),
        ("n", "p"),
        ("paper", "yes"),
    ]
    assert seen == ["kept\nkept\n", "kept\nkept\n"]


async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    mounts_before, programs_before = _host_mounts(), _descendants()
    async with running(tmp_path) as rig, rig.api() as api:
        made = [
            (await rig.create(metadata=mounts(("/data/shared", "/mnt", False))))["sandboxID"]
            for _ in range(3)
        ]
        await api.post(f"/sandboxes/{made[0]}/pause")
        await _run(rig, made[1], "setsid sleep 999 >/dev/null 2>&1 </dev/null &")
        during = _host_mounts()

    assert during == mounts_before
    assert _host_mounts() == mounts_before
    assert set(_descendants()) <= set(programs_before)
    assert not glob.glob(f"/sys/fs/cgroup/**/{made[0]}", recursive=True)  # noqa: PTH207  # no event loop waits


async def test_stop_is_safe_when_the_start_has_failed(tmp_path: Path) -> None:
    programs_before = _descendants()
    (tmp_path / "cube").write_text("a file where a directory must be")

    with pytest.raises(OSError, match="cube"):
        async with running(tmp_path):
            pass

    assert set(_descendants()) <= set(programs_before)


async def test_two_stand_ins_do_not_share_a_state(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        made = (await rig.create())["sandboxID"]

        with pytest.raises(RuntimeError, match="another stand-in is running on"):
            async with running(tmp_path):
                pass

        assert await _run(rig, made, "echo alive") == "alive\n"


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGKILL])
async def test_sandboxes_end_with_a_killed_server(tmp_path: Path, signal_number: signal.Signals) -> None:
    make_template(tmp_path / "templates")
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _SERVE,
        str(tmp_path),
        stdout=asyncio.subprocess.PIPE,
        cwd=CHECKOUT / "tests",
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT}/tests"},
    )
    assert server.stdout is not None
    assert await asyncio.wait_for(server.stdout.readline(), 20) == b"made\n"
    sandboxes = _descendants(server.pid)
    assert len(sandboxes) == 4  # the node's holder, the fork server, and the first process of each sandbox

    server.send_signal(signal_number)
    await server.wait()

    async def left() -> bool:
        return any(process.is_running() for process in sandboxes)

    await eventually(left, wanted=False)
    async with running(tmp_path) as rig:  # clears what the killed one could not
        states = sorted(entry["state"] for entry in rig.cube.report()["sandboxes"])
    assert states == ["paused", "running"]


_SERVE = """
import asyncio, sys
from pathlib import Path
from integration.standin_cube_kit import running

async def main():
    async with running(Path(sys.argv[1])) as rig, rig.api() as api:
        await rig.create()
        made = (await rig.create())["sandboxID"]
        await api.post(f"/sandboxes/{made}/pause")
        print("made", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture(params=["/usr/local/src", "/opt"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[Path]:
    base = Path(request.param)
    base.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base, prefix="standin-test-") as made:
        yield Path(made)


@pytest.mark.parametrize("source", ["/root", "/home", "/", "/etc", "STATE", "CHECKOUT"])
async def test_a_link_on_the_node_does_not_lead_to_what_is_the_machines_own(
    tmp_path: Path, source: str
) -> None:
    places = {"STATE": str(tmp_path), "CHECKOUT": str(CHECKOUT)}
    async with running(tmp_path) as rig:
        (rig.shared / "link").symlink_to(places.get(source, source))
        async with rig.api() as api:
            body = {"templateID": TEMPLATE_ID, "metadata": mounts(("/data/shared/link", "/mnt", False))}
            answer = await api.post("/sandboxes", json=body)

    assert answer.status_code == 500
    assert "/data/shared/link -> /data/cubelet/hostdir/" in answer.json()["message"]
    assert answer.json()["message"].endswith(": no such file or directory")


async def test_a_checkout_and_state_below_usr_or_opt_are_not_visible(elsewhere: Path) -> None:
    code, state = elsewhere / "checkout", elsewhere / "state"
    for room in ("bot/standin", "bot/domain"):
        shutil.copytree(CHECKOUT / room, code / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CHECKOUT / "tests/integration", code / "tests/integration")
    (code / "bot/__init__.py").write_text("")
    state.mkdir()
    (code / "marker").write_text("x")
    (state / "marker").write_text("x")

    answer = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", _LOOK, str(state), str(elsewhere)],
        capture_output=True,
        text=True,
        check=False,
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": f"{code}:{code}/tests"},
        timeout=60,
    )

    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert told["code"].startswith(str(code))
    assert (told["markers"], told["places"]) == ("", "")
    assert told["template"] == "from: the image\n"
    assert told["echo"] == "/usr/local/bin/echo-server\n"


_LOOK = """
import asyncio, json, sys
from pathlib import Path
import bot.standin.cube
from cubesandbox import Sandbox
from integration.standin_cube_kit import running

async def main():
    async with running(Path(sys.argv[1])) as rig:
        made = (await rig.create())["sandboxID"]
        def run(command):
            return Sandbox.connect(made, config=rig.config).commands.run(command, timeout=20).stdout
        told = {
            "code": bot.standin.cube.__file__,
            "markers": await asyncio.to_thread(run, f"find {sys.argv[2]} -name marker 2>/dev/null"),
            "places": await asyncio.to_thread(run, f"ls -d {sys.argv[2]}/* 2>/dev/null"),
            "template": await asyncio.to_thread(run, "cat /root/.hermes/config.yaml"),
            "echo": await asyncio.to_thread(run, "command -v echo-server"),
        }
        print(json.dumps(told))

asyncio.run(main())
"""


async def test_a_template_that_starts_its_service_opened_its_files_before_the_mounts(tmp_path: Path) -> None:
    start = ["/bin/bash", "-c", "exec 9< /root/.hermes/config.yaml; exec echo-server 0.0.0.0 9000"]
    async with running(tmp_path, template={"start": start}) as rig:
        (rig.shared / "home").mkdir()
        made = (await rig.create(metadata=mounts(("/data/shared/home", "/root/.hermes", False))))["sandboxID"]
        answer = await rig.ask(made, port=9000)
        held = await _run(rig, made, "cat /proc/$(pgrep -f echo-server | head -1)/fd/9; ls -A /root/.hermes")

    assert answer.status_code == 200
    assert held == "from: the image\n"


@pytest.mark.parametrize("kind", ["signals", "cgroup-v1"])
async def test_other_ways_of_freezing(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(_: Path) -> freezer.CgroupFreezer | freezer.SignalFreezer:
        if kind == "signals":
            return freezer.SignalFreezer()
        group = freezer.CgroupFreezer(Path("/sys/fs/cgroup/freezer/hermes-standin-test"), unified=False)
        if not group.open():
            pytest.skip("this machine has no version 1 freezer")
        return group

    monkeypatch.setattr(freezer, "choose", choose)
    async with running(tmp_path) as rig, rig.api() as api:
        made = (await rig.create())["sandboxID"]
        loop = "setsid bash -c 'while :; do date +%s%N >/mnt/tick; done' >/dev/null 2>&1 </dev/null &"
        other = (await rig.create(metadata=mounts(("/data/shared", "/mnt", False))))["sandboxID"]
        await _run(rig, other, loop)
        tick = rig.shared / "tick"

        async def ticks() -> bool:
            before = tick.read_text() if tick.exists() else ""
            await asyncio.sleep(0.05)
            return tick.exists() and tick.read_text() != before

        await eventually(ticks, wanted=True)
        await api.post(f"/sandboxes/{other}/pause")
        frozen = not await ticks()
        await api.post(f"/sandboxes/{other}/connect", json={})
        await eventually(ticks, wanted=True)
        await api.post(f"/sandboxes/{other}/pause")
        ended = (await api.delete(f"/sandboxes/{other}")).status_code

        assert await rig.state_of(made) == "running"

    assert frozen
    assert ended == 204


async def test_without_root_a_user_namespace_does(tmp_path: Path) -> None:
    """The same, as root without the right to make namespaces, which is what an ordinary user is."""
    less = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    program = """
import os, sys
from bot.standin.node_space import privileged_argv
command = privileged_argv([sys.executable, "-c", os.environ["LOOK"], sys.argv[1], "/opt"])
os.execvp(command[0], command)
"""
    environment = {**os.environ, "LOOK": _LOOK, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT}/tests"}

    answer = await asyncio.to_thread(
        subprocess.run,
        [*less, sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
    )

    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["template"] == "from: the image\n"


def test_where_nothing_is_allowed_one_line_says_what_to_do() -> None:
    less = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    program = "from bot.standin.node_space import require_namespaces as r; r()"

    answer = subprocess.run(
        [*less, sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )

    line = answer.stderr.splitlines()[-1]
    assert line.startswith("bot.standin.node_space.NamespaceError: sandboxes need root")
    assert "run as root, or start with `unshare --user --map-root-user hermes-bot standin`" in line
