"""What the audit log tells as a person reads it: who did what to which home, when, and how it ended."""

from collections.abc import Sequence

from bot.domain.actors import Action
from bot.domain.audit import SANDBOX_GONE, AuditRow
from bot.domain.condition import ago
from bot.usecases.journal import ending_of
from handlers.render.mrkdwn import code, moment, person

_DID = {
    "create": "made {it}",
    "stop": "stopped {it}",
    "pause": "paused {it}",
    "resume": "woke {it}",
    "keep": "changed {its} idle time",
    "diagnose": "examined {it}",
    "reveal": "opened {its} Studio",
    "check": "asked {it} whether it answers",
    "cancel": "pressed Cancel on the job on {it}",
    "audit": "read the audit log",
    "seed-default": "made a default home",
}
_WANTED = {
    "create": "make {it}",
    "stop": "stop {it}",
    "pause": "pause {it}",
    "resume": "wake {it}",
    "keep": "change {its} idle time",
    "diagnose": "examine {it}",
    "reveal": "open {its} Studio",
    "check": "ask {it} whether it answers",
    "cancel": "cancel the job on {it}",
    "audit": "read the audit log",
    "seed-default": "make a default home",
}
_CODES = {
    "stop-asked": "asked to stop {it}",
    "check-asked": "asked {it} whether it answers",
    "stop-dismissed": "decided to keep {it}",
    "cancel-requested": "pressed Cancel on the job on {it}",
    "head-posted": "posted the end of the audit log",
    "studio-restarted": "started {its} Studio again",
    "already-running": "wanted to wake {it}, and it was awake",
    "pause-warned": "warned the owner of {it} that it would soon go to sleep",
    SANDBOX_GONE: "found that {it} was gone",
}


def event_line(row: AuditRow) -> str:
    """One line of markup about what the reader looks at. Its code stands for foreign words of the row."""
    return f"{moment(row.at)} {_who(row)} {_what(row, 'it', 'its')}"


def story_line(rows: Sequence[AuditRow]) -> str:
    """One line of markup for all rows of a request, oldest first; it names what it is about."""
    first, end = rows[0], ending_of(rows)
    it, its = _names(rows)
    if end is None and any(row.phase == "intent" and row.code not in _CODES for row in rows):
        wanted = _filled(_WANTED.get(first.action, code(first.action)), it, its)
        return f"{moment(first.at)} {_who(first)} wants to {wanted}: it has not ended"
    return f"{moment(first.at)} {_who(first)} {_what(end or rows[-1], it, its)}"


def _names(rows: Sequence[AuditRow]) -> tuple[str, str]:
    home = next((row.home for row in reversed(rows) if row.home), "")
    sandbox = next((row.sandbox for row in reversed(rows) if row.sandbox), "")
    if not home and not sandbox:
        return "something", "something's"
    name = code(home) if home else f"sandbox {code(sandbox)}"
    return name, f"{name}'s"


def _filled(template: str, it: str, its: str) -> str:
    return template.replace("{its}", its).replace("{it}", it)


def _who(row: AuditRow) -> str:
    return "The bot" if row.actor_kind in {"bot", "schedule"} else person(row.actor)


def _what(row: AuditRow, it: str, its: str) -> str:
    if row.code in _CODES:
        return _filled(_CODES[row.code], it, its)
    if row.result in {"", "ok"}:
        if row.action == Action.KEEP:
            return f"set {its} idle time to {_length(row.details.get('timeout'))}"
        return _filled(_DID.get(row.action, f"did {code(row.action)}"), it, its)
    how = {"refused": "was refused", "failed": "it failed", "unknown": "it is not known how it ended"}
    wanted = _filled(_WANTED.get(row.action, code(row.action)), it, its)
    return f"wanted to {wanted}: {how[row.result]} ({code(row.code)})"


def _length(seconds: object) -> str:
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return "another value"
    return "never" if seconds < 0 else ago(seconds)
