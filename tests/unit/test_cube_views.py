"""Cube's entry of a sandbox as our view of it."""

import pytest

from bot.adapters.cube_sdk import _view


@pytest.mark.parametrize(
    ("told", "end_at"),
    [
        ({}, None),
        ({"endAt": None}, None),
        ({"endAt": "9999-12-31T23:59:59Z"}, None),
        ({"endAt": "2026-01-01T00:15:00Z"}, "2026-01-01T00:15:00Z"),
    ],
)
def test_a_sandbox_without_an_end_has_none_however_cube_writes_it(
    told: dict[str, str | None], end_at: str | None
) -> None:
    assert _view({"sandboxID": "a" * 32, "state": "running", **told}).end_at == end_at
