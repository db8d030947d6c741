"""The page of faults tells of every fault."""

from pathlib import Path

import pytest

from bot.standin.fault_page import _SOURCES, page
from bot.standin.faults import HELD, KINDS

PAGE = Path(__file__).parents[2] / "docs/stand-ins.md"
AGAIN = "write it anew: python -m bot.standin.fault_page > docs/stand-ins.md"


@pytest.mark.parametrize("target", KINDS)
def test_every_kind_stands_on_the_page_with_its_sentence(target: str) -> None:
    text = PAGE.read_text(encoding="utf-8")

    missing = [kind for kind, meaning in KINDS[target].items() if f"| `{kind}` | {meaning}" not in text]

    assert missing == [], AGAIN


def test_no_row_of_the_page_is_about_a_kind_that_is_gone() -> None:
    rows = {line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"}

    assert rows - {kind for kinds in KINDS.values() for kind in kinds} == set(), AGAIN


@pytest.mark.parametrize("target", ["cube", "node"])
def test_every_kind_of_cube_and_node_says_where_to_read_about_it(target: str) -> None:
    assert _SOURCES[target].keys() == KINDS[target].keys()


def test_conditions_are_kinds_and_say_that_they_hold() -> None:
    every = {kind: meaning for kinds in KINDS.values() for kind, meaning in kinds.items()}

    assert [kind for kind in HELD if "until disarmed" not in every[kind]] == []


def test_the_page_is_what_the_list_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), AGAIN
