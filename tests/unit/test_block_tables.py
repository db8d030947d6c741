"""The stand-in's tables against those of slackblocks and slack_sdk: the same, or a difference with a reason.

Each test fails when either side changes, so that a new version of slackblocks is read before it is taken.
"""

from fnmatch import fnmatchcase

import pytest
from slack_sdk.models import blocks as sdk
from slack_sdk.models.views import View
from slackblocks import _limits, _surfaces

from bot.standin.slack.block_shapes import BLOCKS, VIEWS
from bot.standin.slack.block_spec import BLOCKS_PER_SURFACE, ELEMENTS, SURFACES, Many, Shape, Str, Text
from tests.golden.numbers import (
    DIFFERENT,
    ONLY_OURS,
    ONLY_THEIRS,
    SAME,
    SURFACE_DIFFERENCES,
    ours,
    theirs,
)

OURS = ours()
THEIRS = theirs(_limits)


def matching(patterns: tuple[str, ...]) -> dict[str, float]:
    return {name: OURS[name] for name in OURS if any(fnmatchcase(name, pattern) for pattern in patterns)}


@pytest.mark.parametrize("constant", SAME)
def test_a_number_is_the_same_on_both_sides(constant: str) -> None:
    places = matching(SAME[constant])

    assert places
    assert {name: value for name, value in places.items() if value != THEIRS[constant]} == {}


@pytest.mark.parametrize("constant", DIFFERENT)
def test_a_difference_is_still_the_one_that_was_judged(constant: str) -> None:
    place, our_number, their_number, reason = DIFFERENT[constant]

    assert (OURS[place], THEIRS[constant]) == (our_number, their_number)
    assert our_number < their_number, "the stricter number stands"
    assert reason


def test_every_number_of_slackblocks_is_accounted_for() -> None:
    known = {*SAME, *DIFFERENT, *ONLY_THEIRS}

    assert THEIRS.keys() == known
    assert {name: THEIRS[name] for name in ONLY_THEIRS} == {
        n: number for n, (number, _) in ONLY_THEIRS.items()
    }


def test_every_number_of_ours_is_accounted_for() -> None:
    compared = matching(tuple(p for patterns in SAME.values() for p in patterns)).keys()
    differing = {place for place, *_ in DIFFERENT.values()}
    rest = OURS.keys() - compared - differing

    assert {name for name in rest if not any(fnmatchcase(name, p) for p in ONLY_OURS)} == set()
    assert [p for p in ONLY_OURS if not any(fnmatchcase(name, p) for name in rest)] == []


def test_nothing_is_compared_and_excused_at_once() -> None:
    assert not SAME.keys() & DIFFERENT.keys()
    assert not (SAME.keys() | DIFFERENT.keys()) & ONLY_THEIRS.keys()


def test_surfaces_are_those_of_slackblocks_or_fewer_for_a_reason() -> None:
    their_places = {
        (block, surface) for surface, blocks in _surfaces._BLOCK_TYPES_BY_SURFACE.items() for block in blocks
    }
    our_places = {(block, surface) for block, shape in BLOCKS.items() for surface in shape.surfaces}

    assert our_places - their_places == set()
    assert their_places - our_places == SURFACE_DIFFERENCES.keys()


def test_both_sides_know_the_same_blocks_and_surfaces() -> None:
    known = set().union(*_surfaces._BLOCK_TYPES_BY_SURFACE.values())

    assert known == BLOCKS.keys()
    assert set(_surfaces._BLOCK_TYPES_BY_SURFACE) == set(SURFACES)


def most(shape: Shape, key: str) -> int:
    spec = shape.required.get(key) or shape.optional[key]
    assert isinstance(spec, Text | Str | Many)
    return spec.hi


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (most(BLOCKS["section"], "text"), sdk.SectionBlock.text_max_length),
        (most(BLOCKS["section"], "fields"), sdk.SectionBlock.fields_max_length),
        (most(BLOCKS["header"], "text"), sdk.HeaderBlock.text_max_length),
        (most(BLOCKS["context"], "elements"), sdk.ContextBlock.elements_max_length),
        (most(BLOCKS["context_actions"], "elements"), sdk.ContextActionsBlock.elements_max_length),
        (most(BLOCKS["actions"], "elements"), sdk.ActionsBlock.elements_max_length),
        (most(BLOCKS["input"], "label"), sdk.InputBlock.label_max_length),
        (most(BLOCKS["input"], "hint"), sdk.InputBlock.hint_max_length),
        (most(BLOCKS["image"], "image_url"), sdk.ImageBlock.image_url_max_length),
        (most(BLOCKS["image"], "alt_text"), sdk.ImageBlock.alt_text_max_length),
        (most(BLOCKS["image"], "title"), sdk.ImageBlock.title_max_length),
        (most(BLOCKS["markdown"], "text"), sdk.MarkdownBlock.text_max_length),
        (most(BLOCKS["card"], "title"), sdk.CardBlock.title_max_length),
        (most(BLOCKS["card"], "body"), sdk.CardBlock.body_max_length),
        (most(BLOCKS["carousel"], "elements"), sdk.CarouselBlock.elements_max_length),
        (most(BLOCKS["container"], "child_blocks"), sdk.ContainerBlock.child_blocks_max_length),
        (most(BLOCKS["container"], "title"), sdk.ContainerBlock.title_max_length),
        (most(ELEMENTS["button"], "text"), sdk.ButtonElement.text_max_length),
        (most(ELEMENTS["button"], "value"), sdk.ButtonElement.value_max_length),
        (most(ELEMENTS["button"], "url"), sdk.ButtonElement.url_max_length),
        (most(ELEMENTS["button"], "agent_prompt"), sdk.ButtonElement.agent_prompt_max_length),
        (most(ELEMENTS["button"], "action_id"), sdk.ButtonElement.action_id_max_length),
        (most(ELEMENTS["static_select"], "options"), sdk.StaticSelectElement.options_max_length),
        (most(VIEWS["modal"], "title"), View.title_max_length),
        (most(VIEWS["modal"], "submit"), View.submit_max_length),
        (most(VIEWS["modal"], "private_metadata"), View.private_metadata_max_length),
        (most(VIEWS["modal"], "callback_id"), View.callback_id_max_length),
        (BLOCKS_PER_SURFACE["modal"], View.blocks_max_length),
    ],
)
def test_our_numbers_are_those_of_the_sdk(ours: int, theirs: int) -> None:
    assert ours == theirs
