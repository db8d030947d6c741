"""Sandboxes of an installation in memory that no create has made, with their signs of life."""

from datetime import timedelta

from contract.doubles import MemoryHome
from installation import Installation

from bot.domain.heartbeat import heartbeat
from bot.domain.sandbox import SandboxState, SandboxView


def add(
    world: Installation,
    number: int,
    *,
    owner: str = "U_OPERATOR",
    state: SandboxState = SandboxState.RUNNING,
    end_in: float | None = 600,
    home: str = "",
    beat: bool = True,
    age: float = 12,
) -> str:
    """A sandbox that Cube lists, with a heartbeat that says that Studio is ready."""
    sandbox_id, home = f"{number:032x}", home or f"home-{number}"
    now = world.clock.now()
    world.cube.sandboxes[sandbox_id] = SandboxView(
        sandbox_id=sandbox_id,
        state=state,
        template="tpl-studio",
        metadata={
            "hermes-home": home,
            "hermes-workspace": home,
            "hermes-owner": owner,
            "hermes-node": "node-1",
            "hermes-request": f"r-{number}",
        },
        started_at=(now - timedelta(hours=1)).isoformat(),
        end_at=None if end_in is None else (now + timedelta(seconds=end_in)).isoformat(),
    )
    kept = world.node.homes.setdefault(home, MemoryHome())
    kept.heartbeat = (
        heartbeat({"sandbox": sandbox_id, "studio": "ready", "envd": True}, age=age) if beat else None
    )
    return sandbox_id
