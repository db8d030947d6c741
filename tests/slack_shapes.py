"""What Slack sends, by slack-events' types and by Slack's own lists of fields, and where the two disagree."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import slack_events
from pydantic import ValidationError
from slack_events.validation import get_adapter, payload_type_for

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
VIEW_FIELDS = {
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
MENTION = {"type", "user", "text", "ts", "channel", "event_ts", "blocks", "team", "client_msg_id"}
HOME_OPENED = {"type", "user", "channel", "tab", "event_ts"}
FOREIGN = {"user_team", "source_team"}


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


_SOME_EVENT = {"type": "app_home_opened", "user": "U", "channel": "D", "event_ts": "1.1"}


def judged_all(bodies: Iterable[Body]) -> tuple[set[str], set[str]]:
    wrong: set[str] = set()
    silent: set[str] = set()
    for body in bodies:
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
