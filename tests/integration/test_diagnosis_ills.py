"""Prepared illnesses: for each the right one is named first. ``docs/runbook.md`` has them as a table.

One sandbox on the stand-in is made ill and healed again; three illnesses need a sandbox of their own.
"""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from contract.standin_world import World, places_of, spec_of, world
from e2e.manifests import manifest
from installation import OPERATOR, Installation, install

from bot.adapters.system import SystemClock
from bot.domain.condition import Condition
from bot.domain.errors import CubeError, GuestError
from bot.domain.outcome import Done
from bot.domain.sandbox import SandboxState
from bot.usecases.changing import ChangeRequest
from bot.usecases.deps import Deps
from bot.usecases.diagnose import DiagnoseRequest, Examined, examine
from bot.usecases.resuming import resume

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

HOME = "patient"


class WrongClock(SystemClock):
    """The clock of a bot whose own machine is wrong."""

    def __init__(self, by: timedelta) -> None:
        super().__init__()
        self._by = by

    def now(self) -> datetime:
        return datetime.now(UTC) + self._by


@dataclass
class Ward:
    """A sandbox with a Studio that works, and what is needed to make it ill."""

    there: World
    memory: Installation
    sandbox: str

    async def diagnose(self, target: str = HOME, *, wake: bool = False, **changes: Any) -> Examined:
        request = DiagnoseRequest(request_id="r-diagnose", actor=OPERATOR, target=target, wake=wake)
        outcome = await examine(request, replace(self.memory.deps, **changes))
        assert isinstance(outcome, Done), outcome
        return outcome.value

    @property
    def home(self) -> Path:
        return self.there.home(HOME)

    @property
    def deps(self) -> Deps:
        return self.memory.deps

    async def studio(self) -> None:
        await self.there.guest.start_studio(self.sandbox, port=9000, auth="auto")

    async def awake(self) -> None:
        self.there.faults.clear()
        await self.there.cube.resume(self.sandbox)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ward(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ward]:
    async with world(tmp_path_factory.mktemp("ward")) as there:
        memory = install()
        rules = memory.deps.rules
        memory.deps = replace(
            memory.deps,
            cube=there.cube,
            nodes={"node-1": there.node},
            guest=there.guest,
            studio=there.studio,
            clock=SystemClock(),
            rules=replace(rules, limits=replace(rules.limits, min_free_gib=0)),
        )
        made = await memory.create(HOME)
        assert isinstance(made, Done), made
        yield Ward(there, memory, made.value.sandbox_id)


Given = dict[str, Any]
"""What ``diagnose`` is given beside the usual."""


@asynccontextmanager
async def config_corrupt(ward: Ward) -> AsyncIterator[Given]:
    file = ward.home / "config.yaml"
    well = file.read_bytes()
    file.write_text("terminal:\n  backend: [local\nmodel: x\n")
    yield {}
    file.write_bytes(well)


@asynccontextmanager
async def config_is_a_dead_link(ward: Ward) -> AsyncIterator[Given]:
    file = ward.home / "config.yaml"
    well = file.read_bytes()
    file.unlink()
    file.symlink_to("/root/elsewhere.yaml")
    yield {}
    file.unlink()
    file.write_bytes(well)


@asynccontextmanager
async def node_disk_full(ward: Ward) -> AsyncIterator[Given]:
    ward.there.faults.arm({"target": "node", "kind": "disk-full", "times": 99})
    yield {}
    ward.there.faults.clear()


@asynccontextmanager
async def home_moved_away(ward: Ward) -> AsyncIterator[Given]:
    moved = ward.home.rename(ward.home.with_name("elsewhere"))
    yield {}
    moved.rename(ward.home)


@asynccontextmanager
async def home_is_a_link(ward: Ward) -> AsyncIterator[Given]:
    moved = ward.home.rename(ward.home.with_name("elsewhere"))
    ward.home.symlink_to(moved)
    yield {}
    ward.home.unlink()
    moved.rename(ward.home)


@asynccontextmanager
async def dark(ward: Ward) -> AsyncIterator[Given]:
    ward.there.faults.arm({"target": "cube", "kind": "running-but-dark", "delay_s": 0.05})
    yield {}
    ward.there.faults.clear()


@asynccontextmanager
async def two_on_one_home(ward: Ward) -> AsyncIterator[Given]:
    other = await ward.there.cube.create(spec_of(HOME))
    yield {}
    await ward.there.cube.kill(other.sandbox_id)


@asynccontextmanager
async def launch_file_damaged(ward: Ward) -> AsyncIterator[Given]:
    file = ward.home / ".hermes-bot/studio.env"
    well = file.read_bytes()
    file.write_text('{"MODEL": ')
    yield {}
    file.write_bytes(well)


@asynccontextmanager
async def skill_not_linked(ward: Ward) -> AsyncIterator[Given]:
    link = ward.home / "skills/deploy-check"
    target = link.readlink()
    link.unlink()
    yield {}
    link.symlink_to(target)


@asynccontextmanager
async def skill_withdrawn(ward: Ward) -> AsyncIterator[Given]:
    link = ward.home / "skills/withdrawn"
    link.symlink_to("/opt/hermes-common-skills/withdrawn")
    yield {}
    link.unlink()


@asynccontextmanager
async def endpoint_refused(ward: Ward) -> AsyncIterator[Given]:
    yield {"rules": replace(ward.deps.rules, endpoints=("127.0.0.1:9",))}


@asynccontextmanager
async def bots_clock_wrong(_ward: Ward) -> AsyncIterator[Given]:
    yield {"clock": WrongClock(timedelta(minutes=10))}


@asynccontextmanager
async def studio_ended(ward: Ward) -> AsyncIterator[Given]:
    await ward.there.guest.stop_studio(ward.sandbox)
    yield {}
    await ward.studio()


@asynccontextmanager
async def port_taken(ward: Ward) -> AsyncIterator[Given]:
    await ward.there.guest.stop_studio(ward.sandbox)
    serve = "setsid python3 -m http.server 9000 >/dev/null 2>&1 & echo $!"
    wait = "until (exec 3<>/dev/tcp/127.0.0.1/9000) 2>/dev/null; do sleep 0.02; done"
    pid = (await ward.there.cube.run(ward.sandbox, f"{serve}; {wait}", deadline=10)).stdout.split()[0]
    yield {}
    await ward.there.cube.run(ward.sandbox, f"kill {pid}")
    await ward.studio()


@asynccontextmanager
async def database_damaged(ward: Ward) -> AsyncIterator[Given]:
    await ward.there.guest.stop_studio(ward.sandbox)
    file = ward.home / "state.db"
    well = file.read_bytes()
    file.write_bytes(well[:100] + b"\xff" * (len(well) - 100))
    yield {}
    file.write_bytes(well)
    await ward.studio()


@asynccontextmanager
async def cannot_be_woken(ward: Ward) -> AsyncIterator[Given]:
    await ward.there.cube.pause(ward.sandbox)
    ward.there.faults.arm({"target": "cube", "kind": "resume-tap-busy"})
    yield {"wake": True}
    await ward.awake()


@asynccontextmanager
async def stuck_pausing(ward: Ward) -> AsyncIterator[Given]:
    ward.there.faults.arm({"target": "cube", "kind": "stuck-pausing", "delay_s": 0})
    with pytest.raises(CubeError):
        await ward.there.cube.pause(ward.sandbox)
    yield {"clock": WrongClock(timedelta(hours=1))}
    await ward.awake()


@asynccontextmanager
async def home_read_only(ward: Ward) -> AsyncIterator[Given]:
    ward.there.faults.arm({"target": "cube", "kind": "read-only-home"})
    sandbox = await ward.there.provisioned("stiff")
    yield {"target": "stiff"}
    await ward.there.cube.kill(sandbox)


@asynccontextmanager
async def bridge_never_ready(ward: Ward) -> AsyncIterator[Given]:
    ward.there.faults.arm({"target": "cube", "kind": "studio-never-ready"})
    sandbox = await ward.there.provisioned("mute")
    with pytest.raises(GuestError):
        await ward.there.impatient_guest().start_studio(sandbox, port=9000, auth="auto")
    yield {"target": "mute"}
    await ward.there.cube.kill(sandbox)


Prepare = Callable[[Ward], AbstractAsyncContextManager[Given]]
ILLS: dict[str, tuple[Prepare, str]] = {
    "config-corrupt": (config_corrupt, "line 3 is not YAML"),
    "config-not-a-file": (config_is_a_dead_link, "a link that leads to nothing"),
    "disk-full": (node_disk_full, "The node's disk is full"),
    "home-missing": (home_moved_away, "is not on the node"),
    "path-unsafe": (home_is_a_link, "hermes-homes/patient is a link"),
    "dark": (dark, "nothing in it answers"),
    "second-writer": (two_on_one_home, "More than one sandbox has home patient"),
    "launch-file-damaged": (launch_file_damaged, "studio.env is not what the bot wrote"),
    "skills-missing": (skill_not_linked, "`deploy-check`"),
    "skills-dangling": (skill_withdrawn, "`withdrawn`"),
    "endpoint-refused": (endpoint_refused, "127.0.0.1:9 is refused at once"),
    "clock-skew": (bots_clock_wrong, "The bot's own clock is 10 min ahead"),
    "studio-dead": (studio_ended, "Nothing listens on port 9000: no Studio runs"),
    "port-taken": (port_taken, "Port 9000 is held by `python3`"),
    "database-corrupt": (database_damaged, "A database of the home is damaged: state.db"),
    "cannot-resume": (cannot_be_woken, "ResourceBusy"),
    "stuck-pausing": (stuck_pausing, "does not come to an end"),
    "mount-read-only": (home_read_only, "/root/.hermes is mounted read-only"),
    "bridge-not-ready": (bridge_never_ready, "its agent bridge is 'starting'"),
}
CASES = [(code, *case) for code, case in ILLS.items()]


async def test_a_healthy_one_has_no_illness_and_the_doubles_agree(ward: Ward) -> None:
    memory = install()
    await memory.create(HOME)
    request = DiagnoseRequest(request_id="r", actor=OPERATOR, target=HOME)

    real, double = await ward.diagnose(), await examine(request, memory.deps)

    assert isinstance(double, Done)
    assert real.diagnosis.wrong == ()
    assert double.value.diagnosis.wrong == ()


@pytest.mark.parametrize(("code", "prepare", "words"), CASES, ids=[case[0] for case in CASES])
async def test_the_right_illness_is_named_first(ward: Ward, code: str, prepare: Prepare, words: str) -> None:
    async with prepare(ward) as given:
        examined = await ward.diagnose(**given)

    assert examined.diagnosis.verdict == code, (examined.evidence.cube, examined.diagnosis.findings)
    assert words in examined.diagnosis.headline


async def test_the_cure_of_a_dead_studio_cures_it(ward: Ward) -> None:
    await ward.there.guest.stop_studio(ward.sandbox)
    assert "`/hermes resume patient`" in (await ward.diagnose()).diagnosis.findings[0].cure

    cured = await resume(ChangeRequest(request_id="r-w", actor=OPERATOR, target=HOME), ward.deps)

    assert isinstance(cured, Done), cured
    assert cured.code == "studio-restarted"
    assert (await ward.diagnose()).diagnosis.wrong == ()


async def test_looking_leaves_no_trace_in_home_or_workspace(ward: Ward) -> None:
    await ward.there.guest.stop_studio(ward.sandbox)
    workspace = ward.there.shared / "hermes-workspaces" / HOME
    before = manifest(ward.home), manifest(workspace)

    await ward.diagnose()

    assert (manifest(ward.home), manifest(workspace)) == before
    await ward.studio()


async def test_a_paused_one_is_neither_woken_nor_prolonged_and_one_press_wakes_it(ward: Ward) -> None:
    await ward.there.cube.pause(ward.sandbox)
    before, calls = await ward.there.cube.get(ward.sandbox), ward.there.faults.calls.copy()

    asleep = await ward.diagnose()

    after, made = await ward.there.cube.get(ward.sandbox), ward.there.faults.calls - calls
    assert (asleep.diagnosis.verdict, asleep.evidence.judged.condition) == ("asleep", Condition.ASLEEP)
    assert after == before
    assert made["cube data_plane"] == made["cube connect"] == made["cube resume"] == 0
    woken = await ward.diagnose(wake=True)
    assert woken.woken
    assert woken.diagnosis.wrong == ()
    view = await ward.there.cube.get(ward.sandbox)
    assert view is not None
    assert view.state is SandboxState.RUNNING


async def test_one_look_at_the_node_is_one_command(ward: Ward) -> None:
    calls = ward.there.faults.calls.copy()

    seen = await ward.there.node.examine(places_of(HOME))

    assert (ward.there.faults.calls - calls)["node command"] == 1
    assert seen.config.state == "ok"
    assert seen.journal_mode == "wal"
    assert abs(seen.now - datetime.now(UTC).timestamp()) < 60


async def test_a_node_that_cannot_be_asked_is_evidence_too(ward: Ward) -> None:
    ward.there.faults.arm({"target": "node", "kind": "ssh-down", "times": 99})

    examined = await ward.diagnose()

    ward.there.faults.clear()
    assert examined.diagnosis.verdict == "node-silent"
    assert examined.evidence.judged.condition is not Condition.UNKNOWN


async def test_the_twelve_of_the_runbook_are_prepared_here() -> None:
    text = (Path(__file__).parents[2] / "docs/runbook.md").read_text(encoding="utf-8")
    table = text.partition("## Twelve prepared illnesses")[2].partition("\n## ")[0]

    named = re.findall(r"^\| .+? \| .+? \| `([a-z-]+)` \|", table, flags=re.MULTILINE)

    assert len(named) == 12
    assert set(named) <= set(ILLS)
