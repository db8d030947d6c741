"""What a thread is told when the bot was restarted in the middle of its job."""

from bot.domain.actors import Action
from bot.domain.provisioning import STEP_TITLES, Step
from bot.ports import Message
from bot.usecases.recovery import Interrupted
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.mrkdwn import bold, code, person


def interrupted_line(found: Interrupted) -> str:
    """One plain line for a headline: how far it came."""
    if found.action is Action.STOP:
        return "interrupted while stopping"
    return (
        f"interrupted after step {found.after.value}" if found.after else "interrupted before its first step"
    )


def interrupted_message(found: Interrupted) -> Message:
    """How far it came, what exists now, what is safe, and how to go on."""
    happened = _happened(found)
    exists = _exists(found)
    safe = f"Home {bold(found.home)} and workspace {bold(found.workspace)} are safe on the node."
    buttons = _buttons(found)
    parts = [
        blocks.section(f":warning: *What happened:* {happened} {exists}"),
        blocks.section(f":shield: *What is safe:* {safe}"),
        blocks.section(f":arrow_right: *What to do:* {person(found.owner)}, {_todo(found)}"),
        *([blocks.actions(*buttons)] if buttons else []),
        blocks.context(f"Request {code(found.request_id)}"),
    ]
    return limits.message(f"{happened} {exists} {safe}", parts)


def interrupted_announcement(found: Interrupted) -> Message:
    """The first message of the thread of a create."""
    why = ", because the bot was restarted" if found.restarted else ""
    text = (
        f":warning: The Studio for home {bold(found.home)}: {interrupted_line(found)}{why}."
        f" {person(found.owner)}, the thread says how to go on."
    )
    return limits.message(text, [blocks.section(text)])


def _happened(found: Interrupted) -> str:
    why = ", because the bot was restarted" if found.restarted else ""
    if found.action is Action.STOP:
        return f"Interrupted while stopping{why}."
    if found.after is None:
        return f"Interrupted before its first step{why}."
    return f"Interrupted after step {found.after.value} ({STEP_TITLES[found.after]}){why}."


def _exists(found: Interrupted) -> str:
    if not found.sandbox_known:
        return "Cube does not answer just now, so I cannot tell whether a sandbox exists."
    if found.sandbox_id:
        return f"Sandbox {code(found.sandbox_id)} exists."
    if found.after is Step.SEED:
        # The create may have been on its way, and a list can leave out a node: absence proves nothing.
        return "Cube may have been asked for a sandbox already, but it lists none."
    made = found.action is Action.STOP or (found.after or 0) >= Step.CREATE
    return "The sandbox is gone." if made else "No sandbox was made."


def _todo(found: Interrupted) -> str:
    if found.action is Action.STOP:
        if found.sandbox_id:
            return "press Stop to ask again."
        if not found.sandbox_known:
            return f"type {code(f'/hermes stop {found.home}')} in a minute."
        return f"nothing; come back with {code(f'/hermes create home={found.home}')} when you need it."
    if found.sandbox_id:
        return "press Continue to finish it, or Stop to remove the sandbox."
    return "press Continue to finish it; it looks for a sandbox first and never makes a second one."


def _buttons(found: Interrupted) -> list[dict[str, object]]:
    if found.action is Action.STOP:
        return [blocks.button("Stop", Press.STOP_ASK, found.sandbox_id)] if found.sandbox_id else []
    buttons: list[dict[str, object]] = [
        blocks.button("Continue", Press.CREATE_CONTINUE, found.request_id, style="primary")
    ]
    if found.sandbox_id:
        confirm = blocks.confirmation(
            "Stop this sandbox?",
            "Running programs end. The home and workspace stay on the node.",
            yes="Stop it",
            no="Go back",
        )
        buttons.append(
            blocks.button("Stop", Press.STOP_CONFIRM, found.request_id, style="danger", confirm=confirm)
        )
    return buttons
