"""SHA-256 and what is made of it, computed by Python itself.

``hashlib`` and ``hmac`` prefer OpenSSL, which would take four megabytes of a Studio that waits.
"""

from __future__ import annotations

import sys

sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]  # how an import is told to fail
import hashlib  # noqa: E402 - only after OpenSSL is out of the way
import hmac  # noqa: E402 - only after OpenSSL is out of the way

_ROUNDS = 10_000


def mac(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA-256 (RFC 2104)."""
    return hmac.new(key, message, hashlib.sha256).digest()


def password_hash(password: str, salt: bytes) -> bytes:
    """The first 32 bytes of PBKDF2-HMAC-SHA-256 (RFC 8018, section 5.2) after 10,000 rounds."""
    keyed = hmac.new(password.encode(), None, hashlib.sha256)
    block, sum_of_blocks = salt + (1).to_bytes(4, "big"), 0
    for _ in range(_ROUNDS):
        round_ = keyed.copy()
        round_.update(block)
        block = round_.digest()
        sum_of_blocks ^= int.from_bytes(block, "big")
    return sum_of_blocks.to_bytes(32, "big")


def same(one: bytes, other: bytes) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one, other)
