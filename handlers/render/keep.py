"""A new idle time as people read it: until when, and the way back."""

from bot.domain.durations import spell_duration
from bot.ports import Message
from bot.usecases.keeping import Kept
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.mrkdwn import code, moment, person
from handlers.render.sleep import subject_of


def setting(actor_id: str, target: str, seconds: int) -> Message:
    """The first message of a keep that was typed."""
    what = f"the idle time of {code(target)} to {span(seconds)}"
    text = f":hourglass_flowing_sand: {person(actor_id)} changes {what} …"
    return limits.message(text, [blocks.section(text)])


def kept_message(kept: Kept, actor_id: str) -> Message:
    """What holds now, until when, and a button that takes it back."""
    subject = subject_of(kept.home, kept.sandbox_id)
    text = f":white_check_mark: {subject} {_holds(kept)}, set by {person(actor_id)}."
    undo = blocks.button("Undo", Press.KEEP_UNDO, kept.request_id)
    return limits.message(text, [*_content(kept, text), blocks.actions(undo), _reference(kept)])


def undone_message(kept: Kept, actor_id: str) -> Message:
    """What holds after a keep was taken back."""
    subject = subject_of(kept.home, kept.sandbox_id)
    text = f":arrows_counterclockwise: {person(actor_id)} took that back. {subject} {_holds(kept)}."
    guess = "The idle time from before is not known; this is the one that a new sandbox gets here."
    notes = [blocks.section(f":information_source: {guess}")] if kept.guessed else []
    return limits.message(text, [*_content(kept, text), *notes, _reference(kept)])


def undone_line(actor_id: str, kept: Kept) -> str:
    """The line that replaces the button."""
    return f":arrows_counterclockwise: Taken back by {person(actor_id)}: {span(kept.timeout)} of idle time."


def span(seconds: int) -> str:
    """An idle time as it is typed."""
    return code(spell_duration(seconds))


def _holds(kept: Kept) -> str:
    if kept.timeout < 0:
        return "never goes to sleep by itself now" if not kept.asleep else "sleeps; once awake, it stays so"
    length = span(kept.timeout)
    if kept.asleep or kept.until is None:
        return f"sleeps; once awake, it goes to sleep after {length} without use"
    return f"goes to sleep after {length} without use, not before {moment(kept.until)}"


def _content(kept: Kept, text: str) -> list[limits.Block]:
    parts = [blocks.section(text)]
    if kept.dies:
        warning = (
            "I did not make this sandbox: when its idle time ends, Cube may destroy it instead of pausing it."
            f" {code(f'/hermes keep {kept.home or kept.sandbox_id} never')} prevents that."
        )
        parts.append(blocks.section(f":warning: {warning}"))
    return parts


def _reference(kept: Kept) -> limits.Block:
    return blocks.context(f"Sandbox {code(kept.sandbox_id)} · request {code(kept.request_id)}")
