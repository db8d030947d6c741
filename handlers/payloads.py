"""What Slack sends, read into values. Total: a payload of any shape gives a value, gaps as empty texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.domain.actors import Actor

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCall:
    """A typed command."""

    actor: Actor
    channel: str
    text: str
    response_url: str
    trigger_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonPress:
    """A pressed button and the message it stands in."""

    actor: Actor
    action_id: str
    value: str
    channel: str
    message_ts: str
    thread_ts: str
    """The thread that the message is in, or starts."""
    response_url: str
    trigger_id: str
    text: str
    blocks: Sequence[Body]
    passing: bool = False
    """The message is seen by its person alone and is gone at a reload; nothing can hang on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A form that was sent in."""

    actor: Actor
    trigger_id: str
    private_metadata: str
    values: Mapping[str, str] = field(repr=False)
    """What was typed and chosen, by block id; a field that was left empty has an empty text."""
    shown: frozenset[str]
    """The block ids of the fields that the form has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """An event."""

    kind: str
    actor: Actor
    channel: str
    thread_ts: str
    tab: str


def slash_call(body: Body, team_id: str) -> SlashCall:
    """A slash command's payload."""
    return SlashCall(
        actor=Actor(_text(body, "user_id"), outside_team=_text(body, "team_id") != team_id),
        channel=_text(body, "channel_id"),
        text=_text(body, "text"),
        response_url=_text(body, "response_url"),
        trigger_id=_text(body, "trigger_id"),
    )


def button_press(body: Body, team_id: str) -> ButtonPress:
    """A ``block_actions`` payload, from a message, an ephemeral message or a view."""
    actions = body.get("actions")
    action = actions[0] if isinstance(actions, list) and actions and isinstance(actions[0], Mapping) else {}
    message, container = _part(body, "message"), _part(body, "container")
    message_ts = _text(message, "ts") or _text(container, "message_ts")
    blocks = message.get("blocks")
    return ButtonPress(
        actor=_presser(body, team_id),
        action_id=_text(action, "action_id"),
        value=_text(action, "value"),
        channel=_text(_part(body, "channel"), "id") or _text(container, "channel_id"),
        message_ts=message_ts,
        thread_ts=_text(message, "thread_ts") or _text(container, "thread_ts") or message_ts,
        response_url=_text(body, "response_url"),
        trigger_id=_text(body, "trigger_id"),
        text=_text(message, "text"),
        blocks=[b for b in blocks if isinstance(b, Mapping)] if isinstance(blocks, list) else [],
        passing=container.get("is_ephemeral") is True,
    )


def submission(body: Body, team_id: str, action_id: str) -> Submission:
    """A ``view_submission`` payload of a form whose fields all have this action id."""
    view = _part(body, "view")
    states = _part(_part(view, "state"), "values")
    blocks = view.get("blocks")
    return Submission(
        actor=_presser(body, team_id),
        trigger_id=_text(body, "trigger_id"),
        private_metadata=_text(view, "private_metadata"),
        values={str(block_id): _chosen(_part(_part(states, block_id), action_id)) for block_id in states},
        shown=frozenset(
            _text(block, "block_id")
            for block in (blocks if isinstance(blocks, list) else ())
            if isinstance(block, Mapping) and block.get("type") == "input"
        ),
    )


def presser(body: Body, team_id: str) -> Actor:
    """Who submitted or closed a view, or used a shortcut."""
    return _presser(body, team_id)


def happening(body: Body, team_id: str) -> Happening:
    """An ``event_callback`` payload."""
    event = _part(body, "event")
    ts = _text(event, "ts")
    return Happening(
        kind=_text(event, "type"),
        actor=Actor(_text(event, "user"), outside_team=_event_from_outside(body, event, team_id)),
        channel=_text(event, "channel"),
        thread_ts=_text(event, "thread_ts") or ts,
        tab=_text(event, "tab"),
    )


def _presser(body: Body, team_id: str) -> Actor:
    # In a channel that is connected to other teams, body.team is the place and user.team_id the person.
    user = _part(body, "user")
    home = _text(user, "team_id") or _text(_part(body, "team"), "id")
    strange = home != team_id or bool(user.get("is_stranger")) or bool(user.get("is_restricted"))
    return Actor(_text(user, "id"), outside_team=strange)


def _event_from_outside(body: Body, event: Body, team_id: str) -> bool:
    senders = {_text(event, key) for key in ("user_team", "source_team", "team")} - {""}
    return bool(event.get("bot_id")) or _text(body, "team_id") != team_id or bool(senders - {team_id})


def _chosen(state: Body) -> str:
    """What a text field or a select reports."""
    return _text(state, "value") or _text(_part(state, "selected_option"), "value")


def _part(body: Body, key: str) -> Body:
    value = body.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(body: Body, key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""
