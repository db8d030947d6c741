"""Messages as articles: who, when, what it says, files, reactions, and the way into the thread."""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bot.standin.console.blocks import render_blocks
from bot.standin.console.emoji import emoji
from bot.standin.console.icons import icon
from bot.standin.console.markup import escape
from bot.standin.console.mrkdwn import render_mrkdwn
from bot.standin.console.pieces import Piece
from bot.standin.console.standpoint import Standpoint
from bot.standin.slack.cast import BOT_USER, SLACKBOT, Cast
from bot.standin.slack.messages import Message

_ONLY_YOU = f'<p class="only-you">{icon("eye")}Only visible to you</p>'
MOST_SHOWN = 300
"""Messages in a channel's column; what is older is kept, but no page grows without end."""
_EARLIER = f"Only the newest {MOST_SHOWN} messages are shown."
_AVATARS = 8
_TOGETHER_S = 300  # later messages of one author within this time share the first one's name


def channel_pieces(
    cast: Cast, at: Standpoint, messages: Iterable[Message], today: dt.date
) -> Iterator[Piece]:
    """The channel's column: days, first messages, and how many replies each has."""
    seen = _visible(messages, at)
    replies: dict[str, list[Message]] = {}
    for message in seen:
        if message.thread_ts:
            replies.setdefault(message.thread_ts, []).append(message)
    roots = [message for message in seen if not message.thread_ts]
    if len(roots) > MOST_SHOWN:
        yield Piece("earlier", MOST_SHOWN, lambda: f'<p class="quiet earlier">{_EARLIER}</p>')
    yield from _column(cast, at, roots[-MOST_SHOWN:], replies, today)


def thread_pieces(cast: Cast, at: Standpoint, messages: Iterable[Message], today: dt.date) -> Iterator[Piece]:
    """The thread pane: the first message, a rule with the count, the replies."""
    seen = _visible(messages, at)
    roots = [message for message in seen if not message.thread_ts]
    replies = [message for message in seen if message.thread_ts]
    yield from _column(cast, at, roots, {}, today, days=False)
    if roots and replies:
        count = _count(len(replies), "reply", "replies")
        yield Piece("count", count, lambda: f'<div class="rule"><span>{count}</span></div>')
    yield from _column(cast, at, replies, {}, today, days=False)


def avatar(cast: Cast, user: str) -> str:
    """A square with a person's initials in a colour of their own."""
    person = cast.people.get(user)
    if user == BOT_USER:
        return '<span class="avatar avatar-bot" aria-hidden="true">H</span>'
    name = person.name if person else user
    initials = "".join(word[0] for word in name.replace("-", " ").split()[:2]).upper()
    number = list(cast.people).index(user) % _AVATARS if person else 0
    return f'<span class="avatar avatar-{number}" aria-hidden="true">{escape(initials)}</span>'


def _visible(messages: Iterable[Message], at: Standpoint) -> list[Message]:
    return [message for message in messages if message.ephemeral_for in (None, at.person.id)]


def _column(
    cast: Cast,
    at: Standpoint,
    listed: Sequence[Message],
    replies: dict[str, list[Message]],
    today: dt.date,
    *,
    days: bool = True,
) -> Iterator[Piece]:
    before: Message | None = None
    day: dt.date | None = None
    for message in listed:
        its_day = _moment(message, at).date()
        if days and its_day != day:
            yield _day(its_day, today)
            before = None
        day = its_day
        follows = before is not None and _belongs_to(before, message)
        yield _article(cast, at, message, replies.get(message.ts, []), follows=follows, in_thread=not days)
        before = message


def _belongs_to(before: Message, message: Message) -> bool:
    close = float(message.ts) - float(before.ts) < _TOGETHER_S
    return close and before.user == message.user and before.ephemeral_for == message.ephemeral_for


def _day(day: dt.date, today: dt.date) -> Piece:
    label = {0: "Today", 1: "Yesterday"}.get((today - day).days, f"{day:%A}, {day.day} {day:%B %Y}")
    return Piece(f"day-{day}", label, lambda: f'<div class="day rule"><span>{label}</span></div>')


def _article(
    cast: Cast, at: Standpoint, message: Message, replies: list[Message], *, follows: bool, in_thread: bool
) -> Piece:
    edited = message.edited["ts"] if message.edited else ""
    reactions = tuple((name, len(users)) for name, users in message.reactions.items())
    told = tuple((reply.ts, reply.ephemeral_for) for reply in replies)
    # A changed message gets a new list of blocks while the old one is kept, so its identity tells them apart.
    signature = (
        message.text,
        id(message.blocks),
        edited,
        reactions,
        len(message.files),
        len(message.attachments),
        told,
        follows,
        at.viewer.tz,
        dt.datetime.fromtimestamp(at.viewer.moment, at.zone).date(),  # dates read "today" until midnight
    )

    prefix = f"{'thread' if in_thread else 'feed'}-{message.ts}"

    def render() -> str:
        kinds = ["message"]
        kinds += ["follows"] if follows else []
        kinds += ["ephemeral"] if message.ephemeral_for else []
        whose = "" if follows else _head(cast, at, message)
        side = _time(at, message) if follows else avatar(cast, message.user)
        only = _ONLY_YOU if message.ephemeral_for else ""
        foot = "" if in_thread or message.ephemeral_for else _thread_link(at, message, replies)
        return (
            f'<article class="{" ".join(kinds)}" data-ts="{escape(message.ts)}">'
            f'<div class="message-side">{side}</div><div class="message-main">{only}{whose}'
            f'<div class="message-body">{_body(message, at, prefix)}</div>'
            f"{_files(message)}{_reactions(message)}{foot}</div></article>"
        )

    return Piece(message.ts, signature, render)


def _head(cast: Cast, at: Standpoint, message: Message) -> str:
    person = cast.people.get(message.user)
    name = {BOT_USER: "Hermes", SLACKBOT: "Slackbot"}.get(message.user) or (person.name if person else "")
    badge = '<span class="badge">BOT</span>' if message.from_bot else ""
    return (
        f'<header class="message-head"><b class="author">{escape(name)}</b>{badge}'
        f"{_time(at, message)}</header>"
    )


def _time(at: Standpoint, message: Message) -> str:
    moment = _moment(message, at)
    return (
        f'<time datetime="{moment.isoformat(timespec="seconds")}" title="{moment:%A, %d %B %Y %H:%M:%S}">'
        f"{moment:%H:%M}</time>"
    )


def _moment(message: Message, at: Standpoint) -> dt.datetime:
    return dt.datetime.fromtimestamp(float(message.ts), at.zone)


def _body(message: Message, at: Standpoint, prefix: str) -> str:
    shown = ""
    if message.blocks:
        shown = render_blocks(message.blocks, at.viewer, surface="message", prefix=prefix)
    elif message.text:
        shown = f'<div class="plain">{render_mrkdwn(message.text, at.viewer)}</div>'
    for number, attachment in enumerate(message.attachments):
        shown += f'<div class="attachment">{_attachment(attachment, at, f"{prefix}-{number}")}</div>'
    return shown + ('<span class="edited">(edited)</span>' if message.edited else "")


def _attachment(attachment: dict[str, Any], at: Standpoint, prefix: str) -> str:
    if blocks := attachment.get("blocks"):
        return render_blocks(blocks, at.viewer, surface="message", prefix=prefix)
    parts = [str(attachment[name]) for name in ("pretext", "title", "text") if attachment.get(name)]
    return "<br>".join(
        render_mrkdwn(part, at.viewer) for part in parts or [str(attachment.get("fallback", ""))]
    )


def _files(message: Message) -> str:
    return "".join(_file(file) for file in message.files)


def _file(file: dict[str, Any]) -> str:
    address = f"/files/{escape(str(file['id']))}"
    title = escape(str(file.get("title") or file.get("name") or "file"))
    if str(file.get("mimetype", "")).startswith("image/"):
        return (
            f'<figure class="image-file"><figcaption>{title}</figcaption><a href="{address}" target="_blank" '
            f'rel="noopener"><img src="{address}" alt="{title}"></a></figure>'
        )
    kind = escape(str(file.get("name", "")).rpartition(".")[2][:4].upper() or "FILE")
    return (
        f'<a class="file" href="{address}" target="_blank" rel="noopener"><span class="file-kind" '
        f'aria-hidden="true">{kind}</span><span><b>{title}</b><small>{size(int(file.get("size", 0)))}</small>'
        "</span></a>"
    )


def size(octets: int) -> str:
    """A number of bytes as people read it."""
    amount = float(octets)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:  # noqa: PLR2004 - SI prefixes
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"  # noqa: PLR2004 - one decimal where it tells something
        amount /= 1000
    return f"{amount:.1f} GB"


def _reactions(message: Message) -> str:
    if not message.reactions:
        return ""
    pills = "".join(
        f"<li>{emoji(name) or escape(f':{name}:')} {len(users)}</li>"
        for name, users in message.reactions.items()
    )
    return f'<ul class="reactions" aria-label="Reactions">{pills}</ul>'


def _thread_link(at: Standpoint, message: Message, replies: list[Message]) -> str:
    ts = escape(message.ts)
    common = [reply for reply in replies if not reply.ephemeral_for]
    mine = len(replies) - len(common)
    if not replies:
        return f'<button type="button" class="reply-quietly" data-thread="{ts}">Reply in thread</button>'
    words = [_count(len(common), "reply", "replies")] if common else []
    words += [f"{mine} only you see"] if mine else []
    last = f"{_moment(replies[-1], at):%H:%M}"
    return (
        f'<button type="button" class="replies" data-thread="{ts}"><b>{" · ".join(words)}</b>'
        f"<span>Last reply {last}</span></button>"
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
