"""The manifest, the listeners, the scopes and the Web API methods in use tell the same story."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from slack_desk import open_desk

from bot.checkup.slack_side import SCOPES as ASKED_BY_CHECK
from bot.standin.slack.cast import SCOPES as GRANTED_BY_THE_STAND_IN
from handlers import register
from handlers.verbs import SLASH

METHOD = r"(chat|conversations|files|users|usergroups|views|auth|apps|bots|team)(\.[a-zA-Z]+)+"
ROOT = Path(__file__).parents[2]
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yaml").read_text())
SCOPES = set(MANIFEST["oauth_config"]["scopes"]["bot"])
EVENTS = set(MANIFEST["settings"]["event_subscriptions"]["bot_events"])

# Slack's reference of methods and events: the scope that each needs. None = no scope.
METHOD_SCOPES: dict[str, str | None] = {
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "views.open": None,
    "views.update": None,
    "views.publish": None,
    "usergroups.users.list": "usergroups:read",
    "users.info": "users:read",
    "auth.test": None,
    "conversations.info": "channels:read",
    "conversations.history": "channels:history",
    "conversations.replies": "channels:history",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
    "apps.connections.open": None,
}
EVENT_SCOPES: dict[str, str | None] = {"app_home_opened": None, "app_mention": "app_mentions:read"}
FEATURE_SCOPES = {"commands", "chat:write.public", "groups:read", "groups:history", "im:history"}
"""Needed by a feature, not by a method: the command, posting as no member, looking at private channels and
reading back in them and in direct messages."""


def methods_in(path: Path) -> set[str]:
    """The Web API methods that a module names."""
    constants = (
        node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)
    )
    return {value for value in constants if isinstance(value, str) and re.fullmatch(METHOD, value)}


OUTGOING = [*sorted((ROOT / "bot/adapters").glob("slack_*.py")), ROOT / "bot/checkup/slack_side.py"]
METHODS = set[str]().union(*map(methods_in, OUTGOING))


class Recorder:
    """An app that only writes down what is registered."""

    def __init__(self) -> None:
        self.registered: list[tuple[str, Any]] = []

    def __getattr__(self, kind: str) -> Callable[..., Callable[[Any], Any]]:
        def decorate(constraint: Any = None) -> Callable[[Any], Any]:
            self.registered.append((kind, constraint))
            return lambda listener: listener

        return decorate

    def of(self, kind: str) -> list[Any]:
        return [constraint for registered, constraint in self.registered if registered == kind]


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    made = Recorder()
    register.register(made, open_desk().services)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_in_use_has_its_scope(method: str) -> None:
    scope = METHOD_SCOPES[method]

    assert scope is None or scope in SCOPES


@pytest.mark.parametrize("scope", sorted(SCOPES))
def test_every_scope_is_needed_by_something(scope: str) -> None:
    needed = {METHOD_SCOPES[m] for m in METHODS} | {EVENT_SCOPES[e] for e in EVENTS} | FEATURE_SCOPES

    assert scope in needed


def test_the_table_names_no_method_that_is_not_in_use() -> None:
    assert set(METHOD_SCOPES) == METHODS


@pytest.mark.parametrize("event", sorted(EVENTS))
def test_every_event_has_its_scope_and_its_listener(event: str, recorder: Recorder) -> None:
    scope = EVENT_SCOPES[event]

    assert scope is None or scope in SCOPES
    assert event in recorder.of("event")


def test_every_listener_for_an_event_is_subscribed(recorder: Recorder) -> None:
    assert {event for event in recorder.of("event") if isinstance(event, str)} == EVENTS


def test_every_slash_command_has_its_listener(recorder: Recorder) -> None:
    commands = [command["command"] for command in MANIFEST["features"]["slash_commands"]]

    assert commands == [SLASH] == [c for c in recorder.of("command") if isinstance(c, str)]


@pytest.mark.parametrize(
    "kind", ["command", "action", "view_submission", "view_closed", "shortcut", "options", "event"]
)
def test_every_kind_of_envelope_has_a_catch_all_that_comes_last(kind: str, recorder: Recorder) -> None:
    last = recorder.of(kind)[-1]

    assert isinstance(last, re.Pattern)
    assert last.search("anything at all")


def test_nothing_of_ours_runs_before_the_ack(recorder: Recorder) -> None:
    assert recorder.of("middleware") == []
    assert recorder.of("use") == []


def test_check_asks_for_exactly_these_scopes() -> None:
    assert set(ASKED_BY_CHECK) == SCOPES


def test_the_stand_in_grants_what_the_manifest_asks_for() -> None:
    assert set(GRANTED_BY_THE_STAND_IN) >= SCOPES


def test_what_the_listeners_need_is_switched_on() -> None:
    features, settings = MANIFEST["features"], MANIFEST["settings"]

    assert settings["interactivity"]["is_enabled"] is True
    assert settings["socket_mode_enabled"] is True
    assert features["app_home"]["home_tab_enabled"] is True
    assert features["app_home"]["messages_tab_enabled"] is True
    assert features["slash_commands"][0]["should_escape"] is True


def test_no_address_stands_in_the_manifest_of_a_socket_mode_app() -> None:
    assert not re.search(r"https?://", (ROOT / "manifest.yaml").read_text())


@pytest.mark.parametrize(
    ("text", "shortest", "longest"),
    [
        (MANIFEST["display_information"]["name"], 1, 35),
        (MANIFEST["display_information"]["description"], 1, 140),
        (MANIFEST["display_information"]["long_description"], 175, 4000),
        (MANIFEST["features"]["bot_user"]["display_name"], 1, 80),
        (MANIFEST["features"]["slash_commands"][0]["command"], 2, 32),
        (MANIFEST["features"]["slash_commands"][0]["usage_hint"], 1, 1000),
    ],
)
def test_slacks_limits_hold(text: str, shortest: int, longest: int) -> None:
    assert shortest <= len(text) <= longest
