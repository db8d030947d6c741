"""Lengths of time as people type them, in whole seconds."""

import datetime as dt
import re

FOREVER = -1
"""Cube's own number for "never time out"."""

MAX_SECONDS = 365 * 24 * 3600
"""Longest finite duration that is accepted: 365 days."""

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
# Nine digits hold 31 years in seconds; a longer number is a slip of the keyboard, not a duration.
_PLAIN = re.compile(r"0*([0-9]{1,9})")
_COMPOUND = re.compile(
    "".join(rf"(?:0*([0-9]{{1,9}}){unit})?" for unit, _ in _UNITS), re.IGNORECASE | re.ASCII
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DASHES = str.maketrans({"\N{EN DASH}": "-", "\N{MINUS SIGN}": "-"})


def read_duration(text: str) -> int | None:
    """Seconds meant by `90`, `2h`, `1d12h`, `0`; FOREVER for `never` and `-1`; None for anything else.

    Units come once each, largest first. A dash that a phone made typographic counts as a minus.
    """
    plain = text.translate(_DASHES)
    if plain == "-1" or (plain.isascii() and plain.lower() == "never"):
        return FOREVER
    number = _PLAIN.fullmatch(plain)
    if number:
        seconds = int(number[1])
    else:
        parts = _COMPOUND.fullmatch(plain)
        if not parts or not plain:
            return None
        seconds = sum(int(n) * size for n, (_, size) in zip(parts.groups(), _UNITS, strict=True) if n)
    return seconds if seconds <= MAX_SECONDS else None


def read_since(text: str) -> int | dt.date | None:
    """How far back a person wants to look: seconds (as read_duration), a day `YYYY-MM-DD`, or None."""
    plain = text.translate(_DASHES)
    if not _DATE.fullmatch(plain):
        return read_duration(plain)
    try:
        return dt.date.fromisoformat(plain)
    except ValueError:
        return None


def spell_duration(seconds: int) -> str:
    """`seconds` the way read_duration takes it: `1h30m`, `0s`, `never` for anything negative."""
    if seconds < 0:
        return "never"
    words = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            words.append(f"{count}{unit}")
    return "".join(words) or "0s"
