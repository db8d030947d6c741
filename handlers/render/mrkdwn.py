"""Text for people in Slack's markup: the one place where foreign text is made inert."""

import re
from datetime import UTC, datetime

_USER = re.compile(r"[UW][A-Z0-9_]{1,40}")
_ESCAPED_MENTION = re.compile(r"&lt;(@[UW][A-Z0-9_]{1,40})&gt;")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# Control characters but for tab and line ends, and those that turn the direction of writing.
_UNSEEN = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LOOKALIKE = "\N{MODIFIER LETTER GRAVE ACCENT}"


def visible(text: str) -> str:
    """Foreign text without what would reorder or hide the text around it: a sign stands in its place."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


def escape(text: str) -> str:
    """Foreign text: no mention, link or channel call in it stays alive."""
    return visible(text).translate(_ESCAPES)


def prose(text: str) -> str:
    """Our own sentences, which may quote foreign words: of all markup in ``<…>`` only people stay alive."""
    return _ESCAPED_MENTION.sub(r"<\1>", escape(text))


def code(text: str) -> str:
    """Foreign text in a fixed-width font, on one line."""
    flat = " ".join(text.split()).replace("`", _LOOKALIKE)
    return f"`{escape(flat)}`" if flat else "-"


def fenced(text: str) -> str:
    """Foreign text of several lines in a fixed-width block. A fence inside it cannot end the block."""
    return f"```{escape(text.strip().replace('`', _LOOKALIKE))}```"


def bold(text: str) -> str:
    """Foreign text in bold; stars in it would end the bold, so they are replaced."""
    return f"*{escape(text.replace('*', '∗'))}*"  # noqa: RUF001 - the lookalike is the point


def person(actor_id: str) -> str:
    """A mention for a Slack user; anyone else (``cli:anna``) by name."""
    return f"<@{actor_id}>" if _USER.fullmatch(actor_id) else code(actor_id)


def is_person(actor_id: str) -> bool:
    """Whether it is the id of a Slack user."""
    return _USER.fullmatch(actor_id) is not None


def moment(at: datetime) -> str:
    """A time in the reader's own time zone, with UTC for readers that cannot convert."""
    utc = at.astimezone(UTC)
    return f"<!date^{int(utc.timestamp())}^{{date_short_pretty}} {{time}}|{utc:%Y-%m-%d %H:%M} UTC>"


def seconds(length: float) -> str:
    """A length of time: ``0.4 s``, ``12 s``, ``2 min 5 s``, ``1 h 3 min``."""
    if length < 9.95:  # noqa: PLR2004 - from here on a tenth is noise, and 9.96 must not read "10.0 s"
        return f"{length:.1f} s"
    whole = round(length)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {left} s" if left else f"{minutes} min"
    return f"{left} s"


def listed(names: tuple[str, ...], *, most: int = 12) -> str:
    """Names in a row, each in code; the rest counted."""
    if not names:
        return "none"
    shown = ", ".join(code(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
