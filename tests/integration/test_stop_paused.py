"""Stopping a paused sandbox on the platforms that do not simply delete one."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from contract.doubles_audit import MemoryAuditLog
from contract.standin_world import World, places_of, world
from e2e.manifests import manifest
from installation import OPERATOR, install

from bot.adapters.system import SystemClock
from bot.domain.outcome import Done, Failed
from bot.domain.sandbox import SandboxState
from bot.usecases.deps import Deps
from bot.usecases.lifecycle import StopRequest, ask_stop, stop

pytestmark = pytest.mark.sandbox


def real_time(there: World) -> Deps:
    """Its Cube and its guests, with a clock that goes by itself, for the log as well."""
    clock = SystemClock()
    log = MemoryAuditLog(clock.now)
    return replace(install().deps, cube=there.cube, guest=there.guest, clock=clock, log=log)


@pytest.mark.parametrize(("platform", "closed"), [("0.5.1", True), ("0.6", None)])
async def test_a_paused_sandbox_is_stopped_on_older_platforms(
    tmp_path: Path,
    platform: str,
    closed: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    async with world(tmp_path, platform=platform) as there:
        sandbox_id = await there.provisioned("alpha")
        await there.guest.start_studio(sandbox_id, port=9000, auth="auto")
        await asyncio.to_thread(lambda: there.cube._handle(sandbox_id).pause())
        deps = real_time(there)
        await ask_stop(StopRequest(request_id="r-q", actor=OPERATOR, target="alpha"), deps)

        outcome = await stop("r-q", OPERATOR, deps)

        assert isinstance(outcome, Done), outcome
        assert outcome.value.studio_closed is closed
        assert await there.cube.get(sandbox_id) is None
        assert await there.node.has_home(places_of("alpha"))


@pytest.mark.parametrize(
    ("platform", "refusal"), [("0.5.1", "not in normal state"), ("0.6", "error code 130589")]
)
async def test_a_paused_sandbox_that_cannot_be_woken_stays_and_both_reasons_are_told(
    tmp_path: Path, platform: str, refusal: str
) -> None:
    async with world(tmp_path, platform=platform) as there:
        sandbox_id = await there.provisioned("alpha")
        await asyncio.to_thread(lambda: there.cube._handle(sandbox_id).pause())
        there.faults.arm({"target": "cube", "kind": "resume-tap-busy"})
        deps = real_time(there)
        await ask_stop(StopRequest(request_id="r-q", actor=OPERATOR, target="alpha"), deps)
        files, before = manifest(there.home("alpha")), there.faults.calls.copy()

        outcome = await stop("r-q", OPERATOR, deps)

        met, view = there.faults.calls - before, await there.cube.get(sandbox_id)
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.what) == (
            "cube-stuck-not-deletable",
            "Cube cannot delete this sandbox.",
        )
        assert outcome.safe.startswith("The home and workspace are safe")
        assert outcome.todo.startswith("Leave it as it is, and tell the people who run Cube")
        assert refusal in outcome.detail
        assert "ResourceBusy" in outcome.detail
        assert (met["cube kill"], met["cube connect"], met["cube data_plane"]) == (1, 1, 0)
        assert manifest(there.home("alpha")) == files
        assert view is not None
        assert view.state is SandboxState.PAUSED
        there.faults.clear()
        await ask_stop(StopRequest(request_id="r-2", actor=OPERATOR, target="alpha"), deps)
        assert (await stop("r-2", OPERATOR, deps)).code == "stopped"
