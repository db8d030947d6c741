"""The slash command: admitted, read, and answered by the one that knows its verb."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from bot.domain.outcome import NotDone
from bot.usecases.whoami import whoami
from handlers import auditing, creating, diagnosing, keeping, opening, pausing, status, stopping
from handlers.conversation import answer
from handlers.form_open import open_form
from handlers.grammar import Command, Refusal, parse
from handlers.payloads import Body, SlashCall, slash_call
from handlers.render import notices
from handlers.render.failure import failure_message
from handlers.render.help import help_message, not_available, refusal_message, whoami_message
from handlers.services import Services

logger = logging.getLogger(__name__)

Answer = Callable[[SlashCall, Command, Services], Awaitable[None]]


async def _help(call: SlashCall, _command: Command, services: Services) -> None:
    await answer(call, help_message(AVAILABLE), services)


async def _whoami(call: SlashCall, _command: Command, services: Services) -> None:
    await answer(call, whoami_message(whoami(call.actor, services.deps)), services)


ANSWERS: Mapping[str, Answer] = {
    "create": creating.create,
    "status": status.status,
    "open": opening.open_typed,
    "pause": pausing.pause_typed,
    "resume": pausing.resume_typed,
    "keep": keeping.keep_typed,
    "stop": stopping.ask,
    "diagnose": diagnosing.ask,
    "audit": auditing.audit,
    "whoami": _whoami,
    "help": _help,
}
AVAILABLE = frozenset(ANSWERS)
"""The verbs that work; the table of verbs knows more."""

OPENS_FIRST: tuple[Answer, ...] = (opening.open_typed,)
"""These open their window before anything is waited for, and ask for the role themselves."""


def take_command(body: Body, services: Services) -> None:
    """After the ack: hand the command over."""
    call = slash_call(body, services.team_id)

    async def run() -> None:
        await answer_command(call, services)

    async def tell(why: NotDone) -> None:
        await answer(call, failure_message(why), services)

    services.take(
        f"command:{call.trigger_id}" if call.trigger_id else "", f"command of {call.actor.id}", run, tell
    )


def take_unknown_command(body: Body, services: Services) -> None:
    """A slash command that Slack sends us although we have only one."""
    call = slash_call(body, services.team_id)

    async def run() -> None:
        await answer(call, notices.OUTSIDER if call.actor.outside_team else notices.UNKNOWN_COMMAND, services)

    async def tell(why: NotDone) -> None:
        await answer(call, failure_message(why), services)

    services.take(f"command:{call.trigger_id}" if call.trigger_id else "", "unknown command", run, tell)


async def answer_command(call: SlashCall, services: Services) -> None:
    """Who may talk to us here, then what was meant, then the verb's own answer."""
    if call.actor.outside_team or not call.actor.id:
        await answer(call, notices.OUTSIDER, services)
        return
    if services.allowed_channels and call.channel not in services.allowed_channels:
        await answer(call, notices.wrong_channel(services.allowed_channels), services)
        return
    command = parse(call.text)
    if isinstance(command, Refusal):
        await answer(call, refusal_message(command), services)
        return
    if command.name == "create" and not command.text("home"):
        await open_form(call, services)  # before anything else is waited for
        return
    verb = ANSWERS.get(command.name)
    if verb is None:
        await answer(call, not_available(command.name, AVAILABLE), services)
        return
    if verb not in OPENS_FIRST:
        await services.deps.roster.confirm(call.actor)
    await verb(call, command, services)
