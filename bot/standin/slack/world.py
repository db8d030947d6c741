"""What all parts of the Slack stand-in share."""

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from bot.standin.clock import StandInClock
from bot.standin.faults import Faults
from bot.standin.slack.cast import Cast
from bot.standin.slack.crawler import Crawler
from bot.standin.slack.limits import Limits
from bot.standin.slack.messages import MessageStore
from bot.standin.slack.modals import ViewStore
from bot.standin.slack.request_url import RequestUrl
from bot.standin.slack.sockets import Delivery, Sockets
from bot.standin.slack.tickets import Tickets
from bot.standin.slack.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Secrets:
    """The app's credentials, made at the first start and kept, so that a running bot stays accepted."""

    bot_token: str
    app_token: str
    signing_secret: str
    verification_token: str

    @classmethod
    def kept_in(cls, path: Path) -> Self:
        """Read them, or make them."""
        if not path.exists():
            made = cls(
                bot_token=f"xoxb-standin-{secrets.token_hex(16)}",
                app_token=f"xapp-standin-{secrets.token_hex(16)}",
                signing_secret=secrets.token_hex(16),
                verification_token=secrets.token_hex(12),
            )
            path.touch(mode=0o600)
            path.write_text(json.dumps({name: getattr(made, name) for name in cls.__slots__}))
        return cls(**json.loads(path.read_text()))


@dataclass(slots=True)
class World:
    """The state of the workspace."""

    clock: StandInClock
    faults: Faults
    secrets: Secrets
    cast: Cast
    messages: MessageStore
    views: ViewStore
    tickets: Tickets
    sockets: Sockets
    limits: Limits
    crawler: Crawler
    request_url: RequestUrl
    scopes: tuple[str, ...]
    """What the bot token may do."""
    files: Uploads
    transcript: list[dict[str, Any]] = field(default_factory=list)
    base_url: str = ""  # http://127.0.0.1:PORT once the server listens

    async def deliver(
        self, kind: str, payload: dict[str, Any], *, accepts_response_payload: bool
    ) -> Delivery:
        """Deliver to the app the way it is set up: to its request URL, else over a socket."""
        if self.request_url.url:
            return await self.request_url.deliver(kind, payload)
        return await self.sockets.deliver(kind, payload, accepts_response_payload=accepts_response_payload)

    def record(self, method: str, body: object) -> None:
        """Add one received call to the transcript."""
        self.transcript.append({"method": method, "body": body, "at": self.clock.time()})
