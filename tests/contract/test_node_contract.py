"""What every ``Node`` does: the double, and the adapter on the stand-in's SSH server."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import asyncssh
import pytest
import pytest_asyncio
from contract.doubles import MemoryNode
from contract.standin_world import World, places_of, world

from bot.adapters.node_ssh import SshNode
from bot.domain.errors import NodeError
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.provisioning import Seeding
from bot.ports import MarkersFound, Node, Sizes

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

MARKER = "ab" * 16


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("node-world")) as running:
        yield running


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - the connection has no event for its end
            await asyncio.sleep(0.005)


def command_lines() -> set[bytes]:
    """Of every process of the machine."""
    seen = set()
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            seen.add(entry.read_bytes())
    return seen


@pytest.fixture(params=["memory", "standin"])
def node(request: pytest.FixtureRequest, there: World) -> Node:
    return MemoryNode() if request.param == "memory" else there.node


@pytest.fixture
def home(request: pytest.FixtureRequest) -> str:
    """A home-id of this test's own."""
    return "h-" + "".join(c if c.isalnum() else "-" for c in request.node.name.lower())[:50].strip("-")


def leave_heartbeat(there: World, node: Node, home: str, *, age: float) -> None:
    """A sign of life in a home, as a healthy sandbox leaves it."""
    if isinstance(node, MemoryNode):
        node.homes[home].heartbeat = Heartbeat(
            age=age, sandbox="ab" * 16, studio=Inside.READY, envd=True, memory_free=4096, skew=0.0
        )
        return
    file = there.home(home) / ".hermes-bot/heartbeat.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    when = int(time.time() - age)
    told = {"sandbox": "ab" * 16, "studio": "ready", "envd": True, "memory_free": 4096}
    file.write_text(json.dumps({**told, "at": datetime.fromtimestamp(when, UTC).isoformat()}))
    os.utime(file, (when, when))


async def test_prepare_makes_what_is_missing_and_says_so(node: Node, home: str) -> None:
    places = places_of(home)

    first = await node.prepare(places, launch_env={}, min_free_bytes=0)
    again = await node.prepare(places, launch_env={}, min_free_bytes=0)

    assert (first.home_created, first.workspace_created, first.home_initialised) == (True, True, False)
    assert (again.home_created, again.workspace_created) == (False, False)
    assert first.free_bytes > 0


async def test_prepare_refuses_below_the_floor_and_leaves_nothing(node: Node, home: str) -> None:
    places = places_of(home)

    with pytest.raises(NodeError) as refused:
        await node.prepare(places, launch_env={}, min_free_bytes=10**18)

    assert refused.value.code == "disk-low"
    assert not await node.has_home(places)


async def test_the_launch_environment_comes_back_as_it_was_given(node: Node, home: str) -> None:
    places = places_of(home)
    env = {"PLAIN": "1", "QUOTES": "a'b\"c $HOME `x` \\", "EMPTY": "", "UMLAUT": "ü=ß"}

    await node.prepare(places, launch_env=env, min_free_bytes=0)

    assert await node.launch_env(places) == env


async def test_a_changed_launch_environment_replaces_the_old_one(node: Node, home: str) -> None:
    places = places_of(home)
    await node.prepare(places, launch_env={"A": "1", "B": "2"}, min_free_bytes=0)

    await node.prepare(places, launch_env={"A": "3"}, min_free_bytes=0)

    assert await node.launch_env(places) == {"A": "3"}


async def test_a_home_that_is_not_there_has_no_environment_and_no_access(node: Node, home: str) -> None:
    places = places_of(home)

    assert not await node.has_home(places)
    assert await node.launch_env(places) is None
    assert await node.read_access(places) is None


async def test_seeding_happens_once(node: Node, home: str) -> None:
    places = places_of(home)
    await node.prepare(places, launch_env={}, min_free_bytes=0)

    first = await node.seed(places)
    again = await node.seed(places)

    assert (first.outcome, again.outcome) == (Seeding.SEEDED, Seeding.ALREADY)
    assert first.files > 0
    assert again.files == 0
    assert (await node.prepare(places, launch_env={}, min_free_bytes=0)).home_initialised


async def test_two_seedings_at_once_seed_once(node: Node, home: str) -> None:
    places = places_of(home)
    await node.prepare(places, launch_env={}, min_free_bytes=0)

    both = await asyncio.gather(node.seed(places), node.seed(places))

    assert sorted(seeded.outcome for seeded in both) == [Seeding.ALREADY, Seeding.SEEDED]


async def test_markers_that_nobody_answers_are_not_found(node: Node, home: str) -> None:
    places = places_of(home)
    await node.prepare(places, launch_env={}, min_free_bytes=0)

    await node.plant_markers(places, MARKER)

    assert await node.collect_markers(places, MARKER) == MarkersFound(home=False, workspace=False)


async def test_planting_twice_is_planting_once(node: Node, home: str) -> None:
    places = places_of(home)
    await node.prepare(places, launch_env={}, min_free_bytes=0)

    await node.plant_markers(places, MARKER)
    await node.plant_markers(places, MARKER)

    assert await node.collect_markers(places, MARKER) == MarkersFound(home=False, workspace=False)


async def test_a_pulse_tells_the_heartbeats_that_are_there(there: World, node: Node, home: str) -> None:
    await node.prepare(places_of(home), launch_env={}, min_free_bytes=0)
    await node.prepare(places_of(f"{home[:40]}-none"), launch_env={}, min_free_bytes=0)
    leave_heartbeat(there, node, home, age=12.0)

    pulse = await node.pulse("/data/shared", [home, f"{home[:40]}-none", "never-made"])

    assert list(pulse.heartbeats) == [home]
    beat = pulse.heartbeats[home]
    assert (beat.sandbox, beat.studio, beat.envd, beat.memory_free) == ("ab" * 16, Inside.READY, True, 4096)
    assert 12 <= beat.age < 20
    assert beat.fresh
    assert beat.skew == 0
    assert pulse.free_bytes > 0
    assert len(pulse.skills_revision) == 8


async def test_a_pulse_of_no_home_tells_how_the_node_is(node: Node) -> None:
    pulse = await node.pulse("/data/shared", [])

    assert dict(pulse.heartbeats) == {}
    assert pulse.free_bytes > 0


async def test_sizes_of_a_home_that_is_there_and_of_one_that_is_not(node: Node, home: str) -> None:
    await node.prepare(places_of(home), launch_env={}, min_free_bytes=0)

    there, missing = await node.sizes(places_of(home)), await node.sizes(places_of("never-made"))

    assert there.home is not None
    assert there.workspace is not None
    assert min(there.home, there.workspace) > 0
    assert missing == Sizes(home=0, workspace=0)


async def test_a_thousand_homes_are_one_command_on_the_node(there: World, home: str) -> None:
    names = [f"{home[:40]}-{number}" for number in range(1000)]
    for name in names:
        leave_heartbeat(there, there.node, name, age=1.0)
    before = there.faults.calls["node command"]

    pulse = await there.node.pulse("/data/shared", names)

    assert there.faults.calls["node command"] - before == 1
    assert len(pulse.heartbeats) == 1000
    assert all(beat.fresh for beat in pulse.heartbeats.values())


async def test_a_home_that_was_made_hostile_costs_only_its_own_heartbeat(there: World, home: str) -> None:
    well, hostile = f"{home[:40]}-well", [f"{home[:40]}-{number}" for number in range(3)]
    for name in (well, *hostile):
        leave_heartbeat(there, there.node, name, age=1.0)
    piped, linked, moved = (there.home(name) / ".hermes-bot/heartbeat.json" for name in hostile)
    linked.replace(there.shared / "elsewhere.json")
    linked.symlink_to(there.shared / "elsewhere.json")
    piped.unlink()
    os.mkfifo(piped)
    moved.parent.rename(there.shared / "elsewhere")
    moved.parent.symlink_to(there.shared / "elsewhere")

    pulse = await there.node.pulse("/data/shared", [*hostile, "../elsewhere", well])

    assert list(pulse.heartbeats) == [well]


async def test_a_pulse_is_asked_for_once_more_when_its_answer_was_lost(there: World, home: str) -> None:
    leave_heartbeat(there, there.node, home, age=1.0)
    there.faults.arm({"target": "node", "kind": "drop-after-write"})

    assert home in (await there.node.pulse("/data/shared", [home])).heartbeats


async def test_a_missing_default_home_is_said(there: World, home: str) -> None:
    default = there.home("default")
    places = places_of(home)
    await there.node.prepare(places, launch_env={}, min_free_bytes=0)
    default.rename(default.with_name("default-away"))

    try:
        with pytest.raises(NodeError) as refused:
            await there.node.seed(places)
    finally:
        default.with_name("default-away").rename(default)

    assert refused.value.code == "default-home-missing"


async def test_missing_public_skills_are_said_before_anything_is_made(there: World, home: str) -> None:
    public = there.shared / "hermes-common-skills"
    public.rename(public.with_name("away"))

    try:
        with pytest.raises(NodeError) as refused:
            await there.node.prepare(places_of(home), launch_env={}, min_free_bytes=0)
    finally:
        public.with_name("away").rename(public)

    assert refused.value.code == "public-skills-missing"
    assert not there.home(home).exists()


async def test_no_value_shows_in_the_process_list(there: World, home: str) -> None:
    env = {"OPENAI_API_KEY": "sk-EXAMPLE-visible-nowhere"}
    there.faults.arm({"target": "node", "kind": "ssh-slow", "delay_s": 0.05})
    preparing = asyncio.create_task(there.node.prepare(places_of(home), launch_env=env, min_free_bytes=0))
    seen: set[bytes] = set()

    while not preparing.done():
        seen |= await asyncio.to_thread(command_lines)

    await preparing
    assert not [line for line in seen if b"visible-nowhere" in line]
    assert any(b"def prepare" in line for line in seen)


async def test_a_full_disk_is_told_from_a_low_one(there: World, home: str) -> None:
    places = places_of(home)
    await there.node.prepare(places, launch_env={}, min_free_bytes=0)
    there.faults.arm({"target": "node", "kind": "disk-full"})

    with pytest.raises(NodeError) as refused:
        await there.node.seed(places)

    assert refused.value.code == "disk-full", str(refused.value)
    assert (await there.node.seed(places)).outcome in {Seeding.SEEDED, Seeding.COMPLETED}


async def test_an_idempotent_verb_survives_a_lost_answer(there: World, home: str) -> None:
    there.faults.arm({"target": "node", "kind": "drop-after-write"})

    prepared = await there.node.prepare(places_of(home), launch_env={}, min_free_bytes=0)

    assert there.home(home).is_dir()
    assert not prepared.home_created  # the repetition found it


async def test_a_command_whose_answer_was_lost_is_not_sent_again(there: World) -> None:
    log = there.shared / "ran"
    there.faults.arm({"target": "node", "kind": "drop-after-write"})

    with pytest.raises(NodeError) as lost:
        await there.node.run("echo once >> /data/shared/ran")

    assert lost.value.code == "node-unreachable"
    assert log.read_text() == "once\n"


async def test_the_next_call_after_a_broken_connection_works(there: World) -> None:
    await there.node.run("true")
    there.server.drop_connections()
    await until(lambda: there.node._connection is None or there.node._connection.is_closed())

    result = await there.node.run("echo back")

    assert (result.exit_code, result.stdout) == (0, "back\n")


async def test_a_node_that_is_down_is_unreachable(there: World) -> None:
    there.faults.arm({"target": "node", "kind": "ssh-down", "times": 3})

    with pytest.raises(NodeError) as down:
        await there.node.has_home(places_of("anybody"))

    there.faults.clear()
    assert down.value.code == "node-unreachable"


async def test_a_slow_command_ends_at_its_deadline(there: World) -> None:
    with pytest.raises(NodeError) as late:
        await there.node.run("sleep 30", deadline=0.3)

    assert late.value.code == "node-timeout"


async def test_output_is_cut_at_one_mebibyte(there: World) -> None:
    result = await there.node.run("head -c 3000000 /dev/zero | tr '\\0' x", deadline=20)

    assert result.exit_code == 0
    assert len(result.stdout) == 1024 * 1024


async def test_more_calls_than_sessions_all_succeed(there: World) -> None:
    results = await asyncio.gather(*(there.node.run(f"echo {n}") for n in range(30)))

    assert [r.stdout for r in results] == [f"{n}\n" for n in range(30)]


async def test_standard_input_and_exit_code_pass(there: World) -> None:
    result = await there.node.run("cat; echo err >&2; exit 7", stdin=b"in")

    assert (result.exit_code, result.stdout, result.stderr) == (7, "in", "err\n")


async def test_a_changed_host_key_is_its_own_error(there: World, tmp_path: Path) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{there.server.address[1]} {other}\n")
    node = SshNode("node-1", *there.server.address, there.server.user, there.server.client_key, known)

    with pytest.raises(NodeError) as refused:
        await node.has_home(places_of("alpha"))

    assert refused.value.code == "host-key-changed"


@pytest.mark.parametrize("content", ["", None])
async def test_an_unknown_host_is_never_trusted(there: World, tmp_path: Path, content: str | None) -> None:
    known = tmp_path / "known_hosts"
    if content is not None:
        known.write_text(content)
    node = SshNode("node-1", *there.server.address, there.server.user, there.server.client_key, known)

    with pytest.raises(NodeError) as refused:
        await node.has_home(places_of("alpha"))

    assert refused.value.code == ("node-unreachable" if content is None else "host-key-changed")


async def test_a_refused_key_is_said(there: World, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    node = SshNode("node-1", *there.server.address, there.server.user, key, there.server.known_hosts)

    with pytest.raises(NodeError, match="refuses the key of root") as refused:
        await node.has_home(places_of("alpha"))

    assert refused.value.code == "node-login-refused"


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("host-key-changed", "host-key-changed", "does not show the host key"),
        ("auth-refused", "node-login-refused", "refuses the key of root"),
        ("read-only-root", "not-writable", "on a file system that is read-only"),
    ],
)
async def test_a_condition_of_the_node_is_told_without_a_second_try_and_ends(
    there: World, home: str, kind: str, code: str, words: str
) -> None:
    await there.node.prepare(places_of(home), launch_env={}, min_free_bytes=0)
    there.faults.arm({"target": "node", "kind": kind})
    await until(lambda: kind == "read-only-root" or there.node._connection.is_closed())
    before = there.faults.calls.copy()

    with pytest.raises(NodeError, match=words) as refused:
        await there.node.prepare(places_of(home), launch_env={"A": "1"}, min_free_bytes=0)

    met = there.faults.calls - before
    there.faults.clear()
    assert refused.value.code == code
    assert met.total() == 1
    assert (await there.node.prepare(places_of(home), launch_env={}, min_free_bytes=0)).free_bytes > 0


@pytest.mark.parametrize("kind", ["reset-before-command", "reset-during-command"])
async def test_a_verb_is_asked_for_once_more_after_a_reset_and_not_again(
    there: World, home: str, kind: str
) -> None:
    there.faults.arm({"target": "node", "kind": kind})
    prepared = await there.node.prepare(places_of(home), launch_env={}, min_free_bytes=0)
    there.faults.arm({"target": "node", "kind": kind, "times": 100})
    before = there.faults.calls["node command"]

    with pytest.raises(NodeError) as lost:
        await there.node.prepare(places_of(home), launch_env={}, min_free_bytes=0)

    asked = there.faults.calls["node command"] - before
    there.faults.clear()
    assert prepared.free_bytes > 0
    assert (lost.value.code, asked) == ("node-unreachable", 2)


async def test_a_login_that_takes_long_is_waited_for(there: World, home: str) -> None:
    await there.node.close()
    there.faults.arm({"target": "node", "kind": "connect-slow", "delay_s": 0.3})

    assert not await there.node.has_home(places_of(home))


async def test_a_program_that_is_not_there_is_a_command_that_ended_with_127(there: World) -> None:
    there.faults.arm({"target": "node", "kind": "rsync-missing", "times": 1})

    result = await there.node.run("rsync --version")

    assert (result.exit_code, "rsync: not found" in result.stderr) == (127, True)
