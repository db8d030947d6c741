"""Every message as it stands now, with the older versions that a slow client may still show."""

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bot.standin.clock import StandInClock

Block = dict[str, Any]
_OLD_VERSIONS = 20  # of a message's blocks, for stale clients
_KEPT_VERSIONS = 3  # of those, over a restart


@dataclass(slots=True)
class Message:
    """One message. ``ephemeral_for`` names the only person who sees it; such a message has no copy."""

    ts: str
    channel: str
    user: str
    text: str
    blocks: list[Block] = field(default_factory=list)
    thread_ts: str | None = None
    ephemeral_for: str | None = None
    from_bot: bool = False
    attachments: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] | None = None
    files: list[dict[str, Any]] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    edited: dict[str, str] | None = None
    unfurl_links: bool = True
    unfurl_media: bool = True
    older_blocks: list[list[Block]] = field(default_factory=list)
    deleted: bool = False
    hidden: bool = False
    """Whether Slack took it and shows it to nobody, "due to a high volume of activity"."""

    def shown(self) -> dict[str, Any]:
        """What the control API shows; a parent's ``thread_ts`` is null, a reply's its parent."""
        view: dict[str, Any] = {
            "ts": self.ts,
            "thread_ts": self.thread_ts,
            "user": self.user,
            "text": self.text,
            "blocks": self.blocks,
        }
        optional = {
            "ephemeral_for": self.ephemeral_for,
            "attachments": self.attachments,
            "metadata": self.metadata,
            "files": self.files,
            "reactions": self.reactions,
            "edited": self.edited,
            "hidden": self.hidden,
        }
        return view | {name: value for name, value in optional.items() if value}


def with_ids(blocks: list[Block]) -> list[Block]:
    """Blocks with the ``block_id`` and ``action_id`` that Slack makes up where the app gave none."""
    finished: list[Block] = []
    for block in blocks:
        named = {**block, "block_id": block.get("block_id") or secrets.token_urlsafe(4)}
        for key in ("elements", "actions"):
            if named.get("type") in ("actions", "context_actions", "card") and key in named:
                named[key] = [_named_element(element) for element in named[key]]
        for key in ("accessory", "element"):
            if key in named:
                named[key] = _named_element(named[key])
        for key in ("child_blocks", "elements"):
            if named.get("type") in ("container", "carousel") and key in named:
                named[key] = with_ids(named[key])
        finished.append(named)
    return finished


def _named_element(element: dict[str, Any]) -> dict[str, Any]:
    if element.get("type") == "image":
        return element
    return {**element, "action_id": element.get("action_id") or secrets.token_urlsafe(4)}


class MessageStore:
    """The messages of the workspace, kept in a journal so that a restart forgets none.

    Ephemeral messages are not in the journal: Slack does not keep them either.
    """

    def __init__(self, clock: StandInClock, journal: Path) -> None:
        self._clock = clock
        self._channels: dict[str, dict[str, Message]] = {}
        self._replies: Counter[tuple[str, str]] = Counter()
        self._last_us = 0
        self._journal_path = journal
        self.watch: Callable[[Message], None] = _look_away
        """Called with every message that was posted or changed."""
        self._load()
        self._compact()
        self._journal = journal.open("a", encoding="utf-8")

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def new_ts(self) -> str:
        """A time stamp in Slack's form, later than every earlier one."""
        self._last_us = max(self._last_us + 1, int(self._clock.time() * 1_000_000))
        return f"{self._last_us // 1_000_000}.{self._last_us % 1_000_000:06d}"

    def add(self, message: Message) -> Message:
        """Keep a new message."""
        message.blocks = with_ids(message.blocks)
        self._keep(message)
        self._write(message)
        self.watch(message)
        return message

    def replace_blocks(self, message: Message, blocks: list[Block]) -> None:
        """Give a message new blocks; the old ones stay known for clients that lag behind."""
        message.older_blocks = [*message.older_blocks[1 - _OLD_VERSIONS :], message.blocks]
        message.blocks = with_ids(blocks)

    def save(self, message: Message) -> None:
        """Record a change made to a message."""
        self._write(message)
        self.watch(message)

    def delete(self, message: Message) -> None:
        """Take a message away; only a stale client can still click in it."""
        self.replace_blocks(message, [])
        message.deleted = True
        if message.thread_ts and not message.ephemeral_for:
            self._replies[message.channel, message.thread_ts] -= 1
        self._write(message)

    def hide(self, channel: str, ts: str) -> None:
        """Show a message to nobody any more; calls of the app reach it all the same."""
        message = self._channels[channel][ts]
        message.hidden = True
        self._write(message)

    def hidden(self) -> int:
        """How many messages are hidden."""
        return sum(m.hidden for messages in self._channels.values() for m in messages.values())

    def forget_ephemerals(self, user: str) -> int:
        """What reloading the client does to a person's ephemeral messages; gives how many went."""
        mine = [
            m for messages in self._channels.values() for m in messages.values() if m.ephemeral_for == user
        ]
        for message in mine:
            del self._channels[message.channel][message.ts]
        return len(mine)

    def find(self, channel: str, ts: str, *, even_deleted: bool = False) -> Message | None:
        """The message with that time stamp, ephemeral ones included."""
        message = self._channels.get(channel, {}).get(ts)
        if message is None or (message.deleted and not even_deleted):
            return None
        return message

    def find_posted(self, channel: str, ts: str) -> Message | None:
        """Like `find`, without the ephemeral ones, which no API call can reach."""
        message = self.find(channel, ts)
        return None if message is None or message.ephemeral_for else message

    def in_channel(
        self, channel: str, thread: str | None = None, *, even_hidden: bool = False
    ) -> Iterator[Message]:
        """The channel's messages, oldest first, replies included; or one thread with its parent."""
        for message in list(self._channels.get(channel, {}).values()):
            if message.deleted or (message.hidden and not even_hidden):
                continue
            if thread is None or thread in (message.ts, message.thread_ts):
                yield message

    def has_replies(self, message: Message) -> bool:
        """Whether somebody replied in the message's thread."""
        return self._replies[message.channel, message.ts] > 0

    def as_payload(self, message: Message, team: str, bot_id: str, app_id: str) -> dict[str, Any]:
        """The ``message`` object of Web API answers and interaction payloads."""
        body: dict[str, Any] = {
            "type": "message",
            "user": message.user,
            "ts": message.ts,
            "text": message.text,
            "team": team,
        }
        if message.from_bot:
            body |= {"bot_id": bot_id, "app_id": app_id}
        for name in ("blocks", "attachments", "files", "metadata", "edited"):
            if value := getattr(message, name):
                body[name] = value
        if message.thread_ts:
            body["thread_ts"] = message.thread_ts
        elif self.has_replies(message):
            body["thread_ts"] = message.ts
        return body

    def _keep(self, message: Message) -> None:
        known = self._channels.setdefault(message.channel, {})
        if message.ts not in known and message.thread_ts and not message.ephemeral_for:
            self._replies[message.channel, message.thread_ts] += 1
        known[message.ts] = message

    def _write(self, message: Message) -> None:
        if message.ephemeral_for is None:
            self._journal.write(_line(message))
            self._journal.flush()

    def _compact(self) -> None:
        """Start the journal anew with one line for each message."""
        scratch = self._journal_path.with_suffix(".new")
        kept = (message for channel in self._channels.values() for message in channel.values())
        scratch.write_text("".join(map(_line, kept)), encoding="utf-8")
        scratch.replace(self._journal_path)

    def _load(self) -> None:
        if not self._journal_path.exists():
            return
        for line in self._journal_path.read_text(encoding="utf-8").splitlines():
            message = _from_line(line)
            if message is not None:
                self._keep(message)
                seconds, _, micros = message.ts.partition(".")
                self._last_us = max(self._last_us, int(seconds) * 1_000_000 + int(micros))


def _look_away(_message: Message) -> None:
    """Nobody watches."""


def _line(message: Message) -> str:
    kept = {**asdict(message), "older_blocks": message.older_blocks[-_KEPT_VERSIONS:]}
    return json.dumps(kept) + "\n"


def _from_line(line: str) -> Message | None:
    try:
        return Message(**json.loads(line))
    except (ValueError, TypeError):  # the last line of a stand-in that was killed while writing
        return None
