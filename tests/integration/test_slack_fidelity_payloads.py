"""What the stand-in sends, held strictly against slack-events' types and against Slack's lists of fields."""

from fnmatch import fnmatchcase

import pytest
from integration.standin_slack_payloads import CHOICES, NO_PRESS, PRESSED, WRITTEN, Body, collect
from slack_sdk.models.views import ViewStateValue
from slack_shapes import (
    FOREIGN,
    HOME_OPENED,
    MENTION,
    SILENT,
    TYPES,
    VIEW_FIELDS,
    WRONG,
    fields,
    judged,
    judged_all,
    kind_of,
)

from bot.standin.slack.block_spec import ACTION_ELEMENTS, INPUT_ELEMENTS


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Body]:
    return collect(tmp_path_factory.mktemp("slack"))


def test_item_06_slack_events_takes_every_payload_strictly(told: dict[str, Body]) -> None:
    wrong, _ = judged_all(told.values())

    assert wrong == set(WRONG)


def test_item_06_what_slack_events_does_not_know_is_known_to_us(told: dict[str, Body]) -> None:
    _, silent = judged_all(told.values())

    assert {place for place in silent if not any(fnmatchcase(place, p) for p in SILENT)} == set()
    assert [p for p in SILENT if not any(fnmatchcase(place, p) for place in silent)] == []


def test_the_judge_refuses_what_is_wrong(told: dict[str, Body]) -> None:
    command = dict(told["command in C_OPS"])
    click = told["button in a message"]

    without, _ = judged("command", {k: v for k, v in command.items() if k != "trigger_id"}, TYPES["command"])
    boolean, _ = judged("command", command | {"is_enterprise_install": False}, TYPES["command"])
    number, _ = judged(
        "block_actions", click | {"actions": [{**click["actions"][0], "value": 1}]}, TYPES["block_actions"]
    )

    assert without == {"command trigger_id missing"}
    assert boolean == {"command is_enterprise_install string_type"}
    assert "block_actions actions/0/value string_type" in number


def test_every_payload_has_exactly_the_fields_of_its_kind(told: dict[str, Body]) -> None:
    assert {
        name: body.keys() ^ fields(body) for name, body in told.items() if body.keys() != fields(body)
    } == {}


def test_every_view_has_exactly_its_fields(told: dict[str, Body]) -> None:
    views = [body.get("view") or body.get("event", {}).get("view") for body in told.values()]

    assert {frozenset(view) for view in views if view} == {frozenset(VIEW_FIELDS)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mention", MENTION),
        ("mention in a thread", {*MENTION, "thread_ts"}),
        ("mention of a foreigner", MENTION | FOREIGN),
        ("home opened first", HOME_OPENED),
        ("home opened again", {*HOME_OPENED, "view"}),
        ("messages tab opened", HOME_OPENED),
    ],
)
def test_every_event_has_exactly_its_fields(told: dict[str, Body], name: str, expected: set[str]) -> None:
    assert told[name]["event"].keys() == expected


def test_every_element_that_can_be_pressed_or_filled_in_was(told: dict[str, Body]) -> None:
    assert {*CHOICES, *PRESSED, *NO_PRESS} == set(ACTION_ELEMENTS)
    assert {*CHOICES, *WRITTEN} == set(INPUT_ELEMENTS)
    for place in ("message", "modal", "home"):
        article = "the" if place == "home" else "a"
        assert {f"{kind} in {article} {place}" for kind in {**CHOICES, **PRESSED}} <= told.keys()


def test_a_choice_is_reported_with_the_names_that_the_sdk_reads(told: dict[str, Body]) -> None:
    values = told["submission of every field"]["view"]["state"]["values"]

    names = {name for block in values.values() for held in block.values() for name in held}
    assert names <= ViewStateValue.attributes
    assert {kind: held[kind]["type"] for kind, held in values.items()} == {kind: kind for kind in values}
    assert all(len(held[kind]) > 1 and all(held[kind].values()) for kind, held in values.items())


def test_an_empty_field_is_reported_as_nothing(told: dict[str, Body]) -> None:
    values = told["submission of empty fields"]["view"]["state"]["values"]

    assert values.keys() == {*CHOICES, *WRITTEN}
    assert values["plain_text_input"]["plain_text_input"] == {"type": "plain_text_input", "value": None}
    assert values["static_select"]["static_select"] == {"type": "static_select", "selected_option": None}
    assert values["checkboxes"]["checkboxes"] == {"type": "checkboxes", "selected_options": []}


def test_a_message_reports_all_its_menus_as_the_person_left_them(told: dict[str, Body]) -> None:
    values = told["button in a message"]["state"]["values"]

    assert values.keys() == CHOICES.keys()
    assert values["users_select"]["users_select"] == {"type": "users_select", "selected_user": "U_ADMIN"}


def test_feedback_says_which_button_it_was(told: dict[str, Body]) -> None:
    [action] = told["feedback_buttons in its own block"]["actions"]

    assert (action["type"], action["value"], action["text"]["text"]) == ("feedback_buttons", "good", "x")


def test_a_select_that_asked_for_it_brings_a_response_url(told: dict[str, Body]) -> None:
    [url] = told["submission of every field"]["response_urls"]

    assert url.keys() == {"block_id", "action_id", "channel_id", "response_url"}


def test_a_place_is_named_as_slack_names_it(told: dict[str, Body]) -> None:
    names = {name: body["channel_name"] for name, body in told.items() if kind_of(body) == "command"}

    assert names["command in C_OPS"] == "ops"
    assert names["command in G_PRIVATE"] == "privategroup"
    assert names["command in D_U_OPERATOR"] == names["command in D_PAIR"] == "directmessage"
