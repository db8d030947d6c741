"""What the audit log remembers of sandboxes: two reads, however many sandboxes there are."""

from collections.abc import Collection

from bot.domain.condition import Past
from bot.domain.past import recalled
from bot.domain.sandbox import SandboxView
from bot.usecases.deps import Deps


async def remembered(views: Collection[SandboxView], deps: Deps) -> dict[str, Past]:
    """The past of each, by sandbox-id; one of which the log knows nothing has an empty one.

    Raises:
        AuditUnavailableError: the log cannot be read.
    """
    if not views:
        return {}
    ids = [view.sandbox_id for view in views]
    made, changes = await deps.log.created(ids), await deps.log.changes(ids)
    return {
        view.sandbox_id: recalled(view, made.get(view.sandbox_id), changes.get(view.sandbox_id, []))
        for view in views
    }
