"""Moments in the viewer's own time zone, in the words of Slack's date tokens."""

import re
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

from bot.standin.console.markup import escape, link, tag
from bot.standin.console.viewer import Viewer

__all__ = ["shown_moment", "spoken_moment"]

_TOKEN = re.compile(r"\{([a-z_]*)\}")
_UNITS = (("year", 31_536_000), ("month", 2_592_000), ("day", 86_400), ("hour", 3600), ("minute", 60))


def shown_moment(
    epoch: str, pattern: str, viewer: Viewer, *, url: str = "", fallback: str = ""
) -> str | None:
    """A moment as HTML: the pattern filled in, or the fallback where it cannot be read.

    Returns:
        None where there is neither a readable moment nor a fallback.
    """
    words = spoken_moment(epoch, pattern, viewer)
    if words is None:
        return escape(fallback) if fallback else None
    at = datetime.fromtimestamp(int(epoch), viewer.zone)
    content = link(url, escape(words)) if urlsplit(url).scheme in ("http", "https") else escape(words)
    return tag("time", content, datetime=at.isoformat(), title=f"{_long(at)} at {_time(at)} ({viewer.tz})")


def spoken_moment(epoch: str, pattern: str, viewer: Viewer) -> str | None:
    """A moment in words, or None for a time or a token that Slack does not know."""
    try:
        at = datetime.fromtimestamp(int(epoch), viewer.zone)
    except (ValueError, OverflowError, OSError):
        return None
    today = datetime.fromtimestamp(viewer.moment, viewer.zone).date()
    known = {
        "date_num": f"{at:%Y-%m-%d}",
        "date": _date(at),
        "date_short": _short(at),
        "date_long": _long(at),
        "date_pretty": _near(at, today) or _date(at),
        "date_short_pretty": _near(at, today) or _short(at),
        "date_long_pretty": _near(at, today) or _long(at),
        "time": _time(at),
        "time_secs": _time(at, seconds=True),
        "ago": _ago(viewer.moment - int(epoch)),
    }
    tokens = _TOKEN.findall(pattern)
    if not tokens or any(token not in known for token in tokens):
        return None
    words = _TOKEN.sub(lambda found: known[found[1]], pattern)
    return words[0].upper() + words[1:]


def _near(at: datetime, today: date) -> str:
    days = (at.date() - today) // timedelta(days=1)
    return {-1: "yesterday", 0: "today", 1: "tomorrow"}.get(days, "")


def _day(at: datetime) -> str:
    teens = range(11, 14)
    ending = "th" if at.day in teens else {1: "st", 2: "nd", 3: "rd"}.get(at.day % 10, "th")
    return f"{at.day}{ending}"


def _date(at: datetime) -> str:
    return f"{at:%B} {_day(at)}, {at.year}"


def _short(at: datetime) -> str:
    return f"{at:%b} {at.day}, {at.year}"


def _long(at: datetime) -> str:
    return f"{at:%A}, {_date(at)}"


def _time(at: datetime, *, seconds: bool = False) -> str:
    exact = f":{at:%S}" if seconds else ""
    return f"{at.hour % 12 or 12}:{at:%M}{exact} {'AM' if at.hour < 12 else 'PM'}"  # noqa: PLR2004 - noon


def _ago(passed: float) -> str:
    for unit, length in _UNITS:
        count = int(abs(passed) // length)
        if count:
            words = f"{count} {unit}{'s' if count > 1 else ''}"
            return f"{words} ago" if passed > 0 else f"in {words}"
    return "just now"
