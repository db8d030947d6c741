"""An index for the pauses, resumes and keeps of a sandbox; rows of anything else are not in it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TELLS_A_CHANGE = "action IN ('pause', 'resume', 'keep') AND phase IN ('intent', 'outcome')"


def upgrade() -> None:
    """What was asked of a sandbox, and how it ended."""
    op.create_index(
        "audit_changes",
        "audit",
        ["sandbox", "seq"],
        sqlite_where=sa.text(_TELLS_A_CHANGE),
        postgresql_where=sa.text(_TELLS_A_CHANGE),
    )


def downgrade() -> None:
    """Drop it; no row is touched."""
    op.drop_index("audit_changes", "audit")
