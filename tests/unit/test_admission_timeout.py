"""An idle timeout that would end a sandbox during its own create is refused before anything is done."""

import pytest
from installation import install

from bot.domain.outcome import Done, Refused


@pytest.mark.parametrize("seconds", [0, 1, 59])
async def test_a_timeout_under_a_minute_is_refused_with_examples(seconds: int) -> None:
    world = install()

    outcome = await world.create("alpha", timeout=seconds)

    assert isinstance(outcome, Refused)
    assert outcome.code == "timeout-too-short"
    assert f"timeout={seconds}s" in outcome.what
    assert "`timeout=15m`" in outcome.todo
    assert "`timeout=never`" in outcome.todo
    assert world.cube.calls == []
    assert world.node.homes == {}


@pytest.mark.parametrize("seconds", [-1, 60, None])
async def test_a_minute_never_and_the_default_are_taken(seconds: int | None) -> None:
    assert isinstance(await install().create("alpha", timeout=seconds), Done)
