"""A change of all of one person's sandboxes: one message, one line for each."""

from collections.abc import Sequence

from bot.domain.actors import Action
from bot.domain.outcome import Done, Failed, Refused, Unknown
from bot.ports import Message
from bot.usecases.bulk import Item
from bot.usecases.pausing import Paused
from bot.usecases.resuming import Resumed, StudioNow
from handlers.render import blocks, limits
from handlers.render.mrkdwn import bold, code, person, prose, seconds

NEVER_ENDS = " I did not make it, so its idle time was set to never first."

LINES = 12
"""Lines that share one paragraph; a longer one would be cut."""

_DOING = {Action.PAUSE: "put to sleep", Action.RESUME: "woken"}
_NOTHING = {Action.PAUSE: "put to sleep", Action.RESUME: "wake"}


def looking_for_mine(action: Action, actor_id: str) -> Message:
    """The first message, while it is looked which sandboxes there are."""
    text = f":hourglass_flowing_sand: {person(actor_id)}, I look which sandboxes are yours …"
    return limits.message(text, [blocks.section(text), _asked(action)])


def nothing_mine(action: Action, actor_id: str) -> Message:
    """There is none."""
    text = (
        f":information_source: {person(actor_id)}, you have no sandbox that I could {_NOTHING[action]};"
        f" nothing was changed. {code('/hermes create home=atlas')} makes one."
    )
    return limits.message(text, [blocks.section(text), _asked(action)])


def bulk_message(action: Action, actor_id: str, items: Sequence[Item]) -> Message:
    """All of them as they stand; items must be cleaned."""
    text = _headline(action, actor_id, items)
    lines = [_line(item) for item in items]
    groups = [lines[start : start + LINES] for start in range(0, len(lines), LINES)]
    return limits.message(
        text,
        [
            blocks.section(text),
            *(blocks.section("\n".join(group)) for group in groups),
            _asked(action),
        ],
    )


def _headline(action: Action, actor_id: str, items: Sequence[Item]) -> str:
    ended = [item.outcome for item in items if item.outcome is not None]
    well = sum(isinstance(outcome, Done) for outcome in ended)
    count = f"{len(items)} sandbox" + ("" if len(items) == 1 else "es")
    if len(ended) < len(items):
        return f":hourglass_flowing_sand: {count} of {person(actor_id)} to be {_DOING[action]}: {well} done …"
    if well == len(items):
        return f":white_check_mark: {count} of {person(actor_id)}: all done."
    return f":warning: {count} of {person(actor_id)}: {well} done, {len(items) - well} not; see each line."


def _line(item: Item) -> str:
    what = f"Home {bold(item.home)}" if item.home else f"Sandbox {code(item.sandbox_id)}"
    match item.outcome:
        case None:
            return f":hourglass_flowing_sand: {what} …"
        case Done(value=Paused() as paused):
            return (
                f":double_vertical_bar: {what} "
                + ("slept already." if paused.already else f"sleeps ({seconds(paused.seconds)}).")
                + (NEVER_ENDS if paused.kept_for_ever else "")
            )
        case Done(value=Resumed() as resumed):
            restarted = " Its Studio had died: I started it again."
            return (
                f":arrow_forward: {what} "
                + ("was awake already." if resumed.already else f"is awake ({seconds(resumed.seconds)}).")
                + (restarted if resumed.studio is StudioNow.RESTARTED else "")
            )
        case Refused() | Failed() | Unknown() as bad:
            sign = ":grey_question:" if isinstance(bad, Unknown) else ":x:"
            return f"{sign} {what}: {prose(bad.what)} {prose(bad.todo)} ({code(bad.code)})"
        case _:
            return f":white_check_mark: {what}: done."


def _asked(action: Action) -> limits.Block:
    return blocks.context(code(f"/hermes {action.value} mine"))
