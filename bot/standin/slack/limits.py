"""How fast an app may call: a bucket for each method, one for each channel, one for all posts together.

The numbers are those of Slack's rate limit reference: a method's tier is the calls a minute it is sure
to get, and bursts are tolerated within reason. A bucket therefore holds one minute's calls and fills
evenly: who keeps to the tier in every minute is never refused, who calls faster for long is. Posting is
counted by channel, about a message a second with a short burst, and for the workspace as a whole.

The clock is the machine's monotonic one on purpose. An app that paces itself waits in real time, and a
stand-in clock that jumps ahead an hour must not make a burst look like an hour of quiet.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.standin.faults import Faults
from bot.standin.slack.errors import SlackError

MINUTE_S = 60.0
TIER_1, TIER_2, TIER_3, TIER_4 = 1, 20, 50, 100
SEVERAL_HUNDRED = 300

POST = "chat.postMessage"
POSTS_PER_SECOND = 1.0
POST_BURST = 5
STRICT_POST_BURST = 1
POSTS_PER_MINUTE = SEVERAL_HUNDRED
"""All channels of the workspace together."""
CONNECTION_BURST = 20
"""Ten sockets, each opened and once replaced within the same minute."""
JITTER_S = 0.1
"""What the way to the server may add between two calls that were sent a second apart."""

PER_MINUTE: Mapping[str, int] = {
    "auth.test": SEVERAL_HUNDRED,
    "api.test": SEVERAL_HUNDRED,
    "chat.getPermalink": SEVERAL_HUNDRED,
    "apps.connections.open": TIER_1,
    "chat.postEphemeral": TIER_4,
    "chat.update": TIER_3,
    "chat.delete": TIER_3,
    "reactions.add": TIER_3,
    "conversations.open": TIER_3,
    "conversations.info": TIER_3,
    "conversations.join": TIER_3,
    "conversations.history": TIER_3,
    "conversations.replies": TIER_3,
    "conversations.list": TIER_2,
    "conversations.members": TIER_4,
    "users.info": TIER_4,
    "users.list": TIER_2,
    "usergroups.list": TIER_2,
    "usergroups.users.list": TIER_2,
    "bots.info": TIER_3,
    "team.info": TIER_3,
    "views.open": TIER_4,
    "views.push": TIER_4,
    "views.update": TIER_4,
    "views.publish": TIER_4,
    "files.getUploadURLExternal": TIER_4,
    "files.completeUploadExternal": TIER_4,
}
"""Calls a minute of one method. Methods that are not named here are Tier 3."""


@dataclass(slots=True)
class Bucket:
    """``size`` calls at once, and ``per_second`` more each second."""

    size: float
    per_second: float
    left: float
    at: float

    def wait_s(self, now: float, *, held_back: float = 0.0) -> float:
        """Seconds until a call fits. ``held_back`` is the part of the burst that is not tolerated."""
        self.left = min(self.size, self.left + (now - self.at) * self.per_second)
        self.at = now
        return max(0.0, (1.0 + held_back - self.left) / self.per_second)

    def take(self) -> None:
        """Count one call."""
        self.left -= 1.0


class Limits:
    """Counts the calls of the app and refuses those that come too fast.

    ``throttled`` counts the refusals of each method.
    """

    def __init__(self, faults: Faults, *, now: Callable[[], float] = time.monotonic) -> None:
        self._faults = faults
        self._now = now
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self.throttled: Counter[str] = Counter()
        self.speed = 1.0
        """How many times faster than Slack the buckets fill; for a bot whose own pace is sped up alike."""

    def admit(self, method: str, channel: str = "") -> bool:
        """Count one call; gives whether Slack hides what it posts.

        ``channel`` is the id of the conversation that a post goes to. A call that is refused or hidden
        does not count, and blocks nothing but its own method, or for a post its own channel.

        Raises:
            SlackError: Status 429, ``ratelimited``, with the whole seconds to wait in ``Retry-After``.
        """
        if method != POST:
            per_minute = PER_MINUTE.get(method, TIER_3)
            size = CONNECTION_BURST if per_minute == TIER_1 else per_minute
            bucket = self._bucket(method, "", size, per_minute / MINUTE_S)
            self._refuse(method, bucket.wait_s(self._now()))
            bucket.take()
            return False
        everywhere = self._bucket(method, "", POSTS_PER_MINUTE, POSTS_PER_MINUTE / MINUTE_S)
        here = self._bucket(method, channel or "nowhere", POST_BURST, POSTS_PER_SECOND)
        strict = self._faults.peek("slack", "strict-rates")
        held_back = POST_BURST - STRICT_POST_BURST if strict else 0
        wait_s = max(here.wait_s(self._now(), held_back=held_back) - JITTER_S, everywhere.wait_s(self._now()))
        if wait_s > 0:
            if strict:
                self._faults.take("slack", "strict-rates")
            if self._faults.take("slack", "hide-bursts"):
                return True
            self._refuse(method, wait_s)
        here.take()
        everywhere.take()
        return False

    def quicken(self, speed: float) -> None:
        """Fill all buckets that many times faster from now on, and start with full ones."""
        self.speed = speed
        self._buckets.clear()

    def _bucket(self, method: str, channel: str, size: float, per_second: float) -> Bucket:
        key = (method, channel)
        if key not in self._buckets:
            self._buckets[key] = Bucket(size, per_second * self.speed, size, self._now())
        return self._buckets[key]

    def _refuse(self, method: str, wait_s: float) -> None:
        if wait_s > 0:
            self.throttled[method] += 1
            seconds = max(1, math.ceil(wait_s))
            raise SlackError("ratelimited", status=429, headers={"Retry-After": str(seconds)})
