"""What a thread says about an examination: the verdict first, then each finding with its cure."""

from bot.domain.diagnosis import Diagnosis, Finding
from bot.domain.illnesses import ASLEEP, HEALTHY, Remedy, Weight
from bot.ports import Attachment, Message
from bot.usecases.diagnose import Examined
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.evidence import evidence_text, summary
from handlers.render.limits import Block
from handlers.render.mrkdwn import bold, code, person, prose, seconds

SIGNS = {Weight.ILL: ":x:", Weight.RISK: ":warning:", Weight.UNTOLD: ":grey_question:"}
SHOWN = 12
"""Findings in the message; more of them, which is rare, stand in the file."""


def examining(actor_id: str, target: str) -> Message:
    """The first message, while it is looked at."""
    text = (
        f"{person(actor_id)} asks what is wrong with {code(target)}. I look at it from four sides: Cube, its"
        " node, inside, Studio. Looking inside one that runs counts as use; a paused one is not woken."
    )
    return limits.message(text, [blocks.section(text)])


def waking(actor_id: str) -> Message:
    """Said when it is going to be woken."""
    text = f"{person(actor_id)} wants it woken and examined. This takes up to a minute."
    return limits.message(text, [blocks.section(text)])


def not_examined(actor_id: str, target: str, what: str) -> Message:
    """The first message once it is clear that nothing can be examined."""
    text = f"{person(actor_id)} asked what is wrong with {code(target)}: {prose(what)} The thread says more."
    return limits.message(text, [blocks.section(text)])


def examined_announcement(examined: Examined, actor_id: str) -> Message:
    """The first message with the verdict in it."""
    diagnosis = examined.diagnosis
    text = (
        f"{_sign(diagnosis)} {person(actor_id)} asked what is wrong with {_subject(examined)}:"
        f" {prose(diagnosis.headline)} The thread has what to do."
    )
    return limits.message(text, [blocks.section(text)])


def diagnosis_message(examined: Examined) -> Message:
    """The verdict with its cure, what else is wrong, what could not be told, and the buttons that cure."""
    diagnosis = examined.diagnosis
    wrong, untold = diagnosis.wrong[:SHOWN], diagnosis.untold[:SHOWN]
    verdict = f"{_sign(diagnosis)} *{prose(diagnosis.headline)}*"
    parts: list[Block] = [blocks.section(f"{verdict}\n{_cure(wrong[0])}" if wrong else verdict)]
    if len(wrong) > 1:
        parts.append(blocks.section("*Also found*; the first may explain the rest"))
        parts += [
            blocks.section(f"{SIGNS[one.weight]} {prose(one.sentence)}\n{_cure(one)}") for one in wrong[1:]
        ]
    if untold:
        parts.append(blocks.section("*Could not be told*"))
        parts += [
            blocks.section(f"{SIGNS[one.weight]} {prose(one.sentence)} {prose(one.cure)}") for one in untold
        ]
    left = len(diagnosis.findings) - len(wrong) - len(untold)
    if left:
        parts.append(blocks.context(f"{left} more stand in the file below."))
    parts.append(_buttons(examined))
    woken = "woken for this; " if examined.woken else ""
    parts.append(
        blocks.context(
            f"{_subject(examined)} · state {code(examined.evidence.judged.condition.value)}"
            f" · verdict {code(diagnosis.verdict)}",
            f"{woken}looked at for {seconds(examined.seconds)} · request {code(examined.request_id)}",
        )
    )
    return limits.message(f"{_sign(diagnosis)} {prose(diagnosis.headline)}", parts)


def evidence_message(examined: Examined) -> Message:
    """The evidence: each side in one line, and all of it in a file."""
    text = "What I saw, in short; all of it is in the file."
    lines = "\n".join(f"• *{side}:* {prose(line)}" for side, line in summary(examined.evidence))
    made = limits.message(text, [blocks.section(f"*What I saw, in short*\n{lines}")])
    file = Attachment("evidence.txt", "All that I saw", evidence_text(examined))
    return Message(made.text, made.blocks, made.classic, attachment=file)


def _cure(finding: Finding) -> str:
    return f":arrow_right: {prose(finding.cure)} ({code(finding.code)})"


def _buttons(examined: Examined) -> Block:
    sandbox = examined.sandbox_id
    made = {
        Remedy.WAKE: blocks.button("Wake and examine", Press.DIAGNOSE_WAKE, sandbox),
        Remedy.RESUME: blocks.button("Resume", Press.RESUME, sandbox),
        Remedy.RESTART: blocks.button("Restart Studio", Press.RESUME, sandbox),
        Remedy.OPEN: blocks.button("Open Studio", Press.OPEN, sandbox),
        Remedy.CHECK: blocks.button("Check now", Press.CHECK, sandbox),
        Remedy.STOP: blocks.button("Stop", Press.STOP_ASK, sandbox),
    }
    # Two cures may be one press; the label of the first counts.
    row = {made[remedy]["action_id"]: made[remedy] for remedy in reversed(examined.diagnosis.remedies)}
    return blocks.actions(*reversed(row.values()), blocks.button("Examine again", Press.DIAGNOSE, sandbox))


def _sign(diagnosis: Diagnosis) -> str:
    if diagnosis.verdict in (HEALTHY, ASLEEP):
        return ":white_check_mark:" if diagnosis.verdict == HEALTHY else ":double_vertical_bar:"
    first = next(iter(diagnosis.findings), None)
    return SIGNS[first.weight if first else Weight.UNTOLD]


def _subject(examined: Examined) -> str:
    return f"home {bold(examined.home)}" if examined.home else f"sandbox {code(examined.sandbox_id)}"
