"""JSON Web Tokens signed with HMAC-SHA-256 (RFC 7519, RFC 7515 section 3)."""

from __future__ import annotations

import base64
import binascii
import json

from .digests import mac, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def sign(claims: dict[str, Any], secret: str) -> str:
    """A token that carries the claims."""
    head = _encode(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode())
    body = _encode(json.dumps(claims, separators=(",", ":")).encode())
    return f"{head}.{body}.{_encode(_mac(f'{head}.{body}', secret))}"


def verify(token: str, secret: str, now: float) -> dict[str, Any] | None:
    """The claims of a token with a right signature that has not expired, else None."""
    signed, _, signature = token.rpartition(".")
    try:
        if not same(_decode(signature), _mac(signed, secret)):
            return None
        head, claims = (json.loads(_decode(part)) for part in signed.split("."))
    except (ValueError, binascii.Error):
        return None
    if not isinstance(head, dict) or head.get("alg") != "HS256" or not isinstance(claims, dict):
        return None
    expires = claims.get("exp")
    return claims if isinstance(expires, int | float) and expires > now else None


def _mac(text: str, secret: str) -> bytes:
    return mac(secret.encode(), text.encode())


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
