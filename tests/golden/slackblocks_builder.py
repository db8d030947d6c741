"""Our payloads built anew with the constructors of slackblocks, which refuse whatever breaks its limits.

slackblocks reads back only some blocks from JSON; its constructors check all of them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import slackblocks as sb

Build = Callable[..., Any]

TYPES: Mapping[str, Build] = {
    "actions": sb.ActionsBlock,
    "alert": sb.AlertBlock,
    "context": sb.ContextBlock,
    "divider": sb.DividerBlock,
    "header": sb.HeaderBlock,
    "input": sb.InputBlock,
    "plan": sb.PlanBlock,
    "rich_text": sb.RichTextBlock,
    "section": sb.SectionBlock,
    "table": sb.TableBlock,
    "task_card": sb.TaskCardBlock,
    "button": sb.Button,
    "checkboxes": sb.CheckboxGroup,
    "multi_static_select": sb.StaticMultiSelectMenu,
    "number_input": sb.NumberInput,
    "overflow": sb.OverflowMenu,
    "plain_text_input": sb.PlainTextInput,
    "radio_buttons": sb.RadioButtonGroup,
    "static_select": sb.StaticSelectMenu,
    "users_select": sb.UserSelectMenu,
    "raw_text": sb.RawText,
    "rich_text_section": sb.RichTextSection,
    "text": sb.RichText,
    "link": sb.RichTextLink,
    "user": sb.RichTextUser,
    "modal": sb.ModalView,
    "home": sb.HomeTabView,
}
"""Add a type here when we begin to send it."""

_TEXTS = {"plain_text": sb.TextType.PLAINTEXT, "mrkdwn": sb.TextType.MARKDOWN}


def message(blocks: list[dict[str, Any]]) -> Any:
    """A message of slackblocks with these blocks.

    Raises:
        slackblocks.InvalidUsageError: A limit is broken.
        KeyError: A type that is not in TYPES.
    """
    return sb.Message(channel="C_OPS", text="x", blocks=[built(block) for block in blocks])


def built(value: Any, key: str = "") -> Any:
    """One payload, element, text or option, as an object of slackblocks."""
    if isinstance(value, list):
        return [built(item, key) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if key == "rows" and kind == "rich_text":
        [part] = value["elements"]  # slackblocks wraps the one part of a cell by itself
        return built(part)
    if kind in _TEXTS:
        more = {name: value[name] for name in ("emoji", "verbatim") if name in value}
        return sb.Text(value["text"], type_=_TEXTS[kind], **more)
    rest = {name: built(item, name) for name, item in value.items() if name not in ("type", "style")}
    style = value.get("style")
    if isinstance(style, dict):
        rest |= style
    elif style is not None:
        rest["style"] = style
    if key == "confirm" and kind is None:
        return sb.ConfirmationDialogue(**rest)
    if key == "column_settings":
        return sb.ColumnSettings(**rest)
    if kind is None:
        return (sb.OptionGroup if "options" in value else sb.Option)(**rest)
    return TYPES[kind](**rest)
