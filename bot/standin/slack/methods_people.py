"""users.*, usergroups.*, conversations.*, bots.info and team.info: what the app can look up."""

from typing import Any

from bot.standin.slack.access import visible_channel
from bot.standin.slack.args import Args
from bot.standin.slack.cast import APP_ID, BOT_ID, BOT_NAME, BOT_USER, TEAM, TEAM_DOMAIN
from bot.standin.slack.errors import SlackError
from bot.standin.slack.world import World

EVERYTHING = 1000
USERGROUP_PAGE = 200
"""Members of a usergroup in one answer, asked for more or not."""


def user_info(world: World, args: Args) -> dict[str, Any]:
    """users.info."""
    person = world.cast.people.get(args.needed("user"))
    if person is None:
        raise SlackError("user_not_found")
    return {"ok": True, "user": person.as_user()}


def user_list(world: World, args: Args) -> dict[str, Any]:
    """users.list, page by page."""
    people = [person.as_user() for person in world.cast.people.values()]
    members, metadata = args.page(people, default=EVERYTHING)
    return {
        "ok": True,
        "members": members,
        "cache_ts": int(world.clock.time()),
        "response_metadata": metadata,
    }


def usergroup_list(world: World, args: Args) -> dict[str, Any]:
    """usergroups.list."""
    with_users = args.flag("include_users")
    groups = [world.cast.usergroup_object(group, with_users=with_users) for group in world.cast.usergroups]
    return {"ok": True, "usergroups": groups}


def usergroup_users(world: World, args: Args) -> dict[str, Any]:
    """usergroups.users.list, page by page. Deactivated members stay in it, as in Slack, until removed."""
    users = world.cast.usergroups.get(args.needed("usergroup"))
    if users is None:
        raise SlackError("no_such_subteam")
    page, metadata = args.page(users, default=USERGROUP_PAGE, most=USERGROUP_PAGE)
    return {"ok": True, "users": page, "response_metadata": metadata}


def conversation_open(world: World, args: Args) -> dict[str, Any]:
    """conversations.open with one person."""
    if channel_id := args.text("channel"):
        channel = visible_channel(world, channel_id)
    else:
        users = [user for user in args.text("users").split(",") if user]
        if not users:
            raise SlackError("users_list_not_supplied")
        if len(users) > 1:
            raise SlackError("missing_scope", extra={"needed": "mpim:write"})
        person = world.cast.people.get(users[0])
        if person is None:
            raise SlackError("user_not_found")
        if person.is_bot:
            raise SlackError("cannot_dm_bot")
        if person.deleted:
            raise SlackError("user_disabled")
        channel = visible_channel(world, users[0], allow_user=True)
    body = channel.as_channel() if args.flag("return_im") else {"id": channel.id}
    return {"ok": True, "no_op": True, "already_open": True, "channel": body}


def conversation_info(world: World, args: Args) -> dict[str, Any]:
    """conversations.info."""
    channel = visible_channel(world, args.text("channel"))
    if channel.kind == "im":
        raise SlackError("missing_scope", extra={"needed": "im:read"})
    body = channel.as_channel()
    if not args.flag("include_num_members"):
        del body["num_members"]
    return {"ok": True, "channel": body}


def conversation_list(world: World, args: Args) -> dict[str, Any]:
    """conversations.list; a private channel is listed only when the app is in it."""
    types = set((args.text("types") or "public_channel").replace(" ", "").split(","))
    known = {"public_channel": "public", "private_channel": "private", "mpim": "mpim", "im": "im"}
    if not types <= known.keys():
        raise SlackError("invalid_types")
    for kind in ("mpim", "im"):
        if kind in types:
            raise SlackError("missing_scope", extra={"needed": f"{kind}:read"})
    wanted = {known[name] for name in types}
    found = [
        channel.as_channel()
        for channel in world.cast.channels.values()
        if channel.kind in wanted
        and (channel.kind == "public" or BOT_USER in channel.members)
        and not (channel.archived and args.flag("exclude_archived"))
    ]
    channels, metadata = args.page(found, default=100)
    return {"ok": True, "channels": channels, "response_metadata": metadata}


def conversation_members(world: World, args: Args) -> dict[str, Any]:
    """conversations.members, page by page."""
    channel = visible_channel(world, args.text("channel"))
    if channel.kind == "im":
        raise SlackError("missing_scope", extra={"needed": "im:read"})
    members, metadata = args.page(sorted(channel.members), default=100)
    return {"ok": True, "members": members, "response_metadata": metadata}


def conversation_join(world: World, args: Args) -> dict[str, Any]:
    """conversations.join; reached only when the manifest asks for ``channels:join``."""
    channel = visible_channel(world, args.text("channel"))
    if channel.kind != "public":
        raise SlackError("method_not_supported_for_channel_type")
    if channel.archived:
        raise SlackError("is_archived")
    channel.members.add(BOT_USER)
    return {"ok": True, "channel": channel.as_channel()}


def bot_info(world: World, args: Args) -> dict[str, Any]:
    """bots.info."""
    if args.text("bot", BOT_ID) != BOT_ID:
        raise SlackError("bot_not_found")
    bot = {
        "id": BOT_ID,
        "deleted": False,
        "name": BOT_NAME,
        "updated": int(world.clock.time()),
        "app_id": APP_ID,
        "user_id": BOT_USER,
        "icons": {},
    }
    return {"ok": True, "bot": bot}


def team_info(_world: World, args: Args) -> dict[str, Any]:
    """team.info."""
    if args.text("team", TEAM) != TEAM:
        raise SlackError("team_not_found")
    return {"ok": True, "team": {"id": TEAM, "name": "Demo", "domain": TEAM_DOMAIN, "email_domain": ""}}


def api_test(_world: World, args: Args) -> dict[str, Any]:
    """api.test."""
    if error := args.text("error"):
        raise SlackError(error)
    return {"ok": True, "args": args.values}
