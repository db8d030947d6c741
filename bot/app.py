"""The composition root: settings become adapters, adapters become use cases, use cases meet Slack."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot import logs
from bot.adapters.audit_sql import SqlAuditLog, open_audit_log
from bot.adapters.cube_sdk import CubeSdk
from bot.adapters.guest import GuestPrograms
from bot.adapters.locks import open_locks
from bot.adapters.node_ssh import SshNode
from bot.adapters.redaction import Redactor
from bot.adapters.slack_chat import SlackChat
from bot.adapters.studio import StudioHttp
from bot.adapters.system import RandomIds, SystemClock
from bot.health import HealthServer
from bot.settings import Settings, SettingsError
from bot.usecases.deps import Deps
from bot.usecases.recovery import find_interrupted
from bot.usecases.roster import Roster
from handlers.jobs import Jobs
from handlers.register import register
from handlers.restart import announce_interrupted
from handlers.services import Services

log = logging.getLogger(__name__)

ROSTER_SECONDS = 300.0
DRAIN_SECONDS = 20.0
"""How long running jobs may go on after SIGTERM; what is left is reported at the next start."""


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
        locks = await open_locks(settings.database_url)
        stack.push_async_callback(locks.close)
        cube = CubeSdk(
            settings.cube.api_url,
            settings.cube.api_key,
            settings.cube.proxy_ip,
            settings.cube.proxy_port,
            settings.cube.domain,
            deadlines=deadlines,
        )
        stack.push_async_callback(cube.close)
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
            ),
        )


async def serve(settings: Settings, *, http: bool = False) -> None:
    """Run the bot until SIGTERM or SIGINT.

    Raises:
        SettingsError: Slack does not accept the tokens.
    """
    if http and not settings.slack.signing_secret:
        raise SettingsError(
            "SLACK_SIGNING_SECRET is not set; --http needs it to tell Slack's requests from others."
        )
    redactor = Redactor(settings.secrets())
    logs.configure(settings.log, redactor)
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        client = AsyncWebClient(settings.slack.bot_token, base_url=settings.slack.api_url, session=session)
        me = await _who_we_are(client)
        clock = SystemClock(settings.clock_offset_file)
        chat = SlackChat(client, redactor, clock)
        roster = Roster(settings.toml.roles.grants(), clock, chat.group_members)
        built = await stack.enter_async_context(core(settings, redactor, roster, clock))
        jobs = Jobs()
        stack.push_async_callback(jobs.drain, DRAIN_SECONDS)
        app = AsyncApp(
            client=client, authorize=_authorize(me), signing_secret=settings.slack.signing_secret or "-"
        )
        services = Services(
            deps=built.deps,
            chat=chat,
            jobs=jobs,
            team_id=str(me["team_id"]),
            bot_user_id=str(me["user_id"]),
            allowed_channels=() if "*" in settings.toml.channels.allowed else settings.toml.channels.allowed,
        )
        register(app, services)
        health = HealthServer(settings.http, built.audit, _slack_routes(app) if http else ())
        await health.start()
        stack.push_async_callback(health.stop)
        await roster.refresh()
        interrupted = await find_interrupted(built.deps)
        if not http:
            await stack.enter_async_context(_socket(app, settings, health))
        background = [
            asyncio.create_task(_keep_roster(roster)),
            asyncio.create_task(announce_interrupted(interrupted, services)),
        ]
        log.info("ready", extra={"http": health.address, "interrupted": len(interrupted)})
        health.ready = True
        await stop.wait()
        log.info("stopping")
        health.ready = False
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)


async def _who_we_are(client: AsyncWebClient) -> Any:
    try:
        return await client.auth_test()
    except SlackApiError as error:
        raise SettingsError(f"Slack does not accept SLACK_BOT_TOKEN: {error.response['error']}.") from error
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise SettingsError(f"Slack cannot be reached at {client.base_url}: {error}.") from error


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


def _slack_routes(app: AsyncApp) -> list[web.RouteDef]:
    async def slack(request: web.Request) -> web.Response:
        response: web.Response = await to_aiohttp_response(
            await app.async_dispatch(await to_bolt_request(request))
        )
        return response

    return [web.post("/slack/events", slack)]


@asynccontextmanager
async def _socket(app: AsyncApp, settings: Settings, health: HealthServer) -> AsyncIterator[None]:
    if not settings.slack.app_token:
        raise SettingsError("SLACK_APP_TOKEN is not set; it is the xapp- token with connections:write.")
    handler = AsyncSocketModeHandler(app, settings.slack.app_token)
    health.socket = handler.client
    await handler.connect_async()
    try:
        yield
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(handler.close_async(), 5)


async def _keep_roster(roster: Roster) -> None:
    while True:
        await asyncio.sleep(ROSTER_SECONDS)
        failures = await roster.refresh()
        for group, reason in failures.items():
            log.warning("usergroup %s cannot be read: %s; its members hold no role meanwhile", group, reason)
