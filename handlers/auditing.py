"""The audit command: told in direct messages, because a channel has more readers than the log should have."""

from datetime import UTC, date, datetime, time, timedelta

from bot.domain.errors import ChatError
from bot.domain.outcome import Done
from bot.usecases.audit import AuditRequest, read_audit
from handlers.conversation import answer
from handlers.grammar import Command
from handlers.payloads import SlashCall
from handlers.render.audit import audit_message, not_sent, sent_to_you
from handlers.render.failure import cleaned, failure_message
from handlers.services import Services


async def audit(call: SlashCall, command: Command, services: Services) -> None:
    """The last events as messages, all that match as a table in the thread below."""
    deps = services.deps
    request = AuditRequest(
        request_id=deps.ids.request_id(),
        actor=call.actor,
        home=command.text("home") or "",
        user=command.text("user") or "",
        since=moment_of(command.text("since") or "", deps.clock.now()),
        channel=call.channel,
    )
    outcome = await read_audit(request, deps)
    if not isinstance(outcome, Done):
        await answer(call, failure_message(cleaned(outcome, deps.redactor)), services)
        return
    told = audit_message(outcome.value)
    try:
        # In the audit channel everybody may read the log anyway.
        if call.channel and call.channel == services.audit_channel:
            await services.chat.post(call.channel, told)
            return
        await services.chat.direct(call.actor.id, told)
    except ChatError as error:
        await answer(call, not_sent(error.code), services)
        return
    if not call.channel.startswith("D"):
        await answer(call, sent_to_you(len(outcome.value.rows)), services)


def moment_of(since: str, now: datetime) -> datetime | None:
    """Where the grammar's ``since`` begins: a date, or so many seconds ago. None = no beginning."""
    if not since:
        return None
    if since.isdigit():
        return now - timedelta(seconds=int(since))
    return datetime.combine(date.fromisoformat(since), time(), UTC)
