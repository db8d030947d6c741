"""conversations.history and conversations.replies: reading back what stands in a conversation."""

import base64
import re
from collections.abc import Sequence
from typing import Any

from bot.standin.slack.access import visible_channel
from bot.standin.slack.args import Args
from bot.standin.slack.cast import BOT_USER, Channel
from bot.standin.slack.errors import SlackError
from bot.standin.slack.messages import Message
from bot.standin.slack.methods_chat import payload_of
from bot.standin.slack.world import World

DEFAULT_LIMIT = 100
MOST = 999
LAG_S = 2.0
SCOPE_OF = {"public": "channels:history", "private": "groups:history", "im": "im:history"}
_TS = re.compile(r"\d{1,12}(\.\d{1,6})?")
_CURSOR = "next_ts:"


def history(world: World, args: Args) -> dict[str, Any]:
    """conversations.history: what starts a thread or stands alone, newest first."""
    channel = _readable(world, args)
    found = [m for m in world.messages.in_channel(channel.id) if not m.ephemeral_for and not m.thread_ts]
    wanted = [m for m in _shown_by_now(world, found) if _in_range(m, args)]
    page, more = _page(list(reversed(wanted)), args)
    return _answer(world, args, page, more) | {"pin_count": 0}


def replies(world: World, args: Args) -> dict[str, Any]:
    """conversations.replies: a thread, its parent first on every page, then oldest first."""
    channel = _readable(world, args)
    ts = args.needed("ts")
    start = world.messages.find_posted(channel.id, ts)
    if start is None:
        raise SlackError("thread_not_found")
    parent = world.messages.find_posted(channel.id, start.thread_ts or start.ts) or start
    found = [m for m in world.messages.in_channel(channel.id, parent.ts) if not m.ephemeral_for]
    wanted = [m for m in _shown_by_now(world, found) if m is not parent and _in_range(m, args)]
    page, more = _page(wanted, args)
    return _answer(world, args, [parent, *page], more)


def _readable(world: World, args: Args) -> Channel:
    """The conversation, if the app may read it. A user id names none here."""
    channel = visible_channel(world, args.text("channel"))
    scope = SCOPE_OF[channel.kind]
    if scope not in world.scopes:
        raise SlackError("missing_scope", extra={"needed": scope})
    if BOT_USER not in channel.members:  # chat:write.public lets it write there, and not read
        raise SlackError("not_in_channel")
    for name in ("oldest", "latest"):
        if args.text(name) and not _TS.fullmatch(args.text(name)):
            raise SlackError(f"invalid_ts_{name}")
    return channel


def _shown_by_now(world: World, messages: Sequence[Message]) -> list[Message]:
    """Without the newest ones while an armed fault lets reading lag behind writing."""
    lag = world.faults.take("slack", "history-lags")
    if lag is None:
        return list(messages)
    until = world.clock.time() - lag.number("lag_s", LAG_S)
    return [message for message in messages if float(message.ts) < until]


def _in_range(message: Message, args: Args) -> bool:
    """Between ``oldest`` and ``latest``; those themselves only when ``inclusive``."""
    oldest, latest = _us(args.text("oldest") or "0"), _us(args.text("latest") or "999999999999")
    ts = _us(message.ts)
    return oldest < ts < latest or (args.flag("inclusive") and ts in (oldest, latest))


def _us(ts: str) -> int:
    seconds, _, micros = ts.partition(".")
    return int(seconds) * 1_000_000 + int((micros + "000000")[:6])


def _page(messages: Sequence[Message], args: Args) -> tuple[list[Message], Message | None]:
    """One page, and the message that the next one begins with."""
    try:
        limit = int(args.text("limit") or DEFAULT_LIMIT)
    except ValueError:
        raise SlackError("invalid_limit") from None
    if limit < 1:
        raise SlackError("invalid_limit")
    limit = min(limit, MOST)
    start = 0
    if cursor := args.text("cursor"):
        begins = _begin_of(cursor)
        start = next((i for i, message in enumerate(messages) if _us(message.ts) == begins), len(messages))
    rest = messages[start + limit :]
    return list(messages[start : start + limit]), rest[0] if rest else None


def _begin_of(cursor: str) -> int:
    try:
        text = base64.b64decode(cursor, validate=True).decode("ascii")
    except ValueError:
        raise SlackError("invalid_cursor") from None
    digits = text.removeprefix(_CURSOR)
    if digits == text or not digits.isdigit():
        raise SlackError("invalid_cursor")
    return int(digits)


def _answer(world: World, args: Args, page: Sequence[Message], more: Message | None) -> dict[str, Any]:
    with_metadata = args.flag("include_all_metadata")
    shown = [payload_of(world, message) for message in page]
    for body in shown:
        if not with_metadata:
            body.pop("metadata", None)
    answer: dict[str, Any] = {"ok": True, "messages": shown, "has_more": more is not None}
    if more is not None:
        cursor = base64.b64encode(f"{_CURSOR}{_us(more.ts)}".encode()).decode()
        answer["response_metadata"] = {"next_cursor": cursor}
    return answer
