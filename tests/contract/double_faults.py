"""How a double is told to fail, and what its simulated world does with faults and links."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.domain.cube_errors import classify
from bot.domain.errors import CubeError
from bot.domain.skills import Entry, EntryType, OverlayPlan, own_link_target, plan_overlay


@dataclass
class Planned:
    """An error for the next ``times`` calls; ``after`` = the call acts and its answer is lost."""

    error: Exception
    times: int
    after: bool


class Failing:
    """Planned failures, hooks and a record of calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[object, ...]]] = []
        self._planned: dict[str, list[Planned]] = {}
        self._hooks: dict[str, list[Callable[[], Awaitable[None]]]] = {}

    def fail(self, method: str, error: Exception, *, times: int = 1, after: bool = False) -> None:
        """Let the next ``times`` calls of ``method`` raise ``error``."""
        self._planned.setdefault(method, []).append(Planned(error, times, after))

    def before(self, method: str, hook: Callable[[], Awaitable[None]]) -> None:
        """Run ``hook`` once, just before the next call of ``method`` acts."""
        self._hooks.setdefault(method, []).append(hook)

    def called(self, method: str) -> int:
        """How often ``method`` was called."""
        return sum(name == method for name, _ in self.calls)

    @asynccontextmanager
    async def _call(self, method: str, *arguments: object) -> AsyncIterator[None]:
        self.calls.append((method, arguments))
        if self._hooks.get(method):
            await self._hooks[method].pop(0)()
        await asyncio.sleep(0)
        planned = self._next(method)
        if planned is not None and not planned.after:
            raise planned.error
        yield
        if planned is not None:
            raise planned.error

    def _next(self, method: str) -> Planned | None:
        queue = self._planned.get(method, [])
        while queue and queue[0].times <= 0:
            queue.pop(0)
        if not queue:
            return None
        queue[0].times -= 1
        return queue[0]


def fault(operation: str, status: int, message: str, headers: Mapping[str, str] | None = None) -> CubeError:
    """The error that Cube's answer of this status and message becomes."""
    body = json.dumps({"code": status, "message": message})
    return CubeError(classify(operation, status, body, headers or {}))


def own_link(name: str) -> Entry:
    """The entry of a link that the overlay made."""
    return Entry(EntryType.LINK, target=own_link_target(name))


def overlay_after(plan: OverlayPlan, public: Mapping[str, Entry], home: Mapping[str, Entry]) -> OverlayPlan:
    """What performing ``plan`` comes to in a home that may have changed since it was made."""
    now = plan_overlay(public, home)
    private = tuple(name for name in plan.link if name in now.keep_private)
    already = tuple(name for name in plan.link if name in now.already)
    return OverlayPlan(
        link=tuple(name for name in plan.link if name in now.link),
        keep_private=tuple(sorted({*plan.keep_private, *private})),
        already=tuple(sorted({*plan.already, *already})),
        remove_dangling=tuple(name for name in plan.remove_dangling if name in now.remove_dangling),
        conflict=plan.conflict,
        ignored=plan.ignored,
    )
