"""Whether a request into a sandbox may be made without anybody having asked for it.

Each one counts as use: it wakes a paused sandbox, and starts the idle time of a running one anew. So it is
made only where it cannot alter the sandbox's fate.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.condition import OWN_MARGIN, Past, last_activity
from bot.domain.sandbox import SandboxState, SandboxView

INTERVAL = timedelta(seconds=60)
"""Somebody else's use is believed to go on for this long at most."""

SHARE = 10
"""And for no more than this part of the idle time, so that a probe adds next to nothing to it."""


EVIDENCE = timedelta(seconds=60)
"""As long as a heartbeat tells about now, so long does a request that nothing answered."""


@dataclass(frozen=True, slots=True)
class LastProbe:
    """Our latest request into a sandbox: when it ended, by Cube's note of it if that is later."""

    at: datetime
    reached: bool | None = None

    def still_unreached(self, now: datetime, past: Past) -> bool:
        """Whether nothing answered it, and neither time nor a change has made that worthless."""
        outdated = past.changed_at is not None and past.changed_at >= self.at
        return self.reached is False and not outdated and now - self.at < EVIDENCE


def may_probe(view: SandboxView, past: Past, *, now: datetime, probed_at: datetime | None) -> bool:
    """Whether a request cannot alter its fate: it never times out, or somebody else is just using it.

    Args:
        view: as Cube's list shows it; only a list tells that a pause is on its way.
        past: what the audit log knows of it.
        now: the time.
        probed_at: when our own last request to it ended, or Cube's later note of it.
    """
    if view.state is not SandboxState.RUNNING or not view.listed:
        return False
    if view.end_at is None:
        return past.timeout is None or past.timeout < 0
    used = last_activity(view, past)
    if used is None or past.timeout is None:
        return False
    believed = min(INTERVAL, timedelta(seconds=past.timeout / SHARE))
    by_us = probed_at is not None and used <= probed_at + OWN_MARGIN
    return not by_us and timedelta() <= now - used < believed
