"""Every Web API method that is known here, with the scope it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bot.standin.slack import (
    methods_blocks,
    methods_chat,
    methods_files,
    methods_history,
    methods_people,
    methods_views,
)
from bot.standin.slack.args import Args
from bot.standin.slack.errors import SlackError
from bot.standin.slack.payloads import auth_test
from bot.standin.slack.world import World

Call = Callable[[World, Args], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Method:
    """A method: what it does, one of the scopes it needs, and whose token it takes."""

    call: Call
    scopes: tuple[str, ...] = ()
    caller: Literal["bot", "app", "anybody"] = "bot"


def _connections_open(world: World, _args: Args) -> dict[str, Any]:
    link = (
        f"{world.base_url.replace('http', 'ws', 1)}/link/?ticket={world.sockets.new_link()}&app_id=A_HERMES"
    )
    return {"ok": True, "url": link}


def _auth_test(_world: World, _args: Args) -> dict[str, Any]:
    return auth_test()


def _not_built(_world: World, _args: Args) -> dict[str, Any]:
    raise SlackError("method_not_supported")


_READ = ("channels:read", "groups:read", "im:read", "mpim:read")
_HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")
# Known to Slack, and refused for want of scopes that the manifest does not ask for.
_NOT_GRANTED: Mapping[str, tuple[str, ...]] = {
    "conversations.create": ("channels:manage",),
    "conversations.invite": ("channels:manage",),
    "conversations.leave": ("channels:manage",),
    "users.lookupByEmail": ("users:read.email",),
    "usergroups.users.update": ("usergroups:write",),
    "reactions.get": ("reactions:read",),
    "pins.add": ("pins:write",),
    "files.info": ("files:read",),
    "files.list": ("files:read",),
    "search.messages": ("search:read",),
}

METHODS: Mapping[str, Method] = {
    "api.test": Method(methods_people.api_test, caller="anybody"),
    "auth.test": Method(_auth_test),
    "apps.connections.open": Method(_connections_open, ("connections:write",), caller="app"),
    "blocks.validate": Method(methods_blocks.validate, caller="anybody"),
    "chat.postMessage": Method(methods_chat.post_message, ("chat:write",)),
    "chat.postEphemeral": Method(methods_chat.post_ephemeral, ("chat:write",)),
    "chat.update": Method(methods_chat.update, ("chat:write",)),
    "chat.delete": Method(methods_chat.delete, ("chat:write",)),
    "chat.getPermalink": Method(methods_chat.get_permalink),
    "reactions.add": Method(methods_chat.add_reaction, ("reactions:write",)),
    "conversations.open": Method(methods_people.conversation_open, ("im:write",)),
    "conversations.info": Method(methods_people.conversation_info, _READ),
    "conversations.list": Method(methods_people.conversation_list, _READ),
    "conversations.members": Method(methods_people.conversation_members, _READ),
    "conversations.history": Method(methods_history.history, _HISTORY),
    "conversations.replies": Method(methods_history.replies, _HISTORY),
    "conversations.join": Method(methods_people.conversation_join, ("channels:join",)),
    "users.info": Method(methods_people.user_info, ("users:read",)),
    "users.list": Method(methods_people.user_list, ("users:read",)),
    "usergroups.list": Method(methods_people.usergroup_list, ("usergroups:read",)),
    "usergroups.users.list": Method(methods_people.usergroup_users, ("usergroups:read",)),
    "bots.info": Method(methods_people.bot_info, ("users:read",)),
    "team.info": Method(methods_people.team_info, ("team:read",)),
    "views.open": Method(methods_views.open_view),
    "views.push": Method(methods_views.push_view),
    "views.update": Method(methods_views.update_view),
    "views.publish": Method(methods_views.publish_view),
    "files.getUploadURLExternal": Method(methods_files.get_upload_url, ("files:write",)),
    "files.completeUploadExternal": Method(methods_files.complete_upload, ("files:write",)),
    **{name: Method(_not_built, scopes) for name, scopes in _NOT_GRANTED.items()},
}
