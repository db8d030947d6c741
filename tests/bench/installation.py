"""The bot's own deps, against running stand-ins, without Slack."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from bot.adapters.redaction import Redactor
from bot.adapters.system import SystemClock
from bot.app import core
from bot.domain.actors import Actor
from bot.settings import Settings, load
from bot.usecases.deps import Deps
from bot.usecases.roster import Roster

OPERATOR = Actor("U_OPERATOR")
AT_ONCE_ENV = {"HERMES_STANDIN_START_DELAY": "0"}
"""The stand-in's Studio then starts as fast as its processes do."""


@asynccontextmanager
async def installed(env: Mapping[str, str]) -> AsyncIterator[tuple[Deps, Settings]]:
    """The deps that ``hermes-bot serve`` would have, with a Studio that starts without its usual delay."""
    settings = load(env)
    clock, redactor = SystemClock(None), Redactor(settings.secrets())

    async def unread(_: str) -> frozenset[str]:
        return frozenset()

    roster = Roster(settings.toml.roles.grants(), clock, unread)
    async with core(settings, redactor, roster, clock) as built:
        deps = built.deps
        rules = replace(deps.rules, env_defaults={**deps.rules.env_defaults, **AT_ONCE_ENV})
        yield replace(deps, rules=rules), settings
