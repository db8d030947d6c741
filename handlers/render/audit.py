"""The audit log as one person reads it: the latest in words, and a table of everything that was found."""

from collections.abc import Sequence
from datetime import UTC

from bot.ports import Attachment, Message
from bot.usecases.audit import MOST, AuditQuery, Reading
from handlers.render import blocks, limits
from handlers.render.events import story_line
from handlers.render.limits import Block
from handlers.render.mrkdwn import code, moment, person
from handlers.render.notices import notice

PARAGRAPH = 5
"""Lines in one section; the longest line of ours is some 500 characters."""


def audit_announcement(reading: Reading) -> Message:
    """The first message of the thread: who read what, and how much it is."""
    many = f"the latest {MOST} rows" if reading.more else _count(len(reading.rows), "row")
    text = (
        f"{person(reading.query.actor.id)} reads the audit log{_filters(reading.query)}: {many}."
        " The thread has them."
    )
    return limits.message(text, [blocks.section(text)])


def audit_message(reading: Reading, table: str) -> Message:
    """The latest requests in words, with ``table`` (redacted CSV) as a file when there is anything in it."""
    if not reading.rows:
        text = (
            f"Nothing in the audit log{_filters(reading.query)}. Look further back with a longer"
            f" {code('since=')}, or leave it out: {code('/hermes audit')}."
        )
        return limits.message(text, [blocks.section(text), _recorded()])
    told = len(reading.stories)
    text = f"The latest {_count(told, 'event')}, newest first"
    lines = [f"• {story_line(story.rows)}" for story in reading.stories]
    paragraphs = ["\n".join(lines[start : start + PARAGRAPH]) for start in range(0, told, PARAGRAPH)]
    parts: list[Block] = [blocks.section(f"*{text}*"), *(blocks.section(one) for one in paragraphs)]
    parts.append(blocks.context(*_rest(reading)))
    parts.append(_recorded())
    made = limits.message(f"{text}:\n" + "\n".join(lines), parts)
    file = Attachment(f"audit-{reading.at.astimezone(UTC):%Y-%m-%dT%H%MZ}.csv", "All rows", table)
    return Message(made.text, made.blocks, made.classic, attachment=file)


def audit_elsewhere() -> Message:
    """Said privately where it was asked for."""
    return notice(
        "The audit log is not for everybody here, so I sent you what you asked for in your direct messages"
        " with me."
    )


def audit_not_sent(reason: str) -> Message:
    """Slack does not open the person's direct messages; nothing was shown."""
    return notice(
        "I show the audit log in direct messages only, and Slack does not let me send you one"
        f" ({code(reason)})."
        " Nothing was shown. Allow messages from me, then ask again; on the bot's host there is"
        f" {code('hermes-bot audit list')}."
    )


def _rest(reading: Reading) -> Sequence[str]:
    older = reading.requests - len(reading.stories)
    lines = [f"{_count(older, 'older event')} stand in the table only."] if older > 0 else []
    if reading.more:
        lines.append(
            f"There are more than {MOST} rows, and the table has the latest {MOST}: narrow it with"
            f" {code('home=')}, {code('user=')} or {code('since=')}, or use"
            f" {code('hermes-bot audit export')}."
        )
    return lines or ["These are all."]


def _recorded() -> Block:
    return blocks.context("That you read this has been recorded.")


def _filters(query: AuditQuery) -> str:
    home = f" of home {code(query.home)}" if query.home else ""
    user = f", by {person(query.user)}" if query.user else ""
    since = f", since {moment(query.since)}" if query.since else ""
    return home + user + since


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
