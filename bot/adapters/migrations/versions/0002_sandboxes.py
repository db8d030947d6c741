"""Indexes for what the log says of a sandbox and of the sandboxes of a home.

Most rows are steps, and of a create's steps only the fifth tells anything new about its sandbox: the others
are in no index, so that writing them costs nothing.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NAMES_ITS_SANDBOX = "action = 'create' AND sandbox <> '' AND (phase <> 'step' OR code = 'step-5')"


def upgrade() -> None:
    """Who made a sandbox, what was made on a home, and what has ended."""
    _index_where("audit_created", ["sandbox", "seq"], _NAMES_ITS_SANDBOX)
    _index_where("audit_created_on", ["home", "sandbox", "seq"], _NAMES_ITS_SANDBOX)
    _index_where("audit_ended", ["sandbox"], "code IN ('stopped', 'sandbox-gone')")


def downgrade() -> None:
    """Drop them; no row is touched."""
    for name in ("audit_created", "audit_created_on", "audit_ended"):
        op.drop_index(name, "audit")


def _index_where(name: str, columns: list[str], condition: str) -> None:
    op.create_index(
        name, "audit", columns, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition)
    )
