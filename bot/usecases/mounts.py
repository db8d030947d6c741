"""Whether what is mounted in a sandbox is what lies on the node: proved with markers, in both directions."""

from bot.domain.sandbox import Places
from bot.ports import Node
from bot.usecases.deps import Deps


async def mount_problems(sandbox_id: str, node: Node, places: Places, deps: Deps) -> list[str]:
    """What is wrong with the three mounts, the worst first; empty when they are as they should be.

    Raises:
        NodeError: the node could not be asked.
        GuestError: our program in the sandbox failed.
        CubeError: the sandbox could not be reached.
    """
    marker = deps.ids.marker()
    await node.plant_markers(places, marker)
    report = await deps.guest.check_mounts(sandbox_id, marker)
    found = await node.collect_markers(places, marker)
    checks = {
        "the home is not mounted read-write": report.home_read_write,
        "the workspace is not mounted read-write": report.workspace_read_write,
        "the public Skills can be written from inside": report.public_skills_read_only,
        "the node's marker is not visible in the home": report.marker_seen_in_home,
        "the node's marker is not visible in the workspace": report.marker_seen_in_workspace,
        "what the sandbox wrote into the home did not arrive on the node": found.home,
        "what the sandbox wrote into the workspace did not arrive on the node": found.workspace,
    }
    problems = [what for what, good in checks.items() if not good]
    return [*problems, *report.problems] if problems else []
