"""Which conversations the app can find and post to: the membership rules of chat.postMessage."""

from bot.standin.slack.cast import BOT_USER, SLACKBOT, Channel
from bot.standin.slack.errors import SlackError
from bot.standin.slack.world import World


def visible_channel(
    world: World, name: str, *, allow_user: bool = False, allow_name: bool = False
) -> Channel:
    """The conversation with that id, if the app can know of it.

    Args:
        world: The workspace.
        name: A conversation id; a user id or a channel name where the method takes one.
        allow_user: A user id means the app's direct message with that person.
        allow_name: A public or joined channel may be given by its name.

    Raises:
        SlackError: ``channel_not_found``, also for a private conversation that the app is not in:
            Slack does not tell the two apart.
    """
    if name == "":
        raise SlackError("channel_not_found")
    channel = world.cast.channels.get(name)
    if channel is None and allow_user and name in world.cast.people:
        if name in (BOT_USER, SLACKBOT):
            raise SlackError("cannot_dm_bot" if name == BOT_USER else "channel_not_found")
        channel = world.cast.channels.get(f"D_{name}")
    if channel is None and allow_name:
        wanted = name.removeprefix("#")
        channel = next(
            (known for known in world.cast.channels.values() if known.name == wanted and known.kind != "im"),
            None,
        )
    if channel is None or (channel.kind != "public" and BOT_USER not in channel.members):
        raise SlackError("channel_not_found")
    return channel


def postable(channel: Channel, *, everywhere: bool) -> None:
    """Check that the app may post there.

    Args:
        channel: Where to.
        everywhere: Whether ``chat:write.public`` covers the method, so that public channels need no
            membership.

    Raises:
        SlackError: ``is_archived`` or ``not_in_channel``.
    """
    if channel.archived:
        raise SlackError("is_archived")
    if BOT_USER not in channel.members and not (everywhere and channel.kind == "public"):
        raise SlackError("not_in_channel")


def person_in(world: World, user: str, channel: Channel) -> None:
    """Check that a person can get an ephemeral message there.

    Raises:
        SlackError: ``user_not_in_channel``.
    """
    if world.cast.human(user) is None or user not in channel.members:
        raise SlackError("user_not_in_channel")
