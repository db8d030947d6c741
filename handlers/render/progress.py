"""The progress message of a create: one plan of ten tasks, edited in place; ten lines as fallback."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.domain.provisioning import STEP_TITLES, Step, StepEvent, StepState
from bot.ports import Message
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.limits import Block, cut
from handlers.render.mrkdwn import bold, prose, seconds

_STATUS = {
    StepState.PENDING: "pending",
    StepState.RUNNING: "in_progress",
    StepState.DONE: "complete",
    StepState.FAILED: "error",
}
_SIGN = {
    StepState.PENDING: ":white_circle:",
    StepState.RUNNING: ":hourglass_flowing_sand:",
    StepState.DONE: ":white_check_mark:",
    StepState.FAILED: ":x:",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a create stands, as far as its thread is told."""

    request_id: str
    home: str
    steps: Mapping[Step, StepEvent] = field(default_factory=dict)
    ended: str = ""
    """One line on how it ended; empty while it goes on."""
    waiting: bool = False
    """Taken on, but not begun."""

    def after(self, event: StepEvent) -> "Progress":
        """The same create with one more thing known."""
        return Progress(request_id=self.request_id, home=self.home, steps={**self.steps, event.step: event})

    def closed(self, line: str, *, well: bool) -> "Progress":
        """The end. A step that was running ended with it, so that no spinner stays."""
        last = StepState.DONE if well else StepState.FAILED
        steps = {
            step: StepEvent(step, last, event.note, event.seconds)
            if event.state is StepState.RUNNING
            else event
            for step, event in self.steps.items()
        }
        return Progress(request_id=self.request_id, home=self.home, steps=steps, ended=line)

    @property
    def current(self) -> Step | None:
        """The latest step that anything is known about."""
        return max(self.steps, default=None)


def still_progress(
    request_id: str, home: str, after: Step | None, line: str, *, note: str = "interrupted"
) -> Progress:
    """What an old progress message becomes after a restart: true, and still. ``note`` is on the next step."""
    done = after.value if after else 0
    steps = {step: StepEvent(step, StepState.DONE) for step in Step if step <= done}
    stuck = next((step for step in Step if step > done), None)
    if stuck is not None:
        steps[stuck] = StepEvent(stuck, StepState.FAILED, note)
    return Progress(request_id=request_id, home=home, steps=steps, ended=line)


def progress_message(progress: Progress) -> Message:
    """The message as it should stand now."""
    headline = _headline(progress)
    foot = _foot(progress)
    return limits.message(
        prose(headline),
        [_plan(progress, headline), *foot],
        classic=[blocks.header(headline), blocks.section(_lines(progress)), *foot],
    )


def _headline(progress: Progress) -> str:
    name = f"Studio for home {progress.home}"
    if progress.ended:
        return f"{name}: {progress.ended}"
    if progress.waiting:
        return f"{name}: waiting for its turn"
    if progress.current is None:
        return f"{name}: starting"
    return f"{name}: step {progress.current.value} of {len(Step)}, {STEP_TITLES[progress.current]}"


def _foot(progress: Progress) -> list[Block]:
    if progress.ended:
        return []
    return [blocks.actions(blocks.button("Cancel", Press.CREATE_CANCEL, progress.request_id))]


def _event(progress: Progress, step: Step) -> StepEvent:
    return progress.steps.get(step) or StepEvent(step, StepState.PENDING)


def _aside(event: StepEvent) -> str:
    length = (
        seconds(event.seconds) if event.state in (StepState.DONE, StepState.FAILED) and event.seconds else ""
    )
    return " · ".join(part for part in (event.note.strip(), length) if part)


def _plan(progress: Progress, headline: str) -> Block:
    tasks: list[dict[str, Any]] = []
    for step in Step:
        event = _event(progress, step)
        task: dict[str, Any] = {
            "type": "task_card",
            "task_id": f"step-{step.value}",
            "title": cut(f"{step.value}. {STEP_TITLES[step]}", limits.TASK_TITLE),
            "status": _STATUS[event.state],
        }
        aside = _aside(event)
        if aside:
            task["details"] = blocks.rich_prose(aside)
        tasks.append(task)
    return {"type": "plan", "title": cut(headline, limits.PLAN_TITLE), "tasks": tasks[: limits.PLAN_TASKS]}


def _lines(progress: Progress) -> str:
    lines = []
    for step in Step:
        event = _event(progress, step)
        aside = _aside(event)
        title = bold(STEP_TITLES[step]) if event.state is StepState.RUNNING else STEP_TITLES[step]
        # Ten lines share one section, so that a long note cannot push the later steps out of it.
        shown = cut(prose(aside), limits.SECTION // (2 * len(Step))) if aside else ""
        lines.append(f"{_SIGN[event.state]} {step.value}. {title}" + (f" · {shown}" if shown else ""))
    return "\n".join(lines)
