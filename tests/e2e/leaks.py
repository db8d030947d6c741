"""Whether a secret stands in a text, in any way in which it may have left."""

import base64
import json
from urllib.parse import quote, quote_plus


def ways_of_writing(secret: str) -> dict[str, str]:
    """Way → text to look for: plain, percent, JSON-escaped, Slack-escaped, base64 at each alignment."""
    raw = secret.encode()
    ways = {
        "plain": secret,
        "percent": quote(secret, safe=""),
        "form": quote_plus(secret),
        "json": json.dumps(secret)[1:-1],
        "slack": secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
    }
    for offset in range(3):
        # Characters that hold bits of the secret alone, whatever stands before and after it.
        encoded = base64.b64encode(bytes(offset) + raw).decode()
        first, last = (offset * 8 + 5) // 6, (offset + len(raw)) * 8 // 6
        ways[f"base64 at {offset}"] = encoded[first:last]
        ways[f"base64url at {offset}"] = base64.urlsafe_b64encode(bytes(offset) + raw).decode()[first:last]
    return ways


def leaks(secrets: dict[str, str], places: dict[str, str]) -> list[str]:
    """One line for each secret that stands in a place, without the secret itself."""
    return [
        f"{name} stands in {place} ({way})"
        for name, secret in secrets.items()
        for way, text in ways_of_writing(secret).items()
        for place, content in places.items()
        if text in content
    ]
