"""Who holds which role now: configured user ids, usergroups and ``*``; unknown = no role."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta

from bot.domain.actors import Actor, ActorKind, Role, strongest
from bot.domain.errors import ChatError
from bot.ports import Clock

MemberLookup = Callable[[str], Awaitable[frozenset[str]]]

STALE_AFTER = timedelta(minutes=15)
"""Memberships older than this grant nothing: a removed approver must not stay one during an outage."""


class Roster:
    """Roles by id. Usergroups are looked up in the background, so that asking never waits."""

    def __init__(self, grants: Mapping[Role, Sequence[str]], clock: Clock, members_of: MemberLookup) -> None:
        self._grants = grants
        self._clock = clock
        self._members_of = members_of
        self._groups: dict[str, tuple[datetime, frozenset[str]]] = {}

    @property
    def groups(self) -> frozenset[str]:
        """The usergroup ids that some role is granted to."""
        return frozenset(g for granted in self._grants.values() for g in granted if g.startswith("S"))

    async def refresh(self) -> dict[str, str]:
        """Read every usergroup again. Gives the groups that could not be read, with Slack's reason."""
        failures: dict[str, str] = {}
        for group in sorted(self.groups):
            try:
                members = await self._members_of(group)
            except ChatError as error:
                failures[group] = error.code
            else:
                self._groups[group] = (self._clock.now(), members)
        return failures

    def role_of(self, actor: Actor) -> Role:
        """The strongest role of this actor now."""
        if actor.kind in (ActorKind.CLI, ActorKind.SCHEDULE, ActorKind.BOT):
            return Role.ADMIN
        if actor.outside_team:
            return Role.NONE
        return strongest([role for role, granted in self._grants.items() if self._holds(actor.id, granted)])

    def _holds(self, user: str, granted: Sequence[str]) -> bool:
        return any(entry in ("*", user) or user in self._members(entry) for entry in granted)

    def _members(self, group: str) -> frozenset[str]:
        read_at, members = self._groups.get(group, (None, frozenset[str]()))
        if read_at is None or self._clock.now() - read_at > STALE_AFTER:
            return frozenset()
        return members
