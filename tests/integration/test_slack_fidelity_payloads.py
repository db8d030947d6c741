"""What the stand-in sends, held strictly against slack-events' types and against Slack's lists of fields."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import pytest
import slack_events
from integration.standin_slack_payloads import CHOICES, NO_PRESS, PRESSED, WRITTEN, collect
from pydantic import ValidationError
from slack_events.validation import get_adapter, payload_type_for
from slack_sdk.models.views import ViewStateValue

from bot.standin.slack.block_spec import ACTION_ELEMENTS, INPUT_ELEMENTS

Body = dict[str, Any]

TYPES: Mapping[str, Any] = {
    "command": slack_events.SlashCommandPayload,
    "block_actions": slack_events.BlockActionsPayload,
    "view_submission": slack_events.ViewSubmissionPayload,
    "view_closed": slack_events.ViewClosedPayload,
    "event_callback": slack_events.EventCallbackEnvelope,
}

WRONG: Mapping[str, str] = {
    "block_actions enterprise dict_type": "Slack's examples have null outside an organisation",
}
"""``kind place error`` where slack-events refuses what Slack sends, and why we send it."""

_VIEW = "slack-events knows the view as an app sends it; Slack's example of view_submission has all of these"
_LOOSE = "in Slack's examples; slack-events leaves it out"

SILENT: Mapping[str, str] = {
    "event_callback token": _LOOSE,
    "event_callback context_enterprise_id": _LOOSE,
    "event_callback event_context": _LOOSE,
    "view_submission enterprise": _LOOSE,
    "view_closed enterprise": _LOOSE,
    "view_closed is_enterprise_install": _LOOSE,
    "view_closed token": _LOOSE,
    "view_* view/*": _VIEW,
    "app_home_opened view/*": _VIEW,
    "block_actions actions/each/text": "a button's text, with emoji (Slack's example of block_actions)",
    "block_actions actions/each/style": "a button's style (Slack's example of block_actions)",
    "block_actions actions/each/icon": "what an icon button shows",
    "block_actions actions/each/selected_time": "slack_sdk: ViewStateValue.selected_time",
    "block_actions actions/each/timezone": "slack_sdk: ViewStateValue.timezone",
    "block_actions actions/each/selected_date_time": "slack_sdk: ViewStateValue.selected_date_time",
    "block_actions actions/each/rich_text_value": "slack_sdk: ViewStateValue.rich_text_value",
}
"""``kind place`` that slack-events does not know and so says nothing about, and where it comes from."""

_INTERACTION = {"type", "user", "team", "api_app_id", "token", "enterprise", "is_enterprise_install"}
_IN_VIEW = {*_INTERACTION, "container", "trigger_id", "view", "actions"}
_IN_MESSAGE = {*_IN_VIEW, "channel", "message", "state", "response_url"} - {"view"}
_VIEW_FIELDS = {
    "id", "team_id", "type", "blocks", "private_metadata", "callback_id", "state", "hash", "title", "submit",
    "close", "clear_on_close", "notify_on_close", "previous_view_id", "root_view_id", "app_id", "external_id",
    "app_installed_team_id", "bot_id",
}  # fmt: skip
_COMMAND = {
    "token", "team_id", "team_domain", "channel_id", "channel_name", "user_id", "user_name", "command",
    "text", "api_app_id", "is_enterprise_install", "response_url", "trigger_id",
}  # fmt: skip
_ENVELOPE = {
    "token", "team_id", "context_team_id", "context_enterprise_id", "api_app_id", "event", "type",
    "event_id", "event_time", "authorizations", "is_ext_shared_channel", "event_context",
}  # fmt: skip
_MENTION = {"type", "user", "text", "ts", "channel", "event_ts", "blocks", "team", "client_msg_id"}
_HOME_OPENED = {"type", "user", "channel", "tab", "event_ts"}
_FOREIGN = {"user_team", "source_team"}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Body]:
    return collect(tmp_path_factory.mktemp("slack"))


def kind_of(body: Body) -> str:
    return "command" if "command" in body else str(body["type"])


def unknown(given: Any, read: Any, at: str = "") -> Iterator[str]:
    """What a type has dropped: it knows nothing of it."""
    if isinstance(given, dict) and isinstance(read, dict):
        for key, value in given.items():
            if key in read:
                yield from unknown(value, read[key], f"{at}{key}/")
            else:
                yield f"{at}{key}"
    elif isinstance(given, list) and isinstance(read, list):
        for one, other in zip(given, read, strict=True):
            yield from unknown(one, other, f"{at}each/")


def judged(kind: str, body: Body, expected: Any) -> tuple[set[str], set[str]]:
    """(what is refused, what is not known), each as ``kind place …``."""
    try:
        read = get_adapter(expected).validate_python(body, strict=True)
    except ValidationError as refused:
        wrong = {f"{kind} {'/'.join(map(str, e['loc']))} {e['type']}" for e in refused.errors()}
        # Without the place that is refused, the rest still is looked at.
        places = {str(error["loc"][0]) for error in refused.errors()} & body.keys()
        rest = {key: value for key, value in body.items() if key not in places}
        more = judged(kind, rest, expected) if places else (set[str](), set[str]())
        return wrong | {text for text in more[0] if not text.endswith(" missing")}, more[1]
    return set(), {f"{kind} {place}" for place in unknown(body, read)}


def all_judged(told: Mapping[str, Body]) -> tuple[set[str], set[str]]:
    wrong: set[str] = set()
    silent: set[str] = set()
    for body in told.values():
        kind = kind_of(body)
        results = [judged(kind, body, TYPES[kind])]
        if kind == "event_callback":
            event = body["event"]
            # The envelope's own union would take any event that fits by chance.
            results = [judged(kind, body | {"event": _SOME_EVENT}, TYPES[kind])]
            results.append(judged(event["type"], event, payload_type_for(event["type"], None)))
        for refused, dropped in results:
            wrong |= refused
            silent |= dropped
    return wrong, silent


_SOME_EVENT = {"type": "app_home_opened", "user": "U", "channel": "D", "event_ts": "1.1"}


def test_item_06_slack_events_takes_every_payload_strictly(told: dict[str, Body]) -> None:
    wrong, _ = all_judged(told)

    assert wrong == set(WRONG)


def test_item_06_what_slack_events_does_not_know_is_known_to_us(told: dict[str, Body]) -> None:
    _, silent = all_judged(told)

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


def fields(body: Body) -> set[str]:
    """Those that Slack lists for a payload of this kind and place."""
    match kind_of(body):
        case "command":
            return _COMMAND
        case "block_actions" if "view" in body:
            return _IN_VIEW
        case "block_actions":
            return _IN_MESSAGE - ({"message"} if body["container"]["is_ephemeral"] else set())
        case "view_submission":
            return {*_INTERACTION, "trigger_id", "view", "response_urls"}
        case "view_closed":
            return {*_INTERACTION, "view", "is_cleared"}
        case _:
            return _ENVELOPE


def test_every_payload_has_exactly_the_fields_of_its_kind(told: dict[str, Body]) -> None:
    assert {
        name: body.keys() ^ fields(body) for name, body in told.items() if body.keys() != fields(body)
    } == {}


def test_every_view_has_exactly_its_fields(told: dict[str, Body]) -> None:
    views = [body.get("view") or body.get("event", {}).get("view") for body in told.values()]

    assert {frozenset(view) for view in views if view} == {frozenset(_VIEW_FIELDS)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mention", _MENTION),
        ("mention in a thread", {*_MENTION, "thread_ts"}),
        ("mention of a foreigner", _MENTION | _FOREIGN),
        ("home opened first", _HOME_OPENED),
        ("home opened again", {*_HOME_OPENED, "view"}),
        ("messages tab opened", _HOME_OPENED),
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
