"""The audit command: what was found goes to its reader alone, or into the audit channel."""

import asyncio
import logging
from datetime import UTC, date, datetime, timedelta

from bot.domain.audit import AuditRow
from bot.domain.audit_table import as_csv
from bot.domain.errors import ChatError
from bot.domain.outcome import Done, NotDone
from bot.ports import Redactor
from bot.usecases.audit import AuditQuery, Reading, read_audit
from handlers.conversation import Conversation, answer
from handlers.grammar import Command
from handlers.jobs import CUT, Job, Lane
from handlers.payloads import SlashCall
from handlers.render.audit import audit_announcement, audit_elsewhere, audit_message, audit_not_sent
from handlers.render.failure import cleaned, failure_message
from handlers.services import Services

logger = logging.getLogger(__name__)


async def audit(call: SlashCall, command: Command, services: Services) -> None:
    """Read it in a lane where nobody waits for thousands of rows."""

    async def run() -> None:
        await _read(call, command, services)

    async def tell(why: NotDone) -> None:
        await answer(call, failure_message(why), services)

    async def leave() -> None:
        await tell(CUT)

    name = f"audit by {call.actor.id}"
    services.jobs.start(Job(name=name, run=run, tell=tell, leave=leave), Lane.LONG)


async def _read(call: SlashCall, command: Command, services: Services) -> None:
    query = AuditQuery(
        actor=call.actor,
        home=command.text("home") or "",
        user=command.text("user") or "",
        since=_beginning(command.text("since") or "", services.deps.clock.now()),
        channel=call.channel,
    )
    outcome = await read_audit(query, services.deps)
    if not isinstance(outcome, Done):
        await answer(call, failure_message(cleaned(outcome, services.deps.redactor)), services)
        return
    reading = outcome.value
    table = await asyncio.to_thread(_table, reading.rows, services.deps.redactor)
    thread = await _open(call, reading, services)
    if thread is not None:
        await thread.say(audit_message(reading, table))


async def _open(call: SlashCall, reading: Reading, services: Services) -> Conversation | None:
    """The thread for it; None, and its person was told, when there is no place that is private enough."""
    first = audit_announcement(reading)
    if call.channel and call.channel == services.audit_channel:
        try:
            posted = await services.chat.post(call.channel, first)
        except ChatError as error:
            logger.info("no thread in the audit channel: %s", error.code)
        else:
            return Conversation(
                services.chat, user=call.actor.id, channel=posted.channel, thread_ts=posted.ts
            )  # fmt: skip
    try:
        posted = await services.chat.direct(call.actor.id, first)
    except ChatError as error:
        await answer(call, audit_not_sent(error.code), services)
        return None
    if posted.channel != call.channel:
        await answer(call, audit_elsewhere(), services)
    return Conversation(services.chat, user=call.actor.id, channel=posted.channel, thread_ts=posted.ts)


def _table(rows: tuple[AuditRow, ...], redactor: Redactor) -> str:
    return as_csv(rows, redactor)


def _beginning(since: str, now: datetime) -> datetime | None:
    """What the grammar has read: seconds back from now, a day, which begins in UTC, or no limit."""
    if not since:
        return None
    if "-" in since.lstrip("-"):
        day = date.fromisoformat(since)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    seconds = int(since)
    return None if seconds < 0 else now - timedelta(seconds=seconds)
