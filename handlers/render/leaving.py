"""What a thread is told when the bot is being restarted in the middle of its job."""

from bot.domain.actors import Action
from bot.domain.provisioning import STEP_TITLES, CreateRequest, Step, StepState
from bot.ports import Message
from handlers.render import blocks, limits
from handlers.render.mrkdwn import bold, code, person
from handlers.render.progress import Progress


def leaving_line(progress: Progress) -> str:
    """One plain line for a headline."""
    return f"{_done(progress)} of {len(Step)} steps done, I am being restarted"


def leaving_message(request: CreateRequest, progress: Progress) -> Message:
    """How far it came, what is safe, and what happens next. No button: nobody is there to take a press."""
    happened = f"I am being restarted. {_done(progress)} of {len(Step)} steps are done{_cut(progress)}."
    safe = (
        f"Home {bold(request.home)} and workspace {bold(request.workspace)} are safe on the node, and what"
        " was done is in the audit log."
    )
    todo = (
        "nothing now. When I am back, in about a minute, I say here what exists, with a Continue button that"
        " goes on from there."
    )
    parts = [
        blocks.section(f":arrows_counterclockwise: *What happened:* {happened}"),
        blocks.section(f":shield: *What is safe:* {safe}"),
        blocks.section(f":arrow_right: *What to do:* {person(request.owner)}, {todo}"),
        blocks.context(f"Request {code(request.request_id)}"),
    ]
    return limits.message(f"{happened} {safe}", parts)


def leaving_announcement(request: CreateRequest, progress: Progress) -> Message:
    """The first message of the thread of a create."""
    text = f":arrows_counterclockwise: The Studio for home {bold(request.home)}: {leaving_line(progress)}."
    return limits.message(text, [blocks.section(text)])


def stop_leaving_message(user: str, *, begun: bool) -> Message:
    """The same in the thread of a stop, which the next start tells about only when it had begun."""
    now = (
        f"{person(user)}, when I am back, in about a minute, I say here whether the sandbox is gone."
        if begun
        else f"Nothing was stopped yet: {person(user)}, press the button again in a minute."
    )
    text = (
        ":arrows_counterclockwise: I am being restarted in the middle of this stop. The home and workspace"
        f" are safe on the node. {now}"
    )
    return limits.message(text, [blocks.section(text)])


_AGAIN = {
    Action.PAUSE: "/hermes pause {target}",
    Action.RESUME: "/hermes resume {target}",
    Action.KEEP: "/hermes keep {target} 2h",
}


def ask_again(action: Action, target: str) -> str:
    """The command for a change that was broken off."""
    return _AGAIN[action].format(target=target)


def change_leaving_message(user: str, action: Action, target: str) -> Message:
    """The same for a pause, a resume or a new idle time."""
    text = (
        f":arrows_counterclockwise: I am being restarted in the middle of this {action.value}. The home and"
        f" workspace are safe on the node. {person(user)}, ask again in a minute:"
        f" {code(ask_again(action, target))}. It looks first, and does nothing twice."
    )
    return limits.message(text, [blocks.section(text)])


def _done(progress: Progress) -> int:
    return sum(event.state is StepState.DONE for event in progress.steps.values())


def _cut(progress: Progress) -> str:
    """The step that was ended in its middle, if there is one."""
    cut = [step for step, event in progress.steps.items() if event.state is StepState.RUNNING]
    if not cut:
        return ""
    return (
        f"; step {cut[0].value} ({STEP_TITLES[cut[0]]}) took too long to wait for, and I look what became of"
        " it when I am back"
    )
