"""What every ``Guest`` does: the double, and our programs in sandboxes of the stand-in."""

import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio
from contract.doubles import MemoryCube, MemoryGuest, MemoryNode
from contract.standin_world import World, places_of, spec_of, world

from bot.domain.errors import CubeError, GuestError
from bot.domain.heartbeat import Inside
from bot.domain.provisioning import Generation
from bot.domain.skills import Entry, EntryType, plan_overlay
from bot.ports import Cube, Guest, MarkersFound, Node

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

MARKER = "cd" * 16
PUBLIC = ("deploy-check", "log-triage", "release-notes")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("guest-world")) as running:
        yield running


@dataclass
class Side:
    """One implementation with what it stands on."""

    cube: Cube
    node: Node
    guest: Guest

    async def sandbox(self, name: str, template: str = "hermes-studio") -> str:
        places = places_of(name)
        await self.node.prepare(places, launch_env={"GREETING": "hello"}, min_free_bytes=0)
        await self.node.seed(places)
        return (await self.cube.create(spec_of(name, template=template))).sandbox_id


@pytest_asyncio.fixture(params=["memory", "standin"], loop_scope="module")
async def side(request: pytest.FixtureRequest, there: World) -> AsyncIterator[Side]:
    if request.param == "memory":
        cube, node = MemoryCube(), MemoryNode()
        node.public_skills = {name: Entry(EntryType.DIR, skill=True) for name in PUBLIC}
        yield Side(cube, node, MemoryGuest(cube, node))
        return
    yield Side(there.cube, there.node, there.guest)
    there.faults.clear()
    for view in await there.cube.list():
        await there.cube.kill(view.sandbox_id)


@pytest_asyncio.fixture(loop_scope="module")
async def real(there: World) -> AsyncIterator[World]:
    yield there
    there.faults.clear()
    for view in await there.cube.list():
        await there.cube.kill(view.sandbox_id)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return "g-" + "".join(c if c.isalnum() else "-" for c in request.node.name.lower())[:50].strip("-")


async def test_a_new_sandbox_answers_and_an_absent_one_does_not(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)

    assert await side.guest.answers(sandbox)
    assert not await side.guest.answers("0" * 32)


async def test_markers_cross_both_ways(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)
    await side.node.plant_markers(places_of(name), MARKER)

    report = await side.guest.check_mounts(sandbox, MARKER)

    assert report.problems == ()
    assert report.marker_seen_in_home
    assert report.marker_seen_in_workspace
    assert report.home_read_write
    assert report.workspace_read_write
    assert report.public_skills_read_only
    assert report.file_system
    assert await side.node.collect_markers(places_of(name), MARKER) == MarkersFound(home=True, workspace=True)


async def test_a_marker_that_was_not_planted_is_not_seen(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)

    report = await side.guest.check_mounts(sandbox, "ef" * 16)

    assert not report.marker_seen_in_home
    assert not report.marker_seen_in_workspace


async def test_the_overlay_links_once(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)
    before = await side.guest.skills_inventory(sandbox)

    done = await side.guest.apply_overlay(sandbox, plan_overlay(before.public, before.home))

    after = await side.guest.skills_inventory(sandbox)
    assert done.link == PUBLIC
    assert plan_overlay(after.public, after.home).already == PUBLIC
    assert plan_overlay(after.public, after.home).changes_nothing


async def test_a_plan_made_before_the_links_were_there_is_harmless(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)
    before = await side.guest.skills_inventory(sandbox)
    plan = plan_overlay(before.public, before.home)
    await side.guest.apply_overlay(sandbox, plan)

    again = await side.guest.apply_overlay(sandbox, plan)

    assert (again.link, again.already) == ((), PUBLIC)


@pytest.mark.parametrize(
    ("template", "generation"),
    [("hermes-studio", Generation.USERS), ("hermes-studio-legacy", Generation.TOKEN)],
)
async def test_studio_starts_and_its_access_is_stored(
    side: Side, name: str, template: str, generation: Generation
) -> None:
    if isinstance(side.guest, MemoryGuest):
        side.guest.generation = generation
    sandbox = await side.sandbox(name, template)

    started = await side.guest.start_studio(sandbox, port=9000, auth="auto")

    access = await side.node.read_access(places_of(name))
    assert started.generation is generation
    assert not started.replaced_running
    assert started.first_login_replaced is (generation is Generation.USERS)
    assert started.agent.version == "0.19.0"
    assert started.agent.lacks_wal_guard
    assert started.agent.databases_ok
    assert access is not None
    assert access.generation is generation
    assert bool(access.token) is (generation is Generation.TOKEN)
    assert bool(access.password) is (generation is Generation.USERS)


async def test_starting_again_replaces_the_process_and_keeps_the_password(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)
    await side.guest.start_studio(sandbox, port=9000, auth="auto")
    before = await side.node.read_access(places_of(name))

    again = await side.guest.start_studio(sandbox, port=9000, auth="auto")

    assert again.replaced_running
    assert not again.first_login_replaced
    assert await side.node.read_access(places_of(name)) == before


async def test_stopping_tells_whether_there_was_one(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)
    await side.guest.start_studio(sandbox, port=9000, auth="auto")

    assert await side.guest.stop_studio(sandbox)
    assert not await side.guest.stop_studio(sandbox)


async def test_a_started_studio_gives_a_sign_of_life_and_a_stopped_one_none(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)

    started = await side.guest.start_studio(sandbox, port=9000, auth="auto")
    beat = (await side.node.pulse("/data/shared", [name])).heartbeats[name]
    await side.guest.stop_studio(sandbox)
    left = (await side.node.pulse("/data/shared", [name])).heartbeats

    assert started.heartbeat_note == ""
    assert beat.fresh
    assert (beat.sandbox, beat.studio, beat.note) == (sandbox, Inside.READY, "")
    assert (beat.envd, beat.gateway) == (True, True)
    assert "0.19.0" in beat.version
    assert beat.skew is not None
    assert abs(beat.skew) < 1
    assert dict(left) == {}


async def test_nothing_answers_in_a_dead_sandbox(side: Side, name: str) -> None:
    sandbox = await side.sandbox(name)
    await side.cube.kill(sandbox)

    with pytest.raises(CubeError):
        await side.guest.check_mounts(sandbox, MARKER)


# Below: what only a real sandbox can show.


async def test_the_home_in_a_new_sandbox_keeps_its_password(real: World, name: str) -> None:
    first = await real.provisioned(name)
    await real.guest.start_studio(first, port=9000, auth="auto")
    before = await real.node.read_access(places_of(name))
    await real.guest.stop_studio(first)
    await real.cube.kill(first)

    second = await real.provisioned(name)
    started = await real.guest.start_studio(second, port=9000, auth="auto")

    assert not started.first_login_replaced
    assert await real.node.read_access(places_of(name)) == before
    assert await log_in(real, second, password_of(real, name)) == 200


async def test_only_the_stored_password_opens_studio(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)

    await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert await log_in(real, sandbox, password_of(real, name)) == 200
    assert await log_in(real, sandbox, "123456") == 401


async def test_a_studio_of_the_template_is_replaced_by_one_on_the_mounted_home(
    real: World, name: str
) -> None:
    sandbox = await real.provisioned(name, template="hermes-studio-running")

    started = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert started.replaced_running
    assert (await real.studio.web_ui(sandbox)).ok
    assert (real.home(name) / ".hermes-bot/web-ui/server.pid").exists()
    assert await log_in(real, sandbox, password_of(real, name)) == 200


@pytest.mark.parametrize("state", ["candidate-unused", "candidate-in-use", "access-unreadable"])
async def test_an_interrupted_password_change_is_made_good(real: World, name: str, state: str) -> None:
    sandbox = await real.provisioned(name)
    own = real.home(name) / ".hermes-bot"
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    if state == "candidate-in-use":
        (own / "access.json").rename(own / "access.new.json")
    else:
        await reset_login(real, sandbox)
        content = {"generation": "users", "username": "admin", "password": "never-taken-EXAMPLE"}
        place = "access.json" if state == "access-unreadable" else "access.new.json"
        (own / place).write_text("{" if state == "access-unreadable" else json.dumps(content))

    started = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert started.first_login_replaced is (state != "candidate-in-use")
    assert not (own / "access.new.json").exists()
    assert await log_in(real, sandbox, password_of(real, name)) == 200


async def test_no_secret_crosses_the_command_line_or_the_answer(
    real: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = await real.provisioned(name)
    said: list[str] = []
    run = real.cube.run

    async def overheard(sandbox_id: str, command: str, **more: Any) -> Any:
        result = await run(sandbox_id, command, **more)
        said.extend([command, repr(more), result.stdout, result.stderr])
        return result

    monkeypatch.setattr(real.cube, "run", overheard)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert said
    assert not [text for text in said if password_of(real, name) in text]


async def test_studio_gets_the_launch_environment_and_the_fixed_names(real: World, name: str) -> None:
    env = {"GREETING": "a 'b' \"c\"", "HERMES_HOME": "/elsewhere", "HERMES_LAN_DISCOVERY_ENABLED": "1"}
    sandbox = await real.provisioned(name, env=env)

    await real.guest.start_studio(sandbox, port=9000, auth="auto")

    pid = (real.home(name) / ".hermes-bot/web-ui/server.pid").read_text().strip()
    seen = (await real.cube.run(sandbox, f"tr '\\0' '\\n' < /proc/{pid}/environ")).stdout.splitlines()
    assert "GREETING=a 'b' \"c\"" in seen
    assert "HERMES_HOME=/root/.hermes" in seen
    assert "HERMES_WEB_UI_HOME=/root/.hermes/.hermes-bot/web-ui" in seen
    assert "WORKSPACE_BASE=/workspace" in seen
    assert "HERMES_LAN_DISCOVERY_ENABLED=0" in seen


async def test_a_tampered_launch_environment_starts_nothing(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    (real.home(name) / ".hermes-bot/studio.env").write_text(json.dumps({"LD_PRELOAD": "/workspace/x.so"}))

    with pytest.raises(GuestError) as refused:
        await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert refused.value.code == "guest-program-failed"
    assert not (await real.studio.web_ui(sandbox)).ok


@pytest.mark.parametrize("fault", ["studio-never-ready", "studio-does-not-start"])
async def test_a_studio_that_does_not_come_up_says_why(real: World, name: str, fault: str) -> None:
    real.faults.arm({"target": "cube", "kind": fault})
    sandbox = await real.provisioned(name)
    impatient = real.impatient_guest()

    with pytest.raises(GuestError) as failed:
        await impatient.start_studio(sandbox, port=9000, auth="auto")

    assert failed.value.code == "studio-did-not-start"
    assert len(str(failed.value)) < 1000
    assert ("bridge is not ready" in str(failed.value)) is (fault == "studio-never-ready")
    assert ("Cannot find module" in str(failed.value)) is (fault == "studio-does-not-start")


async def test_a_read_only_home_is_seen(real: World, name: str) -> None:
    real.faults.arm({"target": "cube", "kind": "read-only-home"})
    sandbox = await real.provisioned(name)

    report = await real.guest.check_mounts(sandbox, MARKER)

    assert not report.home_read_write
    assert report.workspace_read_write
    assert any("read-only" in problem.lower() for problem in report.problems)


async def test_a_private_skill_that_appears_meanwhile_stays_private(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    inventory = await real.guest.skills_inventory(sandbox)
    plan = plan_overlay(inventory.public, inventory.home)
    private = real.home(name) / "skills/log-triage"
    private.mkdir()
    (private / "SKILL.md").write_text("mine")

    done = await real.guest.apply_overlay(sandbox, plan)

    assert "log-triage" in done.keep_private
    assert "log-triage" not in done.link
    assert (private / "SKILL.md").read_text() == "mine"


async def test_only_our_own_dangling_link_is_removed(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    skills = real.home(name) / "skills"
    (skills / "withdrawn").symlink_to("/opt/hermes-common-skills/withdrawn")
    (skills / "mine").symlink_to("/workspace/not-there-yet")
    inventory = await real.guest.skills_inventory(sandbox)
    plan = plan_overlay(inventory.public, inventory.home)

    done = await real.guest.apply_overlay(sandbox, plan)

    assert (plan.remove_dangling, done.remove_dangling) == (("withdrawn",), ("withdrawn",))
    assert not (skills / "withdrawn").is_symlink()
    assert (skills / "mine").is_symlink()


async def test_a_link_that_became_a_skill_meanwhile_is_not_removed(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    skills = real.home(name) / "skills"
    (skills / "withdrawn").symlink_to("/opt/hermes-common-skills/withdrawn")
    inventory = await real.guest.skills_inventory(sandbox)
    plan = plan_overlay(inventory.public, inventory.home)
    (skills / "withdrawn").unlink()
    (skills / "withdrawn").mkdir()

    done = await real.guest.apply_overlay(sandbox, plan)

    assert done.remove_dangling == ()
    assert "withdrawn" in done.keep_private
    assert (skills / "withdrawn").is_dir()


async def test_a_skills_directory_that_is_a_link_is_refused(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    inventory = await real.guest.skills_inventory(sandbox)
    plan = plan_overlay(inventory.public, inventory.home)
    skills = real.home(name) / "skills"
    skills.rename(skills.with_name("elsewhere"))
    skills.symlink_to("/workspace")

    with pytest.raises(GuestError) as refused:
        await real.guest.apply_overlay(sandbox, plan)

    assert refused.value.code == "unsafe-home-entry"
    assert "/root/.hermes/skills is a symbolic link" in str(refused.value)


async def test_a_damaged_database_is_reported(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    damaged = real.home(name) / "kanban.db"
    with sqlite3.connect(damaged) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [("y" * 1000,)] * 200)
    connection.close()
    data = bytearray(damaged.read_bytes())
    data[8192:40960] = b"\xff" * (40960 - 8192)
    damaged.write_bytes(data)

    started = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert started.agent.databases_ok is False
    assert any(note.startswith("kanban.db") for note in started.agent.database_notes)


async def test_a_stopped_studio_leaves_no_process_and_no_open_database(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    await real.guest.start_studio(sandbox, port=9000, auth="auto")

    await real.guest.stop_studio(sandbox)

    left = await real.cube.run(sandbox, "ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c '/root/.hermes/.*db'")
    assert left.stdout.strip() == "0"
    assert not list(real.home(name).glob("*.db-wal"))


def password_of(there: World, name: str) -> str:
    stored: dict[str, str] = json.loads((there.home(name) / ".hermes-bot/access.json").read_text())
    return stored["password"]


async def log_in(there: World, sandbox: str, password: str) -> int:
    """Through the proxy, as a browser would; the HTTP status."""
    host = f"9000-{sandbox}.localhost"
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(
            f"{there.studio._proxy}/api/auth/login",
            headers={"Host": host},
            json={"username": "admin", "password": password},
        )
    return answer.status_code


async def reset_login(there: World, sandbox: str) -> None:
    """Back to the password that every Studio ships with."""
    home = "HERMES_HOME=/root/.hermes HERMES_WEB_UI_HOME=/root/.hermes/.hermes-bot/web-ui"
    done = await there.cube.run(sandbox, f"{home} hermes-web-ui reset-default-login")
    assert done.exit_code == 0, done
