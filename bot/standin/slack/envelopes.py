"""The record of every envelope: over which sockets it went, over which its acks came, what became of it."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["acked", "operation_timeout", "dispatch_failed"]
_KEPT = 2_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one envelope. ``ack_ms`` runs from sending the frame to receiving its ack."""

    outcome: Outcome
    ack_ms: float
    ack: dict[str, Any] | None = None

    def shown(self) -> dict[str, Any]:
        """The answer of the control API."""
        return {"outcome": self.outcome, "ack_ms": round(self.ack_ms, 3), "ack": self.ack}


@dataclass(slots=True)
class Envelope:
    """One envelope. ``sent`` and ``acks`` are numbers of sockets, in order; ``late`` acks do not count."""

    id: str
    kind: str
    retry_attempt: int
    at: float
    sent: list[int] = field(default_factory=list)
    acks: list[int] = field(default_factory=list)
    late: int = 0
    outcome: Outcome | None = None

    def shown(self) -> dict[str, Any]:
        """What the control API shows."""
        return {
            "envelope_id": self.id,
            "type": self.kind,
            "retry_attempt": self.retry_attempt,
            "at": self.at,
            "sent": self.sent,
            "acks": self.acks,
            "late_acks": self.late,
            "outcome": self.outcome,
        }


class EnvelopeLog:
    """The last two thousand envelopes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Envelope] = OrderedDict()

    def add(self, envelope: Envelope) -> None:
        """Keep a new one, and forget the oldest."""
        self._kept[envelope.id] = envelope
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def find(self, envelope_id: object) -> Envelope | None:
        """The one with that id."""
        return self._kept.get(envelope_id) if isinstance(envelope_id, str) else None

    def shown(self) -> list[dict[str, Any]]:
        """All of them, oldest first."""
        return [envelope.shown() for envelope in self._kept.values()]
