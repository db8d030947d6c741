"""Who looks, and at what: the person, the channel or App Home, and the thread that is open."""

import datetime as dt
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.standin.console.viewer import Viewer
from bot.standin.slack.cast import BOT_USER, PARTNER_TEAM, Cast, Channel, Person

HOME = "HOME"
"""Stands for App Home where a channel id is expected."""

_FIRST_PERSON, _FIRST_CHANNEL = "U_OPERATOR", "C_OPS"
_RANKS = ("admin", "approver", "operator", "viewer")


@dataclass(frozen=True, slots=True)
class Standpoint:
    """What one page shows. ``channel`` is None on App Home; ``thread`` is a time stamp or empty."""

    person: Person
    channel: Channel | None
    thread: str
    viewer: Viewer

    @property
    def channel_id(self) -> str:
        """The channel's id, or HOME."""
        return self.channel.id if self.channel else HOME

    @property
    def zone(self) -> dt.tzinfo:
        """The person's time zone."""
        return self.viewer.zone


def standpoint(cast: Cast, query: Mapping[str, str], now: float) -> Standpoint:
    """Read ``user``, ``channel`` and ``thread`` of an address; ``now`` is in seconds since the epoch.

    Whoever does not exist, and what this person cannot see, is replaced by what a page begins with.
    """
    person = cast.human(query.get("user", "")) or cast.people[_FIRST_PERSON]
    asked = query.get("channel", "")
    channel: Channel | None = None
    if asked != HOME:
        visible = {one.id: one for one in visible_channels(cast, person.id)}
        channel = visible.get(asked) or visible.get(_FIRST_CHANNEL) or visible[f"D_{person.id}"]
    thread = query.get("thread", "") if channel else ""
    return Standpoint(person, channel, thread, Viewer(person.id, person.tz, _names(cast, person.id), now))


def visible_channels(cast: Cast, user: str) -> list[Channel]:
    """The conversations in a person's list; a direct message only for those who are in it."""
    return [channel for channel in cast.channels.values() if cast.can_see(user, channel)]


def people(cast: Cast) -> list[Person]:
    """Everybody whom a visitor of the page can be."""
    return [person for name in cast.people if (person := cast.human(name))]


def shown_channel(cast: Cast, channel: Channel, user: str) -> str:
    """A channel's name without ``#``; a direct message has the name of the other one."""
    if channel.kind != "im":
        return channel.name
    others = sorted(channel.members - {user}) or [user]
    if others[0] == BOT_USER:
        return "Hermes"
    return cast.people[others[0]].name


def silence(channel: Channel, user: str, *, app_takes_messages: bool) -> str:
    """Why this person cannot type in a channel; empty when they can."""
    if channel.archived:
        return f"#{channel.name} is archived. You can read it, and nobody can write in it."
    if user not in channel.members:
        return f"You are not a member of #{channel.name}, so you can only read it."
    if channel.kind == "im" and BOT_USER in channel.members and not app_takes_messages:
        return "Hermes answers here when a channel did not take its answer. Type commands in a channel."
    return ""


def roles(cast: Cast, config_file: Path | None) -> dict[str, str]:
    """User id → the highest role in the bot's TOML file, or what makes the person an outsider."""
    granted = _granted(config_file)
    found: dict[str, str] = {}
    for person in people(cast):
        groups = {group for group, members in cast.usergroups.items() if person.id in members}
        mine = {person.id, "*", *groups}
        role = next((rank for rank in _RANKS if mine & set(granted.get(rank, ()))), "")
        found[person.id] = role or _outsider(person)
    return found


def _outsider(person: Person) -> str:
    if person.team == PARTNER_TEAM:
        return "from another workspace"
    return "guest, no role" if person.is_restricted else "no role"


def _granted(config_file: Path | None) -> Mapping[str, Iterable[str]]:
    if config_file is None or not config_file.exists():
        return {}
    table = tomllib.loads(config_file.read_text(encoding="utf-8")).get("roles", {})
    return {rank: [str(one) for one in listed] for rank, listed in table.items() if isinstance(listed, list)}


def _names(cast: Cast, user: str) -> dict[str, str]:
    names = {person.id: person.name for person in cast.people.values()}
    names |= {channel.id: channel.name for channel in cast.channels.values() if channel.name}
    direct = [channel for channel in visible_channels(cast, user) if channel.kind == "im"]
    names |= {channel.id: shown_channel(cast, channel, user) for channel in direct}
    return names | {group: group.removeprefix("S_").lower() for group in cast.usergroups}
