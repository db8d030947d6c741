import pytest

from handlers.render import blocks, limits
from handlers.render.limits import cut, fit


def test_a_short_text_stays() -> None:
    assert cut("short", 3000) == "short"


def test_a_long_text_is_cut_with_a_marker() -> None:
    result = cut("x" * 5000, 3000)

    assert len(result) == 3000
    assert result.endswith("… (cut)")


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_text_becomes_one_that_slack_takes(text: str) -> None:
    assert cut(text, 3000) == "-"


@pytest.mark.parametrize("broken", ["&lt;", "<@U_OPERATOR>", "<!date^1^{time}|x>"])
@pytest.mark.parametrize("kept", range(1, 4))
def test_a_cut_does_not_leave_half_an_entity(broken: str, kept: int) -> None:
    room = 100
    text = "x" * (room - len("… (cut)") - kept) + broken + "y" * 200

    result = cut(text, room)

    assert result.removesuffix("… (cut)").strip("x") == ""


def test_a_cut_inside_a_fence_closes_it() -> None:
    result = cut("```" + "x" * 5000 + "```", 3000)

    assert result.count("```") == 2
    assert len(result) <= 3000


def test_too_many_blocks_are_counted_and_buttons_stay() -> None:
    many = [blocks.section(str(number)) for number in range(80)]
    buttons = blocks.actions()

    result = fit([*many, buttons], limits.MESSAGE_BLOCKS)

    assert len(result) == 50
    assert result[-2] is buttons
    assert "… and 32 more" in result[-1]["elements"][0]["text"]


def test_facts_take_as_many_sections_as_they_need() -> None:
    result = blocks.facts([(str(number), "x") for number in range(23)])

    assert [len(section["fields"]) for section in result] == [10, 10, 3]


def test_a_context_takes_ten_lines_and_loses_none() -> None:
    result = blocks.context(*(f"line {number}" for number in range(13)))

    assert len(result["elements"]) == 10
    assert all(f"line {number}" in repr(result) for number in range(13))
