"""The card that asks before a sandbox is destroyed, and what is said afterwards."""

from datetime import datetime

from bot.ports import Message
from bot.usecases.lifecycle import Stopped, StopPlan
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.mrkdwn import bold, code, moment, person, prose, seconds


def looking(actor_id: str, target: str) -> Message:
    """The first message of a stop that was typed, while the sandbox is looked up."""
    text = f"{person(actor_id)} asks to stop {code(target)}. Looking …"
    return limits.message(text, [blocks.section(text)])


def not_asked(actor_id: str, target: str, what: str) -> Message:
    """The first message once it is clear that there is nothing to decide."""
    text = f"{person(actor_id)} asked to stop {code(target)}: {prose(what)} The thread says more."
    return limits.message(text, [blocks.section(text)])


def stop_card(plan: StopPlan, actor_id: str) -> Message:
    """Exactly what is lost and what is kept, and the two answers."""
    subject = f"home {plan.home}" if plan.home else f"sandbox {plan.sandbox_id}"
    text = f"{person(actor_id)} asks to stop the sandbox of {prose(subject)}. Its home and workspace stay."
    owner = f", owner {person(plan.owner)}" if plan.owner else ""
    return limits.message(
        text,
        [
            blocks.header(f"Stop the sandbox of {subject}?"),
            blocks.section(
                f"{person(actor_id)} asks to destroy sandbox {code(plan.sandbox_id)}"
                f" ({prose(plan.state)}{owner})."
            ),
            blocks.section(_bullets(":wastebasket: *Lost for good*", plan.lost)),
            blocks.section(_bullets(":shield: *Kept on the node*", plan.kept)),
            blocks.actions(
                blocks.button(
                    "Stop sandbox",
                    Press.STOP_CONFIRM,
                    plan.request_id,
                    style="danger",
                    confirm=blocks.confirmation(
                        "Stop this sandbox?",
                        "Running programs end. The home and workspace stay on the node.",
                        yes="Stop it",
                        no="Go back",
                    ),
                ),
                blocks.button("Keep it", Press.STOP_DISMISS, plan.request_id),
            ),
            blocks.context(f"Request {code(plan.request_id)}"),
        ],
    )


def working(actor_id: str) -> Message:
    """Said to the person who pressed, when it takes longer than a moment."""
    return limits.message(f"{person(actor_id)}, I am at it. The thread will say how it ends.")


def decided_stop(actor_id: str, at: datetime, *, gone: bool) -> str:
    """The line that replaces the buttons."""
    if gone:
        return f":white_check_mark: Stopped by {person(actor_id)}, {moment(at)}."
    return f":warning: {person(actor_id)} pressed Stop, {moment(at)}; it did not end well, see the thread."


def decided_keep(actor_id: str, at: datetime) -> str:
    """The line that replaces the buttons."""
    return f":shield: Kept: {person(actor_id)} decided not to stop it, {moment(at)}."


def outdated_line(what: str) -> str:
    """The line that replaces the buttons of a card that shows what is not true any more."""
    return f":no_entry_sign: {prose(what)} Nothing was destroyed."


def stopped_message(stopped: Stopped, actor_id: str) -> Message:
    """The thread's last word on a stop."""
    studio = {
        True: "Studio was closed cleanly first.",
        False: "No Studio was running in it.",
        None: "Studio was not closed first; it was paused or did not answer.",
    }[stopped.studio_closed]
    home = f"home {bold(stopped.home)}" if stopped.home else "its home"
    workspace = f"workspace {bold(stopped.workspace)}" if stopped.workspace else "its workspace"
    again = f" Come back any time with {code('/hermes create home=' + stopped.home)}." if stopped.home else ""
    text = (
        f":white_check_mark: Sandbox {code(stopped.sandbox_id)} is gone ({seconds(stopped.seconds)}),"
        f" stopped by {person(actor_id)}. {studio}"
    )
    kept = f"Kept on the node: {home} and {workspace}.{again}"
    return limits.message(f"{text} {kept}", [blocks.section(text), blocks.section(kept)])


def _bullets(title: str, items: tuple[str, ...]) -> str:
    return "\n".join([title, *(f"• {prose(item)}" for item in items)])
