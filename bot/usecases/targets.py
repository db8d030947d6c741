"""From what a person typed to the one sandbox that is meant, read live."""

from dataclasses import dataclass

from bot.domain import ids
from bot.domain.outcome import Refused
from bot.domain.sandbox import SandboxView
from bot.usecases.deps import Deps
from bot.usecases.occupancy import confirmed, look

NOTHING_CHANGED = "Nothing was changed."


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A live sandbox, with what the audit log adds where Cube has lost metadata."""

    view: SandboxView
    home: str
    workspace: str
    owner: str
    node: str


async def find(target: str, deps: Deps) -> Found | Refused:
    """A home-id means the sandbox on that home; a sandbox-id means itself."""
    if ids.sandbox_id(target):
        view = await confirmed(deps, target)
        return await _complete(view, deps) if view else _not_found(f"There is no sandbox `{target}`.")
    occupancy = await look(deps, target)
    if not occupancy.on_home:
        return _not_found(f"No sandbox runs on home {target}.")
    if len(occupancy.on_home) > 1:
        several = ", ".join(f"`{view.sandbox_id}`" for view in occupancy.on_home)
        return Refused(
            code="target-ambiguous",
            what=f"Home {target} has several sandboxes: {several}.",
            safe=NOTHING_CHANGED,
            todo=f"Say which one you mean by its id: `/hermes stop {occupancy.on_home[0].sandbox_id}`.",
        )
    return await _complete(occupancy.on_home[0], deps)


async def _complete(view: SandboxView, deps: Deps) -> Found:
    rows = [] if view.home and view.owner else await deps.log.recent(sandbox=view.sandbox_id, limit=50)
    made = next((row for row in rows if row.action == "create"), None)
    intents = (
        [row for row in await deps.log.of_request(made.request_id) if row.phase == "intent"] if made else []
    )
    recorded = intents[0] if intents else made
    return Found(
        view=view,
        home=view.home or (recorded.home if recorded else ""),
        workspace=view.workspace or (recorded.workspace if recorded else ""),
        owner=view.owner or (str(recorded.details.get("owner") or recorded.actor) if recorded else ""),
        node=view.node or (recorded.node if recorded else ""),
    )


def _not_found(what: str) -> Refused:
    return Refused(
        code="sandbox-not-found",
        what=what,
        safe="Homes and workspaces stay on the node, whatever happens to a sandbox.",
        todo="Make one with `/hermes create home=NAME`.",
    )
