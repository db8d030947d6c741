"""From what a person typed to the one sandbox that is meant, read live."""

from dataclasses import dataclass

from bot.domain import ids
from bot.domain.outcome import Refused
from bot.domain.sandbox import SandboxView
from bot.usecases.deps import Deps
from bot.usecases.occupancy import labelled, look, sighted

NOTHING_CHANGED = "Nothing was changed."


@dataclass(frozen=True, slots=True)
class Found:
    """A live sandbox; its view says whether its labels are Cube's or the audit log's."""

    view: SandboxView

    @property
    def home(self) -> str:
        """The home-id, or an empty text for a sandbox that nobody knows."""
        return self.view.home

    @property
    def workspace(self) -> str:
        """The workspace-id."""
        return self.view.workspace

    @property
    def owner(self) -> str:
        """Who asked for it."""
        return self.view.owner

    @property
    def node(self) -> str:
        """Our id of the node that it is on."""
        return self.view.node

    @property
    def lock(self) -> str:
        """The lock under which it is changed."""
        return lock_of(self.home, self.view.sandbox_id)

    @property
    def subject(self) -> str:
        """What somebody works on who holds that lock."""
        return f"home {self.home}" if self.home else f"sandbox `{self.view.sandbox_id}`"


def lock_of(home: str, sandbox_id: str) -> str:
    """The lock of a home, or of a sandbox that has none: two of those have nothing in common."""
    return f"home:{home}" if home else f"sandbox:{sandbox_id}"


async def find(target: str, deps: Deps) -> Found | Refused:
    """A home-id means the sandbox on that home; a sandbox-id means itself."""
    if ids.sandbox_id(target):
        view = await sighted(deps, target)
        if view is None:
            return _not_found(
                f"There is no sandbox `{target}`, or none any more.",
                "`/hermes status` shows those that there are; `/hermes create home=NAME` makes one.",
            )
        return Found((await labelled([view], deps))[0])
    occupancy = await look(deps, target)
    if not occupancy.on_home:
        return _not_found(
            f"No sandbox runs on home {target}.", f"Make one with `/hermes create home={target}`."
        )
    if len(occupancy.on_home) > 1:
        several = ", ".join(f"`{view.sandbox_id}`" for view in occupancy.on_home)
        return Refused(
            code="target-ambiguous",
            what=f"Home {target} has several sandboxes: {several}.",
            safe=NOTHING_CHANGED,
            todo=f"Say which one you mean by its id, for example `{occupancy.on_home[0].sandbox_id}`.",
        )
    return Found(occupancy.on_home[0])


def _not_found(what: str, todo: str) -> Refused:
    return Refused(
        code="sandbox-not-found",
        what=what,
        safe="Homes and workspaces stay on the node, whatever happens to a sandbox.",
        todo=todo,
    )
