"""The whole examination: settings become adapters, and every side is looked at, whatever the others say."""

import logging
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime

from bot import logs
from bot.adapters.cube_sdk import CubeSdk
from bot.adapters.node_ssh import SshNode
from bot.adapters.redaction import Redactor
from bot.adapters.system import SystemClock
from bot.checkup import host_side, report, settings_side
from bot.checkup.cube_side import CubeSide
from bot.checkup.finding import CLOCK_CURE, Finding, guarded
from bot.checkup.node_side import NodeSide
from bot.checkup.slack_side import SlackSide
from bot.settings import Settings

NODE_SECONDS = 40.0
"""For all of one node: a login that nobody answers takes 25."""

CHAIN_SECONDS = 60.0
"""For the audit log, whose chain is walked from its first row."""


async def run(environ: Mapping[str, str], *, as_json: bool, http: bool) -> int:
    """Print every finding; gives the exit code of ``bot.checkup.report``."""
    logs.configure("console", Redactor(), logging.CRITICAL)
    shown = await findings(environ, http=http)
    sys.stdout.write((report.as_json(shown) if as_json else report.as_table(shown)) + "\n")
    return report.exit_code(shown)


async def findings(environ: Mapping[str, str], *, http: bool = False) -> list[Finding]:
    """Everything that was found, without secrets: what Slack, Cube or a node says may hold some."""
    settings, found, slack = settings_side.read(environ)
    redactor = Redactor(settings.secrets() if settings else ())
    if settings:
        found += [finding async for finding in examine(settings, redactor, http=http, slack=slack)]
    return [
        replace(
            one,
            subject=redactor.text(one.subject),
            note=redactor.text(one.note),
            cure=redactor.text(one.cure),
        )
        for one in found
    ]


async def examine(
    settings: Settings, redactor: Redactor, *, http: bool = False, slack: bool = True
) -> AsyncIterator[Finding]:
    """Everything, side by side in a fixed order.

    Args:
        settings: as far as they could be read.
        redactor: learns the key of Cube.
        http: Slack's requests come to a request URL; else that is so when there is a signing secret alone.
        slack: whether there is a bot token to ask with.
    """
    clock = SystemClock(settings.clock_offset_file)
    moved = abs((clock.now() - datetime.now(UTC)).total_seconds()) > 1
    clock_cure = host_side.UNSET_OFFSET if moved else CLOCK_CURE
    http = http or bool(settings.slack.signing_secret and not settings.slack.app_token)
    async with AsyncExitStack() as stack:
        async for one in guarded(
            "Clock of the bot", lambda: host_side.look_at_offset(settings.clock_offset_file)
        ):
            yield one
        if slack:
            async for one in _slack(SlackSide(settings, clock, clock_cure), settings, http=http):
                yield one
        cube = CubeSdk(
            settings.cube.api_url, settings.cube.api_key, settings.cube.proxy_ip, settings.cube.proxy_port,
            settings.cube.domain, deadlines=settings.rules().deadlines, redactor=redactor, threads=2,
        )  # fmt: skip
        stack.callback(cube.close)
        side = CubeSide(settings, cube, clock, clock_cure)
        for subject, look in (
            ("CubeAPI", side.look_at_api),
            ("Template", side.look_at_template),
            ("CubeProxy", side.look_at_proxy),
        ):
            async for one in guarded(subject, look):
                yield one
        for node in settings.toml.nodes:
            there = SshNode(node.id, node.host, node.port, node.user, node.key, node.known_hosts)
            stack.push_async_callback(there.close)
            node_side = NodeSide(node, there, clock, settings.toml.limits.min_free_gib, clock_cure)
            async for one in guarded(node_side.subject, node_side.look, NODE_SECONDS):
                yield one
        async for one in _host(settings, clock, redactor):
            yield one


async def _slack(side: SlackSide, settings: Settings, *, http: bool) -> AsyncIterator[Finding]:
    looks = [("Slack", side.look_at_bot), ("Slack entry", lambda: side.look_at_entry(http=http))]
    if settings.toml.nodes:  # else the TOML file could not be read, and names neither
        looks += [("Channels", side.look_at_channels), ("Roles", side.look_at_roles)]
    for subject, look in looks:
        async for one in guarded(subject, look):
            yield one


async def _host(settings: Settings, clock: SystemClock, redactor: Redactor) -> AsyncIterator[Finding]:
    log = lambda: host_side.look_at_log(settings, clock, redactor)  # noqa: E731 - one of four looks
    for subject, look, seconds in (
        ("Audit log", log, CHAIN_SECONDS),
        ("Locks", lambda: host_side.look_at_locks(settings), 5.0),
        ("rsync here", host_side.look_at_rsync, 8.0),
        ("Health address", lambda: settings_side.look_at_health_address(settings), 8.0),
    ):
        async for one in guarded(subject, look, seconds):
            yield one
