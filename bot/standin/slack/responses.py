"""Answers outside the Web API: response URLs, and the text in an acknowledgement."""

from typing import Any

from bot.standin.slack.args import Args
from bot.standin.slack.blocks import check_message_blocks
from bot.standin.slack.cast import BOT_USER, SLACKBOT, Channel
from bot.standin.slack.errors import SlackError
from bot.standin.slack.messages import Message
from bot.standin.slack.methods_chat import read_content, thread_parent
from bot.standin.slack.tickets import ResponseUrl
from bot.standin.slack.world import World

_EPHEMERAL = "ephemeral"
_IN_CHANNEL = "in_channel"


def use_response_url(world: World, path: str, body: dict[str, Any]) -> None:
    """Carry out one post to a response URL. It works whatever the membership of the app.

    Raises:
        SlackError: Status 404 for a URL that is used up, expired or unknown, 400 for a body that is
            refused.
    """
    url = world.tickets.use_response_url(path)
    args = Args(body)
    try:
        if args.flag("delete_original"):
            _delete_original(world, url, body)
        elif _replaces(url, args):
            _replace_original(world, url, args)
        else:
            _answer(world, url, args)
    except SlackError as refused:
        refused.status = refused.status if refused.status != 200 else 400  # noqa: PLR2004  # HTTP's own number
        raise


def _replaces(url: ResponseUrl, args: Args) -> bool:
    """Whether the post changes the message that was clicked.

    Without the flag a click in an ephemeral message is answered in its place, and a click in a
    message for all by a new ephemeral one.
    """
    kind = args.text("response_type", _EPHEMERAL)
    return args.flag("replace_original", default=url.ephemeral and kind == _EPHEMERAL)


def _thread(world: World, url: ResponseUrl, args: Args) -> str | None:
    """The thread of an answer: only one for all, and only as a message that is said to be new."""
    new = "replace_original" in args and not args.flag("replace_original")
    if args.text("response_type") != _IN_CHANNEL or not new:
        return None
    return thread_parent(world, world.cast.channels[url.channel], args.text("thread_ts"))


def _original(world: World, url: ResponseUrl) -> Message:
    # A slash command leaves no message of the app that could be changed.
    message = world.messages.find(url.channel, url.message_ts) if url.message_ts else None
    if message is None:
        raise SlackError("message_not_found", status=404)
    return message


def _delete_original(world: World, url: ResponseUrl, body: dict[str, Any]) -> None:
    if any(value for name, value in body.items() if name != "delete_original"):
        raise SlackError("invalid_payload")  # a deletion stands alone
    world.messages.delete(_original(world, url))


def _replace_original(world: World, url: ResponseUrl, args: Args) -> None:
    message = _original(world, url)
    content = read_content(world, args)
    world.messages.replace_blocks(message, content.blocks)
    message.text, message.attachments = content.text, content.attachments
    world.messages.save(message)


def _answer(world: World, url: ResponseUrl, args: Args) -> None:
    kind = args.text("response_type", _EPHEMERAL)
    if kind not in (_EPHEMERAL, _IN_CHANNEL):
        raise SlackError("invalid_response_type")
    content = read_content(world, args)
    world.messages.add(
        Message(
            ts=world.messages.new_ts(),
            channel=url.channel,
            user=BOT_USER,
            text=content.text,
            blocks=content.blocks,
            thread_ts=_thread(world, url, args),
            ephemeral_for=url.user if kind == _EPHEMERAL else None,
            from_bot=True,
            attachments=content.attachments,
            metadata=content.metadata,
            unfurl_links=args.flag("unfurl_links", default=True),
            unfurl_media=args.flag("unfurl_media", default=True),
        )
    )


def show_ack(world: World, channel: Channel, user: str, typed: str, ack: dict[str, Any] | None) -> None:
    """What a person sees of the acknowledgement of a slash command.

    ``response_type: in_channel`` also publishes the words that were typed. Blocks that Slack refuses
    turn into its own error line, which only the person sees.
    """
    if not ack or not (ack.get("text") or ack.get("blocks")):
        return
    try:
        blocks = check_message_blocks(ack["blocks"]) if ack.get("blocks") else []
    except SlackError as refused:
        tell(world, channel, user, f'{typed.split(maxsplit=1)[0]} failed with the error "{refused.error}"')
        return
    in_channel, flags = ack.get("response_type") == _IN_CHANNEL, Args(ack)
    if in_channel:
        world.messages.add(Message(world.messages.new_ts(), channel.id, user, typed))
    world.messages.add(
        Message(
            ts=world.messages.new_ts(),
            channel=channel.id,
            user=BOT_USER,
            text=str(ack.get("text") or ""),
            blocks=blocks,
            ephemeral_for=None if in_channel else user,
            from_bot=True,
            unfurl_links=flags.flag("unfurl_links", default=True),
            unfurl_media=flags.flag("unfurl_media", default=True),
        )
    )


def tell(world: World, channel: Channel, user: str, text: str) -> None:
    """A line from Slackbot that one person sees, such as ``operation_timeout``."""
    ts = world.messages.new_ts()
    world.messages.add(Message(ts, channel.id, SLACKBOT, text, ephemeral_for=user))
