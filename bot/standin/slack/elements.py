"""The things in blocks that a person can press or fill in, and what Slack reports about them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.standin.slack.errors import ImpossibleActionError

Block = dict[str, Any]
Element = dict[str, Any]

_ONE_OPTION = ("static_select", "radio_buttons", "external_select", "overflow")
_MANY_OPTIONS = ("multi_static_select", "multi_external_select", "checkboxes")
_ONE_VALUE = {
    "users_select": "selected_user",
    "conversations_select": "selected_conversation",
    "channels_select": "selected_channel",
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
}
_MANY_VALUES = {
    "multi_users_select": "selected_users",
    "multi_conversations_select": "selected_conversations",
    "multi_channels_select": "selected_channels",
}
_TYPED = ("plain_text_input", "email_text_input", "url_text_input", "number_input")
_PRESSED = ("button", "icon_button")
_FORMS = {
    "email_text_input": (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), "ola@example.com"),
    "url_text_input": (re.compile(r"https?://\S+"), "https://example.com"),
    "number_input": (re.compile(r"-?\d+(\.\d+)?"), "12"),
}
"""What the client holds back until it looks like this."""


@dataclass(frozen=True, slots=True)
class Found:
    """An element with the block that holds it."""

    block: Block
    element: Element

    @property
    def key(self) -> tuple[str, str]:
        """``(block_id, action_id)``, unique in a message or view."""
        return str(self.block["block_id"]), str(self.element["action_id"])


def elements(blocks: list[Block]) -> Iterator[Found]:
    """Every element with an ``action_id``, in reading order."""
    for block in blocks:
        kind = block.get("type")
        if kind == "container":
            yield from elements(block.get("child_blocks", []))
        elif kind == "carousel":
            yield from elements(block.get("elements", []))
        else:
            listed = block.get("elements") if kind in ("actions", "context_actions") else block.get("actions")
            single = block.get("element") or block.get("accessory")
            for element in [*(listed or []), *([single] if single else [])]:
                if "action_id" in element:
                    yield Found(block, element)


def find(blocks: list[Block], action_id: str, *, block_id: str | None, value: str | None) -> Found:
    """The one element that is meant; ``block_id`` and ``value`` are needed only to choose.

    Raises:
        ImpossibleActionError: There is none, or more than one.
    """
    present = list(elements(blocks))
    matching = [
        found
        for found in present
        if found.element["action_id"] == action_id
        and block_id in (None, found.block["block_id"])
        and value in (None, found.element.get("value"))
    ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise ImpossibleActionError(
            f"{len(matching)} elements have action_id {action_id!r}: give block_id or value to choose one"
        )
    there = ", ".join(sorted({str(found.element["action_id"]) for found in present})) or "nothing to press"
    raise ImpossibleActionError(
        f"there is no element with action_id {action_id!r} and that block_id and value; there is: {there}",
        status=404,
    )


def answer(element: Element, given: Any) -> dict[str, Any]:
    """What is reported for an element once a person has chosen or typed ``given`` (None: nothing).

    Raises:
        ImpossibleActionError: The client would not let a person do that.
    """
    kind = element["type"]
    reported: dict[str, Any] = {}
    if kind in _TYPED:
        reported["value"] = _typed_value(element, given)
    elif kind == "rich_text_input":
        reported["rich_text_value"] = given or None
    elif kind in _ONE_OPTION:
        reported["selected_option"] = None if given is None else _option(element, given)
    elif kind in _MANY_OPTIONS:
        reported["selected_options"] = [_option(element, one) for one in _listed(given)]
    elif kind in _ONE_VALUE:
        reported[_ONE_VALUE[kind]] = given
        if "timezone" in element:
            reported["timezone"] = element["timezone"]
    elif kind in _MANY_VALUES:
        reported[_MANY_VALUES[kind]] = _listed(given)
    elif kind == "file_input":
        reported["files"] = [{"id": one} for one in _listed(given)]
    return {"type": kind, **reported}


def initial(element: Element) -> dict[str, Any]:
    """What is reported for an element that nobody touched."""
    kind = element["type"]
    if kind in _ONE_OPTION:
        return {"type": kind, "selected_option": element.get("initial_option")}
    if kind in _MANY_OPTIONS:
        return {"type": kind, "selected_options": list(element.get("initial_options", []))}
    for names in (_ONE_VALUE, _MANY_VALUES):
        if kind in names:
            given = element.get(names[kind].replace("selected", "initial"))
            return {"type": kind, names[kind]: given if names is _ONE_VALUE else list(given or [])}
    if kind in _TYPED:
        return {"type": kind, "value": element.get("initial_value")}
    if kind == "rich_text_input":
        return {"type": kind, "rich_text_value": element.get("initial_value")}
    return answer(element, None)


def values(
    blocks: list[Block], state: Mapping[tuple[str, str], dict[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """``state.values``: what every field and menu holds, touched (then it is in ``state``) or not."""
    held: dict[str, dict[str, dict[str, Any]]] = {}
    for found in elements(blocks):
        if is_stateful(found.element):
            block_id, action_id = found.key
            held.setdefault(block_id, {})[action_id] = state.get(found.key) or initial(found.element)
    return held


def is_stateful(element: Element) -> bool:
    """Whether the element has a state to report; a button has none."""
    return element["type"] not in (*_PRESSED, "overflow", "feedback_buttons")


def is_empty(reported: dict[str, Any]) -> bool:
    """Whether a reported state holds nothing."""
    return not any(value for name, value in reported.items() if name != "type")


def pressed(found: Found, given: Any, action_ts: str) -> dict[str, Any]:
    """One entry of ``actions`` in a block_actions payload."""
    element = found.element
    block_id, action_id = found.key
    action: dict[str, Any] = {"action_id": action_id, "block_id": block_id, "type": element["type"]}
    if element["type"] in _PRESSED:
        copied = (
            ("text", "value", "style", "url") if element["type"] == "button" else ("icon", "text", "value")
        )
        action |= {name: element[name] for name in copied if name in element}
        # A button without a value reports none, like the real one; its text always has `emoji`.
        if "text" in action:
            action["text"] = {"emoji": True, **action["text"]}
    elif element["type"] == "feedback_buttons":
        action |= _feedback(element, given)
    else:
        if given is None and is_stateful(element):
            raise ImpossibleActionError(
                f"{action_id!r} is a {element['type']}: say what is chosen in `selected`"
            )
        action |= answer(element, given)
    return action | {"action_ts": action_ts}


def _typed_value(element: Element, given: Any) -> Any:
    if given in (None, ""):
        return None
    if not isinstance(given, str):
        raise ImpossibleActionError(f"{element['action_id']!r} takes a string")
    form, example = _FORMS.get(element["type"], (None, ""))
    if form is not None and not form.fullmatch(given):
        raise ImpossibleActionError(f"{element['action_id']!r} takes something like {example}, not {given!r}")
    low, high = int(element.get("min_length", 0)), int(element.get("max_length", 3000))
    if not low <= len(given) <= high:
        raise ImpossibleActionError(f"{element['action_id']!r} takes {low} to {high} characters")
    return given


def _feedback(element: Element, given: Any) -> dict[str, Any]:
    """What one of the two buttons reports: its text and value."""
    offered = {element[side]["value"]: element[side] for side in ("positive_button", "negative_button")}
    if given not in offered:
        values = " or ".join(map(repr, offered))
        raise ImpossibleActionError(f"{element['action_id']!r} is two buttons: choose {values} in `selected`")
    return {"text": {"emoji": True, **offered[given]["text"]}, "value": given}


def _option(element: Element, wanted: Any) -> dict[str, Any]:
    if element["type"].endswith("external_select"):
        return {"text": {"type": "plain_text", "text": str(wanted)}, "value": str(wanted)}
    offered = [*element.get("options", [])]
    for group in element.get("option_groups", []):
        offered += group["options"]
    for option in offered:
        if option["value"] == wanted:
            return dict(option)
    values = ", ".join(str(option["value"]) for option in offered)
    raise ImpossibleActionError(f"{element['action_id']!r} offers {values}, not {wanted!r}")


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]
