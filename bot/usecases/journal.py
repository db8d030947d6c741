"""Writing a request into the audit log, and reading back where it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.actors import Action, Actor
from bot.domain.audit import AuditEvent, AuditRow, Phase, Result
from bot.domain.outcome import Done, Failed, Outcome, Refused
from bot.ports import AuditLog

ASKED = "asked"
"""The code of an intent that was taken on and not yet admitted. It counts towards no quota."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The rows of one request. ``owner_fields`` go into every row of it."""

    log: AuditLog
    request_id: str
    action: Action
    actor: Actor
    channel: str = ""
    thread_ts: str = ""
    home: str = ""
    workspace: str = ""

    async def write(
        self,
        phase: Phase,
        *,
        sandbox: str = "",
        node: str = "",
        result: Result = "",
        code: str = "",
        reason: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> AuditRow:
        """Append one row; durable when it returns."""
        return await self.log.append(
            self._event(phase, sandbox, node, result, code, reason, details),
        )

    async def claim(
        self, *, code: str, sandbox: str = "", details: Mapping[str, Any] | None = None
    ) -> AuditRow | None:
        """Take the request for oneself; None when somebody else has."""
        return await self.log.claim(self._event("claim", sandbox, "", "ok", code, "", details))

    async def close(
        self,
        outcome: Outcome[Any],
        *,
        sandbox: str = "",
        node: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """The outcome row; another system's words join ``details``."""
        if isinstance(outcome, Done):
            await self.write(
                "outcome", sandbox=sandbox, node=node, result="ok", code=outcome.code, details=details
            )
            return
        result: Result = (
            "refused"
            if isinstance(outcome, Refused)
            else "failed"
            if isinstance(outcome, Failed)
            else "unknown"
        )
        details = {**(details or {}), **({"detail": outcome.detail} if outcome.detail else {})}
        await self.write(
            "outcome",
            sandbox=sandbox,
            node=node,
            result=result,
            code=outcome.code,
            reason=outcome.what,
            details=details,
        )

    def _event(
        self,
        phase: Phase,
        sandbox: str,
        node: str,
        result: Result,
        code: str,
        reason: str,
        details: Mapping[str, Any] | None,
    ) -> AuditEvent:
        return AuditEvent(
            request_id=self.request_id,
            phase=phase,
            actor=self.actor.id,
            actor_kind=self.actor.kind.value,
            channel=self.channel,
            thread_ts=self.thread_ts,
            action=self.action.value,
            home=self.home,
            workspace=self.workspace,
            sandbox=sandbox,
            node=node,
            result=result,
            code=code,
            reason=reason,
            details=details or {},
        )


def admitted(rows: Sequence[AuditRow]) -> list[AuditRow]:
    """The intents among ``rows`` that a check has let through."""
    return [row for row in rows if row.phase == "intent" and row.code != ASKED]


def ending_of(rows: Sequence[AuditRow]) -> AuditRow | None:
    """The outcome of a request; None while it is on its way, also when it was taken up again after one.

    It need not be the last row: where a request is told may be noted after its end.
    """
    last = next((row for row in reversed(rows) if row.phase in {"intent", "outcome"}), None)
    return last if last is not None and last.phase == "outcome" else None


def last_sandbox(rows: Sequence[AuditRow]) -> str:
    """The sandbox that a request made or acted on, or an empty text."""
    return next((row.sandbox for row in reversed(rows) if row.sandbox), "")


def claimed_by(rows: Sequence[AuditRow]) -> AuditRow | None:
    """The claim of a request."""
    return next((row for row in rows if row.phase == "claim"), None)
