"""Short answers for one person: where an answer went, what a button could not do, who may not come in."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.ports import Message
from handlers.render import blocks, limits
from handlers.render.mrkdwn import code, moment, person

_WHY = {
    "not_in_channel": "I am not a member of this channel",
    "channel_not_found": "I am not a member of this conversation",
    "is_archived": "This channel is archived",
    "post-unknown": "Slack did not confirm my first message here, and I never post twice",
}


def notice(text: str) -> Message:
    """One paragraph in markup."""
    return limits.message(text, [blocks.section(text)])


def moved(reason: str, bot_user_id: str) -> Message:
    """Where the answer is, when it could not be given where it was asked for."""
    why = _WHY.get(reason, f"Slack does not let me post here ({code(reason)})")
    invite = (
        ""
        if reason in {"is_archived", "post-unknown"}
        else f" To have it here next time, type {code('/invite')} {person(bot_user_id)}."
    )
    return notice(f"{why}, so my answer is in your direct messages with me.{invite}")


def only_here(reason: str, bot_user_id: str) -> Message:
    """Said before the first of the few answers that Slack lets us give without posting."""
    why = _WHY.get(reason, f"Slack does not let me post here ({code(reason)})")
    return notice(
        f"{why}, and I cannot send you a direct message either; I will tell you the result right here."
        f" To get a full thread, type {code('/invite')} {person(bot_user_id)} in a channel and ask there."
    )


OUTSIDER = notice("Sorry, only members of this Slack team can use Hermes here. Nothing was done.")

UNKNOWN_BUTTON = notice(
    "I do not know this button any more; it may be from an older version of me. Nothing was done."
    f" Type {code('/hermes help')} for what I can do."
)

UNKNOWN_FORM = notice(
    "I do not know this form any more; it may be from an older version of me. Nothing was done."
    f" Type {code('/hermes help')} for what I can do."
)

UNKNOWN_COMMAND = notice(f"I only know the command {code('/hermes')}. Try {code('/hermes help')}.")

UNKNOWN_SHORTCUT = notice(f"I have no shortcuts yet. Try {code('/hermes help')}.")


def wrong_channel(allowed: Sequence[str]) -> Message:
    """Commands are only taken in some channels here."""
    where = ", ".join(f"<#{channel}>" for channel in allowed)
    return notice(f"I take commands only in {where}. Please type it there.")


def window_failed(reason: str) -> Message:
    """The modal could not be opened; nothing was shown."""
    return notice(
        f"Slack did not open the window ({code(reason)}). Nothing was shown; press *Open Studio* again."
        f" Typed, it is {code('/hermes open NAME')}."
    )


def link_not_shown(reason: str) -> Message:
    """The modal is open, and Slack did not take its content."""
    return notice(f"Slack did not show your link ({code(reason)}). Press *Open Studio* again.")


def settled(text: str, old: Sequence[Mapping[str, Any]], line: str) -> Message:
    """A card after its decision: the same content, without buttons, with who and when."""
    kept = [dict(block) for block in old if block.get("type") != "actions"]
    if not kept:
        kept = [blocks.section(text)] if text else []
    return limits.message(f"{text} {line}".strip(), [*kept, blocks.section(line)])


def continued_by(actor_id: str, at: datetime) -> str:
    """The line that replaces the buttons of an interrupted create."""
    return f":arrow_forward: Continued by {person(actor_id)}, {moment(at)}."


def cancelling(actor_id: str) -> Message:
    """Said in the thread when Cancel counted."""
    return notice(f"{person(actor_id)} pressed Cancel. I stop before the next step and then say what exists.")


CANCELLING_ALREADY = notice(
    "Cancel has been pressed before; I stop before the next step. Nothing more to do."
)


def sent_directly() -> Message:
    """Where the link went."""
    return notice(
        "Slack could not open a window in time, so I sent your link to your direct messages with me."
    )


def both(first: Message, second: Message) -> Message:
    """Two messages in one, where only one can be sent."""
    return limits.message(f"{first.text}\n{second.text}", [*first.blocks, *second.blocks])


def audit_head(rows: int, head: str) -> Message:
    """Where the audit log stands, for the channel that keeps it. Text alone, so that it can be copied."""
    return limits.message(
        f"Audit log: {rows} rows; check with {code(f'hermes-bot audit verify --head {head}')}."
    )
