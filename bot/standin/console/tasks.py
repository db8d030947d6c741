"""Plans and their task cards."""

from bot.standin.console.elements import image
from bot.standin.console.frame import Block, Frame
from bot.standin.console.markup import escape, lines, link, tag
from bot.standin.console.rich_text import render_rich_text

_WORDS = {"pending": "Not started", "in_progress": "In progress", "complete": "Done", "error": "Failed"}


def render_plan(block: Block, frame: Frame) -> str:
    """A titled list of tasks."""
    tasks = "".join(tag("li", _task(task, frame), class_="plan-task") for task in block.get("tasks") or [])
    title = tag("p", frame.text(block.get("title")), class_="plan-title")
    return tag("div", title + tag("ol", tasks, class_="plan-tasks"), class_="plan")


def render_task_card(block: Block, frame: Frame) -> str:
    """One task that stands alone."""
    return tag("div", _task(block, frame), class_="task-card")


def _task(task: Block, frame: Frame) -> str:
    status = str(task.get("status"))
    mark = tag(
        "span", "", class_=f"task-icon task-{status if status in _WORDS else 'pending'}", aria_hidden="true"
    )
    spoken = tag("span", f"{escape(_WORDS.get(status, status))}: ", class_="visually-hidden")
    title = tag("p", spoken + frame.text(task.get("title")), class_="task-title")
    body = "".join(
        tag("div", render_rich_text(task[part], frame), class_=f"task-{part}")
        for part in ("details", "output")
        if task.get(part)
    )
    sources = "".join(tag("li", _source(one, frame)) for one in task.get("sources") or [])
    if sources:
        body += tag("ul", sources, class_="task-sources", aria_label="Sources")
    return mark + tag("div", title + body, class_="task-body")


def _source(source: Block, frame: Frame) -> str:
    url = str(source.get("url", ""))
    icon = source.get("icon_url")
    picture = image({"image_url": icon, "alt_text": ""}, frame, class_="task-source-icon") if icon else ""
    return picture + link(url, lines(str(source.get("text") or url)))
