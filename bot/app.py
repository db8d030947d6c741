"""The composition root: settings become adapters, adapters become use cases, use cases meet Slack."""

import asyncio
import getpass
import logging
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot import ending, logs
from bot.adapters.audit_sql import SqlAuditLog, open_audit_log
from bot.adapters.cube_sdk import CubeSdk
from bot.adapters.guest import GuestPrograms
from bot.adapters.locks import open_locks
from bot.adapters.node_ssh import SshNode
from bot.adapters.redaction import Redactor
from bot.adapters.slack_chat import SlackChat
from bot.adapters.slack_identity import ask_identity
from bot.adapters.studio import StudioHttp
from bot.adapters.system import RandomIds, SystemClock
from bot.domain.actors import Actor, ActorKind
from bot.domain.errors import DomainError
from bot.domain.outcome import Done
from bot.health import HealthServer
from bot.link import ACK_SECONDS, PATIENCE, SlackLink
from bot.request_url import RequestUrl, secret_for_http
from bot.settings import Settings, SettingsError
from bot.usecases.default_home import make_default_home
from bot.usecases.deps import Deps
from bot.usecases.launch_secrets import learn
from bot.usecases.recovery import find_interrupted
from bot.usecases.roster import Roster
from bot.usecases.untold import find_untold
from bot.usecases.warnings import pace
from handlers.heads import post_head
from handlers.jobs import Jobs
from handlers.register import register
from handlers.restart import announce_interrupted, announce_untold
from handlers.services import Services
from handlers.warning import warn_owners

log = logging.getLogger(__name__)

ROSTER_SECONDS = 300.0
HEAD_SECONDS = 3600.0
RECONCILE_SECONDS = 30.0
DRAIN_SECONDS = 4.2
"""How long a step that runs at SIGTERM may go on, and a job that has no steps."""

TELL_SECONDS = 2.8
"""For telling the threads of what had to be ended; the next start tells those that are left."""

APOLOGY_SECONDS = 0.4
"""For answers to commands that came in meanwhile."""

CLOSE_SECONDS = 1.9
"""For closing all connections, whatever does not answer.

All of it takes less than ten seconds, after which orchestrators kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """Everything below Slack: what a command line needs too."""

    deps: Deps
    audit: SqlAuditLog


@asynccontextmanager
async def core(
    settings: Settings, redactor: Redactor, roster: Roster, clock: SystemClock
) -> AsyncIterator[Core]:
    """Open the audit log, the locks and the connections; close them in reverse."""
    rules = settings.rules()
    deadlines = rules.deadlines
    async with AsyncExitStack() as stack:
        audit = await open_audit_log(settings.database_url, now=clock.now, redactor=redactor)
        stack.push_async_callback(audit.close)
        locks = open_locks(settings.database_url)
        process = uuid.uuid4().hex
        await stack.enter_async_context(locks.hold(f"process:{process}"))
        cube = CubeSdk(
            settings.cube.api_url,
            settings.cube.api_key,
            settings.cube.proxy_ip,
            settings.cube.proxy_port,
            settings.cube.domain,
            deadlines=deadlines,
            redactor=redactor,
        )
        stack.callback(cube.close)
        studio = StudioHttp(
            settings.cube.proxy_ip, settings.cube.proxy_port, settings.cube.domain, settings.toml.studio.port
        )
        stack.push_async_callback(studio.close)
        nodes = {}
        for node in settings.toml.nodes:
            nodes[node.id] = SshNode(
                node.id, node.host, node.port, node.user, node.key, node.known_hosts, deadlines=deadlines
            )
            stack.push_async_callback(nodes[node.id].close)
        yield Core(
            audit=audit,
            deps=Deps(
                cube=cube,
                nodes=nodes,
                guest=GuestPrograms(cube, deadlines=deadlines),
                studio=studio,
                log=audit,
                locks=locks,
                clock=clock,
                ids=RandomIds(),
                redactor=redactor,
                roster=roster,
                rules=rules,
                process=process,
            ),
        )


async def serve(settings: Settings, *, http: bool = False) -> int:
    """Run the bot until SIGTERM or SIGINT, or until the link to Slack is given up; gives the exit code.

    Raises:
        SettingsError: something that this way of serving needs is missing.
    """
    entry = RequestUrl(secret_for_http(settings)) if http else None
    if not http and not settings.slack.app_token:
        raise SettingsError("SLACK_APP_TOKEN is not set; it is the xapp- token with connections:write.")
    redactor = _redactor(settings)
    logs.configure(settings.log, redactor)
    stop = asyncio.Event()
    ending.when_told(stop.set)
    async with AsyncExitStack() as stack:
        closing = stack.enter_context(ExitStack())
        session = await stack.enter_async_context(aiohttp.ClientSession())
        client = AsyncWebClient(settings.slack.bot_token, base_url=settings.slack.api_url, session=session)
        clock = SystemClock(settings.clock_offset_file)
        link = SlackLink(partial(ask_identity, client), PATIENCE)
        chat = SlackChat(client, redactor, clock)
        stack.push_async_callback(chat.close)
        roster = Roster(settings.toml.roles.grants(), clock, chat.group_members)
        built = await stack.enter_async_context(core(settings, redactor, roster, clock))
        jobs = Jobs()
        stack.push_async_callback(jobs.finish, APOLOGY_SECONDS)
        health = HealthServer(settings.http, built.audit, entry.routes if entry else ())
        health.link = link.report
        await health.start()
        stack.push_async_callback(health.stop)
        over = await stack.enter_async_context(ending.either(stop, link.watch()))
        if not await ending.before(over, link.identity):
            return over.result()
        me = link.identity.result()
        app = AsyncApp(
            name="hermes-bot",  # without one, Bolt walks the stack to find one, which costs a start 50 ms
            client=client,
            authorize=_authorize(me),
            # Requests are verified before Bolt sees them: its own check writes refused bodies to the log.
            request_verification_enabled=False,
        )
        services = Services(
            deps=built.deps,
            chat=chat,
            jobs=jobs,
            team_id=str(me["team_id"]),
            bot_user_id=str(me["user_id"]),
            allowed_channels=() if "*" in settings.toml.channels.allowed else settings.toml.channels.allowed,
            audit_channel=settings.toml.channels.audit,
        )
        register(app, services)
        await roster.refresh()
        if entry:
            entry.open(app, clock)
        else:
            await stack.enter_async_context(link.socket_mode(app, client, settings.slack.app_token))
            if not await ending.before(over, link.up.wait()):
                return over.result()
        stack.push_async_callback(jobs.drain, DRAIN_SECONDS, TELL_SECONDS)
        background = [
            asyncio.create_task(_keep_roster(roster)),
            asyncio.create_task(_reconcile(services)),
            asyncio.create_task(_keep_heads(settings.toml.channels.audit, services)),
            asyncio.create_task(_warn(services)),
        ]
        log.info("ready", extra={"http": health.address, "team": str(me["team_id"])})
        health.ready = True
        await asyncio.wait({over})
        code = over.result()
        log.info("stopping")
        bound = DRAIN_SECONDS + TELL_SECONDS + ACK_SECONDS + APOLOGY_SECONDS + CLOSE_SECONDS
        closing.enter_context(ending.at_the_latest(bound))
        health.ready = False
        jobs.close()
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        return code


async def seed_default_home(settings: Settings, *, template: str, node: str) -> int:
    """Make a default home; 1 when that was refused or failed."""
    async with _command_line(settings) as deps:
        actor = Actor(f"cli:{getpass.getuser()}", ActorKind.CLI)
        rules = deps.rules
        outcome = await make_default_home(template or rules.template, node or rules.nodes[0].id, actor, deps)
        if isinstance(outcome, Done):
            made = outcome.value
            count = "" if made.files is None else f": {made.files} files"
            line = f"Made {made.path} on {made.node}{count}."
        else:
            line = "\n".join(filter(None, [outcome.what, outcome.safe, outcome.todo, outcome.detail]))
        sys.stdout.write(deps.redactor.text(line) + "\n")
    return 0 if isinstance(outcome, Done) else 1


def _redactor(settings: Settings) -> Redactor:
    """It knows every secret of the settings before the first line leaves the process."""
    redactor = Redactor(settings.secrets())
    for env in (settings.toml.env.defaults, *settings.toml.env.profiles.values()):
        learn(env, redactor)
    return redactor


@asynccontextmanager
async def _command_line(settings: Settings) -> AsyncIterator[Deps]:
    redactor = _redactor(settings)
    logs.configure(settings.log, redactor, logging.WARNING)
    clock = SystemClock(settings.clock_offset_file)

    async def unread(_: str) -> frozenset[str]:
        return frozenset()

    roster = Roster(settings.toml.roles.grants(), clock, unread)
    async with core(settings, redactor, roster, clock) as built:
        yield built.deps


def _authorize(me: Any) -> Any:
    """Authorisation known from the start, so that no command waits for auth.test."""
    result = AuthorizeResult(
        enterprise_id=me.get("enterprise_id"),
        team_id=me["team_id"],
        team=me.get("team"),
        url=me.get("url"),
        bot_user_id=me["user_id"],
        bot_id=me["bot_id"],
        bot_token=None,
    )

    async def authorize(**_: Any) -> AuthorizeResult:
        return result

    return authorize


async def _reconcile(services: Services) -> None:
    """Beside the first commands, not before them: Cube may take its time.

    Again and again, because another replica may end in the middle of its work while this one goes on.
    """
    while True:
        try:
            async with services.deps.locks.hold("reconcile"):
                await announce_interrupted(await find_interrupted(services.deps), services)
                await announce_untold(await find_untold(services.deps), services)
        except DomainError:
            log.exception("interrupted requests could not be looked for; it is tried again")
        await asyncio.sleep(RECONCILE_SECONDS)


async def _keep_heads(channel: str, services: Services) -> None:
    while channel:
        await post_head(channel, services)
        await asyncio.sleep(HEAD_SECONDS)


async def _warn(services: Services) -> None:
    lead = services.deps.rules.lifecycle.warn_before
    while lead > 0:
        try:
            await warn_owners(services)
        except DomainError:
            log.exception("owners could not be warned of pauses; it is tried again")
        await asyncio.sleep(pace(lead))


async def _keep_roster(roster: Roster) -> None:
    while True:
        await asyncio.sleep(ROSTER_SECONDS)
        failures = await roster.refresh()
        for group, reason in failures.items():
            log.warning("usergroup %s cannot be read: %s; its members hold no role meanwhile", group, reason)
