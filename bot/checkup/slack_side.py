"""Slack: both tokens, what they may do, the channels, and everybody who is to hold a role."""

import re
from collections.abc import Mapping
from datetime import datetime

from bot.adapters.slack_identity import UNREACHABLE
from bot.adapters.slack_lookup import SlackAnswer, SlackLookup
from bot.checkup.finding import Finding, Findings, bad, clocks, good, unknown
from bot.domain.errors import ChatError
from bot.ports import Clock
from bot.settings import Settings

SCOPES = frozenset({
    "app_mentions:read", "channels:history", "channels:read", "chat:write", "chat:write.public", "commands",
    "files:write", "groups:history", "groups:read", "im:history", "usergroups:read", "users:read",
})  # fmt: skip
"""What manifest.yaml asks for."""

BOT = "Slack bot token"
APP = "Slack app token"
_SECRET = re.compile(r"[0-9a-f]{32}")
_BOT_CURE = "Set SLACK_BOT_TOKEN to the Bot User OAuth Token of the app's page OAuth & Permissions."
_NO_SOCKET = frozenset({"not_allowed", "socket_mode_not_enabled", "socket_mode_disabled", "access_denied"})
_NO_VERDICT = frozenset({
    UNREACHABLE, "ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable",
    "request_timeout",
})  # fmt: skip
"""What tells nothing about the thing that was asked for."""

_LATER = "Run `hermes-bot check` again in a minute."
_HEADER_SECONDS = 1.5
"""A ``Date`` header tells whole seconds, and may be older than its answer by a moment."""


class SlackSide:
    """One examination of Slack. What needs the bot token is looked at only once that is good."""

    def __init__(self, settings: Settings, clock: Clock, clock_cure: str) -> None:
        self._settings = settings
        self._clock = clock
        self._clock_cure = clock_cure
        self._bot = SlackLookup(settings.slack.bot_token, settings.slack.api_url)
        self._good = False
        self._name = "hermes"
        self._granted: frozenset[str] = frozenset()

    async def look_at_bot(self) -> Findings:
        """The bot token, its scopes, and the clocks."""
        began = self._clock.now()
        try:
            answer = await self._bot.ask("auth.test")
        except ChatError as error:
            yield self._refused(error)
            return
        ended = self._clock.now()
        self._good, self._granted = True, answer.scopes
        self._name = str(answer.data.get("user") or self._name)
        yield good(BOT, f"team {answer.data.get('team')}, bot {self._name}")
        yield self._scopes()
        yield self._time(answer, began, ended)

    def _refused(self, error: ChatError) -> Finding:
        if error.code == UNREACHABLE:
            address = self._settings.slack.api_url
            cure = "Set SLACK_API_URL to https://slack.com/api/, and let this machine reach it over port 443."
            return bad("Slack", f"{address} does not answer: {error}", cure)
        if error.code in _NO_VERDICT:
            return unknown(BOT, f"Slack says {error.code}", _LATER)
        return bad(BOT, f"Slack says {error.code}", _BOT_CURE)

    def _scopes(self) -> Finding:
        missing = sorted(SCOPES - self._granted)
        if not missing:
            return good("Slack scopes", f"all {len(SCOPES)} of manifest.yaml")
        cure = "Give the app the scopes of manifest.yaml under OAuth & Permissions, and reinstall it."
        return bad("Slack scopes", f"missing {', '.join(missing)}", cure)

    def _time(self, answer: SlackAnswer, began: datetime, ended: datetime) -> Finding:
        subject = "Clock of Slack"
        if answer.date is None:
            return unknown(subject, "Slack's answer does not tell the time", self._clock_cure)
        took = (ended - began).total_seconds()
        middle = began + (ended - began) / 2
        return clocks(subject, middle, answer.date, within=_HEADER_SECONDS + took / 2, cure=self._clock_cure)

    async def look_at_entry(self, *, http: bool) -> Findings:
        """How Slack's requests come in: over a socket, or to a request URL."""
        if http:
            yield self._signing_secret()
            return
        if not self._settings.slack.app_token:
            cure = "Set SLACK_APP_TOKEN to an app-level token with connections:write, or use `--http`."
            yield bad(APP, "SLACK_APP_TOKEN is not set", cure)
            return
        try:
            await SlackLookup(self._settings.slack.app_token, self._settings.slack.api_url).ask(
                "apps.connections.open"
            )
        except ChatError as error:
            yield self._no_socket(error)
            return
        yield good(APP, "Socket Mode gives a connection")

    def _no_socket(self, error: ChatError) -> Finding:
        if error.code in _NO_VERDICT:
            return unknown(APP, f"Slack says {error}", _LATER)
        if error.code in _NO_SOCKET:
            return bad(APP, f"Slack says {error.code}", "Switch Socket Mode on in the settings of the app.")
        cure = (
            "Set SLACK_APP_TOKEN to an app-level token with connections:write of the app's Basic Information."
        )
        return bad(APP, f"Slack says {error.code}", cure)

    def _signing_secret(self) -> Finding:
        subject, secret = "Slack signing secret", self._settings.slack.signing_secret
        cure = "Set SLACK_SIGNING_SECRET to the Signing Secret of the app's page Basic Information."
        if not secret:
            return bad(subject, "SLACK_SIGNING_SECRET is not set", cure)
        if not _SECRET.fullmatch(secret):
            return bad(subject, "SLACK_SIGNING_SECRET is not 32 hexadecimal digits", cure)
        note = "it is set; only a request that Slack has signed proves that it is the right one"
        return unknown(subject, note, "Run `hermes-bot serve --http` and type `/hermes whoami` in Slack.")

    async def look_at_channels(self) -> Findings:
        """Alerts, audit, and those where commands are taken."""
        channels = self._settings.toml.channels
        for name, channel in (("alerts", channels.alerts), ("audit", channels.audit)):
            if channel:
                yield await self._channel(name, channel)
            else:
                yield good(f"Channel {name}", f"[channels] {name} is empty: nothing is posted there")
        for channel in channels.allowed:
            if channel != "*":
                yield await self._channel("allowed", channel)

    async def _channel(self, name: str, channel: str) -> Finding:
        subject, key = f"Channel {name}", f"[channels] {name}"
        if not self._good:
            return _not_asked(f"{subject} {channel}")
        invite = f"Type `/invite @{self._name}` in that channel in Slack"
        try:
            told = (await self._bot.ask("conversations.info", channel=channel)).data.get("channel")
        except ChatError as error:
            if error.code in _NO_VERDICT:
                return unknown(subject, f"{channel}: Slack says {error}", _LATER)
            note = f"{channel}: Slack says {error.code}; a private channel is unknown to those outside"
            return bad(subject, note, f"{invite}, or set {key} to the id of another one.")
        info: Mapping[str, object] = told if isinstance(told, Mapping) else {}
        shown = f"{channel} #{info.get('name', '?')}"
        if info.get("is_archived"):
            return bad(subject, f"{shown} is archived", f"Set {key} to the id of a channel in use.")
        if not info.get("is_member"):
            return bad(subject, f"the bot is not in {shown}", f"{invite}.")
        return good(subject, shown)

    async def look_at_roles(self) -> Findings:
        """Usergroups and people that ``[roles]`` names; each once, whatever roles it has."""
        holders: dict[str, list[str]] = {}
        for role, names in self._settings.toml.roles.grants().items():
            for name in names:
                holders.setdefault(name, []).append(role.name.lower())
        if not holders:
            cure = "Set [roles] admin, approver and operator to Slack user ids or usergroup ids."
            yield bad("Roles", "[roles] names nobody, so that nobody may do anything", cure)
        for name, roles in holders.items():
            if name == "*":
                yield good("Roles", f"everybody is {', '.join(roles)}")
            elif name.startswith("S"):
                yield await self._group(name, roles)
            else:
                yield await self._person(name, roles)

    async def _group(self, group: str, roles: list[str]) -> Finding:
        subject, keys = f"Usergroup {group}", _keys(roles)
        if not self._good:
            return _not_asked(subject)
        try:
            users = (await self._bot.ask("usergroups.users.list", usergroup=group)).data.get("users")
        except ChatError as error:
            if error.code in _NO_VERDICT or "usergroups:read" not in self._granted:
                return unknown(subject, f"Slack says {error}", _LATER)
            cure = f"Set {keys} to the ids of usergroups that exist, without {group}."
            return bad(subject, f"Slack says {error.code}; {', '.join(roles)} comes to nobody by it", cure)
        count = len(users) if isinstance(users, list) else 0
        if not count:
            cure = f"Add people to the usergroup in Slack, or set {keys} without {group}."
            return bad(subject, f"it is empty; {', '.join(roles)} comes to nobody by it", cure)
        return good(subject, f"{count} {'member' if count == 1 else 'members'}: {', '.join(roles)}")

    async def _person(self, user: str, roles: list[str]) -> Finding:
        subject, cure = f"Person {user}", f"Set {_keys(roles)} without {user}."
        if not self._good:
            return _not_asked(subject)
        try:
            told = (await self._bot.ask("users.info", user=user)).data.get("user")
        except ChatError as error:
            if error.code in _NO_VERDICT or "users:read" not in self._granted:
                return unknown(subject, f"Slack says {error}", _LATER)
            return bad(subject, f"Slack says {error.code}", cure)
        info: Mapping[str, object] = told if isinstance(told, Mapping) else {}
        if info.get("deleted"):
            return bad(subject, "the account is deactivated", cure)
        if info.get("is_bot"):
            return bad(subject, "it is a bot", cure)
        return good(subject, ", ".join(roles))


def _keys(roles: list[str]) -> str:
    return " and ".join(f"[roles] {role}" for role in roles)


def _not_asked(subject: str) -> Finding:
    return unknown(
        subject, f"Slack could not be asked without a good {BOT}", "Make the lines above ok first."
    )
