"""Block Kit as HTML, as Slack's client would show it, and its refusals where Slack's client would refuse."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bot.standin.console.cards import render_card, render_carousel, render_container
from bot.standin.console.elements import image, render_element
from bot.standin.console.frame import Block, Frame, Surface, note
from bot.standin.console.inputs import render_input
from bot.standin.console.markdown import render_markdown
from bot.standin.console.markup import escape, lines, link, tag
from bot.standin.console.rich_text import render_rich_text
from bot.standin.console.tables import render_chart, render_data_table, render_table
from bot.standin.console.tasks import render_plan, render_task_card
from bot.standin.console.viewer import Viewer
from bot.standin.slack.block_shapes import BLOCKS

_NOTHING: Mapping[str, Any] = {}
_LEVELS = ("default", "info", "warning", "error", "success")
_PLACES = {"message": "a message", "modal": "a modal", "home": "the Home tab"}


def render_blocks(
    blocks: Iterable[Block],
    viewer: Viewer,
    *,
    surface: Surface,
    errors: Mapping[str, str] = _NOTHING,
    values: Mapping[str, Mapping[str, Any]] = _NOTHING,
    prefix: str = "",
) -> str:
    """Blocks as HTML.

    Args:
        blocks: As they were sent, each with its ``block_id``.
        viewer: Who looks at them.
        surface: Where they stand; a block that Slack does not show there is replaced by a note.
        errors: What was wrong with what was typed, by block id.
        values: What was typed or chosen so far, by block id and action id: a string, a list of strings, or
            the state object that Slack reports. It goes before a control's own initial value.
        prefix: Part of every id, so that two messages on one page never share one.
    """
    frame = Frame(viewer, surface, prefix, errors, values)
    return "".join(_block(block, frame) for block in blocks)


def _block(block: Block, frame: Frame) -> str:
    kind, block_id = str(block.get("type")), str(block.get("block_id", ""))
    render = _RENDERERS.get(kind)
    if render is None:
        return note(f"unsupported block {kind}")
    if kind in BLOCKS and frame.surface not in BLOCKS[kind].surfaces:
        return note(f"unsupported block {kind}: Slack does not show it in {_PLACES[frame.surface]}")
    return tag(
        "div", render(block, frame), class_=f"block block-{kind.replace('_', '-')}", data_block=block_id
    )


def _section(block: Block, frame: Frame) -> str:
    body = tag("div", frame.text(block["text"]), class_="text") if block.get("text") else ""
    fields = "".join(tag("div", frame.text(one), class_="field text") for one in block.get("fields") or [])
    if fields:
        body += tag("div", fields, class_="fields")
    shown = tag("div", body, class_="section-body")
    if block.get("accessory"):
        element = render_element(block["accessory"], frame, str(block.get("block_id", "")))
        shown += tag("div", element, class_="accessory")
    return shown


def _context(block: Block, frame: Frame) -> str:
    return "".join(
        image(one, frame, class_="context-image")
        if one.get("type") == "image"
        else tag("span", frame.text(one), class_="text")
        for one in block.get("elements") or []
    )


def _elements(block: Block, frame: Frame) -> str:
    block_id = str(block.get("block_id", ""))
    return "".join(render_element(element, frame, block_id) for element in block.get("elements") or [])


def _image(block: Block, frame: Frame) -> str:
    title = tag("figcaption", frame.text(block["title"])) if block.get("title") else ""
    return tag("figure", title + image(block, frame, class_="block-picture"))


def _alert(block: Block, frame: Frame) -> str:
    level = str(block.get("level", "default"))
    shape = f"alert alert-{level if level in _LEVELS else 'default'}"
    named = tag("span", f"{escape(level)}: ", class_="visually-hidden") if level != "default" else ""
    return tag(
        "div", tag("div", named + frame.text(block.get("text")), class_="text"), class_=shape, role="note"
    )


def _video(block: Block, frame: Frame) -> str:
    address = str(block.get("title_url") or block.get("video_url") or "")
    shown = (
        link(address, tag("b", frame.text(block.get("title")))) + f" {tag('span', '(video)', class_='muted')}"
    )
    if block.get("description"):
        shown += tag("div", frame.text(block["description"]), class_="text")
    credit = " · ".join(str(block[key]) for key in ("author_name", "provider_name") if block.get(key))
    return shown + (tag("div", escape(credit), class_="muted") if credit else "")


def _file(block: Block, _frame: Frame) -> str:
    return tag("span", "File ") + tag("code", lines(str(block.get("external_id", ""))))


_RENDERERS: Mapping[str, Callable[[Block, Frame], str]] = {
    "section": _section,
    "header": lambda block, frame: tag("h3", frame.text(block.get("text"))),
    "divider": lambda _block, _frame: tag("hr"),
    "context": _context,
    "actions": _elements,
    "context_actions": _elements,
    "image": _image,
    "input": render_input,
    "rich_text": render_rich_text,
    "plan": render_plan,
    "task_card": render_task_card,
    "table": render_table,
    "data_table": render_data_table,
    "data_visualization": render_chart,
    "alert": _alert,
    "card": render_card,
    "carousel": render_carousel,
    "container": lambda block, frame: render_container(block, frame, _block),
    "markdown": lambda block, _frame: render_markdown(str(block.get("text", ""))),
    "video": _video,
    "file": _file,
}
