"""In-memory doubles of the ports. They behave like the real adapters and can be told to fail.

Every double records its calls in ``calls`` as ``(method, arguments)``, gives way to other tasks once per
call, and fails on demand: ``double.fail("create", error, times=2)`` raises instead of acting,
``after=True`` acts first and loses the answer. ``double.before("create", coroutine_function)`` runs
something in between, such as another person's press or a crash.
"""

import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from contract.double_evidence import well_guest, well_node
from contract.double_faults import Failing, fault, overlay_after, own_link
from contract.double_system import FixedIds, ManualClock, MemoryLock, MemoryLocks

from bot.domain.errors import NodeError
from bot.domain.evidence import GuestEvidence, NodeEvidence, Place
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.provisioning import AgentFacts, Generation, PortHealth, Seeding, SignIn
from bot.domain.sandbox import (
    ENVD_PORT,
    HOST_MOUNT_KEY,
    CreateSpec,
    Places,
    SandboxState,
    SandboxView,
    TemplateView,
)
from bot.domain.skills import Entry, OverlayPlan
from bot.ports import (
    CommandResult,
    MarkersFound,
    MountReport,
    NodePulse,
    Prepared,
    Seeded,
    Sizes,
    SkillsInventory,
    StoredAccess,
    StudioStarted,
)

__all__ = [
    "FixedIds",
    "ManualClock",
    "MemoryCube",
    "MemoryGuest",
    "MemoryHome",
    "MemoryLock",
    "MemoryLocks",
    "MemoryNode",
    "MemoryStudio",
    "fault",
    "made_access",
    "overlay_after",
    "own_link",
]


BUSY = "sandbox lifecycle operation in progress; retry later"


class MemoryCube(Failing):
    """Cube with its sandboxes in a dict. ``templates_known`` can be changed by a test."""

    def __init__(self) -> None:
        super().__init__()
        self.sandboxes: dict[str, SandboxView] = {}
        self.specs: dict[str, CreateSpec] = {}
        self.templates_known = [
            TemplateView(template_id="tpl-studio", name="hermes-studio", status="READY"),
            TemplateView(template_id="tpl-legacy", name="hermes-studio-legacy", status="READY"),
        ]
        self.up = True
        self.paused_cannot_be_killed = False
        """As platform 0.5.1 has it."""
        self.dropped: set[str] = set()
        """Sandboxes that a list leaves out."""
        self.pauses_get_stuck = False
        """A pause is taken on and never comes to its end."""
        self.now: Callable[[], datetime] = lambda: datetime(2026, 1, 1, tzinfo=UTC)
        self.outputs: dict[str, CommandResult] = {}
        """Answers of ``run``, by command; any other command ends with 0 and no output."""
        self._made = 0

    async def create(self, spec: CreateSpec) -> SandboxView:
        async with self._call("create", spec):
            if await self._template(spec.template) is None:
                raise fault("create", 404, f"template {spec.template} not found")
            self._made += 1
            view = SandboxView(
                sandbox_id=f"{self._made:032x}",
                state=SandboxState.RUNNING,
                template=spec.template,
                metadata={k: v for k, v in spec.metadata().items() if k != HOST_MOUNT_KEY},
                started_at="2026-01-01T00:00:00Z",
                host_id=spec.scope[0] if spec.scope else "cube-node-1",
                mounts=tuple((m.guest_path, m.read_only) for m in spec.mounts),
            )
            self.sandboxes[view.sandbox_id] = view
            self.specs[view.sandbox_id] = spec
        return replace(view, started_at="", host_id="")

    async def list(self, *, labels: Mapping[str, str] | None = None) -> builtins.list[SandboxView]:
        async with self._call("list", labels):
            wanted = (labels or {}).items()
            found = [
                view
                for view in self.sandboxes.values()
                if wanted <= view.metadata.items() and view.sandbox_id not in self.dropped
            ]
        return found[::-1]

    async def get(self, sandbox_id: str) -> SandboxView | None:
        async with self._call("get", sandbox_id):
            view = self.sandboxes.get(sandbox_id)
            # Only a list has a word for it.
            pausing = view and view.state is SandboxState.PAUSING
            return replace(view, state=SandboxState.RUNNING) if view and pausing else view

    async def kill(self, sandbox_id: str) -> None:
        async with self._call("kill", sandbox_id):
            view = self.sandboxes.get(sandbox_id)
            if view and view.state is SandboxState.PAUSED and self.paused_cannot_be_killed:
                raise fault("kill", 500, "CubeMaster returned error code 130593: sandbox not in normal state")
            if view and view.state is SandboxState.PAUSING:
                raise fault(
                    "kill", 503, f"CubeMaster returned error code 130490: {BUSY}", {"Retry-After": "2"}
                )
            if self.sandboxes.pop(sandbox_id, None) is None:
                raise fault("kill", 404, f"sandbox {sandbox_id} not found")

    async def pause(self, sandbox_id: str) -> None:
        async with self._call("pause", sandbox_id):
            view = self.sandboxes.get(sandbox_id)
            if view is None:
                raise fault("pause", 404, f"sandbox {sandbox_id} not found")
            if view.state is SandboxState.PAUSING:
                raise fault("pause", 409, BUSY)
            if view.state is SandboxState.PAUSED:
                words = "CubeMaster returned error code 130490: sandbox is already paused"
                raise fault("pause", 500, words)
            self.set_state(sandbox_id, SandboxState.PAUSING if self.pauses_get_stuck else SandboxState.PAUSED)

    async def set_timeout(self, sandbox_id: str, seconds: int) -> None:
        async with self._call("set_timeout", sandbox_id, seconds):
            view = self.sandboxes.get(sandbox_id)
            if view is None:
                raise fault("timeout", 404, f"sandbox {sandbox_id} not found")
            if seconds < -1:
                raise fault("timeout", 400, "invalid timeout: must be -1 or not negative")
            end = None if seconds < 0 else (self.now() + timedelta(seconds=seconds)).isoformat()
            self.sandboxes[sandbox_id] = replace(view, end_at=end)

    async def resume(self, sandbox_id: str) -> None:
        async with self._call("resume", sandbox_id):
            if sandbox_id not in self.sandboxes:
                raise fault("connect", 404, f"sandbox {sandbox_id} not found")
            if self.sandboxes[sandbox_id].state is SandboxState.PAUSING:
                words = "cannot resume: pause rpc timed out and cubelet is not PAUSED"
                raise fault("connect", 400, f"CubeMaster returned error code 130400: {words}")
            self.set_state(sandbox_id, SandboxState.RUNNING)

    async def templates(self) -> builtins.list[TemplateView]:
        async with self._call("templates"):
            return [*self.templates_known]

    async def template(self, name: str) -> TemplateView | None:
        async with self._call("template", name):
            return await self._template(name)

    async def healthy(self) -> bool:
        async with self._call("healthy"):
            return self.up

    async def run(
        self, sandbox_id: str, command: str, *, env: Mapping[str, str] | None = None, deadline: float = 30.0
    ) -> CommandResult:
        async with self._call("run", sandbox_id, command, env, deadline):
            self.wake(sandbox_id)
            return self.outputs.get(command, CommandResult(0, "", ""))

    def wake(self, sandbox_id: str) -> None:
        """What any data-plane request does; raises as the proxy would."""
        view = self.sandboxes.get(sandbox_id)
        if view is None:
            raise fault("data_plane", 404, "not found")
        if view.state is SandboxState.PAUSING:
            raise fault("data_plane", 503, "service unavailable", {"Retry-After": "2"})
        self.sandboxes[sandbox_id] = replace(view, state=SandboxState.RUNNING)

    def set_state(self, sandbox_id: str, state: SandboxState) -> None:
        """As if somebody else had paused it."""
        self.sandboxes[sandbox_id] = replace(self.sandboxes[sandbox_id], state=state)

    async def _template(self, name: str) -> TemplateView | None:
        return next((t for t in self.templates_known if t.answers_to(name)), None)


@dataclass
class MemoryHome:
    """A home on the memory node. Files are named, not stored, apart from what our ports read back."""

    initialised: bool = False
    partly_seeded: bool = False
    env: dict[str, str] | None = None
    access: StoredAccess | None = None
    accounts: bool = False
    """Studio's own database holds an account."""
    password_changed: bool = False
    """Its owner has set another password in Studio."""
    markers: set[str] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)
    skills: dict[str, Entry] = field(default_factory=dict)
    heartbeat: Heartbeat | None = None
    size: int | None = 4096


class MemoryNode(Failing):
    """A node whose disk is a few dicts. Attributes are its state; a test sets them at will."""

    def __init__(self, node_id: str = "node-1") -> None:
        super().__init__()
        self._node_id = node_id
        self.homes: dict[str, MemoryHome] = {}
        self.workspaces: dict[str, MemoryHome] = {}
        self.default_home = True
        self.public_skills: dict[str, Entry] | None = {}
        self.free_bytes = 100 * 1024**3
        self.files_in_default_home = 7
        self.outputs: dict[str, CommandResult] = {}
        self.skills_revision = "5f1d0c2a"
        self.closed = False
        self.clock: Callable[[], datetime] = lambda: datetime(2026, 1, 1, tzinfo=UTC)
        self.examined: dict[str, Any] = {}
        """Parts of an examination that shall not be well."""

    @property
    def node_id(self) -> str:
        return self._node_id

    async def prepare(
        self, places: Places, *, launch_env: Mapping[str, str], min_free_bytes: int
    ) -> Prepared:
        async with self._call("prepare", places, launch_env, min_free_bytes):
            if self.public_skills is None:
                raise NodeError("public-skills-missing", f"{places.public_skills} does not exist.")
            if self.free_bytes < min_free_bytes:
                raise NodeError(
                    "disk-low", f"{self.free_bytes} bytes are free, {min_free_bytes} are required."
                )
            home_created = places.home_id not in self.homes
            workspace_created = places.workspace_id not in self.workspaces
            home = self.homes.setdefault(places.home_id, MemoryHome())
            self.workspaces.setdefault(places.workspace_id, MemoryHome())
            home.env = dict(launch_env)
            return Prepared(
                home_created=home_created,
                workspace_created=workspace_created,
                home_initialised=home.initialised,
                free_bytes=self.free_bytes,
            )

    async def seed(self, places: Places) -> Seeded:
        async with self._call("seed", places):
            home = self._home(places)
            if home.initialised:
                seeded = Seeded(outcome=Seeding.ALREADY)
            elif not self.default_home:
                raise NodeError("default-home-missing", "The default home does not exist.")
            else:
                outcome = Seeding.COMPLETED if home.partly_seeded else Seeding.SEEDED
                home.initialised, home.partly_seeded = True, False
                seeded = Seeded(outcome=outcome, files=self.files_in_default_home)
        return seeded

    async def has_home(self, places: Places) -> bool:
        async with self._call("has_home", places):
            return places.home_id in self.homes

    async def launch_env(self, places: Places) -> dict[str, str] | None:
        async with self._call("launch_env", places):
            home = self.homes.get(places.home_id)
            return None if home is None or home.env is None else dict(home.env)

    async def plant_markers(self, places: Places, marker: str) -> None:
        async with self._call("plant_markers", places, marker):
            self._home(places).markers.add(marker)
            self.workspaces[places.workspace_id].markers.add(marker)

    async def collect_markers(self, places: Places, marker: str) -> MarkersFound:
        async with self._call("collect_markers", places, marker):
            sides = (self._home(places), self.workspaces[places.workspace_id])
            found = MarkersFound(home=marker in sides[0].answers, workspace=marker in sides[1].answers)
            for side in sides:
                side.markers.discard(marker)
                side.answers.discard(marker)
        return found

    async def read_access(self, places: Places) -> StoredAccess | None:
        async with self._call("read_access", places):
            home = self.homes.get(places.home_id)
            return home.access if home else None

    async def pulse(self, shared_root: str, homes: Collection[str]) -> NodePulse:
        async with self._call("pulse", shared_root, homes):
            beats = {home: self.homes[home].heartbeat for home in homes if home in self.homes}
            return NodePulse(
                free_bytes=self.free_bytes,
                skills_revision=self.skills_revision if self.public_skills is not None else "",
                heartbeats={home: beat for home, beat in beats.items() if beat is not None},
            )

    async def sizes(self, places: Places) -> Sizes:
        async with self._call("sizes", places):
            home, workspace = self.homes.get(places.home_id), self.workspaces.get(places.workspace_id)
            return Sizes(home=home.size if home else 0, workspace=workspace.size if workspace else 0)

    async def examine(self, places: Places) -> NodeEvidence:
        async with self._call("examine", places):
            seen = well_node(places, now=self.clock().timestamp())
            home = self.homes.get(places.home_id)
            if home is None:
                seen = replace(seen, home=Place(path=places.home, kind="missing"))
            elif home.env is None:
                seen = replace(seen, launch_file="absent")
            seen = replace(seen, home_disk=replace(seen.home_disk, free=self.free_bytes))
            return replace(seen, workspace_disk=seen.home_disk, **self.examined)

    async def run(self, command: str, *, stdin: bytes = b"", deadline: float = 30.0) -> CommandResult:
        async with self._call("run", command, stdin, deadline):
            return self.outputs.get(command, CommandResult(0, "", ""))

    async def close(self) -> None:
        self.closed = True

    def _home(self, places: Places) -> MemoryHome:
        home = self.homes.get(places.home_id)
        if home is None:
            raise NodeError("node-program-failed", f"{places.home} does not exist.")
        return home


class MemoryGuest(Failing):
    """Our programs in the sandboxes of a ``MemoryCube`` whose mounts are homes of a ``MemoryNode``."""

    def __init__(self, cube: MemoryCube, node: MemoryNode) -> None:
        super().__init__()
        self._cube = cube
        self._node = node
        self.deaf_for: dict[str, int] = {}
        """How often ``answers`` still says no, by sandbox."""
        self.generation = Generation.USERS
        self.agent = AgentFacts(
            version="0.19.0",
            file_system="ext2/ext3",
            journal_mode="wal",
            databases_ok=True,
            lacks_wal_guard=True,
        )
        self.studio_at_boot: set[str] = set()
        """Sandboxes whose template was a snapshot of a running Studio."""
        self.studio_running: set[str] = set()
        self.examined: dict[str, Any] = {}
        """Parts of an examination that shall not be well."""
        self.sign_ins_locked = False
        """Studio takes none for the time being."""
        self.heartbeat_note = ""
        """Why a heartbeat cannot begin; Studio starts all the same."""
        self.mounts_wrong: tuple[str, ...] = ()
        """Problems that ``check_mounts`` shall report; the first word names the mount."""

    async def answers(self, sandbox_id: str) -> bool:
        async with self._call("answers", sandbox_id):
            left = self.deaf_for.get(sandbox_id, self.deaf_for.get("*", 0))
            if left > 0:
                self.deaf_for[sandbox_id] = left - 1
            there = sandbox_id in self._cube.sandboxes
            if there and left <= 0:
                self._cube.wake(sandbox_id)
            return there and left <= 0

    async def check_mounts(self, sandbox_id: str, marker: str) -> MountReport:
        async with self._call("check_mounts", sandbox_id, marker):
            self._cube.wake(sandbox_id)
            home, workspace = self._home(sandbox_id), self._workspace(sandbox_id)
            wrong = {problem.split()[0] for problem in self.mounts_wrong}
            if "home" not in wrong:
                home.answers.add(marker)
            if "workspace" not in wrong:
                workspace.answers.add(marker)
            return MountReport(
                home_read_write="home" not in wrong,
                workspace_read_write="workspace" not in wrong,
                public_skills_read_only="public" not in wrong,
                marker_seen_in_home=marker in home.markers and "home" not in wrong,
                marker_seen_in_workspace=marker in workspace.markers and "workspace" not in wrong,
                file_system=self.agent.file_system,
                problems=self.mounts_wrong,
            )

    async def skills_inventory(self, sandbox_id: str) -> SkillsInventory:
        async with self._call("skills_inventory", sandbox_id):
            self._cube.wake(sandbox_id)
            return SkillsInventory(
                public=dict(self._node.public_skills or {}), home=dict(self._home(sandbox_id).skills)
            )

    async def apply_overlay(self, sandbox_id: str, plan: OverlayPlan) -> OverlayPlan:
        async with self._call("apply_overlay", sandbox_id, plan):
            self._cube.wake(sandbox_id)
            home = self._home(sandbox_id)
            true_now = overlay_after(plan, self._node.public_skills or {}, home.skills)
            for name in true_now.link:
                home.skills[name] = own_link(name)
            for name in true_now.remove_dangling:
                del home.skills[name]
        return true_now

    async def start_studio(self, sandbox_id: str, *, port: int, auth: str) -> StudioStarted:
        async with self._call("start_studio", sandbox_id, port, auth):
            self._cube.wake(sandbox_id)
            home = self._home(sandbox_id)
            generation = self.generation if auth == "auto" else Generation(auth)
            sign_in = self._sign_in(home, generation)
            first = sign_in is SignIn.KNOWN and (
                home.access is None or home.access.generation is not generation
            )
            if first:
                home.access = made_access(generation)
            home.accounts = home.accounts or generation is Generation.USERS
            replaced = sandbox_id in self.studio_at_boot | self.studio_running
            self.studio_at_boot.discard(sandbox_id)
            self.studio_running.add(sandbox_id)
            beating = Heartbeat(
                age=0.0,
                sandbox=sandbox_id,
                studio=Inside.READY,
                version=self.agent.version,
                envd=True,
                gateway=True,
                skew=0.0,
            )
            home.heartbeat = None if self.heartbeat_note else beating
            return StudioStarted(
                generation=generation,
                replaced_running=replaced,
                agent=self.agent,
                first_login_replaced=first and generation is Generation.USERS,
                sign_in=sign_in,
                heartbeat_note=self.heartbeat_note,
            )

    def _sign_in(self, home: MemoryHome, generation: Generation) -> SignIn:
        if generation is Generation.TOKEN or not home.accounts:
            return SignIn.KNOWN
        if self.sign_ins_locked:
            return SignIn.NOT_TOLD
        if not home.password_changed and home.access and home.access.password:
            return SignIn.KNOWN
        name = home.access.username if home.access else ""
        home.access = StoredAccess(generation=generation, username=name, sign_in=SignIn.CHANGED)
        return SignIn.CHANGED

    async def examine(
        self, sandbox_id: str, *, port: int, endpoints: Sequence[str], now: Callable[[], float]
    ) -> GuestEvidence:
        async with self._call("examine", sandbox_id, port, endpoints):
            self._cube.wake(sandbox_id)
            running = sandbox_id in self.studio_at_boot | self.studio_running
            seen = well_guest(
                now=now(),
                port=port,
                endpoints=tuple(endpoints),
                skills_public=dict(self._node.public_skills or {}),
                skills_home=dict(self._home(sandbox_id).skills),
            )
            if not running:
                seen = replace(
                    seen, studio=Inside.SILENT, listeners={49983: ("envd",)}, studio_processes=(), log_tail=()
                )
            return replace(seen, **self.examined)

    async def stop_studio(self, sandbox_id: str) -> bool:
        async with self._call("stop_studio", sandbox_id):
            self._cube.wake(sandbox_id)
            was_running = sandbox_id in self.studio_at_boot | self.studio_running
            self.studio_at_boot.discard(sandbox_id)
            self.studio_running.discard(sandbox_id)
            self._home(sandbox_id).heartbeat = None
        return was_running

    def _home(self, sandbox_id: str) -> MemoryHome:
        return self._node.homes.setdefault(self._cube.sandboxes[sandbox_id].home, MemoryHome())

    def _workspace(self, sandbox_id: str) -> MemoryHome:
        return self._node.workspaces.setdefault(self._cube.sandboxes[sandbox_id].workspace, MemoryHome())


def made_access(generation: Generation) -> StoredAccess:
    """The sign-in that the memory Studio hands out."""
    if generation is Generation.TOKEN:
        return StoredAccess(generation=generation, token="ab" * 32)
    return StoredAccess(generation=generation, username="admin", password="EXAMPLE-fresh-password-1")


class MemoryStudio(Failing):
    """Health of the Studios that a ``MemoryGuest`` started."""

    def __init__(self, cube: MemoryCube, guest: MemoryGuest, *, port: int = 9000) -> None:
        super().__init__()
        self._cube = cube
        self._guest = guest
        self._port = port
        self.not_ready: dict[str, str] = {}
        """Sandboxes (or ``*``) whose Web UI is not ready, with the note."""
        self.envd_down: set[str] = set()
        self.dark: set[str] = set()
        """Sandboxes that Cube's proxy cannot reach."""

    async def web_ui(self, sandbox_id: str) -> PortHealth:
        async with self._call("web_ui", sandbox_id):
            note = self.not_ready.get(sandbox_id, self.not_ready.get("*", ""))
            if sandbox_id not in self._guest.studio_running or sandbox_id not in self._cube.sandboxes:
                note = note or "nothing listens on the port"
            return self._seen(sandbox_id, PortHealth(port=self._port, name="Web UI", ok=not note, note=note))

    async def envd(self, sandbox_id: str) -> PortHealth:
        async with self._call("envd", sandbox_id):
            ok = sandbox_id in self._cube.sandboxes and sandbox_id not in self.envd_down
            note = "" if ok else "does not answer"
            return self._seen(sandbox_id, PortHealth(port=ENVD_PORT, name="envd", ok=ok, note=note))

    def _seen(self, sandbox_id: str, health: PortHealth) -> PortHealth:
        if sandbox_id in self.dark:
            return replace(health, ok=False, note="the sandbox cannot be reached", reached=False)
        silent = health.note in {"nothing listens on the port", "does not answer"}
        return replace(health, reached=not silent)
