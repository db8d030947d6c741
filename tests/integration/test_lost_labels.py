"""Platform 0.7.0 forgets what a sandbox belongs to when it is paused; the audit log does not."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from contract.standin_world import world
from installation import OPERATOR, OPERATOR2, install

from bot.adapters.system import SystemClock
from bot.domain.outcome import Done
from bot.domain.rules import Limits
from bot.usecases.occupancy import look

pytestmark = pytest.mark.sandbox


async def test_a_pause_on_0_7_0_frees_no_home_and_no_quota(tmp_path: Path) -> None:
    async with world(tmp_path, platform="0.7.0") as there:
        memory = install()
        memory.deps = replace(
            memory.deps,
            cube=there.cube,
            nodes={"node-1": there.node},
            guest=there.guest,
            studio=there.studio,
            clock=SystemClock(),
            rules=replace(memory.deps.rules, limits=Limits(per_user=1, min_free_gib=0)),
        )
        first = await memory.create("alpha", workspace="proj")
        assert isinstance(first, Done), first
        await asyncio.to_thread(lambda: there.cube._handle(first.value.sandbox_id).pause())

        another_home = await memory.create("beta")
        same_home = await memory.create("alpha", actor=OPERATOR2)
        [view] = (await look(memory.deps, "alpha")).on_home

        assert (another_home.code, same_home.code) == ("quota-user", "home-in-use")
        assert f"<@{OPERATOR.id}> (as the audit log has it)" in same_home.what
        assert (view.home, view.workspace, view.labels_from_log) == ("alpha", "proj", True)
