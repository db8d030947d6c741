"""What can be pressed, chosen and typed in the console."""

import json
from typing import Any

import pytest
from unit.console_kit import NEW_YEAR, VIEWER, Page, mrkdwn, options, plain, shown

from bot.standin.console.viewer import Viewer

CONFIRM = {
    "title": plain("Stop <it>? :warning:"),
    "text": mrkdwn("*All* `programs` of <@U_ADMIN> end"),
    "confirm": plain("Stop :x:"),
    "deny": plain("Go back"),
    "style": "danger",
}


def actions(*elements: dict[str, Any], **more: Any) -> Page:
    return shown({"type": "actions", "block_id": "row", "elements": list(elements)}, **more)


def field(element: dict[str, Any], block: dict[str, Any] | None = None, **more: Any) -> Page:
    made = {
        "type": "input",
        "block_id": "blk",
        "label": plain("Label"),
        "element": {"action_id": "act", **element},
    }
    return shown(made | (block or {}), surface="modal", **more)


def test_a_button_says_what_it_does_and_where_it_stands() -> None:
    page = actions(
        {"type": "button", "action_id": "go", "text": plain("Go :x:"), "value": 'v1:"<>', "style": "primary"}
    )

    button = page.one("button")
    assert button.text == "Go ❌"
    assert (button["type"], button["class"]) == ("button", "el-button primary")
    assert (button["data-action"], button["data-block"], button["data-value"]) == ("go", "row", 'v1:"<>')


def test_a_button_without_a_value_has_none() -> None:
    assert (
        "data-value"
        not in actions({"type": "button", "action_id": "go", "text": plain("Go")}).one("button").attributes
    )


@pytest.mark.parametrize("style", ["", "strange", 'danger" onclick="x'])
def test_only_slacks_two_styles_count(style: str) -> None:
    page = actions({"type": "button", "action_id": "go", "text": plain("Go"), "style": style})

    assert page.one("button")["class"] == "el-button"


def test_a_link_button_has_its_address_and_an_evil_one_none() -> None:
    page = actions(
        {"type": "button", "action_id": "a", "text": plain("A"), "url": "https://x.example/?a=1&b=2"},
        {"type": "button", "action_id": "b", "text": plain("B"), "url": "javascript:alert(1)"},
    )

    assert [button["data-url"] for button in page.all("button")] == ["https://x.example/?a=1&b=2", None]


def test_a_question_before_the_press_is_ready_html_in_json() -> None:
    page = actions({"type": "button", "action_id": "go", "text": plain("Go"), "confirm": CONFIRM})

    asked = json.loads(page.one("button")["data-confirm"] or "")
    assert Page(asked["title"]).text == "Stop <it>? ⚠️"
    assert Page(asked["text"]).text == "All programs of @ada-admin end"
    assert Page(asked["text"]).one("b").text == "All"
    assert (asked["confirm"], asked["deny"], asked["style"]) == ("Stop ❌", "Go back", "danger")


@pytest.mark.parametrize(("user", "seen"), [("U_ADMIN", 1), ("U_OPERATOR", 0)])
def test_a_button_for_some_people_is_hidden_from_others(user: str, seen: int) -> None:
    viewer = Viewer(user, "UTC", {})
    element = {"type": "button", "action_id": "a", "text": plain("A"), "visible_to_user_ids": ["U_ADMIN"]}

    assert len(actions(element, viewer=viewer).all("button")) == seen


def test_a_label_for_screen_readers_is_used() -> None:
    element = {"type": "button", "action_id": "a", "text": plain("↻"), "accessibility_label": "Again"}

    assert actions(element).one("button")["aria-label"] == "Again"


def test_a_select_offers_its_options_and_stands_on_the_chosen_one() -> None:
    element = {
        "type": "static_select",
        "action_id": "pick",
        "placeholder": plain("Pick"),
        "options": options("one", "two"),
        "initial_option": options("two")[0],
    }

    page = actions(element)

    assert [(o["value"], o.text, "selected" in o.attributes) for o in page.all("option")] == [
        ("", "Pick", False),
        ("one", "One", False),
        ("two", "Two", True),
    ]
    select = page.one("select")
    assert (select["data-action"], select["data-block"], select["aria-label"]) == ("pick", "row", "Pick")


def test_the_small_print_of_an_option_is_shown() -> None:
    rows = [{**options("one")[0], "description": plain("the <first>")}]

    page = actions({"type": "static_select", "action_id": "pick", "options": rows})

    assert page.all("option")[1].text == "One · the <first>"


def test_option_groups_keep_their_names() -> None:
    groups = [
        {"label": plain("Mine"), "options": options("a")},
        {"label": plain("Theirs"), "options": options("b")},
    ]

    page = actions({"type": "multi_static_select", "action_id": "m", "option_groups": groups})

    assert [group["label"] for group in page.all("optgroup")] == ["Mine", "Theirs"]
    assert "multiple" in page.one("select").attributes
    assert [option["value"] for option in page.all("option")] == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "offered"),
    [
        ("users_select", [("U_ADMIN", "@ada-admin"), ("U_OPERATOR", "@ola-operator")]),
        ("channels_select", [("C_OPS", "#ops"), ("G_PRIVATE", "#private")]),
        ("conversations_select", [("D_U_ADMIN", "@ada-admin"), ("C_OPS", "#ops"), ("G_PRIVATE", "#private")]),
    ],
)
def test_people_and_channels_are_offered_by_name(kind: str, offered: list[tuple[str, str]]) -> None:
    page = actions({"type": kind, "action_id": "who"}, {"type": f"multi_{kind}", "action_id": "many"})

    found = [(option["value"], option.text) for option in page.all("option") if option["value"]]
    assert found == offered * 2


def test_a_chosen_person_whom_nobody_knows_is_still_there() -> None:
    page = actions({"type": "users_select", "action_id": "who", "initial_user": "U_GONE"})

    assert [o["value"] for o in page.all("option") if "selected" in o.attributes] == ["U_GONE"]


def test_an_external_select_is_typed() -> None:
    page = actions({"type": "external_select", "action_id": "e", "placeholder": plain("Which?")})

    assert (page.one("input")["type"], page.one("input")["placeholder"]) == ("text", "Which?")


def test_an_overflow_menu_is_a_menu() -> None:
    element = {
        "type": "overflow",
        "action_id": "more",
        "confirm": CONFIRM,
        "options": [{**options("a")[0], "url": "https://x.example"}, *options("b")],
    }

    page = actions(element)

    menu = page.one("select", "el-overflow")
    assert (menu["aria-label"], bool(menu["data-confirm"])) == ("More actions", True)
    assert [(o["value"], o["data-url"]) for o in page.all("option")] == [
        ("", None),
        ("a", "https://x.example"),
        ("b", None),
    ]


@pytest.mark.parametrize(("kind", "type_"), [("radio_buttons", "radio"), ("checkboxes", "checkbox")])
def test_boxes_are_one_named_group_with_a_label_each(kind: str, type_: str) -> None:
    rows = [{"text": mrkdwn("*One*"), "value": "1", "description": mrkdwn("_first_")}, *options("two")]
    initial = {"initial_option": rows[1]} if kind == "radio_buttons" else {"initial_options": [rows[1]]}

    page = actions({"type": kind, "action_id": "pick", "options": rows, **initial})

    group, boxes, labels = page.one("fieldset"), page.all("input"), page.all("label")
    assert (group["data-action"], group["data-block"], group["aria-label"]) == ("pick", "row", "Options")
    assert [(box["type"], box["value"], "checked" in box.attributes) for box in boxes] == [
        (type_, "1", False),
        (type_, "two", True),
    ]
    assert [label["for"] for label in labels] == [box["id"] for box in boxes]
    assert labels[0].text == "Onefirst"
    assert len({box["name"] for box in boxes}) == 1


@pytest.mark.parametrize(
    ("element", "type_", "value"),
    [
        ({"type": "datepicker", "initial_date": "2026-02-03"}, "date", "2026-02-03"),
        ({"type": "timepicker", "initial_time": "10:20"}, "time", "10:20"),
        ({"type": "datetimepicker", "initial_date_time": NEW_YEAR}, "datetime-local", "2026-01-01T01:00"),
        ({"type": "datetimepicker"}, "datetime-local", ""),
    ],
)
def test_pickers(element: dict[str, Any], type_: str, value: str) -> None:
    picker = actions({"action_id": "when", **element}).one("input")

    assert (picker["type"], picker["value"], picker["data-tz"]) == (type_, value, "Europe/Amsterdam")
    assert picker["aria-label"]


def test_an_unknown_element_says_so() -> None:
    assert actions({"type": "lever", "action_id": "l"}).text == "unsupported element lever"


def test_a_text_field_has_its_label_limits_and_hint() -> None:
    element = {"type": "plain_text_input", "min_length": 2, "max_length": 63, "placeholder": plain("alpha")}

    page = field(element, {"hint": plain("Lower case")})

    block, label, control = page.one("div", "input-block"), page.one("label"), page.one("input")
    assert (block["data-block"], block["data-action"], block["data-dispatch"]) == ("blk", "act", "false")
    assert (label["for"], label.text) == (control["id"], "Label")
    assert (control["type"], control["minlength"], control["maxlength"]) == ("text", "2", "63")
    assert (control["placeholder"], "required" in control.attributes) == ("alpha", True)
    assert control["aria-describedby"] == page.one("p", "hint")["id"]
    assert control["aria-invalid"] is None


def test_an_optional_field_says_so() -> None:
    page = field({"type": "plain_text_input"}, {"optional": True})

    assert page.one("label").text == "Label (optional)"
    assert "required" not in page.one("input").attributes


@pytest.mark.parametrize(
    ("optional", "made", "values"),
    [
        (False, True, ["one", "two"]),
        (False, False, ["", "one", "two"]),
        (True, True, ["", "one", "two"]),
    ],
    ids=["required and made", "required", "optional and made"],
)
def test_a_choice_that_must_be_made_cannot_be_taken_back(
    optional: bool,  # noqa: FBT001 - a column of the table
    made: bool,  # noqa: FBT001 - a column of the table
    values: list[str],
) -> None:
    both = options("one", "two")
    element = {"type": "static_select", "options": both} | ({"initial_option": both[1]} if made else {})

    page = field(element, {"optional": optional})

    assert [option["value"] for option in page.all("option")] == values


def test_what_was_wrong_stands_at_its_field() -> None:
    page = field(
        {"type": "plain_text_input"}, {"hint": plain("h")}, errors={"blk": "Taken <b>.", "other": "No."}
    )

    control, error = page.one("input"), page.one("p", "field-error")
    assert error.text == "Taken <b>."
    assert control["aria-invalid"] == "true"
    assert (control["aria-describedby"] or "").split() == [page.one("p", "hint")["id"], error["id"]]


@pytest.mark.parametrize("kind", ["radio_buttons", "checkboxes"])
def test_a_group_in_a_form_has_its_label_and_its_error(kind: str) -> None:
    page = field({"type": kind, "options": options("a", "b")}, errors={"blk": "Choose."})

    group = page.one("fieldset")
    assert group["aria-labelledby"] == page.one("div", "input-label")["id"]
    assert group["aria-describedby"] == page.one("p", "field-error")["id"]
    assert group["aria-invalid"] == "true"


@pytest.mark.parametrize("dispatches", [True, False])
def test_a_field_that_tells_of_every_change_says_so(dispatches: bool) -> None:  # noqa: FBT001 - a column of the table
    config = {"trigger_actions_on": ["on_enter_pressed", "on_character_entered"]}

    page = field(
        {"type": "plain_text_input", "dispatch_action_config": config}, {"dispatch_action": dispatches}
    )

    block = page.one("div", "input-block")
    assert block["data-dispatch"] == ("true" if dispatches else "false")
    assert block["data-dispatch-on"] == "on_enter_pressed on_character_entered"


@pytest.mark.parametrize(
    ("element", "tag", "attributes"),
    [
        ({"type": "plain_text_input", "multiline": True}, "textarea", {"maxlength": "3000"}),
        ({"type": "rich_text_input"}, "textarea", {}),
        ({"type": "email_text_input"}, "input", {"type": "email"}),
        ({"type": "url_text_input"}, "input", {"type": "url"}),
        (
            {"type": "number_input", "is_decimal_allowed": False, "min_value": "1", "max_value": "9"},
            "input",
            {"type": "number", "min": "1", "max": "9", "step": "1"},
        ),
        ({"type": "number_input", "is_decimal_allowed": True}, "input", {"step": "any"}),
        (
            {"type": "file_input", "filetypes": ["png", "csv"]},
            "input",
            {"type": "file", "accept": ".png,.csv"},
        ),
        ({"type": "static_select", "options": options("a")}, "select", {}),
        ({"type": "users_select"}, "select", {}),
        ({"type": "datepicker"}, "input", {"type": "date"}),
        ({"type": "external_select"}, "input", {"type": "text"}),
    ],
)
def test_every_field_is_a_native_control_with_a_label(
    element: dict[str, Any], tag: str, attributes: dict[str, str]
) -> None:
    page = field(element)

    control = page.one(tag)
    assert page.one("label")["for"] == control["id"]
    assert (control["data-action"], control["data-block"], control["data-kind"]) == (
        "act",
        "blk",
        element["type"],
    )
    assert {name: control[name] for name in attributes} == attributes


@pytest.mark.parametrize(
    "typed",
    [
        "two",
        ["two"],
        {"type": "static_select", "selected_option": options("two")[0]},
        {"type": "static_select", "selected_option": {"value": "two"}},
    ],
)
def test_what_was_chosen_goes_before_what_a_field_starts_with(typed: Any) -> None:
    element = {"type": "static_select", "options": options("one", "two"), "initial_option": options("one")[0]}

    page = field(element, values={"blk": {"act": typed}})

    assert [o["value"] for o in page.all("option") if "selected" in o.attributes] == ["two"]


@pytest.mark.parametrize("typed", ["a <b>\nc", {"type": "plain_text_input", "value": "a <b>\nc"}])
def test_what_was_typed_is_there_again(typed: Any) -> None:
    element = {"type": "plain_text_input", "multiline": True, "initial_value": "old"}

    # The first line break of a textarea is the parser's own.
    assert field(element, values={"blk": {"act": typed}}).one("textarea").text == "\na <b>\nc"


@pytest.mark.parametrize(
    "typed", [None, {"type": "plain_text_input", "value": None}, {"type": "plain_text_input"}]
)
def test_what_was_emptied_stays_empty(typed: Any) -> None:
    page = field({"type": "plain_text_input", "initial_value": "old"}, values={"blk": {"act": typed}})

    assert page.one("input")["value"] == ""


def test_several_choices_are_all_there_again() -> None:
    element = {"type": "checkboxes", "options": options("a", "b", "c"), "initial_options": options("c")}
    reported = {"type": "checkboxes", "selected_options": options("a", "b")}

    page = field(element, values={"blk": {"act": reported}})

    assert [box["value"] for box in page.all("input") if "checked" in box.attributes] == ["a", "b"]


def test_ids_of_a_form_are_unique_and_stay_the_same() -> None:
    block = {"type": "input", "block_id": "b", "label": plain("L"), "hint": plain("h")}
    blocks = [
        {**block, "element": {"type": kind, "action_id": "a", "options": options("x", "y")}}
        for kind in ("static_select", "radio_buttons", "checkboxes")
    ]

    first, again = (shown(*blocks, surface="modal", errors={"b": "No."}, viewer=VIEWER) for _ in range(2))

    assert len(first.ids) == len(set(first.ids))
    assert first.html == again.html
