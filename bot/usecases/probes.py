"""Requests into a sandbox through Cube's proxy, only to see whether it answers. Each one counts as use."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.condition import Past, last_activity
from bot.domain.errors import CubeError
from bot.domain.probing import LastProbe
from bot.domain.provisioning import PortHealth
from bot.domain.sandbox import SandboxState, SandboxView
from bot.usecases.deps import Deps

REMEMBERED = 1_000
"""Sandboxes whose last probe is known; of older ones the idle time has run out long since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What came of it. Nothing at all when the sandbox had just gone to sleep, and was left alone."""

    reached: bool | None = None
    studio: bool | None = None
    note: str = ""
    end_at: str | None = None
    """Its deadline afterwards, if it was asked."""


async def probe(view: SandboxView, past: Past, deps: Deps) -> Probed:
    """Ask Studio and envd, after another look at the state: one that has just been paused is not woken."""
    sandbox_id = view.sandbox_id
    before = await _state(sandbox_id, deps)
    if before is None or before.state is not SandboxState.RUNNING:
        return Probed()
    _note(sandbox_id, LastProbe(deps.clock.now()), deps)
    ports = await asyncio.gather(deps.studio.web_ui(sandbox_id), deps.studio.envd(sandbox_id))
    after = await _state(sandbox_id, deps)
    used = last_activity(after, past) if after else None
    reached = _reached(ports)
    # By Cube's own note of it, too: its clock may be ahead of ours.
    _note(sandbox_id, LastProbe(max(filter(None, (deps.clock.now(), used))), reached), deps)
    return Probed(
        reached=reached,
        studio=ports[0].ok if reached else None,
        note=ports[0].note,
        end_at=(after or before).end_at,
    )


def _reached(ports: Sequence[PortHealth]) -> bool | None:
    answers = [port.reached for port in ports]
    if any(answers):
        return True
    return False if all(answer is False for answer in answers) else None


async def _state(sandbox_id: str, deps: Deps) -> SandboxView | None:
    try:
        return await deps.cube.get(sandbox_id)
    except CubeError:
        return None


def _note(sandbox_id: str, last: LastProbe, deps: Deps) -> None:
    deps.probed.pop(sandbox_id, None)
    deps.probed[sandbox_id] = last
    if len(deps.probed) > REMEMBERED:
        del deps.probed[next(iter(deps.probed))]
