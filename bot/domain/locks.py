"""Names of locks, and what is said when one cannot be had at all."""

import hashlib
import re

from bot.domain.errors import DomainError


class LockUnavailableError(DomainError):
    """Locks cannot be taken just now (not: somebody else holds this one); the message says why."""


def lock_file_name(name: str) -> str:
    """A file name of its own for every lock name, whatever characters that has; readable at its start."""
    readable = re.sub(r"[^a-zA-Z0-9-]+", "-", name)[:60].strip("-")
    return f"{readable or 'lock'}.{_digest(name).hex()[:16]}"


def advisory_key(name: str) -> int:
    """The signed 64-bit number that PostgreSQL's advisory locks know a lock name by."""
    return int.from_bytes(_digest(name)[:8], "big", signed=True)


def _digest(name: str) -> bytes:
    return hashlib.sha256(b"hermes-sandbox-bot lock\n" + name.encode("utf-8", "surrogatepass")).digest()
