"""Whose eyes a message is rendered for."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@dataclass(frozen=True, slots=True)
class Viewer:
    """One person who looks at the console."""

    user: str
    """Their user id."""
    tz: str
    """The IANA name of their time zone; UTC is shown where the machine does not know it."""
    names: Mapping[str, str]
    """Id to shown name, for users, channels and user groups."""
    now: float | None = None
    """Seconds since the epoch that "today" and "ago" count from; None for the machine's clock."""

    @property
    def zone(self) -> tzinfo:
        """The person's time zone."""
        try:
            return ZoneInfo(self.tz)
        except (
            ZoneInfoNotFoundError,
            ValueError,
            OSError,
        ):  # ValueError and OSError: no name of a zone at all
            return UTC

    @property
    def moment(self) -> float:
        """Seconds since the epoch, as the person's clock shows them."""
        return time.time() if self.now is None else self.now

    def name(self, identifier: str, fallback: str = "") -> str:
        """The name shown for an id, without ``@`` or ``#``; the fallback or the id where it is unknown."""
        return (self.names.get(identifier) or fallback or identifier).lstrip("@#") or identifier

    def ids(self, *kinds: str) -> list[str]:
        """The known ids that begin with one of the letters, sorted by shown name."""
        return sorted((known for known in self.names if known.startswith(kinds)), key=self.name)
