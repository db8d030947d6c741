"""What stands in the place of a secret, and how to tell that a value is none or is hidden already."""

import re

MARKER = "REDACTED"
"""A bare word: it is valid where it stands in JSON strings, YAML, URLs, shell lines and Slack's markup."""

_REVEALED = re.compile("\ue000[0-9]+\ue001")
_HARMLESS = re.compile(
    r"\*{3,}|•+|…|[\[<(]?redacted[\]>)]?|null|none|nil"
    r"|SHA256:[A-Za-z0-9+/]{20,}={0,2}(?:\s.*)?",  # the fingerprint of a public key
    re.IGNORECASE | re.DOTALL,
)


def stand_in(number: int) -> str:
    """Takes the place of a secret that may be seen, while the text around it is redacted."""
    return f"\ue000{number}\ue001"


def without_stand_ins(text: str) -> str:
    """The text in which nothing can be taken for a stand-in."""
    return text.replace("\ue000", "\ufffd")


def nothing_to_hide(value: str) -> bool:
    """Whether a value under a secret name is empty, hidden already, public, or may be seen."""
    return not value or bool(_HARMLESS.fullmatch(value) or _REVEALED.fullmatch(value))
