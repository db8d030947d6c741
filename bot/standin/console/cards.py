"""Cards, the carousel that shows several, and the container that folds other blocks away."""

from collections.abc import Callable

from bot.standin.console.elements import image, render_element
from bot.standin.console.frame import Block, Frame
from bot.standin.console.markup import tag
from bot.standin.console.rich_text import render_rich_text

_WIDTHS = ("narrow", "standard", "wide", "full")


def render_card(block: Block, frame: Frame) -> str:
    """A card: picture, icon, titles, body and buttons."""
    hero, icon = block.get("hero_image"), block.get("icon")
    block_id = str(block.get("block_id", ""))
    parts = image(hero, frame, class_="card-hero") if hero else ""
    head = image(icon, frame, class_="card-icon") if icon else ""
    titles = "".join(
        tag("p", frame.text(block[part]), class_=f"card-{part}")
        for part in ("title", "subtitle")
        if block.get(part)
    )
    if head or titles:
        parts += tag("div", head + tag("div", titles, class_="card-titles"), class_="card-head")
    parts += "".join(
        tag("p", frame.text(block[part]), class_=f"card-{part}")
        for part in ("body", "subtext")
        if block.get(part)
    )
    buttons = "".join(render_element(button, frame, block_id) for button in block.get("actions") or [])
    if buttons:
        parts += tag("div", buttons, class_="block-actions-row")
    return tag("div", parts, class_="card")


def render_carousel(block: Block, frame: Frame) -> str:
    """Cards beside each other, to scroll through."""
    cards = "".join(tag("li", render_card(card, frame)) for card in block.get("elements") or [])
    return tag("ul", cards, class_="carousel", tabindex=0, aria_label="Cards")


def render_container(block: Block, frame: Frame, child: Callable[[Block, Frame], str]) -> str:
    """Blocks under one title, folded away where it says so. ``child`` renders a block in it."""
    title = block.get("rich_text_title")
    shown = render_rich_text(title, frame) if title else frame.text(block.get("title"))
    icon = image(block["icon"], frame, class_="container-icon") if block.get("icon") else ""
    head = icon + tag("div", shown, class_="container-title")
    if block.get("subtitle"):
        head += tag("div", frame.text(block["subtitle"]), class_="container-subtitle")
    body = tag(
        "div", "".join(child(one, frame) for one in block.get("child_blocks") or []), class_="container-body"
    )
    width = str(block.get("width", "standard"))
    shape = f"container width-{width if width in _WIDTHS else 'standard'}"
    if block.get("has_header_divider"):
        shape += " divided"
    if not block.get("is_collapsible"):
        return tag("div", tag("div", head, class_="container-head") + body, class_=shape)
    summary = tag("summary", head, class_="container-head")
    return tag("details", summary + body, class_=shape, open=not block.get("default_collapsed"))
