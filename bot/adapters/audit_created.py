"""Which sandboxes the log says were made, by whom, and what was asked of them: one query each, at any length.

The first row of a create that names a sandbox belongs to the request that made it; later requests may
continue with that sandbox, or be turned away because of it. What was asked for stands in the request's
last intent.

Conditions of the partial indexes are written out instead of bound: an index serves only a query that visibly
holds its condition.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import sqlalchemy as sa

from bot.adapters.audit_schema import NAMES_ITS_SANDBOX, TABLE, TELLS_A_CHANGE, TELLS_AN_END
from bot.domain.audit import CREATE, MOST_CHANGES, AuditRow, row_of

MADE: Final = "made"
"""The column of the answers with the sandbox; the row's own ``sandbox`` may be empty."""

_ended: Final = TABLE.alias("audit_ended")
_intent: Final = TABLE.alias("audit_intent")
_maker: Final = TABLE.alias("audit_maker")
_named: Final = TABLE.alias("audit_named")


def made_by(sandboxes: Collection[str]) -> sa.Select[Any]:
    """The intents behind these sandboxes, dead or alive."""
    return _intents(_first(_named.c.sandbox.in_(sorted(sandboxes))))


def made_on(home: str) -> sa.Select[Any]:
    """The intents behind the sandboxes of a home of which no row tells the end."""
    first = _first(_named.c.home == home)
    return _intents(first).where(~_end_of(first))


def unended() -> sa.Select[Any]:
    """The sandboxes that creates have made and of which no row tells the end, the oldest first."""
    first = _first(sa.true())
    return sa.select(first.c.sandbox).where(~_end_of(first)).order_by(first.c.seq)


def made_for(actor: str, limit: int) -> sa.Select[Any]:
    """The intents behind the latest sandboxes that creates of this actor have made, the newest last."""
    first = _first(sa.true())
    asker = TABLE.alias("audit_asker")
    latest = (
        sa.select(first.c.sandbox, first.c.seq)
        .join(asker, asker.c.seq == first.c.seq)
        .where(asker.c.actor == actor)
        .order_by(first.c.seq.desc())
        .limit(limit)
    )
    return _intents(latest.subquery("audit_latest"))


def changes_of(sandboxes: Collection[str]) -> sa.Select[Any]:
    """The latest intents and outcomes of pauses, resumes and keeps of each, newest first."""
    place = sa.func.row_number().over(partition_by=TABLE.c.sandbox, order_by=TABLE.c.seq.desc())
    told = (
        sa.select(*TABLE.c, place.label("place"))
        .where(sa.text(TELLS_A_CHANGE), TABLE.c.sandbox.in_(sorted(sandboxes)))
        .subquery("audit_told")
    )
    columns = [column for column in told.c if column.name != "place"]
    return sa.select(*columns).where(told.c.place <= MOST_CHANGES).order_by(told.c.seq.desc())


def rows_by_sandbox(found: Collection[Mapping[str, Any]]) -> dict[str, AuditRow]:
    """The answer of one of the queries."""
    return {str(row[MADE]): row_of(row) for row in found}


def _end_of(first: sa.Subquery) -> sa.ColumnElement[bool]:
    return sa.exists().where(
        _ended.c.sandbox == first.c.sandbox,
        sa.text(f"audit_ended.{TELLS_AN_END}"),
        _ended.c.phase.in_(("outcome", "system")),
    )


def _first(condition: sa.ColumnElement[bool]) -> sa.Subquery:
    return (
        sa.select(_named.c.sandbox, sa.func.min(_named.c.seq).label("seq"))
        .where(sa.text(NAMES_ITS_SANDBOX), condition)
        .group_by(_named.c.sandbox)
        .subquery("audit_first")
    )


def _intents(first: sa.Subquery) -> sa.Select[Any]:
    later = TABLE.alias("audit_later")
    last = (
        sa.select(sa.func.max(later.c.seq))
        .where(later.c.request_id == _maker.c.request_id, later.c.phase == "intent", later.c.action == CREATE)
        .correlate(_maker)
        .scalar_subquery()
    )
    return (
        sa.select(first.c.sandbox.label(MADE), *_intent.c)
        .select_from(first)
        .join(_maker, _maker.c.seq == first.c.seq)
        .join(_intent, _intent.c.seq == sa.func.coalesce(last, _maker.c.seq))
        .order_by(first.c.seq)
    )
