"""Alembic migrations of the audit database, run by the bot itself when it opens one."""
