"""The audit table: rows are added at its end, and nothing else ever happens to it."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TEXTS = (
    "at", "request_id", "phase", "actor", "actor_kind", "channel", "thread_ts", "action", "home", "workspace",
    "sandbox", "node", "result", "code", "reason", "details", "prev_hash", "hash",
)  # fmt: skip

_SQLITE = (
    """
    CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END
    """,
    """
    CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'audit rows are never deleted'); END
    """,
    # INSERT OR REPLACE deletes without asking the delete trigger, so it has to be met at the door.
    """
    CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit
    WHEN NEW.seq <= (SELECT max(seq) FROM audit)
      OR EXISTS (SELECT 1 FROM audit WHERE prev_hash = NEW.prev_hash)
      OR (NEW.phase = 'claim' AND EXISTS (
            SELECT 1 FROM audit WHERE phase = 'claim' AND request_id = NEW.request_id))
      OR (NEW.phase = 'vote' AND EXISTS (
            SELECT 1 FROM audit
            WHERE phase = 'vote' AND request_id = NEW.request_id AND actor = NEW.actor))
    BEGIN SELECT RAISE(ABORT, 'audit rows are only added at the end'); END
    """,
)

_POSTGRESQL = (
    """
    CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'audit rows are never changed or deleted (%)', TG_OP; END $$
    """,
    """
    CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION audit_refuse()
    """,
    """
    CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse()
    """,
)


def upgrade() -> None:
    """Create the table, its unique successors, claims and votes, and the triggers that refuse changes."""
    op.create_table(
        "audit",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=False,
            nullable=False,
        ),
        *(sa.Column(name, sa.Text(), nullable=False) for name in _TEXTS),
    )
    op.create_index("audit_one_successor", "audit", ["prev_hash"], unique=True)
    op.create_index("audit_request", "audit", ["request_id"])
    _unique_where("audit_one_claim", ["request_id"], "phase = 'claim'")
    _unique_where("audit_one_vote", ["request_id", "actor"], "phase = 'vote'")
    for statement in _SQLITE if op.get_bind().dialect.name == "sqlite" else _POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    """Refuse: going back would delete the log."""
    raise RuntimeError("the audit log is never deleted; restore a backup of the database instead")


def _unique_where(name: str, columns: list[str], condition: str) -> None:
    op.create_index(
        name,
        "audit",
        columns,
        unique=True,
        sqlite_where=sa.text(condition),
        postgresql_where=sa.text(condition),
    )
