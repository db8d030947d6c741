"""The audit log as a person reads it: the last events by request, the whole as a table beside it."""

from collections.abc import Sequence

from bot.domain.audit import AuditRow
from bot.domain.audit_table import table
from bot.ports import Message
from bot.usecases.audit import MOST, AuditRead, AuditRequest
from handlers.render import blocks, limits
from handlers.render.events import event_line
from handlers.render.mrkdwn import bold, code, moment, person

SHOWN = 20
"""Events in the message; the table has all."""

_TOLD = frozenset({"outcome", "reveal", "vote", "alert", "system"})
"""What tells what became of something; intents, claims and steps are on the way to it."""


def audit_message(read: AuditRead) -> Message:
    """The last events, newest first, and the table with every row that matches."""
    asked = _asked(read.request)
    if not read.rows:
        text = f"The audit log has nothing {asked}."
        return limits.message(text, [blocks.section(text), _noted()])
    shown = _events(read.rows)
    headline = f"*Audit log*, {asked}: {_count(read)}"
    made = limits.message(
        headline,
        [
            blocks.section(headline),
            blocks.section("\n".join(f"• {_line(row)}" for row in shown)),
            blocks.context(_rest(read, len(shown))),
            _noted(),
        ],
    )
    return Message(made.text, made.blocks, made.classic, whole=table(read.rows[::-1]), name="audit.csv")


def sent_to_you(rows: int) -> Message:
    """Said where it was asked for: the log is not for everybody there."""
    what = "1 row" if rows == 1 else f"{rows} rows"
    text = f"I have sent you {what} of the audit log in a direct message: not everybody here may read it."
    return limits.message(text, [blocks.section(text)])


def not_sent(reason: str) -> Message:
    """Slack does not take the direct message."""
    text = (
        "I could not send you the audit log in a direct message"
        f" ({code(reason)}). Nothing of it was shown. Open a direct message with me and ask there, or ask an"
        " administrator for `hermes-bot audit list`."
    )
    return limits.message(text, [blocks.section(text)])


def _events(rows: Sequence[AuditRow]) -> list[AuditRow]:
    """The latest that tell an end; where nothing has ended yet, the latest there are."""
    ended = [row for row in rows if row.phase in _TOLD]
    return [*(ended or rows)][:SHOWN]


def _line(row: AuditRow) -> str:
    where = f" (home {code(row.home)})" if row.home else ""
    return f"{event_line(row)}{where}"


def _asked(request: AuditRequest) -> str:
    parts = [f"about home {bold(request.home)}" if request.home else "about all homes"]
    if request.user:
        parts.append(f"by {person(request.user)}")
    if request.since:
        parts.append(f"since {moment(request.since)}")
    return " ".join(parts)


def _count(read: AuditRead) -> str:
    rows = len(read.rows)
    return f"the newest {MOST} rows" if read.more else "1 row" if rows == 1 else f"{rows} rows"


def _rest(read: AuditRead, shown: int) -> str:
    lines = f"The last {shown} events stand here, every row is in the table in this thread."
    older = " Older rows: `hermes-bot audit export` on the bot's machine." if read.more else ""
    return lines + older


def _noted() -> limits.Block:
    return blocks.context("That you have read this is in the log, too.")
