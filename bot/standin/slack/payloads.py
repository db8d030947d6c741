"""The payloads that Slack sends, complete to the field."""

import secrets
import uuid
from collections.abc import Mapping
from typing import Any

from bot.standin.slack.cast import (
    APP_ID,
    BOT_ID,
    BOT_USER,
    COMMAND,
    PARTNER_TEAM,
    TEAM,
    TEAM_DOMAIN,
    Channel,
    Person,
)
from bot.standin.slack.messages import Message
from bot.standin.slack.modals import View

Payload = dict[str, Any]


def slash_command(
    *,
    token: str,
    person: Person,
    channel: Channel,
    command: str,
    text: str,
    response_url: str,
    trigger_id: str,
) -> Payload:
    """A slash command; ``is_enterprise_install`` is a string here and a boolean elsewhere."""
    return {
        "token": token,
        "team_id": person.team,
        "team_domain": person.domain,
        "channel_id": channel.id,
        "channel_name": channel.payload_name,
        "user_id": person.id,
        "user_name": person.name,
        "command": command or COMMAND,
        "text": text,
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger_id,
    }


def _interaction(kind: str, *, token: str, person: Person) -> Payload:
    return {
        "type": kind,
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team},
        "api_app_id": APP_ID,
        "token": token,
        "team": {"id": person.team, "domain": person.domain},
        "enterprise": None,
        "is_enterprise_install": False,
    }


def message_action(
    *,
    token: str,
    person: Person,
    channel: Channel,
    message: Message,
    body: Payload,
    action: Payload,
    values: Mapping[str, Mapping[str, Payload]],
    response_url: str,
    trigger_id: str,
) -> Payload:
    """block_actions from a message. An ephemeral message is not in the payload.

    ``values`` are those of all fields and menus in the message, as the person sees them.
    """
    container: Payload = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": channel.id,
        "is_ephemeral": message.ephemeral_for is not None,
    }
    if "thread_ts" in body:
        container["thread_ts"] = body["thread_ts"]
    payload = _interaction("block_actions", token=token, person=person) | {
        "container": container,
        "trigger_id": trigger_id,
        "channel": {"id": channel.id, "name": channel.payload_name},
        "state": {"values": values},
        "response_url": response_url,
        "actions": [action],
    }
    return payload if message.ephemeral_for else payload | {"message": body}


def view_action(*, token: str, person: Person, view: View, action: Payload, trigger_id: str) -> Payload:
    """block_actions from a modal or the Home tab: no channel, no message, no response_url."""
    return _interaction("block_actions", token=token, person=person) | {
        "container": {"type": "view", "view_id": view.id},
        "trigger_id": trigger_id,
        "view": view.shown(),
        "actions": [action],
    }


def view_submission(
    *, token: str, person: Person, view: View, trigger_id: str, response_urls: list[Payload]
) -> Payload:
    """A modal that was submitted."""
    return _interaction("view_submission", token=token, person=person) | {
        "trigger_id": trigger_id,
        "view": view.shown(),
        "response_urls": response_urls,
    }


def view_closed(*, token: str, person: Person, view: View, is_cleared: bool) -> Payload:
    """A modal that was closed, sent only for views with ``notify_on_close``."""
    return _interaction("view_closed", token=token, person=person) | {
        "view": view.shown(),
        "is_cleared": is_cleared,
    }


def event(*, token: str, event: Payload, now: float, channel: Channel | None, person: Person) -> Payload:
    """The envelope of an Events API delivery."""
    shared = channel is not None and channel.ext_shared
    if person.team == PARTNER_TEAM:
        event = event | {"user_team": person.team, "source_team": person.team}
    return {
        "token": token,
        "team_id": person.team,
        "context_team_id": TEAM,
        "context_enterprise_id": None,
        "api_app_id": APP_ID,
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(now),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM,
                "user_id": BOT_USER,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": shared,
        "event_context": f"4-{secrets.token_hex(16)}",
    }


def app_home_opened(person: Person, *, tab: str, view: View | None, ts: str) -> Payload:
    """The event of a person who opens the app's Home or Messages tab; no view before the first publish."""
    opened: Payload = {
        "type": "app_home_opened",
        "user": person.id,
        "channel": f"D_{person.id}",
        "tab": tab,
        "event_ts": ts,
    }
    return opened | ({"view": view.shown()} if view is not None and tab == "home" else {})


def app_mention(person: Person, message: Message) -> Payload:
    """The event of a message that names the app's bot user."""
    mentioned: Payload = {
        "type": "app_mention",
        "user": person.id,
        "text": message.text,
        "ts": message.ts,
        "channel": message.channel,
        "event_ts": message.ts,
        "team": person.team,
        "client_msg_id": str(uuid.uuid4()),
        "blocks": message.blocks,
    }
    return mentioned | ({"thread_ts": message.thread_ts} if message.thread_ts else {})


def auth_test() -> Payload:
    """What auth.test says about the bot token."""
    return {
        "ok": True,
        "url": f"https://{TEAM_DOMAIN}.slack.example/",
        "team": "Demo",
        "user": "hermes",
        "team_id": TEAM,
        "user_id": BOT_USER,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def plain_blocks(text: str) -> list[Payload]:
    """A person's typed message as the rich_text block that Slack makes of it."""
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return [{"type": "rich_text", "elements": [section]}]
