"""chat.* and reactions.add: how the app speaks."""

from dataclasses import dataclass, field
from typing import Any

from bot.standin.slack.access import person_in, postable, visible_channel
from bot.standin.slack.args import Args
from bot.standin.slack.blocks import check_message_blocks
from bot.standin.slack.cast import APP_ID, BOT_ID, BOT_USER, TEAM, TEAM_DOMAIN, Channel
from bot.standin.slack.errors import SlackError
from bot.standin.slack.messages import Message
from bot.standin.slack.world import World

TEXT_LIMIT = 40_000  # chat.postMessage cuts there
UPDATE_TEXT_LIMIT = 4_000
MOST_ATTACHMENTS = 100


@dataclass(slots=True)
class Content:
    """What a message says, checked."""

    text: str
    blocks: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] | None = None


def read_content(world: World, args: Args) -> Content:
    """The text, blocks, attachments and metadata of a call.

    Raises:
        SlackError: ``no_text`` when it says nothing, or what is wrong with a part of it.
    """
    blocks = args.data("blocks", "invalid_blocks_format")
    content = Content(args.text("text"), check_message_blocks(blocks) if blocks else [])
    if any(block.get("type") == "plan" for block in content.blocks) and world.faults.take(
        "slack", "invalid-blocks-plan"
    ):
        number = next(i for i, block in enumerate(content.blocks) if block.get("type") == "plan")
        problem = f"unsupported type: plan [json-pointer:/blocks/{number}/type]"
        explained = {"errors": [problem], "response_metadata": {"messages": [f"[ERROR] {problem}"]}}
        raise SlackError("invalid_blocks", extra=explained)
    content.attachments = _attachments(args)
    content.metadata = _metadata(args)
    if not (content.text or content.blocks or content.attachments):
        raise SlackError("no_text")
    return content


def _attachments(args: Args) -> list[dict[str, Any]]:
    """Attachments; the blocks in them are held to the rules of a message's."""
    items = args.data("attachments", "invalid_attachments")
    if items is None or items == "":
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise SlackError("invalid_attachments")
    if len(items) > MOST_ATTACHMENTS:
        raise SlackError("too_many_attachments")
    for item in items:
        if item.get("blocks"):
            check_message_blocks(item["blocks"])
    return items


def _metadata(args: Args) -> dict[str, Any] | None:
    metadata = args.data("metadata", "invalid_metadata_format")
    if not metadata:
        return None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_payload"), dict):
        raise SlackError("invalid_metadata_schema")
    if not isinstance(metadata.get("event_type"), str):
        raise SlackError("invalid_metadata_schema")
    return metadata


def thread_parent(world: World, channel: Channel, thread_ts: str) -> str | None:
    """The ``ts`` of the thread that a call names.

    Raises:
        SlackError: ``thread_not_found``, or ``cannot_reply_to_message`` for the ``ts`` of a reply: such
            a message would stand in no thread that anybody sees.
    """
    if not thread_ts:
        return None
    parent = world.messages.find_posted(channel.id, thread_ts)
    if parent is None:
        raise SlackError("thread_not_found")
    if parent.thread_ts is not None:
        raise SlackError("cannot_reply_to_message")
    return parent.ts


def payload_of(world: World, message: Message) -> dict[str, Any]:
    """The ``message`` object of an answer."""
    return world.messages.as_payload(message, TEAM, BOT_ID, APP_ID)


def post_message(world: World, args: Args) -> dict[str, Any]:
    """chat.postMessage."""
    channel = visible_channel(world, args.text("channel"), allow_user=True, allow_name=True)
    postable(channel, everywhere=True)
    content = read_content(world, args)
    message = world.messages.add(
        Message(
            ts=world.messages.new_ts(),
            channel=channel.id,
            user=BOT_USER,
            text=content.text[:TEXT_LIMIT],
            blocks=content.blocks,
            thread_ts=thread_parent(world, channel, args.text("thread_ts")),
            from_bot=True,
            attachments=content.attachments,
            metadata=content.metadata,
            unfurl_links=args.flag("unfurl_links", default=True),
            unfurl_media=args.flag("unfurl_media", default=True),
        )
    )
    answer = {"ok": True, "channel": channel.id, "ts": message.ts, "message": payload_of(world, message)}
    if len(content.text) > TEXT_LIMIT:
        answer |= {"warning": "message_truncated", "response_metadata": {"warnings": ["message_truncated"]}}
    return answer


def post_ephemeral(world: World, args: Args) -> dict[str, Any]:
    """chat.postEphemeral: seen by one person, reachable by no later call."""
    channel = visible_channel(world, args.text("channel"), allow_user=True)
    postable(channel, everywhere=False)
    user = args.needed("user")
    person_in(world, user, channel)
    content = read_content(world, args)
    message = world.messages.add(
        Message(
            ts=world.messages.new_ts(),
            channel=channel.id,
            user=BOT_USER,
            text=content.text[:TEXT_LIMIT],
            blocks=content.blocks,
            thread_ts=thread_parent(world, channel, args.text("thread_ts")),
            ephemeral_for=user,
            from_bot=True,
            attachments=content.attachments,
            unfurl_links=args.flag("unfurl_links", default=True),
            unfurl_media=args.flag("unfurl_media", default=True),
        )
    )
    return {"ok": True, "message_ts": message.ts}


def _own(world: World, args: Args, error: str) -> tuple[Channel, Message]:
    channel = visible_channel(world, args.text("channel"))
    message = world.messages.find_posted(channel.id, args.needed("ts"))
    if message is None:
        raise SlackError("message_not_found")
    if not message.from_bot:
        raise SlackError(error)
    return channel, message


def update(world: World, args: Args) -> dict[str, Any]:
    """chat.update: text without blocks takes the blocks away; what is not named stays."""
    channel, message = _own(world, args, "cant_update_message")
    if channel.archived:
        raise SlackError("is_archived")
    changes = {name for name in ("text", "blocks", "attachments", "metadata") if name in args}
    if not changes:
        raise SlackError("no_text")
    if len(args.text("text")) > UPDATE_TEXT_LIMIT:
        raise SlackError("msg_too_long")
    if args.flag("reply_broadcast"):
        raise SlackError("no_dual_broadcast_content_update")
    content = read_content(world, args) if changes & {"text", "blocks"} else None
    attachments, metadata = _attachments(args), _metadata(args)
    if content is not None:
        _replace_content(world, message, content, changes)
    if "attachments" in changes:
        message.attachments = attachments
    if "metadata" in changes:
        message.metadata = metadata
    world.messages.save(message)
    body = payload_of(world, message)
    return {"ok": True, "channel": channel.id, "ts": message.ts, "text": message.text, "message": body}


def _replace_content(world: World, message: Message, content: Content, changes: set[str]) -> None:
    had_rich_text = any(block.get("type") == "rich_text" for block in message.blocks)
    if had_rich_text and content.blocks and not any(b.get("type") == "rich_text" for b in content.blocks):
        raise SlackError("block_mismatch")
    world.messages.replace_blocks(message, content.blocks)
    if "text" in changes:
        message.text = content.text
    if "blocks" not in changes:  # Slack shows "(edited)" only for plain text
        message.edited = {"user": BOT_USER, "ts": world.messages.new_ts()}


def delete(world: World, args: Args) -> dict[str, Any]:
    """chat.delete."""
    channel, message = _own(world, args, "cant_delete_message")
    world.messages.delete(message)
    return {"ok": True, "channel": channel.id, "ts": message.ts}


def get_permalink(world: World, args: Args) -> dict[str, Any]:
    """chat.getPermalink."""
    channel = visible_channel(world, args.text("channel"))
    ts = args.needed("message_ts")
    message = world.messages.find_posted(channel.id, ts)
    if message is None:
        raise SlackError("message_not_found")
    link = f"https://{TEAM_DOMAIN}.slack.example/archives/{channel.id}/p{ts.replace('.', '')}"
    if message.thread_ts:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"ok": True, "channel": channel.id, "permalink": link}


def add_reaction(world: World, args: Args) -> dict[str, Any]:
    """reactions.add."""
    channel = visible_channel(world, args.text("channel"))
    postable(channel, everywhere=False)
    name = args.needed("name").strip(":")
    message = world.messages.find_posted(channel.id, args.needed("timestamp"))
    if message is None:
        raise SlackError("message_not_found")
    users = message.reactions.setdefault(name, [])
    if BOT_USER in users:
        raise SlackError("already_reacted")
    users.append(BOT_USER)
    world.messages.save(message)
    return {"ok": True}
