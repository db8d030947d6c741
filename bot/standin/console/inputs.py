"""Input blocks: a label, a control, a hint, and what was wrong with what was typed."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.standin.console.elements import render_element, standing
from bot.standin.console.frame import Block, Frame, words
from bot.standin.console.markup import escape, lines, tag

TEXT_LIMIT = 3000
"""Characters that Slack's client takes in a text field that names no limit of its own."""

_GROUPS = ("radio_buttons", "checkboxes")
_TYPES = {
    "email_text_input": "email",
    "url_text_input": "url",
    "number_input": "number",
    "plain_text_input": "text",
}


def render_input(block: Block, frame: Frame) -> str:
    """An input block. Its ``data-dispatch`` says whether the app is told of every change."""
    element, block_id = block.get("element") or {}, str(block.get("block_id", ""))
    action_id, kind = str(element.get("action_id", "")), str(element.get("type"))
    field, label_id = frame.new_id(block_id, action_id), frame.new_id(block_id, "label")
    error, about = frame.errors.get(block_id), []
    optional = tag("span", " (optional)", class_="optional") if block.get("optional") else ""
    label = frame.text(block.get("label")) + optional
    below = ""
    if block.get("hint"):
        about.append(frame.new_id(block_id, "hint"))
        below += tag("p", frame.text(block["hint"]), class_="hint", id=about[-1])
    if error:
        about.append(frame.new_id(block_id, "error"))
        below += tag("p", lines(error), class_="field-error", id=about[-1])
    wanted: dict[str, str | bool | None] = {
        "id": field,
        "aria_describedby": " ".join(about) or None,
        "aria_invalid": "true" if error else None,
    }
    if kind in _GROUPS:
        named = tag("div", label, class_="input-label", id=label_id)
        wanted["aria_labelledby"] = label_id
    else:
        named = tag("label", label, class_="input-label", id=label_id, for_=field)
        wanted["required"] = not block.get("optional")
    render = _TYPED.get(kind)
    control = (
        render(
            element, frame, {**wanted, "data_action": action_id, "data_block": block_id, "data_kind": kind}
        )
        if render
        else render_element(element, frame, block_id, **wanted)
    )
    return tag(
        "div",
        named + control + below,
        class_="input-block invalid" if error else "input-block",
        data_block=block_id,
        data_action=action_id,
        data_dispatch="true" if block.get("dispatch_action") else "false",
        data_dispatch_on=" ".join((element.get("dispatch_action_config") or {}).get("trigger_actions_on", []))
        or None,
    )


def _text(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    value = "".join(standing(element, frame, aim["data_block"])[:1])
    common = {
        "class_": "el-input",
        "minlength": element.get("min_length"),
        "maxlength": element.get("max_length", TEXT_LIMIT),
        "placeholder": words(element.get("placeholder")) or None,
        "data_focus": bool(element.get("focus_on_load")),
        **aim,
    }
    if element.get("multiline") or element["type"] == "rich_text_input":
        # A parser swallows the first line break of a textarea.
        return tag("textarea", "\n" + escape(value), rows=4, **common)
    return tag("input", type=_TYPES[element["type"]], value=value, autocomplete="off", **common)


def _number(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    return tag(
        "input",
        type="number",
        class_="el-input",
        value="".join(standing(element, frame, aim["data_block"])[:1]),
        min=element.get("min_value"),
        max=element.get("max_value"),
        step="any" if element.get("is_decimal_allowed") else "1",
        placeholder=words(element.get("placeholder")) or None,
        **aim,
    )


def _file(element: Block, _frame: Frame, aim: dict[str, Any]) -> str:
    kinds = ",".join(f".{kind}" for kind in element.get("filetypes", [])) or None
    return tag(
        "input",
        type="file",
        class_="el-input",
        accept=kinds,
        multiple=element.get("max_files", 10) != 1,
        **aim,
    )


_TYPED: Mapping[str, Callable[[Block, Frame, dict[str, Any]], str]] = {
    "plain_text_input": _text,
    "email_text_input": _text,
    "url_text_input": _text,
    "rich_text_input": _text,
    "number_input": _number,
    "file_input": _file,
}
