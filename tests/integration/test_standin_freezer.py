"""Who may remove a control group's base: its owner, and anybody once nobody owns it."""

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bot.standin.cube import freezer
from bot.standin.cube.freezer import CgroupFreezer, choose

pytestmark = pytest.mark.sandbox


@pytest.fixture
def hierarchy(tmp_path: Path) -> Iterator[tuple[Path, bool]]:
    """A place for bases of this test alone, and whether it is version 2."""
    chosen = choose(tmp_path)
    if not isinstance(chosen, CgroupFreezer):
        pytest.skip("this machine has no control groups to freeze with")
    place = chosen._base.with_name(f"test-{secrets.token_hex(6)}")
    unified = chosen._unified
    chosen.close()
    place.mkdir()
    yield place, unified
    for folder, _, _ in os.walk(place, topdown=False):
        with suppress(OSError):
            Path(folder).rmdir()


def _freezer(hierarchy: tuple[Path, bool], name: str) -> CgroupFreezer:
    place, unified = hierarchy
    return CgroupFreezer(place / f"hermes-standin-{name}", unified=unified)


def test_idle_base_of_a_living_stand_in_stays(hierarchy: tuple[Path, bool]) -> None:
    idle, other = _freezer(hierarchy, "idle"), _freezer(hierarchy, "other")
    idle.open()
    os.utime(idle._base, (0, 0))

    other.open()

    assert idle._base.is_dir()
    other.close()
    idle.close()


def test_base_that_nobody_owns_is_swept_up_with_its_groups(hierarchy: tuple[Path, bool]) -> None:
    left = hierarchy[0] / "hermes-standin-left"
    (left / "sandbox").mkdir(parents=True)
    other = _freezer(hierarchy, "other")

    other.open()

    assert not left.exists()
    other.close()


def test_base_is_taken_over_from_a_killed_predecessor(hierarchy: tuple[Path, bool]) -> None:
    mine = _freezer(hierarchy, "mine")
    (mine._base / "sandbox").mkdir(parents=True)

    opened = mine.open()

    assert opened
    assert not (mine._base / "sandbox").exists()
    mine.close()
    assert not mine._base.exists()


def test_base_of_a_living_stand_in_is_not_taken(
    hierarchy: tuple[Path, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezer, "_SWEEP_SECONDS", 0.02)
    first, second = _freezer(hierarchy, "one"), _freezer(hierarchy, "one")
    first.open()

    opened = second.open()

    second.close()
    assert not opened
    assert first._base.is_dir()
    first.close()
