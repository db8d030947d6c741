"""The ten steps of a provisioning, each a method that does it and gives one line for the thread."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

from bot.domain import endings
from bot.domain.environment import merge_env
from bot.domain.errors import CubeError
from bot.domain.explanations import is_unknown_outcome
from bot.domain.outcome import Failed, Refused, Unknown
from bot.domain.provisioning import (
    SIGN_IN_NOTES,
    CreateRequest,
    PortHealth,
    Provisioned,
    Seeding,
    Step,
    sign_in_words,
)
from bot.domain.sandbox import (
    HOME_KEY,
    NODE_KEY,
    OWNER_KEY,
    REQUEST_KEY,
    WORKSPACE_KEY,
    CreateSpec,
    Places,
    SandboxState,
    SandboxView,
    TemplateView,
)
from bot.domain.skills import OverlayPlan, plan_overlay
from bot.ports import Lock, Node, StudioStarted
from bot.usecases.admission import admit
from bot.usecases.asking import journal_of, particulars
from bot.usecases.deps import Deps
from bot.usecases.launch_secrets import learn
from bot.usecases.mounts import mount_problems
from bot.usecases.occupancy import look
from bot.usecases.waking import wake

GIB = 1024**3
SETTLE_SECONDS = 20.0
"""How long the Web UI may take to look well from outside after it looked well from inside."""

Work = Callable[[], Awaitable[str]]


class StepEnded(Exception):  # noqa: N818 - it ends a step with an outcome; it is not always an error
    """A step decided how the whole job ends."""

    def __init__(self, outcome: Refused | Failed | Unknown) -> None:
        super().__init__(outcome.what)
        self.outcome = outcome


class Provisioning:
    """One job on its way: what was asked, what was found, what exists."""

    def __init__(self, request: CreateRequest, deps: Deps) -> None:
        self.request = request
        self.deps = deps
        self.recorded = False
        """True once the intent is in the audit log."""
        self.sandbox_id = ""
        self.durations: dict[Step, float] = {}
        self.journal = journal_of(request, deps)
        self._lock: Lock | None = None
        self._admission = AsyncExitStack()
        self._chain: frozenset[str] = frozenset({request.request_id})
        self._node: Node | None = None
        self._places: Places | None = None
        self._template = TemplateView(template_id="")
        self._adopted = False
        self._found_paused = False
        self._notes: list[str] = []
        self._seeding = Seeding.ALREADY
        self._overlay: OverlayPlan | None = None
        self._started: StudioStarted | None = None
        self._ports: tuple[PortHealth, ...] = ()

    def plan(self) -> Sequence[tuple[Step, Work]]:
        """The steps in order."""
        return (
            (Step.CHECK, self.check),
            (Step.RECORD, self.record),
            (Step.DIRECTORIES, self.directories),
            (Step.SEED, self.seed),
            (Step.CREATE, self.create),
            (Step.ANSWER, self.answer),
            (Step.MOUNTS, self.mounts),
            (Step.SKILLS, self.skills),
            (Step.STUDIO, self.studio),
            (Step.HEALTH, self.health),
        )

    @property
    def node(self) -> Node:
        """The node that was chosen in the first step."""
        if self._node is None:
            raise RuntimeError("the node is known after the first step")
        return self._node

    @property
    def node_id(self) -> str:
        """Its id, or an empty text before it is chosen."""
        return self._node.node_id if self._node else ""

    @property
    def places(self) -> Places:
        """The directories on that node."""
        if self._places is None:
            raise RuntimeError("the places are known after the first step")
        return self._places

    async def release(self) -> None:
        """Give the home free for the next job."""
        await self._admission.aclose()
        if self._lock:
            await self._lock.release()

    async def check(self) -> str:
        """Step 1: authorise, then decide from what is live.

        Until the intent is written, no other request is counted: each counts towards the quotas.
        """
        admitted = await admit(self.request, self.deps, self._admission)
        if isinstance(admitted, Refused):
            raise StepEnded(admitted)
        self._lock = admitted.lock
        self._chain = admitted.chain
        self._node = self.deps.nodes[admitted.node_id]
        self._places = admitted.places
        self._template = admitted.template
        self._notes.extend(admitted.notes)
        if admitted.existing:
            self.sandbox_id = admitted.existing.sandbox_id
            self._found_paused = admitted.existing.state is SandboxState.PAUSED
        return f"template {admitted.template.name or admitted.template.template_id}, node {admitted.node_id}"

    async def record(self) -> str:
        """Step 2: the intent, durable before anything is changed."""
        request = self.request
        await self.journal.write(
            "intent",
            node=self.node_id or request.node,
            sandbox=self.sandbox_id,
            details=particulars(request, self.deps),
        )
        self.recorded = True
        await self._admission.aclose()
        return f"request {request.request_id}"

    async def directories(self) -> str:
        """Step 3: home, workspace and the bot's own directory, in one SSH round trip."""
        env = await self._launch_env()
        learn(env, self.deps.redactor)
        prepared = await self.node.prepare(
            self.places,
            launch_env=env,
            min_free_bytes=int(self.deps.rules.limits.min_free_gib * GIB),
        )
        await self._done(Step.DIRECTORIES)
        made = [
            name
            for name, new in (("home", prepared.home_created), ("workspace", prepared.workspace_created))
            if new
        ]
        what = f"made {' and '.join(made)}" if made else "both were there"
        return f"{what}; {prepared.free_bytes / GIB:.1f} GiB free"

    async def seed(self) -> str:
        """Step 4: fill a home that has no config.yaml yet."""
        seeded = await self.node.seed(self.places)
        self._seeding = seeded.outcome
        if seeded.skipped:
            self._notes.append(f"Left out while filling the home: {', '.join(seeded.skipped)}.")
        await self._done(Step.SEED, seeding=seeded.outcome.value, files=seeded.files)
        return (
            seeded.outcome.value
            if seeded.outcome is Seeding.ALREADY
            else f"{seeded.outcome.value}, {seeded.files} files"
        )

    async def create(self) -> str:
        """Step 5: one sandbox, whatever becomes of the answer."""
        if self.sandbox_id:
            woken = await self._wake()
            await self._done(Step.CREATE, continued=True)
            return f"continuing with `{self.sandbox_id}`" + (", woken from its pause" if woken else "")
        try:
            view = await self.deps.cube.create(self._spec())
        except CubeError as error:
            if not is_unknown_outcome(error.fault):
                raise
            view = await self._adopt(error)
            self._adopted = True
        self.sandbox_id = view.sandbox_id
        await self._done(Step.CREATE, adopted=self._adopted)
        await self._refuse_second_writer()
        return f"`{view.sandbox_id}`" + (
            " (found again after Cube's answer was lost)" if self._adopted else ""
        )

    async def answer(self) -> str:
        """Step 6: the control plane says running before the data plane answers."""
        clock = self.deps.clock
        began = clock.monotonic()
        pause = 0.02
        while not await self.deps.guest.answers(self.sandbox_id):
            if clock.monotonic() - began > self.deps.rules.deadlines.data_plane:
                view = await self.deps.cube.get(self.sandbox_id)
                raise StepEnded(endings.silent(self.sandbox_id, view))
            await clock.sleep(pause)
            pause = min(pause * 1.6, 1.0)
        await self._done(Step.ANSWER)
        return "it answers"

    async def mounts(self) -> str:
        """Step 7: markers cross in both directions, and the public Skills refuse a write."""
        problems = await mount_problems(self.sandbox_id, self.node, self.places, self.deps)
        if problems:
            several = len(self.deps.rules.nodes) > 1
            raise StepEnded(endings.mounts_not_proved(self.sandbox_id, problems, several))
        await self._done(Step.MOUNTS)
        return "home and workspace read-write, public Skills read-only"

    async def skills(self) -> str:
        """Step 8: one link per public Skill that the home has no own entry for."""
        inventory = await self.deps.guest.skills_inventory(self.sandbox_id)
        plan = plan_overlay(inventory.public, inventory.home)
        overlay = self._overlay = await self.deps.guest.apply_overlay(self.sandbox_id, plan)
        await self._done(Step.SKILLS, linked=list(overlay.link), private=list(overlay.keep_private))
        linked, private = len(overlay.link) + len(overlay.already), len(overlay.keep_private)
        return f"{linked} linked, {private} kept private"

    async def studio(self) -> str:
        """Step 9: Studio on the mounted home, with a sign-in that only its owner can learn."""
        rules = self.deps.rules.studio
        started = self._started = await self.deps.guest.start_studio(
            self.sandbox_id, port=rules.port, auth=rules.auth
        )
        if started.agent.databases_ok is False:
            self._notes.append(
                f"A database of this home is damaged ({'; '.join(started.agent.database_notes)})."
                " Nothing was repaired; please tell an administrator before you go on working."
            )
        if started.heartbeat_note:
            self._notes.append(f"Its health cannot be told without waking it: {started.heartbeat_note}.")
        self._notes += [SIGN_IN_NOTES[sign_in] for sign_in in {started.sign_in} & SIGN_IN_NOTES.keys()]
        facts = {"generation": started.generation.value, "sign_in": started.sign_in.value}
        await self._done(Step.STUDIO, agent=started.agent.version, **facts)
        return sign_in_words(started.generation, started.sign_in, replaced=started.first_login_replaced)

    async def health(self) -> str:
        """Step 10: from outside, through the proxy, judged by content."""
        clock = self.deps.clock
        began = clock.monotonic()
        while True:
            self._ports = await self._look_from_outside()
            if all(port.ok for port in self._ports):
                break
            if clock.monotonic() - began > SETTLE_SECONDS:
                raise StepEnded(endings.unhealthy(self.sandbox_id, self._ports))
            await clock.sleep(0.5)
        await self._done(Step.HEALTH)
        return ", ".join(f"{port.name} {port.port} ok" for port in self._ports)

    def result(self) -> Provisioned:
        """What the thread is told at the end."""
        if self._started is None or self._overlay is None:
            raise RuntimeError("a result exists after the last step")
        return Provisioned(
            request_id=self.request.request_id,
            sandbox_id=self.sandbox_id,
            home=self.request.home,
            workspace=self.request.workspace,
            template=self._template.name or self._template.template_id,
            node=self.node_id,
            owner=self.request.owner,
            url=self.deps.rules.studio.url(self.sandbox_id),
            generation=self._started.generation,
            sign_in=self._started.sign_in,
            seeding=self._seeding,
            overlay=self._overlay,
            ports=self._ports,
            agent=self._started.agent,
            durations=dict(self.durations),
            adopted=self._adopted,
            notes=tuple(self._notes),
        )

    async def _done(self, step: Step, **details: object) -> None:
        await self.journal.write(
            "step", sandbox=self.sandbox_id, node=self.node_id, result="ok", code=f"step-{step.value}",
            details=details,
        )  # fmt: skip

    async def _launch_env(self) -> dict[str, str]:
        request, rules = self.request, self.deps.rules
        merged = merge_env(rules.env_defaults, rules.env_profiles.get(request.profile, {}), request.env)
        if not request.env_names:
            return merged
        stored = await self.node.launch_env(self.places)
        if stored is not None:
            return stored
        names = ", ".join(request.env_names)
        self._notes.append(
            f"Values given with env= were lost with the restart ({names});"
            " to set them, stop this sandbox and create it again with them."
        )
        return merged

    def _spec(self) -> CreateSpec:
        request, rules = self.request, self.deps.rules
        configured = rules.node(self.node_id)
        return CreateSpec(
            template=request.template or rules.template,
            timeout=rules.lifecycle.idle if request.timeout is None else request.timeout,
            mounts=self.places.mounts(),
            labels={
                HOME_KEY: request.home,
                WORKSPACE_KEY: request.workspace,
                OWNER_KEY: request.owner,
                NODE_KEY: self.node_id,
                REQUEST_KEY: request.request_id,
            },
            scope=(configured.cube_node,) if configured and configured.cube_node else (),
            on_timeout="pause",
            auto_resume=rules.lifecycle.auto_resume,
        )

    async def _wake(self) -> bool:
        """Resume what an interrupted job left and the idle timeout has paused; Cube may refuse that."""
        if self._found_paused:
            await wake(self.sandbox_id, self.deps)
        return self._found_paused

    async def _adopt(self, lost: CubeError) -> SandboxView:
        """Find what a create whose answer was lost has made. Never a second create."""
        clock = self.deps.clock
        began = clock.monotonic()
        pause = 0.1
        while True:
            try:
                found = await self.deps.cube.list(labels={REQUEST_KEY: self.request.request_id})
            except CubeError:
                found = []
            if found:
                return found[0]
            if clock.monotonic() - began > self.deps.rules.deadlines.adopt:
                raise lost
            await clock.sleep(pause)
            pause = min(pause * 2, 5.0)

    async def _refuse_second_writer(self) -> None:
        """Two sandboxes on one home corrupt its database: ours, seconds old and empty, gives way."""
        on_home = (await look(self.deps, self.request.home)).on_home
        others = [view for view in on_home if view.sandbox_id != self.sandbox_id]
        if not others:
            return
        await self.deps.cube.kill(self.sandbox_id)
        self.sandbox_id = ""
        raise StepEnded(endings.overtaken(self.request.home, others[0]))

    async def _look_from_outside(self) -> tuple[PortHealth, ...]:
        return tuple(
            await asyncio.gather(
                self.deps.studio.web_ui(self.sandbox_id), self.deps.studio.envd(self.sandbox_id)
            )
        )
