"""Things that Slack hands out and that expire: trigger ids and response URLs."""

import re
import secrets
from dataclasses import dataclass

from bot.standin.clock import StandInClock
from bot.standin.slack.errors import SlackError

TRIGGER_LIFE_S = 3.0
RESPONSE_LIFE_S = 30 * 60.0
RESPONSE_POSTS = 5
_TRIGGER_FORM = re.compile(r"\d+\.\d+\.[0-9a-f]+")


@dataclass(slots=True)
class Trigger:
    """A person's consent to one modal. ``view_id`` is the view it was given in, if any."""

    user: str
    view_id: str | None
    expires_at: float
    spent: bool = False


@dataclass(slots=True)
class ResponseUrl:
    """A right to answer where an interaction happened, whatever the membership of the app.

    ``message_ts`` is the message that was clicked; None for a slash command, which leaves no
    message that could be replaced.
    """

    channel: str
    user: str
    message_ts: str | None
    ephemeral: bool
    expires_at: float
    posts: int = 0


class Tickets:
    """The trigger ids and response URLs that are out."""

    def __init__(self, clock: StandInClock) -> None:
        self._clock = clock
        self._triggers: dict[str, Trigger] = {}
        self._urls: dict[str, ResponseUrl] = {}
        self._count = 13_345_224_609

    def new_trigger(self, user: str, view_id: str | None = None) -> str:
        """A trigger id, good for three seconds and one use."""
        self._count += 1
        trigger_id = f"{self._count}.738474920.{secrets.token_hex(16)}"
        self._triggers[trigger_id] = Trigger(user, view_id, self._clock.time() + TRIGGER_LIFE_S)
        return trigger_id

    def redeem_trigger(self, trigger_id: str) -> Trigger:
        """Spend a trigger id.

        Raises:
            SlackError: It is unknown, expired or was used before.
        """
        trigger = self._triggers.get(trigger_id)
        if trigger is None or not _TRIGGER_FORM.fullmatch(trigger_id):
            raise SlackError("invalid_trigger_id")
        if trigger.spent:
            raise SlackError("exchanged_trigger_id")
        if self._clock.time() > trigger.expires_at:
            raise SlackError("expired_trigger_id")
        trigger.spent = True
        return trigger

    def new_response_url(
        self, channel: str, user: str, *, message_ts: str | None = None, ephemeral: bool = False
    ) -> str:
        """The path of a new response URL."""
        kind = "actions" if message_ts else "commands"
        key = f"{kind}/T_DEMO/{secrets.randbelow(10**12)}/{secrets.token_hex(12)}"
        expires_at = self._clock.time() + RESPONSE_LIFE_S
        self._urls[key] = ResponseUrl(channel, user, message_ts, ephemeral, expires_at)
        return f"/{key}"

    def use_response_url(self, path: str) -> ResponseUrl:
        """Count one post to a response URL.

        Raises:
            SlackError: With status 404: ``no_such_url``, ``expired_url`` or ``used_url``.
        """
        url = self._urls.get(path.strip("/"))
        if url is None:
            raise SlackError("no_such_url", status=404)
        if self._clock.time() > url.expires_at:
            raise SlackError("expired_url", status=404)
        if url.posts >= RESPONSE_POSTS:
            raise SlackError("used_url", status=404)
        url.posts += 1
        return url
