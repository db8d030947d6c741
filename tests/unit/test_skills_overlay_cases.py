"""The case sheet for the Skills overlay; its kinds become what a look inside a sandbox would give."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.domain.skills import (
    PUBLIC_ROOT,
    Entry,
    EntryType,
    OverlayPlan,
    entries_from_json,
    own_link_target,
    plan_overlay,
)

DATA = Path(__file__).parents[1] / "data" / "skills_overlay.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]

SKILL = Entry(EntryType.DIR, skill=True)
UNREADABLE = Entry(EntryType.DIR)
FILE = Entry(EntryType.FILE)
PLAIN_KINDS = {
    "dir": SKILL,
    "name-with-space": SKILL,
    "uppercase": SKILL,
    "no-skill-md": UNREADABLE,
    "non-utf8-skill-md": UNREADABLE,
    "file": FILE,
    "appledouble": FILE,
    "ds_store": FILE,
    "hidden": UNREADABLE,
}


def observed(name: str, kind: str) -> Entry:
    what, _, detail = kind.partition(":")
    place, _, where = what.partition("-to-" if what.endswith("-to-public") else "-")
    if place in {"symlink", "dangling"}:
        target = own_link_target(name) if where == "public" else detail
        return Entry(EntryType.LINK, target=target, exists=place == "symlink")
    if what == "category-dir":
        return Entry(EntryType.DIR, nested=tuple(detail.split(",")))
    return PLAIN_KINDS[what]


def look(kinds: dict[str, str]) -> dict[str, Entry]:
    return {name: observed(name, kind) for name, kind in kinds.items()}


def plan(**lists: list[str]) -> OverlayPlan:
    every = ("link", "keep_private", "already", "remove_dangling", "conflict", "ignored")
    return OverlayPlan(**{name: tuple(sorted(lists.get(name, []))) for name in every})


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    assert plan_overlay(look(case["public"]), look(case["home"])) == plan(**case["expect"])


@pytest.mark.parametrize(
    ("public", "home", "expected"),
    [
        ({}, {"x": "symlink-to-public"}, {"ignored": ["x"]}),
        ({"x": "file"}, {"x": "file"}, {"keep_private": ["x"]}),
        ({"x": "file"}, {"x": "no-skill-md"}, {"keep_private": ["x"]}),
        ({"x": "file"}, {"x": "symlink-to-public"}, {"ignored": ["x"]}),
        ({"x": "no-skill-md"}, {"x": "dangling-to-public"}, {"ignored": ["x"]}),
        ({"x": "dangling-elsewhere:/gone"}, {"x": "dangling-to-public"}, {"remove_dangling": ["x"]}),
        ({"X": "uppercase"}, {"X": "symlink-to-public"}, {"conflict": ["X"]}),
        ({"ops": "category-dir:a"}, {"ops": "symlink-to-public"}, {"ignored": ["ops", "ops/a"]}),
        ({"My Ops": "category-dir:a"}, {}, {"ignored": ["My Ops/a"]}),
        ({".ops": "category-dir:a"}, {}, {"ignored": [".ops"]}),
        ({"x\n": "dir"}, {}, {"conflict": ["x\n"]}),
        ({".x": "dir"}, {".x": "dangling-to-public"}, {"ignored": [".x"]}),
    ],
)
def test_between_the_lines(
    public: dict[str, str], home: dict[str, str], expected: dict[str, list[str]]
) -> None:
    assert plan_overlay(look(public), look(home)) == plan(**expected)


def test_our_link_is_the_one_inside_the_mount() -> None:
    assert (
        own_link_target("log-triage") == f"{PUBLIC_ROOT}/log-triage" == "/opt/hermes-common-skills/log-triage"
    )


def test_a_plan_of_links_that_are_right_changes_nothing() -> None:
    found = plan_overlay(look({"x": "dir"}), look({"x": "symlink-to-public", "mine": "dir"}))

    assert found.changes_nothing


def test_a_listing_is_read_as_it_was_seen() -> None:
    raw = {
        "a": {"type": "dir", "skill": True},
        "b": {"type": "dir", "skill": False, "nested": ["one", "two", "one"]},
        "c": {"type": "link", "target": "/opt/hermes-common-skills/c", "exists": False},
        "d": {"type": "file"},
    }

    assert entries_from_json(raw) == {
        "a": SKILL,
        "b": Entry(EntryType.DIR, nested=("one", "two")),
        "c": Entry(EntryType.LINK, target="/opt/hermes-common-skills/c", exists=False),
        "d": FILE,
    }


@pytest.mark.parametrize("value", [None, 7, "dir", [], {"type": []}, {"type": "door"}, {}])
def test_what_cannot_be_understood_still_holds_its_place(value: object) -> None:
    found = plan_overlay(look({"x": "dir"}), entries_from_json({"x": value}))

    assert found == plan(keep_private=["x"])


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "a\0b"])
def test_a_name_that_is_a_path_is_dropped(name: str) -> None:
    assert entries_from_json({name: {"type": "dir", "skill": True}}) == {}


@pytest.mark.parametrize("raw", [None, [], "x", 3])
def test_a_listing_of_another_shape_is_empty(raw: object) -> None:
    assert entries_from_json(raw) == {}
