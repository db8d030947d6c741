"""The few Block Kit shapes that our messages are made of, each within Slack's limits."""

import re
from collections.abc import Sequence
from typing import Any

from handlers.buttons import Press, value_of
from handlers.render import limits
from handlers.render.limits import Block, cut
from handlers.render.mrkdwn import visible

_CODE_OR_PERSON = re.compile(r"(`[^`]+`|<@[UW][A-Z0-9_]{1,40}>)")


def plain(text: str, limit: int) -> dict[str, Any]:
    """A plain text object."""
    return {"type": "plain_text", "text": cut(visible(text), limit), "emoji": True}


def mrkdwn(text: str, limit: int = limits.SECTION) -> dict[str, Any]:
    """A text object in Slack's markup; foreign parts must be escaped already."""
    return {"type": "mrkdwn", "text": cut(text, limit), "verbatim": True}


def header(text: str) -> Block:
    """A heading, plain text."""
    return {"type": "header", "text": plain(text, limits.HEADER)}


def section(text: str) -> Block:
    """A paragraph in markup, uncut: ``limits.message`` cuts it and keeps the whole."""
    return {"type": "section", "text": mrkdwn(text, len(text))}


def facts(pairs: Sequence[tuple[str, str]]) -> list[Block]:
    """Named facts in two columns, in as many sections as they need. Values are markup."""
    rows = [mrkdwn(f"*{name}*\n{value}", len(name) + len(value) + 3) for name, value in pairs]
    return [
        {"type": "section", "fields": rows[start : start + limits.FIELDS]}
        for start in range(0, len(rows), limits.FIELDS)
    ]


def context(*lines: str) -> Block:
    """Small print, one element per line; lines beyond Slack's ten share the last one."""
    last = limits.CONTEXT_ELEMENTS - 1
    rows = [*lines[:last], "\n".join(lines[last:])] if len(lines) > limits.CONTEXT_ELEMENTS else lines
    return {"type": "context", "elements": [mrkdwn(row, limits.FIELD) for row in rows]}


def actions(*buttons: dict[str, Any]) -> Block:
    """A row of buttons."""
    return {"type": "actions", "elements": list(buttons[: limits.ACTIONS])}


def button(
    label: str,
    press: Press,
    identifier: str,
    *,
    style: str = "",
    confirm: dict[str, Any] | None = None,
    which: str = "",
) -> dict[str, Any]:
    """A button that acts on ``identifier``. ``style`` is empty, primary or danger.

    ``which`` tells it from another of the same kind in one row, where no two may have the same name.
    """
    made: dict[str, Any] = {
        "type": "button",
        "action_id": f"{press.value}:{which}" if which else press.value,
        "text": plain(label, limits.BUTTON_TEXT),
        "value": value_of(identifier),
    }
    if style:
        made["style"] = style
    if confirm is not None:
        made["confirm"] = confirm
    return made


def form_button(label: str) -> dict[str, Any]:
    """A button that opens the create form."""
    return button(label, Press.CREATE_FORM, "here")


def confirmation(title: str, text: str, *, yes: str, no: str, style: str = "danger") -> dict[str, Any]:
    """The question that Slack itself asks before a press counts."""
    return {
        "title": plain(title, limits.CONFIRM_TITLE),
        "text": plain(text, limits.CONFIRM_TEXT),
        "confirm": plain(yes, limits.CONFIRM_BUTTON),
        "deny": plain(no, limits.CONFIRM_BUTTON),
        "style": style,
    }


def table(columns: Sequence[str], rows: Sequence[Sequence[dict[str, Any]]]) -> Block:
    """A table with a heading row. Cells are ``cell`` or ``person_cell``; long ones are wrapped."""
    return {
        "type": "table",
        "rows": [[cell(column) for column in columns], *([*row] for row in rows)],
        "column_settings": [{"is_wrapped": True} for _ in columns],
    }


def cell(text: str) -> dict[str, Any]:
    """Exact text in a table; an empty one, which Slack refuses, becomes a dash."""
    return {"type": "raw_text", "text": visible(text) if text.strip() else "-"}


def person_cell(user_id: str) -> dict[str, Any]:
    """A Slack user in a table, shown by name."""
    person = {"type": "user", "user_id": user_id}
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [person]}]}


def rich_text(*parts: tuple[str, bool]) -> Block:
    """Exact text without any markup: (text, fixed-width or not). Nothing in it needs escaping."""
    elements: list[dict[str, Any]] = []
    for text, fixed in parts:
        element: dict[str, Any] = {"type": "text", "text": cut(text, limits.RICH_TEXT)}
        if fixed:
            element["style"] = {"code": True}
        elements.append(element)
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}


def rich_prose(text: str) -> Block:
    """One of our own sentences where Slack takes no markup: its code and its people become elements."""
    elements: list[dict[str, Any]] = []
    for part in _CODE_OR_PERSON.split(cut(text, limits.RICH_TEXT)):
        if _CODE_OR_PERSON.fullmatch(part):
            if part.startswith("`"):
                elements.append({"type": "text", "text": part.strip("`"), "style": {"code": True}})
            else:
                elements.append({"type": "user", "user_id": part[2:-1]})
        elif part:
            elements.append({"type": "text", "text": part})
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}


def text_field(
    field: str,
    action: str,
    label: str,
    *,
    hint: str = "",
    placeholder: str = "",
    initial: str = "",
    most: int = limits.TYPED_TEXT,
    lines: bool = False,
    needed: bool = False,
    first: bool = False,
) -> Block:
    """A field to type ``most`` characters into; ``lines`` = several lines, ``first`` = it has the cursor."""
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": action, "max_length": most}
    if lines:
        element["multiline"] = True
    if first:
        element["focus_on_load"] = True
    if initial:
        element["initial_value"] = initial
    return _input(field, label, element, hint=hint, placeholder=placeholder, needed=needed)


def select_field(
    field: str,
    action: str,
    label: str,
    options: Sequence[dict[str, Any]],
    *,
    hint: str = "",
    placeholder: str = "",
    initial: str = "",
    needed: bool = False,
) -> Block:
    """A field to choose one of at most a hundred options in; ``initial`` is the value of one of them."""
    shown = [*options[: limits.OPTIONS]]
    element: dict[str, Any] = {"type": "static_select", "action_id": action, "options": shown}
    chosen = [one for one in shown if one["value"] == initial]
    if chosen:
        element["initial_option"] = chosen[0]
    return _input(field, label, element, hint=hint, placeholder=placeholder, needed=needed)


def option(label: str, value: str, description: str = "") -> dict[str, Any]:
    """One entry of a select."""
    made: dict[str, Any] = {"text": plain(label, limits.OPTION_TEXT), "value": value}
    if description:
        made["description"] = plain(description, limits.OPTION_TEXT)
    return made


def _input(
    field: str, label: str, element: dict[str, Any], *, hint: str, placeholder: str, needed: bool
) -> Block:
    if placeholder:
        element["placeholder"] = plain(placeholder, limits.PLACEHOLDER)
    made: Block = {
        "type": "input",
        "block_id": field,
        "label": plain(label, limits.LABEL),
        "optional": not needed,
        "element": element,
    }
    if hint:
        made["hint"] = plain(hint, limits.LABEL)
    return made


def modal(title: str, content: Sequence[Block], *, callback_id: str) -> dict[str, Any]:
    """A modal with a Close button only."""
    return {
        "type": "modal",
        "callback_id": cut(callback_id, limits.IDENTIFIER),
        "title": plain(title, limits.MODAL_TITLE),
        "close": plain("Close", limits.MODAL_TITLE),
        "blocks": [*limits.fit(content, limits.VIEW_BLOCKS)],
    }
