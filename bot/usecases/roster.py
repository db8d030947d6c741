"""Who holds which role now: configured user ids, usergroups and ``*``; unknown = no role."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta

from bot.domain.actors import Actor, ActorKind, Role, strongest
from bot.domain.errors import ChatError
from bot.ports import Clock

MemberLookup = Callable[[str], Awaitable[frozenset[str]]]

STALE_AFTER = timedelta(minutes=15)
"""Memberships older than this grant nothing: a removed approver must not stay one during an outage."""

RETRY_AFTER = timedelta(seconds=30)
"""How long a group that Slack does not tell is left alone, so that commands do not wait for it one by one."""


class Roster:
    """Roles by id. Usergroups are looked up in the background, so that asking never waits."""

    def __init__(self, grants: Mapping[Role, Sequence[str]], clock: Clock, members_of: MemberLookup) -> None:
        self._grants = grants
        self._clock = clock
        self._members_of = members_of
        self._groups: dict[str, tuple[datetime, frozenset[str]]] = {}
        self._turn = asyncio.Lock()
        self._tried: datetime | None = None

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

    async def ensure_fresh(self) -> None:
        """Read usergroups whose memberships are too old to grant anything; usually there are none."""
        async with self._turn:
            now = self._clock.now()
            waited = self._tried is None or abs(now - self._tried) > RETRY_AFTER
            if waited and any(self._stale(group) for group in self.groups):
                self._tried = now
                await self.refresh()

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
        return frozenset() if self._stale(group) else self._groups[group][1]

    def _stale(self, group: str) -> bool:
        read = self._groups.get(group)
        return read is None or not timedelta() <= self._clock.now() - read[0] <= STALE_AFTER
