"""An audit log in memory, held to the same contract as the real one."""

from collections.abc import AsyncIterator, Callable, Collection
from datetime import UTC, datetime
from typing import TypeVar

from bot.domain.audit import (
    CHANGES,
    CREATE,
    ENDINGS,
    MOST_CHANGES,
    NAMING_STEP,
    AuditEvent,
    AuditRow,
    AuditUnavailableError,
    ChainFault,
    ChainHead,
    ChainReport,
    Columns,
    Redactor,
    chained,
    follow,
    row_of,
    storable,
    timestamp,
)

T = TypeVar("T")


class Unredacted:
    """A redactor for tests whose rows hold no secrets."""

    def text(self, text: str) -> str:
        return text

    def payload(self, value: T) -> T:
        return value


class MemoryAuditLog:
    """The ``AuditLog`` port over a list. Set ``broken`` to a sentence and it cannot be written.

    ``unreadable`` does the same to what it knows of sandboxes.
    """

    def __init__(
        self,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        redactor: Redactor | None = None,
    ) -> None:
        self.broken = ""
        self.unreadable = ""
        self.reads: list[str] = []
        """Reads of what is known of sandboxes, by the name of their method."""
        self._now = now
        self._redactor = redactor or Unredacted()
        self._rows: list[Columns] = []
        self._watchers: list[Callable[[AuditRow], None]] = []

    async def append(self, event: AuditEvent) -> AuditRow:
        if event.phase in {"claim", "vote"}:
            raise ValueError(f"a {event.phase} is made with {event.phase}(), which tells whether it won")
        row = self._add(event)
        for told in self._watchers:
            told(row)
        return row

    def watch(self, told: Callable[[AuditRow], None]) -> None:
        self._watchers.append(told)

    async def claim(self, event: AuditEvent) -> AuditRow | None:
        if event.phase != "claim":
            raise ValueError(f"a claim has the phase claim, not {event.phase}")
        return self._add_once(event, {"phase": "claim", "request_id": event.request_id})

    async def vote(self, event: AuditEvent) -> AuditRow | None:
        if event.phase != "vote":
            raise ValueError(f"a vote has the phase vote, not {event.phase}")
        return self._add_once(event, {"phase": "vote", "request_id": event.request_id, "actor": event.actor})

    async def of_request(self, request_id: str) -> list[AuditRow]:
        return [row_of(row) for row in self._rows if row["request_id"] == request_id]

    async def open_intents(self) -> list[AuditRow]:
        ended: set[str | int] = set()
        found: list[AuditRow] = []
        for row in reversed(self._rows):
            if row["phase"] == "outcome":
                ended.add(row["request_id"])
            elif row["phase"] == "intent" and row["request_id"] not in ended:
                found.append(row_of(row))
        return found[::-1]

    async def created(self, sandbox_ids: Collection[str]) -> dict[str, AuditRow]:
        self._read("created")
        return {
            sandbox: self._intent_behind(row)
            for sandbox, row in self._makers().items()
            if sandbox in sandbox_ids
        }

    async def created_on(self, home: str) -> dict[str, AuditRow]:
        self._read("created_on")
        ended = self._ended()
        return {
            sandbox: self._intent_behind(row)
            for sandbox, row in self._makers().items()
            if row["home"] == home and sandbox not in ended
        }

    async def unended(self, besides: Collection[str], *, limit: int) -> dict[str, AuditRow]:
        self._read("unended")
        left = {
            sandbox: row
            for sandbox, row in self._makers().items()
            if sandbox not in self._ended() and sandbox not in besides
        }
        return {sandbox: self._intent_behind(left[sandbox]) for sandbox in [*left][-limit:]}

    async def created_by(self, actor: str, *, limit: int = 100) -> list[AuditRow]:
        self._read("created_by")
        makers = [row for row in self._makers().values() if row["actor"] == actor]
        return [self._intent_behind(row) for row in makers[::-1][:limit]]

    async def changes(self, sandbox_ids: Collection[str]) -> dict[str, list[AuditRow]]:
        self._read("changes")
        found: dict[str, list[AuditRow]] = {}
        for row in reversed(self._rows):
            telling = row["phase"] in {"intent", "outcome"} and row["action"] in CHANGES
            kept = found.setdefault(str(row["sandbox"]), []) if row["sandbox"] in sandbox_ids else []
            if telling and row["sandbox"] in sandbox_ids and len(kept) < MOST_CHANGES:
                kept.append(row_of(row))
        return {sandbox: rows for sandbox, rows in found.items() if rows}

    async def recent(
        self,
        *,
        home: str | None = None,
        sandbox: str | None = None,
        actor: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
    ) -> list[AuditRow]:
        return self._matching(home, sandbox, actor, since)[::-1][:limit]

    async def export(
        self,
        *,
        home: str | None = None,
        sandbox: str | None = None,
        actor: str | None = None,
        since: datetime | None = None,
    ) -> AsyncIterator[AuditRow]:
        for row in self._matching(home, sandbox, actor, since):
            yield row

    async def head(self) -> ChainHead:
        return self._head()

    async def verify(self) -> ChainReport:
        head = ChainHead()
        for row in self._rows:
            step = follow(head, row)
            if isinstance(step, ChainFault):
                return ChainReport(head.seq, head, step)
            head = step
        return ChainReport(head.seq, head)

    async def close(self) -> None:
        self.broken = self.broken or "the audit log is closed"

    def _add(self, event: AuditEvent) -> AuditRow:
        if self.broken:
            raise AuditUnavailableError(self.broken)
        row = chained(storable(event, self._now(), self._redactor), self._head())
        self._rows.append(row)
        return row_of(row)

    def _add_once(self, event: AuditEvent, same: dict[str, str]) -> AuditRow | None:
        taken = any(all(row[name] == value for name, value in same.items()) for row in self._rows)
        return None if taken and not self.broken else self._add(event)

    def _read(self, what: str) -> None:
        self.reads.append(what)
        if self.unreadable:
            raise AuditUnavailableError(self.unreadable)

    def _ended(self) -> set[str | int]:
        return {
            row["sandbox"]
            for row in self._rows
            if row["phase"] in {"outcome", "system"} and row["code"] in ENDINGS
        }

    def _makers(self) -> dict[str, Columns]:
        """The first row of a create that names each sandbox."""
        makers: dict[str, Columns] = {}
        for row in self._rows:
            late = row["phase"] == "step" and row["code"] != NAMING_STEP
            if row["action"] == CREATE and row["sandbox"] and not late:
                makers.setdefault(str(row["sandbox"]), row)
        return makers

    def _intent_behind(self, maker: Columns) -> AuditRow:
        of_it = [row for row in self._rows if row["request_id"] == maker["request_id"]]
        intents = [row for row in of_it if row["phase"] == "intent" and row["action"] == CREATE]
        return row_of((intents or [maker])[-1])

    def _head(self) -> ChainHead:
        return (
            ChainHead(int(self._rows[-1]["seq"]), str(self._rows[-1]["hash"])) if self._rows else ChainHead()
        )

    def _matching(
        self, home: str | None, sandbox: str | None, actor: str | None, since: datetime | None
    ) -> list[AuditRow]:
        wanted = {"home": home, "sandbox": sandbox, "actor": actor}
        start = timestamp(since) if since is not None else ""
        return [
            row_of(row)
            for row in self._rows
            if all(value is None or row[name] == value for name, value in wanted.items())
            and str(row["at"]) >= start
        ]
