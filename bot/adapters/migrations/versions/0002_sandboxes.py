"""Indexes for what the log says of a sandbox and of the sandboxes of a home."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rows that name no sandbox cost neither index anything."""
    _index_where("audit_sandbox", ["sandbox"], "sandbox <> ''")
    _index_where("audit_created", ["home", "sandbox", "seq"], "action = 'create' AND sandbox <> ''")


def downgrade() -> None:
    """Drop them; no row is touched."""
    op.drop_index("audit_created", "audit")
    op.drop_index("audit_sandbox", "audit")


def _index_where(name: str, columns: list[str], condition: str) -> None:
    op.create_index(
        name, "audit", columns, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition)
    )
