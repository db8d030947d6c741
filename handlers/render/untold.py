"""What a thread is told of an end that the process before could not tell any more."""

from bot.domain.provisioning import Step
from bot.ports import Message
from bot.usecases.untold import Untold
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.mrkdwn import bold, code, person, prose
from handlers.render.progress import Progress, still_progress


def untold_message(found: Untold) -> Message:
    """How it ended, what is safe, and what to do now."""
    request = found.request
    text = f"I was restarted before I had told it all here. {_happened(found)}"
    safe = f"Home {bold(request.home)} and workspace {bold(request.workspace)} are safe on the node."
    buttons = _buttons(found)
    parts = [
        blocks.section(f":arrows_counterclockwise: *What happened:* {text}"),
        blocks.section(f":shield: *What is safe:* {safe}"),
        blocks.section(f":arrow_right: *What to do:* {person(request.owner)}, {_todo(found)}"),
        *([blocks.actions(*buttons)] if buttons else []),
        blocks.context(f"Request {code(request.request_id)}"),
    ]
    return limits.message(f"{text} {safe}", parts)


def untold_announcement(found: Untold) -> Message:
    """The first message of its thread."""
    request = found.request
    sign, told = (
        (":white_check_mark:", f"Studio for home {bold(request.home)} is ready for {person(request.owner)}.")
        if found.well and found.sandbox_id
        else (":x:", f"No working Studio for home {bold(request.home)}.")
    )
    text = f"{sign} {told} {person(request.actor.id)}, the thread has the details."
    return limits.message(text, [blocks.section(text)])


def untold_progress(found: Untold) -> Progress:
    """The message with its steps."""
    request = found.request
    if found.well:
        return still_progress(request.request_id, request.home, Step.HEALTH, "ready")
    return still_progress(
        request.request_id,
        request.home,
        found.after,
        "it ended without a Studio",
        note="not done",
    )


def _happened(found: Untold) -> str:
    home = bold(found.request.home)
    if not found.well:
        return f"There is no working Studio for home {home}: {prose(found.reason)}"
    if not found.sandbox_id:
        return f"The Studio for home {home} was ready; its sandbox is gone by now."
    return f"The Studio for home {home} is ready: sandbox {code(found.sandbox_id)}."


def _todo(found: Untold) -> str:
    if found.well and found.sandbox_id:
        return "press Open Studio for your private link."
    return f"type {code(f'/hermes create home={found.request.home}')} to try again; what was done is kept."


def _buttons(found: Untold) -> list[dict[str, object]]:
    if not (found.well and found.sandbox_id):
        return []
    return [
        blocks.button("Open Studio", Press.OPEN, found.sandbox_id, style="primary"),
        blocks.button("Stop", Press.STOP_ASK, found.sandbox_id),
    ]
