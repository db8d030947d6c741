"""Who and what exists in the workspace: people, channels, user groups, the app and its scopes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

TEAM = "T_DEMO"
TEAM_DOMAIN = "demo"
PARTNER_TEAM = "T_PARTNER"
PARTNER_DOMAIN = "partner"
APP_ID = "A_HERMES"
BOT_ID = "B_HERMES"
BOT_USER = "U_BOT"
BOT_NAME = "hermes"
SLACKBOT = "USLACKBOT"
COMMAND = "/hermes"

# What the bot token is granted unless the caller says otherwise: the scopes of the manifest and of the other
# methods that are served. Give ``scopes`` to prove that the manifest's own are enough.
SCOPES = (
    "commands",
    "chat:write",
    "chat:write.public",
    "im:write",
    "users:read",
    "usergroups:read",
    "channels:read",
    "groups:read",
    "channels:history",
    "groups:history",
    "im:history",
    "app_mentions:read",
    "files:write",
    "reactions:write",
)
APP_SCOPES = ("connections:write",)


@dataclass(frozen=True, slots=True)
class Person:
    """One account. ``team`` differs from TEAM for people who come through Slack Connect."""

    id: str
    name: str
    tz: str = "Europe/Amsterdam"
    tz_offset: int = 3600
    team: str = TEAM
    deleted: bool = False
    is_bot: bool = False
    is_restricted: bool = False
    is_admin: bool = False

    @property
    def domain(self) -> str:
        """The sub-domain of the person's workspace."""
        return TEAM_DOMAIN if self.team == TEAM else PARTNER_DOMAIN

    def as_user(self) -> dict[str, Any]:
        """The ``user`` object of users.info and users.list."""
        title = self.name.replace("-", " ").title()
        user: dict[str, Any] = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "deleted": self.deleted,
            "profile": {"real_name": title, "display_name": self.name, "team": self.team},
            "is_bot": self.is_bot,
            "is_app_user": False,
            "updated": 1_700_000_000,
        }
        if self.deleted:  # Slack leaves most fields out for a deactivated account
            return user
        return user | {
            "real_name": title,
            "tz": self.tz,
            "tz_label": self.tz,
            "tz_offset": self.tz_offset,
            "is_admin": self.is_admin,
            "is_owner": False,
            "is_primary_owner": False,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": False,
            "is_stranger": False,
            "has_2fa": False,
        }


@dataclass(slots=True)
class Channel:
    """A conversation and who is in it; a ``D_…`` channel is a direct message."""

    id: str
    name: str
    kind: Literal["public", "private", "im"]
    members: set[str] = field(default_factory=set)
    archived: bool = False
    ext_shared: bool = False

    @property
    def payload_name(self) -> str:
        """``channel_name`` in a slash command; Slack hides the names of private conversations."""
        return {"public": self.name, "private": "privategroup", "im": "directmessage"}[self.kind]

    def as_channel(self) -> dict[str, Any]:
        """The ``channel`` object of conversations.info and conversations.list."""
        common: dict[str, Any] = {
            "id": self.id,
            "created": 1_700_000_000,
            "is_archived": self.archived,
            "is_im": self.kind == "im",
            "is_org_shared": False,
            "context_team_id": TEAM,
        }
        if self.kind == "im":
            other = next((member for member in sorted(self.members) if member != BOT_USER), "")
            return common | {"user": other, "is_user_deleted": False, "is_open": True}
        return common | {
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": self.kind == "public",
            "is_group": self.kind == "private",
            "is_mpim": False,
            "is_private": self.kind == "private",
            "is_general": False,
            "is_shared": self.ext_shared,
            "is_ext_shared": self.ext_shared,
            "is_member": BOT_USER in self.members,
            "creator": "U_ADMIN",
            "topic": {"value": "", "creator": "", "last_set": 0},
            "purpose": {"value": "", "creator": "", "last_set": 0},
            "num_members": len(self.members),
        }


def _people() -> Iterable[Person]:
    yield Person("U_ADMIN", "ada-admin", is_admin=True)
    yield Person("U_APPROVER", "ari-approver", tz="America/New_York", tz_offset=-18_000)
    yield Person("U_OPERATOR", "ola-operator")
    yield Person("U_OPERATOR2", "otto-operator", tz="Asia/Shanghai", tz_offset=28_800)
    yield Person("U_OUTSIDER", "oona-outsider")
    yield Person("U_FOREIGNER", "finn-foreigner", team=PARTNER_TEAM)
    yield Person("U_GUEST", "gus-guest", is_restricted=True)
    yield Person("U_DELETED", "dora-deleted", deleted=True)
    yield Person(BOT_USER, BOT_NAME, is_bot=True)
    yield Person(SLACKBOT, "slackbot")


class Cast:
    """The people, channels and user groups of one stand-in; memberships may change."""

    def __init__(self) -> None:
        staff = {"U_ADMIN", "U_APPROVER", "U_OPERATOR", "U_OPERATOR2"}
        team = staff | {"U_OUTSIDER"}
        self.people = {person.id: person for person in _people()}
        channels = [
            Channel("C_OPS", "ops", "public", team | {"U_FOREIGNER", BOT_USER}, ext_shared=True),
            Channel("C_ALERTS", "alerts", "public", team | {BOT_USER}),
            Channel("C_AUDIT", "audit", "public", staff | {BOT_USER}),
            Channel("C_PUBLIC", "public", "public", team | {"U_GUEST"}),
            Channel("G_PRIVATE", "private", "private", set(team)),
            Channel("C_ARCHIVED", "archived", "public", team | {BOT_USER}, archived=True),
            # A direct message between two people, which no app can post to.
            Channel("D_PAIR", "", "im", {"U_ADMIN", "U_OPERATOR"}),
        ]
        humans = [p for p in self.people.values() if not p.is_bot and p.id != SLACKBOT]
        channels += [Channel(f"D_{person.id}", "", "im", {person.id, BOT_USER}) for person in humans]
        self.channels = {channel.id: channel for channel in channels}
        self.usergroups: dict[str, list[str]] = {"S_APPROVERS": ["U_APPROVER"]}

    def human(self, user: str) -> Person | None:
        """A living person who can type and click; None for bots, deactivated and unknown ids."""
        person = self.people.get(user)
        if person is None or person.is_bot or person.deleted or user == SLACKBOT:
            return None
        return person

    def can_see(self, user: str, channel: Channel) -> bool:
        """Whether the person sees the channel's messages: as a member, or as public to the team."""
        person = self.people.get(user)
        if user in channel.members:
            return True
        at_home = person is not None and person.team == TEAM and not person.is_restricted
        return channel.kind == "public" and at_home

    def usergroup_object(self, group: str, *, with_users: bool = False) -> dict[str, Any]:
        """The ``usergroup`` object of usergroups.list."""
        users = self.usergroups[group]
        name = group.removeprefix("S_").lower()
        shown: dict[str, Any] = {
            "id": group,
            "team_id": TEAM,
            "is_usergroup": True,
            "is_subteam": True,
            "name": name.title(),
            "handle": name,
            "description": "",
            "is_external": False,
            "date_create": 1_700_000_000,
            "date_update": 1_700_000_000,
            "date_delete": 0,
            "user_count": len(users),
        }
        return shown | {"users": list(users)} if with_users else shown
