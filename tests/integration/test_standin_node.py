import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh
import pytest

from bot.standin.faults import Faults
from bot.standin.node import NodeServer
from bot.standin.node_space import NodeSpace

pytestmark = pytest.mark.sandbox

_DEADLINE_S = 10.0


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
async def node(tmp_path: Path, faults: Faults) -> AsyncIterator[NodeServer]:
    space = NodeSpace("node-1", tmp_path / "shared")
    await space.start()
    server = NodeServer(state=tmp_path / "state", space=space, faults=faults)
    try:
        await server.start()
        yield server
    finally:
        await server.stop()
        await space.stop()


def _connect(node: NodeServer, **changed: object) -> asyncssh.connect:
    options = {
        "username": node.user,
        "client_keys": [str(node.client_key)],
        "known_hosts": str(node.known_hosts),
        "config": None,
        "agent_path": None,
        "encoding": None,
        **changed,
    }
    return asyncssh.connect(*node.address, **options)


async def _process_ends(marker: str) -> bool:
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        found = await asyncio.to_thread(
            subprocess.run, ["pgrep", "-f", marker], capture_output=True, check=False
        )
        if found.returncode != 0:
            return True
        await asyncio.sleep(0.02)
    return False


def _appears(path: Path) -> bool:
    deadline = time.monotonic() + _DEADLINE_S
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return path.exists()


def _rsync(node: NodeServer, source: str, target: str) -> subprocess.CompletedProcess[str]:
    shell = (
        f"ssh -F none -p {node.address[1]} -i {node.client_key} -o IdentitiesOnly=yes -o BatchMode=yes"
        f" -o UserKnownHostsFile={node.known_hosts} -o GlobalKnownHostsFile=/dev/null"
    )
    return subprocess.run(
        ["rsync", "-a", "--checksum", "-e", shell, source, target],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def test_a_command_sees_data_shared_as_a_directory_of_the_state(
    node: NodeServer, tmp_path: Path
) -> None:
    async with _connect(node) as connection:
        answer = await connection.run("echo hello > /data/shared/note; cat /data/shared/note")
    assert (answer.exit_status, answer.stdout) == (0, b"hello\n")
    assert (tmp_path / "shared/note").read_text() == "hello\n"


async def test_a_command_runs_as_root_at_home_in_a_clean_environment(node: NodeServer) -> None:
    os.environ["LEAK_FROM_TEST"] = "1"
    try:
        async with _connect(node, env={"FROM_CLIENT": "1"}) as connection:
            answer = await connection.run("id -un; pwd; env | cut -d= -f1 | sort | tr '\\n' ' '")
    finally:
        del os.environ["LEAK_FROM_TEST"]
    user, directory, names = answer.stdout.decode().splitlines()
    assert (user, directory) == ("root", "/root")
    assert set(names.split()) == {"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "USER"}


async def test_exit_code_output_and_error_arrive_apart(node: NodeServer) -> None:
    async with _connect(node) as connection:
        answer = await connection.run("echo out; echo err >&2; exit 7")
    assert (answer.exit_status, answer.stdout, answer.stderr) == (7, b"out\n", b"err\n")


async def test_five_megabytes_pass_both_ways_unchanged(node: NodeServer) -> None:
    sent = os.urandom(5 << 20)
    async with _connect(node) as connection:
        answer = await connection.run("cat", input=sent)
    assert answer.stdout == sent


async def test_a_client_that_reads_slowly_gets_everything(node: NodeServer) -> None:
    async with (
        _connect(node) as connection,
        connection.create_process("head -c 8000000 /dev/zero") as process,
    ):
        total = 0
        while piece := await process.stdout.read(10_000):
            total += len(piece)
    assert total == 8_000_000


async def test_a_signal_reaches_the_command_and_is_reported(node: NodeServer) -> None:
    async with _connect(node) as connection, connection.create_process("echo up; exec sleep 600") as process:
        await process.stdout.readline()
        process.send_signal("TERM")
        answer = await asyncio.wait_for(process.wait(), _DEADLINE_S)
    assert answer.exit_signal is not None
    assert answer.exit_signal[0] == "TERM"


async def test_a_command_goes_on_after_its_connection_is_lost(node: NodeServer, tmp_path: Path) -> None:
    connection = await _connect(node)
    command = "echo up; until test -e /data/shared/go; do sleep 0.02; done; : > /data/shared/end"
    process = await connection.create_process(command)
    await process.stdout.readline()
    connection.abort()
    await connection.wait_closed()
    (tmp_path / "shared/go").touch()
    assert await asyncio.to_thread(_appears, tmp_path / "shared/end")


async def test_stopping_the_server_ends_its_commands(tmp_path: Path, faults: Faults) -> None:
    space = NodeSpace("node-1", tmp_path / "shared")
    await space.start()
    server = NodeServer(state=tmp_path / "state", space=space, faults=faults)
    await server.start()
    async with _connect(server) as connection:
        await connection.create_process(f"sleep 600; : {tmp_path}")
        await server.stop()
    await space.stop()
    assert await _process_ends(f": {tmp_path}")


async def test_keys_and_port_survive_a_restart(node: NodeServer, tmp_path: Path, faults: Faults) -> None:
    before = (node.address, node.client_key.read_bytes(), node.known_hosts.read_bytes())
    await node.stop()
    await node.start()
    assert (node.address, node.client_key.read_bytes(), node.known_hosts.read_bytes()) == before
    assert node.client_key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "changed", [{"username": "ubuntu"}, {"client_keys": [], "password": "guess"}, {"client_keys": ["other"]}]
)
async def test_everybody_else_is_refused(node: NodeServer, changed: dict[str, object]) -> None:
    if changed.get("client_keys") == ["other"]:
        changed = {"client_keys": [asyncssh.generate_private_key("ssh-ed25519")]}
    with pytest.raises(asyncssh.PermissionDenied):
        await _connect(node, **changed)


async def test_another_host_key_is_noticed(node: NodeServer) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    node.known_hosts.write_text(f"[127.0.0.1]:{node.address[1]} {other}\n")
    with pytest.raises(asyncssh.HostKeyNotVerifiable):
        await _connect(node)


async def test_shells_terminals_files_and_forwarding_are_not_offered(node: NodeServer) -> None:
    async with _connect(node) as connection:
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.create_process()
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.start_sftp_client()
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_connection("127.0.0.1", node.address[1])


async def test_the_eleventh_session_of_a_connection_is_refused(node: NodeServer) -> None:
    async with _connect(node) as connection:
        for _ in range(10):
            await connection.create_process("sleep 600")
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.run("true")


async def test_rsync_copies_both_ways(node: NodeServer, tmp_path: Path) -> None:
    (tmp_path / "up/deep").mkdir(parents=True)
    (tmp_path / "up/deep/blob").write_bytes(os.urandom(1 << 20))
    (tmp_path / "up/link").symlink_to("deep/blob")
    there = f"{node.user}@{node.address[0]}:/data/shared/copy/"
    up = await asyncio.to_thread(_rsync, node, f"{tmp_path}/up/", there)
    down = await asyncio.to_thread(_rsync, node, there, f"{tmp_path}/down/")
    assert (up.returncode, down.returncode) == (0, 0), up.stderr + down.stderr
    assert (tmp_path / "down/deep/blob").read_bytes() == (tmp_path / "up/deep/blob").read_bytes()
    assert (tmp_path / "down/link").readlink() == Path("deep/blob")


async def test_ssh_down_drops_open_connections_and_refuses_one_new_one(
    node: NodeServer, faults: Faults
) -> None:
    connection = await _connect(node)
    process = await connection.create_process("sleep 600")
    faults.arm({"target": "node", "kind": "ssh-down"})
    await asyncio.wait_for(connection.wait_closed(), _DEADLINE_S)
    with pytest.raises((asyncssh.Error, OSError)):
        await _connect(node)
    async with _connect(node) as again:
        answer = await again.run("echo back")
    assert answer.stdout == b"back\n"
    assert process.exit_status is None


async def test_a_command_on_an_open_connection_meets_ssh_down_at_once(
    node: NodeServer, faults: Faults
) -> None:
    async with _connect(node) as connection:
        faults.arm({"target": "node", "kind": "ssh-down"})
        with pytest.raises(asyncssh.Error):
            (await connection.run("true", check=True)).check_returncode()


async def test_ssh_slow_delays_one_command(node: NodeServer, faults: Faults) -> None:
    faults.arm({"target": "node", "kind": "ssh-slow", "delay_s": 0.4})
    async with _connect(node) as connection:
        began = time.monotonic()
        slow = await connection.run("echo late")
        took = time.monotonic() - began
        quick = await connection.run("echo now")
    assert (slow.stdout, quick.stdout) == (b"late\n", b"now\n")
    assert took >= 0.4


async def test_drop_after_write_does_the_work_and_loses_the_answer(
    node: NodeServer, faults: Faults, tmp_path: Path
) -> None:
    faults.arm({"target": "node", "kind": "drop-after-write"})
    async with _connect(node) as connection:
        answer = await connection.run("echo kept > /data/shared/kept; echo answer")
    assert (answer.exit_status, answer.stdout) == (None, b"")
    assert (tmp_path / "shared/kept").read_text() == "kept\n"


async def test_a_full_disk_reads_but_takes_nothing_and_says_so(
    node: NodeServer, faults: Faults, tmp_path: Path
) -> None:
    (tmp_path / "shared/hermes-homes/default").mkdir(parents=True)
    (tmp_path / "shared/hermes-homes/default/config.yaml").write_text("a: 1\n")
    faults.arm({"target": "node", "kind": "disk-full"})
    script = (
        "cat /data/shared/hermes-homes/default/config.yaml; stat -f -c %a /data/shared;"
        " mkdir /data/shared/hermes-homes/new; cp -r /data/shared/hermes-homes/default /data/shared/copy;"
        " echo b: 2 >> /data/shared/hermes-homes/default/config.yaml"
    )
    async with _connect(node) as connection:
        full = await connection.run(script)
        after = await connection.run("mkdir /data/shared/hermes-homes/new && stat -f -c %a /data/shared")
    assert full.stdout == b"a: 1\n0\n"
    assert full.stderr.count(b"No space left on device") == 3
    assert after.exit_status == 0
    assert int(after.stdout) > 0
    assert sorted(path.name for path in (tmp_path / "shared/hermes-homes").iterdir()) == ["default", "new"]


async def test_rsync_onto_a_full_disk_fails_and_leaves_the_source_alone(
    node: NodeServer, faults: Faults, tmp_path: Path
) -> None:
    (tmp_path / "up").mkdir()
    (tmp_path / "up/blob").write_bytes(b"x" * 100_000)
    faults.arm({"target": "node", "kind": "disk-full"})
    done = await asyncio.to_thread(
        _rsync, node, f"{tmp_path}/up/", f"root@{node.address[0]}:/data/shared/copy/"
    )
    assert done.returncode in {11, 12, 23}
    assert "No space left on device" in done.stderr
    assert not (tmp_path / "shared/copy").exists()


async def test_nothing_of_the_node_is_mounted_on_the_host(node: NodeServer, faults: Faults) -> None:
    faults.arm({"target": "node", "kind": "disk-full"})
    async with _connect(node) as connection:
        await connection.run("grep -c . /proc/self/mounts")
    mounts = await asyncio.to_thread(Path("/proc/self/mounts").read_text)
    assert "/data/shared" not in mounts
    assert "full /mnt" not in mounts


async def test_a_changed_host_key_ends_what_is_open_and_is_shown_until_disarmed(
    node: NodeServer, faults: Faults
) -> None:
    connection = await _connect(node)
    faults.arm({"target": "node", "kind": "host-key-changed"})
    await asyncio.wait_for(connection.wait_closed(), _DEADLINE_S)
    for _ in range(2):
        with pytest.raises(asyncssh.HostKeyNotVerifiable):
            await _connect(node)

    faults.clear()

    async with _connect(node) as again:
        assert (await again.run("echo same")).stdout == b"same\n"


async def test_a_key_that_is_refused_ends_what_is_open_until_disarmed(
    node: NodeServer, faults: Faults
) -> None:
    connection = await _connect(node)
    faults.arm({"target": "node", "kind": "auth-refused"})
    await asyncio.wait_for(connection.wait_closed(), _DEADLINE_S)
    for _ in range(2):
        with pytest.raises(asyncssh.PermissionDenied):
            await _connect(node)

    faults.clear()

    async with _connect(node) as again:
        assert (await again.run("echo welcome")).stdout == b"welcome\n"


async def test_a_slow_login_is_slow_once(node: NodeServer, faults: Faults) -> None:
    faults.arm({"target": "node", "kind": "connect-slow", "delay_s": 0.4})
    began = time.monotonic()
    async with _connect(node):
        took = time.monotonic() - began
    async with _connect(node):
        quick = time.monotonic() - began - took

    assert took >= 0.4
    assert quick < 0.4


async def test_a_connection_that_is_reset_before_a_command_runs_nothing(
    node: NodeServer, faults: Faults, tmp_path: Path
) -> None:
    faults.arm({"target": "node", "kind": "reset-before-command"})
    async with _connect(node) as connection:
        with pytest.raises(asyncssh.ConnectionLost):
            await connection.run("touch /data/shared/never")
    async with _connect(node) as connection:
        await connection.run("touch /data/shared/next")

    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["next"]
    assert (faults.calls["node connection"], faults.calls["node command"]) == (2, 2)


async def test_a_command_goes_on_when_its_connection_is_reset_meanwhile(
    node: NodeServer, faults: Faults, tmp_path: Path
) -> None:
    faults.arm({"target": "node", "kind": "reset-during-command"})
    async with _connect(node) as connection:
        answer = await connection.run("echo early; sleep 0.3; echo late > /data/shared/late")
        before = (tmp_path / "shared/late").exists()

    assert (answer.exit_status, answer.stdout, before) == (None, b"", False)
    assert _appears(tmp_path / "shared/late")


async def test_a_read_only_root_is_so_for_the_kernel_until_disarmed(
    node: NodeServer, faults: Faults, tmp_path: Path
) -> None:
    (tmp_path / "shared/note").write_text("old\n")
    faults.arm({"target": "node", "kind": "read-only-root"})
    async with _connect(node) as connection:
        refused = await connection.run(
            "cat /data/shared/note; echo new > /data/shared/note; mkdir /data/shared/d"
        )
        shown = await connection.run("grep ' /data/shared ' /proc/self/mounts")
        (tmp_path / "shared/from-the-host").write_text("the host may write\n")
        faults.clear()
        after = await connection.run("echo new > /data/shared/note && cat /data/shared/note")

    assert refused.stdout == b"old\n"
    assert refused.stderr.count(b"Read-only file system") == 2
    assert shown.stdout.split()[3].split(b",")[0] == b"ro"
    assert after.stdout == b"new\n"


async def test_a_read_only_root_is_writable_again_after_a_stop(node: NodeServer, faults: Faults) -> None:
    faults.arm({"target": "node", "kind": "read-only-root"})
    await node.stop()
    entered = await asyncio.create_subprocess_exec(
        *node._space.enter_argv(), "touch", "/data/shared/again", stderr=subprocess.PIPE
    )

    _, said = await entered.communicate()

    assert (entered.returncode, said) == (0, b"")


async def test_rsync_that_is_not_installed_is_not_found_until_disarmed(
    node: NodeServer, faults: Faults, tmp_path: Path
) -> None:
    (tmp_path / "up").mkdir()
    there = f"root@{node.address[0]}:/data/shared/copy/"
    faults.arm({"target": "node", "kind": "rsync-missing"})
    async with _connect(node) as connection:
        direct = await connection.run("rsync --version; command -v rsync; command -v mount")
    refused = await asyncio.to_thread(_rsync, node, f"{tmp_path}/up/", there)
    faults.clear()
    done = await asyncio.to_thread(_rsync, node, f"{tmp_path}/up/", there)

    assert b"rsync: not found" in direct.stderr
    assert direct.stdout.strip().endswith(b"/mount")
    assert refused.returncode in {12, 127}  # 12 when it notices that the talk broke off before it learns why
    assert "rsync: not found" in refused.stderr
    assert done.returncode == 0, done.stderr


async def test_a_fault_of_another_node_is_not_met(node: NodeServer, faults: Faults) -> None:
    for kind in ("auth-refused", "reset-before-command", "read-only-root", "ssh-down"):
        faults.arm({"target": "node", "kind": kind, "node": "node-2"})
    async with _connect(node) as connection:
        answer = await connection.run("touch /data/shared/fine && echo fine")

    assert answer.stdout == b"fine\n"
