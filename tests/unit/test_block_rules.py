"""Rules that are no number: choices, charts, plans, nested tables; and what blocks.validate answers."""

import json
from typing import Any

import pytest

from bot.standin.slack.args import Args
from bot.standin.slack.block_spec import SURFACES
from bot.standin.slack.blocks import check_message_blocks, check_view
from bot.standin.slack.errors import SlackError
from bot.standin.slack.methods_blocks import validate

Block = dict[str, Any]
PLAIN = {"type": "plain_text", "text": "x"}
MARKUP = {"type": "mrkdwn", "text": "x"}
OFFERED = [{"text": PLAIN, "value": value} for value in ("a", "b")]
STRANGER = {"text": PLAIN, "value": "c"}
POINTS = [{"label": "Mon", "value": 1}]


def actions(element: Block) -> Block:
    return {"type": "actions", "elements": [{"action_id": "a", **element}]}


def chart(kind: str, **changes: Any) -> Block:
    axes = {"series": [{"name": "s", "data": POINTS}], "axis_config": {"categories": ["Mon"]}}
    body = {"segments": POINTS} if kind == "pie" else axes
    return {"type": "data_visualization", "title": "Load", "chart": {"type": kind, **body, **changes}}


def data_table(*rows: int) -> Block:
    cell = {"type": "raw_text", "text": "x"}
    return {"type": "data_table", "caption": "c", "rows": [[cell] * width for width in rows]}


def container(*children: Block) -> Block:
    return {"type": "container", "title": PLAIN, "child_blocks": list(children)}


def table(text: str, rows: int = 100, cells: int = 20) -> Block:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": text}] * cells] * rows}


def task(number: str) -> Block:
    return {"type": "task_card", "task_id": number, "title": "x", "status": "pending"}


def refused(blocks: list[Block]) -> list[str]:
    with pytest.raises(SlackError) as caught:
        check_message_blocks(blocks)
    assert caught.value.error == "invalid_blocks"
    errors: list[str] = caught.value.extra["errors"]
    assert caught.value.extra["response_metadata"]["messages"] == [f"[ERROR] {text}" for text in errors]
    return errors


@pytest.mark.parametrize("kind", ["static_select", "radio_buttons"])
def test_what_is_chosen_from_the_start_is_offered(kind: str) -> None:
    check_message_blocks([actions({"type": kind, "options": OFFERED, "initial_option": OFFERED[1]})])

    wrong = refused([actions({"type": kind, "options": OFFERED, "initial_option": STRANGER})])

    assert wrong == ["must match one of the options [json-pointer:/blocks/0/elements/0/initial_option]"]


@pytest.mark.parametrize("kind", ["multi_static_select", "checkboxes"])
def test_each_of_several_choices_is_offered(kind: str) -> None:
    wrong = refused([actions({"type": kind, "options": OFFERED, "initial_options": [OFFERED[0], STRANGER]})])

    assert wrong == ["must match one of the options [json-pointer:/blocks/0/elements/0/initial_options/1]"]


def test_a_choice_may_be_offered_by_a_group() -> None:
    group = {"label": PLAIN, "options": OFFERED}

    check_message_blocks(
        [actions({"type": "static_select", "option_groups": [group], "initial_option": OFFERED[0]})]
    )


def test_a_menu_has_options_or_groups_and_not_both() -> None:
    group = {"label": PLAIN, "options": OFFERED}

    [wrong] = refused([actions({"type": "static_select", "options": OFFERED, "option_groups": [group]})])

    assert wrong.startswith("must provide either options or option_groups")


@pytest.mark.parametrize("kind", ["pie", "bar", "area", "line"])
def test_a_chart_is_taken_and_its_parts_are_looked_at(kind: str) -> None:
    check_message_blocks([chart(kind), chart(kind)])

    key = "segments" if kind == "pie" else "series"
    assert refused([chart(kind, **{key: []})]) == [
        f"no fewer than 1 items allowed [json-pointer:/blocks/0/chart/{key}]"
    ]
    assert refused([chart(kind)] * 3) == [
        "Cannot have more than 2 data_visualization blocks [json-pointer:/blocks]"
    ]


def test_a_slice_of_a_pie_is_more_than_nothing() -> None:
    [wrong] = refused([chart("pie", segments=[{"label": "x", "value": 0}])])

    assert wrong.endswith("[json-pointer:/blocks/0/chart/segments/0/value]")


def test_a_data_table_has_a_header_and_even_rows() -> None:
    check_message_blocks([data_table(3, 3)])

    assert "no fewer than 2 items" in refused([data_table(3)])[0]
    assert "same number of cells" in refused([data_table(3, 2)])[0]


def test_a_table_in_a_container_counts_its_characters_too() -> None:
    check_message_blocks([container(table("x" * 5))])

    assert refused([container(table("x" * 6))]) == [
        "must be less than 10001 characters in all cells [json-pointer:/blocks/0/child_blocks/0/rows]"
    ]


def test_a_task_stands_once_in_a_plan() -> None:
    plan = {"type": "plan", "title": "x", "tasks": [task("1"), task("2"), task("1")]}

    assert refused([plan]) == ["task_id 1 already exists in this plan [json-pointer:/blocks/0/tasks]"]


def test_feedback_has_two_whole_buttons() -> None:
    good = {"text": PLAIN, "value": "yes"}
    block = {"type": "context_actions", "elements": [{"type": "feedback_buttons", "positive_button": good}]}

    assert refused([block]) == ["missing required field: negative_button [json-pointer:/blocks/0/elements/0]"]


def test_a_file_input_stands_in_modals_only() -> None:
    block = {"type": "input", "label": PLAIN, "element": {"type": "file_input", "action_id": "f"}}
    check_view({"type": "modal", "title": PLAIN, "submit": PLAIN, "blocks": [block]})

    assert refused([block]) == ["unsupported type: file_input [json-pointer:/blocks/0/element/type]"]


def test_one_field_of_a_view_has_the_cursor() -> None:
    def field(name: str) -> Block:
        element = {"type": "plain_text_input", "action_id": name, "focus_on_load": True}
        return {"type": "input", "block_id": name, "label": PLAIN, "element": element}

    view = {"type": "modal", "title": PLAIN, "submit": PLAIN}
    check_view({**view, "blocks": [field("a")]})

    with pytest.raises(SlackError) as caught:
        check_view({**view, "blocks": [field("a"), field("b")]})
    assert "focus_on_load" in caught.value.extra["response_metadata"]["messages"][0]


def test_an_icon_button_stands_in_context_actions_only() -> None:
    icon = {"type": "icon_button", "icon": "trash", "text": PLAIN}
    check_message_blocks([{"type": "context_actions", "elements": [icon]}])

    assert refused([actions(icon)]) == [
        "unsupported type: icon_button [json-pointer:/blocks/0/elements/0/type]"
    ]


def validated(**given: Any) -> dict[str, Any]:
    """As slack_sdk sends it: JSON in the query string. The world is not asked."""
    world: Any = None
    try:
        return validate(world, Args({name: json.dumps(value) for name, value in given.items()}))
    except SlackError as refusal:
        return refusal.body()


def test_validate_takes_what_is_right() -> None:
    section = {"type": "section", "text": MARKUP}

    assert validated(blocks=[section]) == {"ok": True}
    assert validated(message={"text": "x", "blocks": [section]}) == {"ok": True}
    assert validated(view={"type": "modal", "title": PLAIN, "blocks": [section]}) == {"ok": True}


def test_validate_says_what_was_expected_and_points_from_what_was_given() -> None:
    answer = validated(blocks=[{"type": "section", "text": {"type": "invalid", "text": "x"}}])

    assert answer == {
        "ok": False,
        "error": "invalid_blocks",
        "errors": [
            {
                "code": "failed_constraint",
                "message": "unsupported type: invalid",
                "pointer": "/0/text/type",
                "constraint": {"type": "enum", "expected": ["plain_text", "mrkdwn"]},
            }
        ],
    }


@pytest.mark.parametrize(
    ("given", "error", "pointer", "field"),
    [
        ({"message": {"blocks": [{"type": "section"}]}}, "invalid_message", "/blocks/0", "text or fields"),
        ({"message": {"blocks": [{"type": "divider", "x": 1}]}}, "invalid_message", "/blocks/0", "x"),
        ({"view": {"type": "home", "blocks": [{"type": "input"}]}}, "invalid_view", "/blocks/0", "label"),
        ({"view": {"type": "home"}}, "invalid_view", "", "blocks"),
    ],
)
def test_validate_names_the_field(given: Block, error: str, pointer: str, field: str) -> None:
    answer = validated(**given)

    first = answer["errors"][0]
    assert (answer["error"], first["pointer"], first["field"]) == (error, pointer, field)


def test_validate_judges_a_message_as_a_message_and_blocks_for_any_surface() -> None:
    alert = {"type": "alert", "text": MARKUP}

    assert validated(blocks=[alert]) == {"ok": True}
    assert validated(message={"blocks": [alert]})["errors"][0]["pointer"] == "/blocks/0/type"
    assert validated(message={"blocks": [table("x", 1, 1)] * 2})["error"] == "invalid_message"


@pytest.mark.parametrize("given", [{}, {"blocks": [], "view": {}}])
def test_validate_takes_exactly_one_thing(given: Block) -> None:
    answer = validated(**given)

    assert answer["error"] == "invalid_arguments"
    assert "exactly one" in answer["response_metadata"]["messages"][0]


@pytest.mark.parametrize("given", [{"blocks": 1}, {"blocks": ["x"]}, {"message": []}, {"view": []}])
def test_validate_of_another_kind_of_json_is_a_plain_no(given: Block) -> None:
    answer = validated(**given)

    assert answer["ok"] is False
    assert answer["errors"][0]["code"] == "failed_constraint"


def test_every_block_is_allowed_somewhere() -> None:
    kinds = validated(blocks=[{"type": "bogus"}])["errors"][0]["constraint"]["expected"]

    assert {"plan", "alert", "table", "section"} <= set(kinds)
    assert SURFACES == ("message", "modal", "home")
