"""A row of the audit log as a person reads it: who did what, when, and how it ended."""

from bot.domain.actors import Action
from bot.domain.audit import SANDBOX_GONE, AuditRow
from bot.domain.condition import ago
from handlers.render.mrkdwn import code, moment, person

_DID = {
    "create": "made it",
    "stop": "stopped it",
    "pause": "paused it",
    "resume": "woke it",
    "keep": "changed its idle time",
    "diagnose": "examined it",
    "reveal": "opened its Studio",
    "check": "asked it whether it answers",
}
_WANTED = {
    "create": "make it",
    "stop": "stop it",
    "pause": "pause it",
    "resume": "wake it",
    "keep": "change its idle time",
    "diagnose": "examine it",
    "reveal": "open its Studio",
    "check": "ask it whether it answers",
}
_CODES = {
    "stop-asked": "asked to stop it",
    "check-asked": "asked it whether it answers",
    "stop-dismissed": "decided to keep it",
    "studio-restarted": "started its Studio again",
    "already-running": "wanted to wake it, and it was awake",
    SANDBOX_GONE: "found that it was gone",
}


def event_line(row: AuditRow) -> str:
    """One line of markup. Foreign words of the row stay out of it; its code stands for them."""
    return f"{moment(row.at)} {_who(row)} {_what(row)}"


def _who(row: AuditRow) -> str:
    return "The bot" if row.actor_kind in {"bot", "schedule"} else person(row.actor)


def _what(row: AuditRow) -> str:
    if row.code in _CODES:
        return _CODES[row.code]
    if row.result in {"", "ok"}:
        if row.action == Action.KEEP:
            return f"set its idle time to {_length(row.details.get('timeout'))}"
        return _DID.get(row.action, f"did {code(row.action)}")
    how = {"refused": "was refused", "failed": "it failed", "unknown": "it is not known how it ended"}
    wanted = _WANTED.get(row.action, code(row.action))
    return f"wanted to {wanted}: {how[row.result]} ({code(row.code)})"


def _length(seconds: object) -> str:
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return "another value"
    return "never" if seconds < 0 else ago(seconds)
