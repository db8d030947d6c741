"""The Slack side of an installation in memory: real Bolt dispatch, real payload shapes, a chat double."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contract.doubles_chat import Kept, MemoryChat
from installation import Installation, install
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from handlers.jobs import Jobs
from handlers.register import register
from handlers.services import Services

TEAM = "T_DEMO"
BOT = "U_BOT"


@dataclass(kw_only=True)
class Desk:
    """An installation that people in Slack can talk to."""

    world: Installation
    chat: MemoryChat
    services: Services
    app: AsyncApp

    async def send(self, body: dict[str, Any]) -> BoltResponse:
        """Dispatch one envelope as Socket Mode does; gives what would be acked."""
        ack = await self.app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))
        # Bolt acks an event by itself and runs its listener in a task that it gives to nobody.
        listening = [t for t in asyncio.all_tasks() if "run_ack_function" in repr(t.get_coro())]
        await asyncio.gather(*listening)
        return ack

    async def command(
        self, user: str, text: str, *, channel: str = "C_OPS", team: str = TEAM, settle: bool = True
    ) -> BoltResponse:
        """Type a command and wait until everything that follows is done."""
        ack = await self.send(self.slash(user, text, channel=channel, team=team))
        if settle:
            await self.services.jobs.idle()
        return ack

    async def press(
        self, user: str, kept: Kept, action_id: str, *, team: str = TEAM, settle: bool = True, **changes: Any
    ) -> BoltResponse:
        """Press a button that stands in a message."""
        ack = await self.send(self.pressing(user, kept, action_id, team=team) | changes)
        if settle:
            await self.services.jobs.idle()
        return ack

    async def submit(
        self, user: str, values: dict[str, str], *, team: str = TEAM, settle: bool = True, **changes: Any
    ) -> BoltResponse:
        """Fill in the form that a person has open, by block id, and send it in."""
        ack = await self.send(self.submission(user, values, team=team) | changes)
        if settle:
            await self.services.jobs.idle()
        return ack

    def view_of(self, user: str) -> dict[str, Any]:
        """The modal that a person has opened last, as it stands."""
        return self.chat.views[self.chat.view_of[user]]

    def submission(self, user: str, values: dict[str, str], *, team: str = TEAM) -> dict[str, Any]:
        """A view_submission payload; what is not in ``values`` is as the form proposes it."""
        view = self.view_of(user)
        unknown = values.keys() - {block.get("block_id") for block in view["blocks"]}
        assert not unknown, f"the form has no fields {unknown}"
        return {
            "type": "view_submission",
            "team": {"id": team, "domain": "demo"},
            "user": {"id": user, "username": user.lower(), "name": user.lower(), "team_id": team},
            "api_app_id": "A_HERMES",
            "token": "t",
            "trigger_id": self.chat.trigger(user),
            "view": {
                **view,
                "id": self.chat.view_of[user],
                "team_id": TEAM,
                "state": {"values": _state(view["blocks"], values)},
                "hash": self.chat.hashes[self.chat.view_of[user]],
                "previous_view_id": None,
                "root_view_id": self.chat.view_of[user],
                "app_id": "A_HERMES",
                "bot_id": "B_HERMES",
            },
            "response_urls": [],
            "is_enterprise_install": False,
            "enterprise": None,
        }

    def slash(self, user: str, text: str, *, channel: str = "C_OPS", team: str = TEAM) -> dict[str, Any]:
        """A slash command's payload."""
        return {
            "token": "t",
            "team_id": team,
            "team_domain": "demo",
            "channel_id": channel,
            "channel_name": "ops",
            "user_id": user,
            "user_name": user.lower(),
            "command": "/hermes",
            "text": text,
            "api_app_id": "A_HERMES",
            "is_enterprise_install": "false",
            "response_url": self.chat.response_url(channel, user),
            "trigger_id": self.chat.trigger(user),
        }

    def pressing(self, user: str, kept: Kept, action_id: str, *, team: str = TEAM) -> dict[str, Any]:
        """A block_actions payload of a message."""
        button = kept.buttons[action_id]
        message: dict[str, Any] = {
            "type": "message",
            "ts": kept.ts,
            "bot_id": "B_HERMES",
            "user": BOT,
            "text": kept.text,
            "blocks": [dict(block) for block in kept.blocks],
            "team": TEAM,
        }
        if kept.thread_ts:
            message["thread_ts"] = kept.thread_ts
        return {
            "type": "block_actions",
            "user": {"id": user, "username": user.lower(), "name": user.lower(), "team_id": team},
            "api_app_id": "A_HERMES",
            "token": "t",
            "container": {
                "type": "message",
                "message_ts": kept.ts,
                "channel_id": kept.channel,
                "is_ephemeral": False,
            },
            "trigger_id": self.chat.trigger(user),
            "team": {"id": team, "domain": "demo"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": kept.channel, "name": "ops"},
            "message": message,
            "state": {"values": {}},
            "response_url": self.chat.response_url(kept.channel, user),
            "actions": [{"block_id": "b", "action_ts": "1.2", **button}],
        }

    def event(self, event: dict[str, Any], *, event_id: str = "Ev1", team: str = TEAM) -> dict[str, Any]:
        """An events_api payload."""
        return {
            "token": "t",
            "team_id": team,
            "api_app_id": "A_HERMES",
            "event": event,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": 1,
            "authorizations": [{"team_id": TEAM, "user_id": BOT, "is_bot": True}],
            "is_ext_shared_channel": False,
        }

    def parents(self, channel: str = "C_OPS") -> list[Kept]:
        """The messages that start a thread."""
        return [
            m for m in self.chat.messages if m.channel == channel and not m.thread_ts and not m.ephemeral_for
        ]

    def thread(self, channel: str = "C_OPS", number: int = 0) -> list[Kept]:
        """The replies of a thread."""
        return self.chat.in_thread(channel, self.parents(channel)[number].ts)

    def told(self, user: str) -> str:
        """All that a person was told alone, as one text."""
        return "\n".join(shown(m) for m in self.chat.seen_by(user))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the others work until something holds."""
        async with asyncio.timeout(5):
            while not condition():  # noqa: ASYNC110 - the doubles have no event to wait for
                await asyncio.sleep(0)


def _state(blocks: list[dict[str, Any]], values: dict[str, str]) -> dict[str, Any]:
    """What Slack reports of every field."""
    state: dict[str, Any] = {}
    for block in blocks:
        if block["type"] != "input":
            continue
        element, given = block["element"], values.get(block["block_id"])
        reported: dict[str, Any] = {"type": element["type"]}
        if element["type"] == "plain_text_input":
            reported["value"] = given or element.get("initial_value")
        else:
            offered = {one["value"]: one for one in element["options"]}
            reported["selected_option"] = offered[given] if given else element.get("initial_option")
        state[block["block_id"]] = {element["action_id"]: reported}
    return state


def shown(kept: Kept) -> str:
    """Everything that a message says, as one text."""
    return repr((kept.text, kept.blocks))


def open_desk(
    *,
    jobs: Jobs | None = None,
    allowed_channels: tuple[str, ...] = (),
    world: Installation | None = None,
    chat: MemoryChat | None = None,
) -> Desk:
    """An installation with the usual cast, and a Slack app in front of it; or a new app for an old one."""
    world = world or install()
    chat = chat or MemoryChat(world.deps.redactor, world.clock)
    services = Services(
        deps=world.deps,
        chat=chat,
        jobs=jobs or Jobs(),
        team_id=TEAM,
        bot_user_id=BOT,
        allowed_channels=allowed_channels,
        audit_channel="C_AUDIT",
    )
    result = AuthorizeResult(enterprise_id=None, team_id=TEAM, bot_user_id=BOT, bot_id="B_HERMES")

    async def authorize(**_: Any) -> AuthorizeResult:
        return result

    app = AsyncApp(authorize=authorize, signing_secret="-")
    register(app, services)
    return Desk(world=world, chat=chat, services=services, app=app)
