"""The three steps of an upload: ask for a URL, send the bytes, complete."""

import mimetypes
import secrets
from typing import Any

from bot.standin.slack.access import postable, visible_channel
from bot.standin.slack.args import Args
from bot.standin.slack.blocks import check_message_blocks
from bot.standin.slack.cast import BOT_USER
from bot.standin.slack.errors import SlackError, invalid_arguments
from bot.standin.slack.messages import Message
from bot.standin.slack.methods_chat import thread_parent
from bot.standin.slack.uploads import File
from bot.standin.slack.world import World


def get_upload_url(world: World, args: Args) -> dict[str, Any]:
    """files.getUploadURLExternal."""
    name = args.needed("filename")
    try:
        length = int(args.needed("length"))
    except ValueError:
        raise invalid_arguments("length must be a number") from None
    if length <= 0:
        raise invalid_arguments("length must be more than 0")
    mimetype = mimetypes.guess_type(name)[0] or "application/octet-stream"
    file_id, key = f"F{secrets.token_hex(5).upper()}", secrets.token_hex(16)
    file = File(file_id, name, key, length, mimetype=mimetype)
    file.alt = args.text("alt_txt")
    world.files.add(file)
    return {"ok": True, "upload_url": f"{world.base_url}/upload/v1/{file.upload_key}", "file_id": file.id}


def complete_upload(world: World, args: Args) -> dict[str, Any]:
    """files.completeUploadExternal: share uploaded files in a channel or thread."""
    listed = args.data("files", "invalid_arguments")
    if not isinstance(listed, list) or not listed:
        raise invalid_arguments("missing required field: files")
    files: list[File] = []
    for entry in listed:
        file = world.files.find(str(entry.get("id"))) if isinstance(entry, dict) else None
        if file is None or file.content is None or file.completed:
            raise SlackError("file_not_found")
        file.title = str(entry.get("title") or file.name)
        files.append(file)
    _share(world, args, files)
    for file in files:
        world.files.complete(file)
    return {"ok": True, "files": [_file_object(world, file) for file in files]}


def _share(world: World, args: Args, files: list[File]) -> None:
    channel_id = args.text("channel_id") or args.text("channels")
    if not channel_id:
        return
    channel = visible_channel(world, channel_id)
    postable(channel, everywhere=False)
    blocks = args.data("blocks", "invalid_blocks_format")
    world.messages.add(
        Message(
            ts=world.messages.new_ts(),
            channel=channel.id,
            user=BOT_USER,
            text=args.text("initial_comment"),
            blocks=check_message_blocks(blocks) if blocks else [],
            thread_ts=thread_parent(world, channel, args.text("thread_ts")),
            from_bot=True,
            files=[_file_object(world, file) for file in files],
        )
    )


def _file_object(world: World, file: File) -> dict[str, Any]:
    return {
        "id": file.id,
        "name": file.name,
        "title": file.title,
        "alt_txt": file.alt,
        "mimetype": file.mimetype,
        "size": len(file.content or b""),
        "user": BOT_USER,
        "created": int(world.clock.time()),
    }
