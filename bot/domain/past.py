"""What audit rows say about a sandbox's past: one fold over what was asked for and how it ended."""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.audit import MOST_CHANGES, AuditRow
from bot.domain.condition import Past, last_activity
from bot.domain.sandbox import SandboxView

IDLE = "timeout"
"""The detail of an ending that says which idle seconds hold from then on; -1 = never."""

FOR_GOOD = "for_good"
"""The detail of a refused resume that no repetition will change."""

WOKEN = "woken"
"""The detail of a resume that did not end well although the sandbox was woken."""

UNDONE = "resume-undone"
GIVEN_UP = "pause-unknown"

_SETTLED = frozenset({"ok", "refused", "failed"})
"""Endings of a pause after which none is under way. After an unknown one, it may still be."""


def recalled(view: SandboxView, made: AuditRow | None, changes: Sequence[AuditRow]) -> Past:
    """The past of a sandbox.

    Args:
        view: how it stands now; its deadline tells whether it was used since a pause was asked for.
        made: the intent of the create that made it, None when no create of ours did.
        changes: its pauses, resumes and keeps, intents and outcomes, newest first; the latest only.
    """
    past = Past()
    if made is not None:
        past = replace(past, ours=True, timeout=_whole(made, "idle", IDLE), changed_at=made.at)
    if len(changes) >= MOST_CHANGES:
        past = replace(past, timeout=None)  # an older change may have set another one
    for row in reversed(changes):
        past = _after(past, row)
    last = changes[0].action if changes else ""
    used = last_activity(view, past)
    if past.pause_asked_at and last != "keep" and used is not None and used > past.pause_asked_at:
        # It was used since, so that pause did come to its end, and something has woken the sandbox.
        past = replace(past, pause_asked_at=None, pause_given_up=False)
    return past


def _after(past: Past, row: AuditRow) -> Past:
    """The past with one more row."""
    if row.phase == "outcome":
        past = _idle_after(past, row)
    match row.action, row.phase:
        case "pause", "intent":
            return replace(past, pause_asked_at=row.at, pause_given_up=False)
        case "pause", "outcome":
            return _paused(past, row)
        case "resume", "outcome":
            return _resumed(past, row)
        case _:
            return past


def _idle_after(past: Past, row: AuditRow) -> Past:
    """An idle time that was set holds, whatever else failed; one that may have been set is not known."""
    if IDLE in row.details:
        return replace(past, timeout=_whole(row, IDLE))
    return replace(past, timeout=None) if row.action == "keep" and row.result == "unknown" else past


def _paused(past: Past, row: AuditRow) -> Past:
    if row.result not in _SETTLED:
        return replace(past, pause_given_up=row.code == GIVEN_UP)
    past = replace(past, pause_asked_at=None, pause_given_up=False)
    # To be paused it must have run: earlier trouble with waking it is over.
    return replace(past, cannot_resume=False, resume_undone=False) if row.result == "ok" else past


def _resumed(past: Past, row: AuditRow) -> Past:
    if row.result == "ok" or row.details.get(WOKEN) is True:
        return replace(
            past, changed_at=row.at, pause_asked_at=None, pause_given_up=False, cannot_resume=False,
            resume_undone=False,
        )  # fmt: skip
    if row.code == UNDONE:
        return replace(past, pause_asked_at=None, pause_given_up=False, resume_undone=True)
    return replace(past, cannot_resume=True) if row.details.get(FOR_GOOD) is True else past


def _whole(row: AuditRow, *names: str) -> int | None:
    """The first of these details that is a whole number."""
    values = (row.details.get(name) for name in names)
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)
