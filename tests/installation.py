"""A whole installation in memory: deps on doubles, and short ways to ask it things."""

from dataclasses import dataclass

from contract.double_system import FixedIds, ManualClock, MemoryLocks
from contract.doubles import MemoryCube, MemoryGuest, MemoryNode, MemoryStudio
from contract.doubles_audit import MemoryAuditLog

from bot.adapters.redaction import Redactor
from bot.domain.actors import Actor, Role
from bot.domain.outcome import Outcome
from bot.domain.provisioning import CreateRequest, Finished, Provisioned, StepEvent
from bot.domain.rules import Deadlines, Limits, NodeRules, Rules
from bot.usecases.deps import Deps
from bot.usecases.provision import provision
from bot.usecases.roster import Roster

OPERATOR = Actor("U_OPERATOR")
OPERATOR2 = Actor("U_OPERATOR2")
APPROVER = Actor("U_APPROVER")
ADMIN = Actor("U_ADMIN")
OUTSIDER = Actor("U_OUTSIDER")


@dataclass(kw_only=True)
class Installation:
    """The doubles by name, and the deps made of them."""

    cube: MemoryCube
    node: MemoryNode
    guest: MemoryGuest
    studio: MemoryStudio
    log: MemoryAuditLog
    clock: ManualClock
    locks: MemoryLocks
    deps: Deps

    async def create(
        self, home: str = "alpha", *, actor: Actor = OPERATOR, **more: object
    ) -> Outcome[Provisioned]:
        """Provision, and give how it ended."""
        return (await self.watch(home, actor=actor, **more))[1]

    async def watch(
        self, home: str = "alpha", *, actor: Actor = OPERATOR, **more: object
    ) -> tuple[list[StepEvent], Outcome[Provisioned]]:
        """Provision, and give all step events too."""
        request = CreateRequest(
            **{
                "request_id": self.deps.ids.request_id(),
                "actor": actor,
                "home": home,
                "workspace": home,
                **more,
            }
        )
        return await self.run(request)

    async def run(self, request: CreateRequest) -> tuple[list[StepEvent], Outcome[Provisioned]]:
        """Run a given request to its end."""
        events: list[StepEvent] = []
        async for event in provision(request, self.deps):
            if isinstance(event, Finished):
                return events, event.outcome
            events.append(event)
        raise AssertionError("provision ended without an outcome")


def install(
    *, limits: Limits | None = None, nodes: tuple[NodeRules, ...] = (NodeRules(id="node-1"),)
) -> Installation:
    """Make one with the usual cast."""
    cube, node, clock, locks = MemoryCube(), MemoryNode("node-1"), ManualClock(), MemoryLocks()
    node.clock = clock.now
    guest = MemoryGuest(cube, node)
    studio = MemoryStudio(cube, guest)
    log = MemoryAuditLog(clock.now)

    async def nobody(_: str) -> frozenset[str]:
        return frozenset()

    grants = {
        Role.VIEWER: (),
        Role.OPERATOR: (OPERATOR.id, OPERATOR2.id),
        Role.APPROVER: (APPROVER.id,),
        Role.ADMIN: (ADMIN.id,),
    }
    deps = Deps(
        cube=cube,
        nodes={"node-1": node},
        guest=guest,
        studio=studio,
        log=log,
        locks=locks,
        clock=clock,
        ids=FixedIds(),
        redactor=Redactor(),
        roster=Roster(grants, clock, nobody),
        process="p-1",
        rules=Rules(nodes=nodes, limits=limits or Limits(), deadlines=Deadlines(adopt=5, data_plane=10)),
    )
    return Installation(
        cube=cube, node=node, guest=guest, studio=studio, log=log, clock=clock, locks=locks, deps=deps
    )
