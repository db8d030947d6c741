"""The corpus of the audit log in Slack."""

from collections.abc import Iterator

from bot.domain.actors import Action, Actor
from bot.usecases.audit import AuditRead, AuditRequest
from handlers.render import audit
from tests.golden.corpus import Sample, sample
from tests.golden.states import EVENTS, event
from tests.golden.values import ANGRY, AT, LONGEST_ID, LONGEST_PERSON, PERSON, REQUEST

_ALL = AuditRequest(request_id=REQUEST, actor=Actor(PERSON))
_NARROW = AuditRequest(
    request_id=REQUEST, actor=Actor(LONGEST_PERSON), home=LONGEST_ID, user=LONGEST_PERSON, since=AT
)


def audit_samples() -> Iterator[Sample]:
    """Every way in which it is told."""
    worst = tuple(
        event(actor=LONGEST_PERSON, action=action.value, home=LONGEST_ID, result="failed", code=ANGRY, seq=1)
        for action in Action
    )
    for label, request, rows, more in (
        ("today", _ALL, EVENTS, False),
        ("nothing", _NARROW, (), False),
        ("only-intents", _ALL, (event(phase="intent", result=""),), False),
        ("worst", _NARROW, worst * 100, True),
    ):
        yield sample(audit.audit_message, label, AuditRead(request=request, rows=rows, more=more))
    for rows_sent in (0, 1, 5_000):
        yield sample(audit.sent_to_you, str(rows_sent), rows_sent)
    yield sample(audit.not_sent, "worst", ANGRY)
