"""Who holds which role now: configured user ids, usergroups and ``*``; unknown = no role."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from bot.domain.actors import Actor, ActorKind, Role, strongest
from bot.domain.errors import ChatError
from bot.ports import Clock

MemberLookup = Callable[[str], Awaitable[frozenset[str]]]

STALE_AFTER = timedelta(minutes=15)
"""Memberships older than this grant nothing: a removed approver must not stay one during an outage."""

CONFIRMED_FOR = timedelta(seconds=5)
"""A membership read this lately is believed when somebody acts by it; Slack tells 20 times a minute."""

CONFIRM_SECONDS = 4.0
"""How long somebody who acts waits for Slack to tell; then what was read last counts."""

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
        self._untold: dict[str, datetime] = {}

    @property
    def groups(self) -> frozenset[str]:
        """The usergroup ids that some role is granted to."""
        return frozenset(g for granted in self._grants.values() for g in granted if g.startswith("S"))

    async def refresh(self) -> dict[str, str]:
        """Read every usergroup again. Gives the groups that could not be read, with Slack's reason."""
        return await self._read(self.groups)

    async def ensure_fresh(self) -> None:
        """Read usergroups whose memberships are too old to grant anything; usually there are none."""
        async with self._turn:
            now = self._clock.now()
            waited = self._tried is None or abs(now - self._tried) > RETRY_AFTER
            if waited and any(self._stale(group) for group in self.groups):
                self._tried = now
                await self.refresh()

    async def confirm(self, actor: Actor) -> None:
        """Before somebody acts: read the usergroups that give them a role again, unless just done.

        Whoever was taken out of a group a moment ago must not act by it. When Slack does not tell in time, a
        membership counts until it is stale.
        """
        await self.ensure_fresh()
        with suppress(TimeoutError):
            async with asyncio.timeout(CONFIRM_SECONDS), self._turn:
                await self._read(group for group in self.groups if self._unconfirmed(group, actor))

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

    async def _read(self, groups: Iterable[str]) -> dict[str, str]:
        failures: dict[str, str] = {}
        for group in sorted(groups):
            try:
                members = await self._members_of(group)
            except ChatError as error:
                failures[group] = error.code
                self._untold[group] = self._clock.now()
            else:
                self._groups[group] = (self._clock.now(), members)
                self._untold.pop(group, None)
        return failures

    def _unconfirmed(self, group: str, actor: Actor) -> bool:
        if actor.kind is not ActorKind.USER or actor.id not in self._members(group):
            return False
        now, untold = self._clock.now(), self._untold.get(group)
        waited = untold is None or abs(now - untold) > RETRY_AFTER
        return waited and abs(now - self._groups[group][0]) > CONFIRMED_FOR

    def _stale(self, group: str) -> bool:
        read = self._groups.get(group)
        return read is None or not timedelta() <= self._clock.now() - read[0] <= STALE_AFTER
