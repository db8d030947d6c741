"""``hermes-bot check``: every setting proved against the real system it speaks of."""

import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.audit import AuditUnavailableError
from bot.domain.errors import CubeError, DomainError
from bot.domain.explanations import sentences
from bot.ports import Node
from bot.settings import NodeSettings, Settings
from bot.usecases.deps import Deps

SCOPES = frozenset({
    "app_mentions:read", "channels:history", "channels:read", "chat:write", "chat:write.public", "commands",
    "files:write", "groups:history", "groups:read", "im:history", "usergroups:read",
})  # fmt: skip
"""What manifest.yaml asks for."""

GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``ok`` is None when it could not be told."""

    subject: str
    ok: bool | None
    note: str
    cure: str = ""


Check = Callable[[], Awaitable[Finding]]


async def examine(settings: Settings, deps: Deps) -> AsyncIterator[Finding]:
    """Look at everything, one finding at a time; a failed look never hides the next."""
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(settings.slack.bot_token, base_url=settings.slack.api_url, session=session)
        yield await _slack(client)
        yield await _socket(client, settings)
        for name, channel in (
            ("alerts", settings.toml.channels.alerts),
            ("audit", settings.toml.channels.audit),
        ):
            if channel:
                yield await _channel(client, name, channel)
        for group in sorted(deps.roster.groups):
            yield await _group(client, group)
    yield await _audit(deps)
    yield await _cube(deps)
    yield await _template(deps)
    for node in settings.toml.nodes:
        async for finding in _node(node, deps.nodes[node.id], deps):
            yield finding


async def _slack(client: AsyncWebClient) -> Finding:
    try:
        me = await client.auth_test()
    except SlackApiError as error:
        return Finding(
            "Slack bot",
            False,
            str(error.response["error"]),
            "Set SLACK_BOT_TOKEN from the app's OAuth page.",
        )
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return Finding(
            "Slack bot",
            None,
            f"Slack cannot be reached: {error}",
            "Check SLACK_API_URL and the network.",
        )
    granted = {scope.strip() for scope in str(me.headers.get("x-oauth-scopes", "")).split(",")}
    missing = sorted(SCOPES - granted)
    if missing:
        return Finding(
            "Slack scopes", False, f"missing {', '.join(missing)}", "Reinstall the app from manifest.yaml."
        )
    return Finding("Slack bot", True, f"team {me['team']}, bot {me['user']}")


async def _socket(client: AsyncWebClient, settings: Settings) -> Finding:
    if not settings.slack.app_token:
        return Finding("Slack Socket Mode", None, "not set up", "Set SLACK_APP_TOKEN, or run serve --http.")
    try:
        await client.apps_connections_open(app_token=settings.slack.app_token)
    except SlackApiError as error:
        cure = "Make an app-level token with connections:write and switch Socket Mode on."
        return Finding("Slack Socket Mode", False, str(error.response["error"]), cure)
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return Finding("Slack Socket Mode", None, str(error), "Check the network.")
    return Finding("Slack Socket Mode", True, "a connection opens")


async def _channel(client: AsyncWebClient, name: str, channel: str) -> Finding:
    try:
        info = await client.conversations_info(channel=channel)
    except SlackApiError as error:
        cure = f"Correct [channels] {name}, or invite the bot there."
        return Finding(f"Channel {name}", False, f"{channel}: {error.response['error']}", cure)
    if not info["channel"].get("is_member"):
        return Finding(
            f"Channel {name}", False, f"the bot is not in {channel}", "Invite the bot there with /invite."
        )
    return Finding(f"Channel {name}", True, channel)


async def _group(client: AsyncWebClient, group: str) -> Finding:
    try:
        members = (await client.usergroups_users_list(usergroup=group))["users"]
    except SlackApiError as error:
        return Finding(
            f"Usergroup {group}",
            False,
            str(error.response["error"]),
            "Correct [roles]; its members hold no role.",
        )
    return Finding(
        f"Usergroup {group}",
        bool(members),
        "1 member" if len(members) == 1 else f"{len(members)} members",
        "" if members else "It grants nobody a role.",
    )


async def _audit(deps: Deps) -> Finding:
    try:
        report = await deps.log.verify()
    except AuditUnavailableError as error:
        return Finding("Audit log", False, str(error), "Changes are refused until it can be written.")
    if report.fault:
        return Finding(
            "Audit log",
            False,
            str(report.fault),
            "It was changed or is damaged; keep a copy and find out how.",
        )
    return Finding("Audit log", True, f"{report.rows} rows, chain whole")


async def _cube(deps: Deps) -> Finding:
    try:
        sandboxes = await deps.cube.list()
    except CubeError as error:
        what, todo = sentences(error)
        return Finding("CubeAPI", False, f"{what} {error}", todo)
    return Finding(
        "CubeAPI", True, f"{len(sandboxes)} sandboxes, {sum(bool(s.home) for s in sandboxes)} of them ours"
    )


async def _template(deps: Deps) -> Finding:
    name = deps.rules.template
    try:
        template = await deps.cube.template(name)
    except CubeError as error:
        return Finding("Template", None, str(error), sentences(error)[1])
    if template is None:
        return Finding(
            "Template", False, f"Cube has no {name}", "Set CUBE_TEMPLATE_ID to a template that is READY."
        )
    return Finding(
        "Template",
        template.ready,
        f"{name} is {template.status}",
        "" if template.ready else "Build it again.",
    )


async def _node(settings: NodeSettings, node: Node, deps: Deps) -> AsyncIterator[Finding]:
    subject = f"Node {settings.id}"
    root = shlex.quote(settings.shared_root)
    try:
        who = await node.run("id -u; python3 --version; command -v rsync")
        space = await node.run(f"df -P -B1 {root} | tail -1")
        writable = await node.run(f"test -w {root}")
        default = await node.run(f"test -f {root}/hermes-homes/default/config.yaml")
        skills = await node.run(f"test -d {root}/hermes-common-skills")
    except DomainError as error:
        what, todo = sentences(error)
        yield Finding(subject, False, f"{what} {error}", todo)
        return
    complete = who.exit_code == 0 and "Python 3" in who.stdout + who.stderr
    yield Finding(
        subject,
        complete,
        f"user id {', '.join(who.stdout.splitlines())}",
        "" if complete else "Install python3 and rsync there.",
    )
    free = int(space.stdout.split()[3]) / GIB if space.exit_code == 0 else 0.0
    floor = deps.rules.limits.min_free_gib
    enough = space.exit_code == 0 and free >= floor
    yield Finding(
        f"{subject} disk",
        enough,
        f"{free:.1f} GiB free, at least {floor:.1f} GiB wanted",
        "" if enough else f"Make room in {settings.shared_root}, or lower [limits] min_free_gib.",
    )
    if writable.exit_code != 0:
        yield Finding(
            f"{subject} shared directory", False, f"{settings.shared_root} cannot be written to",
            "Correct its owner or mode, or a disk that has become read-only.",
        )  # fmt: skip
    made = default.exit_code == 0
    yield Finding(
        f"{subject} default home", made, "there" if made else "missing",
        "" if made else f"Run hermes-bot template seed --node {settings.id}.",
    )  # fmt: skip
    there = skills.exit_code == 0
    yield Finding(
        f"{subject} public Skills", there, "there" if there else "missing",
        "" if there else f"Make {settings.shared_root}/hermes-common-skills on the node.",
    )  # fmt: skip
