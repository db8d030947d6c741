"""What a page of ``/hermes status`` costs with a thousand sandboxes: calls, and work beside them."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.demo.control import Control
from bot.demo.processes import environment, stand_ins
from bot.domain.outcome import Done
from bot.usecases.deps import Deps
from bot.usecases.status import Scope, seen_of, survey
from handlers.render.status import pages, status_message
from tests.bench.calls import counted
from tests.bench.figures import Figure, Target, figure, median_of_ratios, milliseconds
from tests.bench.installation import OPERATOR, installed
from tests.bench.workspace import BenchError

RENDER, CALLS, EXECS = "status_render", "status_cube_calls", "status_ssh_execs"
TARGETS = {RENDER: Target(0.5), CALLS: Target(1), EXECS: Target(1)}
SANDBOXES = 1_000
ROUNDS = 40
WARM_UP = 5
LABELS = {
    "hermes-home": "paper-{n}",
    "hermes-workspace": "project",
    "hermes-owner": OPERATOR.id,
    "hermes-node": "node-a",
    "hermes-request": "r-{n}",
}


@dataclass(slots=True)
class Waits:
    """Seconds that one status has waited for others."""

    cube: float = 0.0
    node: float = 0.0


async def measure(folder: Path, _: Mapping[str, str]) -> dict[str, Figure]:
    """Stand-ins of its own, because the sandboxes would be in everybody else's lists."""
    place = folder / "status"
    place.mkdir()
    async with _thousand(place) as env, installed(env) as (deps, _settings):
        waits = Waits()
        timed = _timed(deps, waits)
        with counted() as calls:
            await _status(timed)
        took = [await _round(timed, waits) for _ in range(ROUNDS + WARM_UP)][WARM_UP:]
    lists = [cube for _, cube, _ in took]
    return {
        RENDER: figure(
            median_of_ratios([(rest, cube) for rest, cube, _ in took]),
            TARGETS[RENDER],
            render=milliseconds([rest for rest, _, _ in took]),
            list=milliseconds(lists),
            heartbeats=milliseconds([node for _, _, node in took]),
        ),
        CALLS: figure(
            calls["control plane requests"] + calls["commands inside"] + calls["looks from outside"],
            TARGETS[CALLS],
        ),
        EXECS: figure(calls["ssh commands"], TARGETS[EXECS]),
    }


@asynccontextmanager
async def _thousand(folder: Path) -> AsyncIterator[Mapping[str, str]]:
    async with stand_ins(folder) as where, Control(where["control"]) as control:
        await control.post("/paper", count=SANDBOXES, state="running", timeout=900, metadata=LABELS)
        yield environment(Path(where["env_file"]))


async def _round(deps: Deps, waits: Waits) -> tuple[float, float, float]:
    """(work, waiting for Cube's list, waiting for the node), in seconds."""
    waits.cube = waits.node = 0.0
    begin = time.perf_counter()
    await _status(deps)
    return time.perf_counter() - begin - waits.cube - waits.node, waits.cube, waits.node


async def _status(deps: Deps) -> None:
    """As the handler does it, up to the message that is sent."""
    found = await survey(OPERATOR, Scope.ALL, deps)
    if not isinstance(found, Done) or found.value.everything != SANDBOXES:
        raise BenchError(f"the sandboxes are not listed: {found}")
    cuts = pages(found.value)
    status_message(found.value, await seen_of(found.value, *cuts[0], deps), 1, len(cuts))


def _timed(deps: Deps, waits: Waits) -> Deps:
    def add(name: str, seconds: float) -> None:
        setattr(waits, name, getattr(waits, name) + seconds)

    nodes = {name: _Timed(node, "pulse", lambda s: add("node", s)) for name, node in deps.nodes.items()}
    cube: Any = _Timed(deps.cube, "list", lambda s: add("cube", s))
    return replace(deps, cube=cube, nodes=nodes)  # type: ignore[arg-type]  # it passes everything on


class _Timed:
    """A port whose method ``name`` is timed."""

    def __init__(self, port: Any, name: str, told: Callable[[float], None]) -> None:
        self._port, self._name, self._told = port, name, told

    def __getattr__(self, name: str) -> Any:
        passed: Callable[..., Awaitable[Any]] = getattr(self._port, name)
        return self._measured(passed) if name == self._name else passed

    def _measured(self, passed: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def measured(*given: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return await passed(*given, **named)
            finally:
                self._told(time.perf_counter() - begin)

        return measured
