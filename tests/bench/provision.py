"""What the provisioning use case adds to the calls that it makes."""

import statistics
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from cubesandbox._transport import build_client

from bot.adapters.cube_sdk import CubeSdk
from bot.adapters.node_ssh import SshNode
from bot.adapters.programs.assemble import heartbeat_script
from bot.domain.outcome import Done
from bot.domain.provisioning import CreateRequest, Finished
from bot.domain.sandbox import (
    HOME_KEY,
    NODE_KEY,
    OWNER_KEY,
    REQUEST_KEY,
    WORKSPACE_KEY,
    CreateSpec,
    Places,
)
from bot.settings import Settings
from bot.usecases.deps import Deps
from bot.usecases.provision import provision
from bot.usecases.provision_steps import GIB
from tests.bench import straight_line
from tests.bench.calls import counted
from tests.bench.figures import Figure, Target, figure, median_of_ratios
from tests.bench.installation import OPERATOR, installed
from tests.bench.programs import guest_programs
from tests.bench.ssh import log_in
from tests.bench.workspace import BenchError

FIGURE = "provision_overhead"
TARGETS = {FIGURE: Target(1.10)}
PAIRS = 15
LEAST_PAIRS = 7
BUDGET_SECONDS = 60.0
"""On a busy machine it stops at the least number of pairs after this long."""

WARM_UPS = 3
"""Tries to see equal numbers of calls: one that waits for something may ask once more than the other."""


@dataclass(slots=True)
class Contest:
    """Both ways to provision, on the same stand-ins. Each run has a home of its own."""

    deps: Deps
    script: straight_line.Script
    homes: int = 0

    async def use_case(self) -> float:
        """Seconds of the use case."""
        home = self._fresh_home()
        request = CreateRequest(
            request_id=self.deps.ids.request_id(), actor=OPERATOR, home=home, workspace=home
        )
        last: Any = None
        begin = time.perf_counter()
        async for event in provision(request, self.deps):
            last = event
        seconds = time.perf_counter() - begin
        if not isinstance(last, Finished) or not isinstance(last.outcome, Done):
            raise BenchError(f"the use case did not provision: {last}")
        await self.deps.cube.kill(last.outcome.value.sandbox_id)
        return seconds

    async def straight(self) -> float:
        """Seconds of the script."""
        home, rules = self._fresh_home(), self.deps.rules
        node = rules.nodes[0]
        places = Places(shared_root=node.shared_root, home_id=home, workspace_id=home)
        labels = {
            HOME_KEY: home,
            WORKSPACE_KEY: home,
            OWNER_KEY: OPERATOR.id,
            NODE_KEY: node.id,
            REQUEST_KEY: self.deps.ids.request_id(),
        }
        spec = CreateSpec(
            template=rules.template,
            timeout=rules.lifecycle.idle,
            mounts=places.mounts(),
            labels=labels,
            scope=(node.cube_node,) if node.cube_node else (),
            on_timeout=rules.lifecycle.on_timeout,
            auto_resume=rules.lifecycle.auto_resume,
        )
        marker = self.deps.ids.marker()
        begin = time.perf_counter()
        sandbox_id = await straight_line.run(self.script, spec, places, marker)
        seconds = time.perf_counter() - begin
        await self.deps.cube.kill(sandbox_id)
        return seconds

    def _fresh_home(self) -> str:
        self.homes += 1
        return f"bench-{self.homes}"


async def measure(_: Path, env: Mapping[str, str]) -> dict[str, Figure]:
    """The figure: pairs of neighbours in time, the first of each pair in turns."""
    async with contest(env) as both:
        calls = await same_calls(both)
        pairs: list[tuple[float, float]] = []
        until = time.monotonic() + BUDGET_SECONDS
        while len(pairs) < (PAIRS if time.monotonic() < until else LEAST_PAIRS):
            if len(pairs) % 2:
                ours, floor = await both.use_case(), await both.straight()
            else:
                floor, ours = await both.straight(), await both.use_case()
            pairs.append((ours, floor))
    return {
        FIGURE: figure(
            median_of_ratios(pairs),
            TARGETS[FIGURE],
            use_case_s=round(statistics.median(ours for ours, _ in pairs), 3),
            script_s=round(statistics.median(floor for _, floor in pairs), 3),
            ratios=[round(ours / floor, 3) for ours, floor in pairs],
            calls=calls,
            n=len(pairs),
        )
    }


@asynccontextmanager
async def contest(env: Mapping[str, str]) -> AsyncIterator[Contest]:
    """Everything open that either needs."""
    async with AsyncExitStack() as opened:
        deps, settings = await opened.enter_async_context(installed(env))
        ssh = await opened.enter_async_context(await log_in(settings.toml.nodes[0]))
        http = await opened.enter_async_context(httpx.AsyncClient(trust_env=False))
        script = await _script(deps, settings, ssh, http)
        opened.enter_context(script.data)
        yield Contest(deps, script)


async def same_calls(both: Contest) -> dict[str, int]:
    """How many calls of each kind both make; a warm-up too.

    Raises:
        BenchError: they differ, so that the ratio would compare two different things.
    """
    for _ in range(WARM_UPS):
        with counted() as of_use_case:
            await both.use_case()
        with counted() as of_script:
            await both.straight()
        if of_use_case == of_script:
            return dict(of_script)
    raise BenchError(
        f"the script no longer makes the use case's calls: {dict(of_use_case)} and {dict(of_script)}"
    )


async def _script(deps: Deps, settings: Settings, ssh: Any, http: httpx.AsyncClient) -> straight_line.Script:
    cube, node = deps.cube, deps.nodes[settings.toml.nodes[0].id]
    if not (isinstance(cube, CubeSdk) and isinstance(node, SshNode)):
        raise BenchError("the bot is not built of the adapters that the script copies the calls of")
    return straight_line.Script(
        cube=cube._config,
        ssh=ssh,
        http=http,
        data=build_client(cube._config),
        node_program=node._program,
        guest_programs=await guest_programs(),
        heartbeat=heartbeat_script(),
        launch_env=dict(deps.rules.env_defaults),
        min_free_bytes=int(deps.rules.limits.min_free_gib * GIB),
        studio_port=deps.rules.studio.port,
        proxy=f"http://{settings.cube.proxy_ip}:{settings.cube.proxy_port}",
        domain=settings.cube.domain,
        node_seconds=deps.rules.deadlines.node,
        studio_seconds=deps.rules.deadlines.studio,
    )
