"""Whether a stop card still shows what is true: it counts for the sandbox as it was shown, and for a day."""

from datetime import timedelta

from bot.domain.audit import AuditRow
from bot.domain.outcome import Refused
from bot.domain.past import WOKEN
from bot.domain.sandbox import SandboxState
from bot.usecases.deps import Deps
from bot.usecases.targets import Found

COUNTS_FOR = timedelta(hours=24)
"""What a sandbox is used for changes from one day to the next; nobody remembers an older question."""

STATE = "state"
"""The detail of a question with the state that its card shows."""

OUTDATED = "stop-outdated"


async def outdated(asked: AuditRow, found: Found, deps: Deps) -> Refused | None:
    """Why the card of this question does not count any more; None when it does."""
    why = _by_age(asked, deps) or await _by_deed(asked, found, deps) or _by_state(asked, found)
    if not why:
        return None
    return Refused(
        code=OUTDATED,
        what=f"This card does not count any more: {why}",
        safe="Nothing was destroyed.",
        todo=f"Look at the new card; without one, ask again: `/hermes stop {found.home or asked.sandbox}`.",
        sandbox=asked.sandbox,
    )


def _by_age(asked: AuditRow, deps: Deps) -> str:
    return "it is more than a day old." if deps.clock.now() - asked.at > COUNTS_FOR else ""


async def _by_deed(asked: AuditRow, found: Found, deps: Deps) -> str:
    sandbox_id = found.view.sandbox_id
    rows = (await deps.log.changes([sandbox_id])).get(sandbox_id, [])
    did = {"pause": "put the sandbox to sleep", "resume": "woken the sandbox"}
    for row in rows:
        happened = row.phase == "outcome" and (row.result == "ok" or row.details.get(WOKEN) is True)
        if happened and row.seq > asked.seq and row.action in did:
            return f"since then, <@{row.actor}> has {did[row.action]}."
    return ""


def _by_state(asked: AuditRow, found: Found) -> str:
    shown, now = asked.details.get(STATE), found.view.state
    if shown == now.value or shown is None:
        return ""
    if now is SandboxState.PAUSED:
        return "since then, the sandbox has gone to sleep."
    if shown == SandboxState.PAUSED:
        return "since then, the sandbox has been woken, and somebody may use it."
    return ""
