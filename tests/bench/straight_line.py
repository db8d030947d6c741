"""Provisioning as a script would do it: the same calls one after another, and nothing else.

No roles, no audit log, no locks, no deadlines, no judging beyond what the next call needs. It uses the SDK
as it comes, one open SSH connection, one open HTTP client, and the very programs that the bot sends to the
node and into the sandbox. What it leaves out is what the figure shows.
"""

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import asyncssh
import httpx
from cubesandbox import Config, Sandbox, Template

from bot.domain.heartbeat import BEAT_SECONDS
from bot.domain.sandbox import GUEST_HOME, GUEST_PUBLIC_SKILLS, GUEST_WORKSPACE, CreateSpec, Places
from bot.domain.skills import entries_from_json, plan_overlay

_ANSWER = "hermes-bot-answer:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What a script has open before it begins, and what it sends."""

    cube: Config
    ssh: asyncssh.SSHClientConnection
    http: httpx.AsyncClient
    data: httpx.Client
    """The SDK's client for what runs inside, made once: building one costs 20 ms."""
    node_program: str
    guest_programs: Mapping[str, str]
    """Per verb."""
    heartbeat: str
    """The script that is sent with Studio's start."""
    launch_env: dict[str, str]
    min_free_bytes: int
    studio_port: int
    proxy: str
    domain: str
    node_seconds: float
    studio_seconds: float
    """What the programs are told that they may take."""


async def run(script: Script, spec: CreateSpec, places: Places, marker: str) -> str:
    """One home, from nothing to a healthy Studio; gives the id of its sandbox."""
    Sandbox.list(config=script.cube)
    Template.get(spec.template, config=script.cube)

    await _on_node(script, places, "prepare", env=script.launch_env, min_free_bytes=script.min_free_bytes)
    await _on_node(script, places, "seed")

    sandbox = Sandbox.create(
        spec.template,
        timeout=spec.timeout,
        metadata=spec.metadata(),
        distribution_scope=list(spec.scope) or None,
        lifecycle={"on_timeout": spec.on_timeout, "auto_resume": spec.auto_resume},
        config=script.cube,
    )
    sandbox._client = script.data
    Sandbox.list(config=script.cube)
    while sandbox.commands.run("true", user="root").exit_code != 0:  # noqa: ASYNC110 - it happens elsewhere
        await asyncio.sleep(0.02)

    await _on_node(script, places, "plant", marker=marker)
    _inside(script, sandbox, "check_mounts", marker=marker)
    await _on_node(script, places, "collect", marker=marker)

    found = _inside(script, sandbox, "inventory")
    plan = plan_overlay(entries_from_json(found["public"]), entries_from_json(found["home"]))
    _inside(script, sandbox, "apply", link=list(plan.link), remove=list(plan.remove_dangling))

    beat = {
        "sandbox": sandbox.sandbox_id,
        "beat_seconds": BEAT_SECONDS,
        "beat_script": script.heartbeat,
    }
    asked = {"port": script.studio_port, "auth": "auto", "seconds": script.studio_seconds}
    _inside(script, sandbox, "start", **asked, **beat)

    for port in (script.studio_port, 49983):
        host = f"{port}-{sandbox.sandbox_id}.{script.domain}"
        (await script.http.get(f"{script.proxy}/health", headers={"Host": host})).raise_for_status()
    sandbox._client = None  # a collected handle closes its client, and this one is not its own
    return str(sandbox.sandbox_id)


async def _on_node(script: Script, places: Places, verb: str, **more: Any) -> None:
    arguments = {
        "shared_root": places.shared_root,
        "home_id": places.home_id,
        "workspace_id": places.workspace_id,
        "seconds": script.node_seconds,
        **more,
    }
    answer = await script.ssh.run(f"{script.node_program} {verb}", input=json.dumps(arguments), check=True)
    if "ok" not in json.loads(str(answer.stdout)):
        raise RuntimeError(f"{verb} on the node: {answer.stdout!r}")


def _inside(script: Script, sandbox: Sandbox, verb: str, /, **more: Any) -> dict[str, Any]:
    arguments = {"home": GUEST_HOME, "workspace": GUEST_WORKSPACE, "public": GUEST_PUBLIC_SKILLS, **more}
    packed = base64.b64encode(json.dumps(arguments).encode()).decode()
    command = f"{script.guest_programs[verb]} {verb} {packed}"
    answer = sandbox.commands.run(command, timeout=2 * script.studio_seconds, user="root")
    lines = [line for line in answer.stdout.splitlines() if line.startswith(_ANSWER)]
    told = json.loads(lines[-1].removeprefix(_ANSWER)) if lines else {}
    if "ok" not in told:
        raise RuntimeError(f"{verb} in the sandbox: {told or answer.stderr!r}")
    return dict(told["ok"])
