"""What the audit log remembers of sandboxes."""

from collections.abc import Collection

from bot.domain.condition import Past
from bot.domain.sandbox import SandboxView
from bot.usecases.deps import Deps


async def remembered(views: Collection[SandboxView], deps: Deps) -> dict[str, Past]:
    """Of those that a create of ours has made: when, and with which idle time."""
    made = await deps.log.created([view.sandbox_id for view in views])
    return {name: Past(ours=True, timeout=_whole(row.details.get("timeout"))) for name, row in made.items()}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
