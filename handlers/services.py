"""What every listener is given."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.domain.outcome import NotDone
from bot.ports import Chat
from bot.usecases.deps import Deps
from handlers.homes import Homes
from handlers.jobs import Job, Jobs, Lane
from handlers.once import Once


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The use cases' ports, the way out to Slack, the queue behind the ack, and who we are."""

    deps: Deps
    chat: Chat
    jobs: Jobs
    team_id: str
    bot_user_id: str
    allowed_channels: tuple[str, ...] = ()
    """Where commands are taken; empty = everywhere."""
    audit_channel: str = ""
    """Where the audit log may be read by all; empty = nowhere."""
    once: Once = field(default_factory=Once)
    homes: Homes = field(default_factory=Homes)

    def take(
        self,
        key: str,
        name: str,
        run: Callable[[], Awaitable[None]],
        tell: Callable[[NotDone], Awaitable[None]],
        *,
        lane: Lane = Lane.QUICK,
    ) -> None:
        """Hand work over after the ack; nothing here waits or raises. The same ``key`` is taken once."""
        if self.once.first(key):
            self.jobs.start(Job(name=name, run=run, tell=tell), lane)
