"""Elements that are pressed or chosen from, as native controls that a keyboard and a screen reader know."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from bot.standin.console.frame import Block, Frame, note, words
from bot.standin.console.markup import escape, is_own_image, is_safe, link, tag

Options = list[tuple[str, str, str]]
"""Value, text as characters, and the address that an overflow option opens."""

_NAMED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "users": ("a person", ("U", "W")),
    "conversations": ("a conversation", ("C", "G", "D")),
    "channels": ("a channel", ("C", "G")),
}
_PICKERS = {"datepicker": "date", "timepicker": "time", "datetimepicker": "datetime-local"}


def render_element(element: Block, frame: Frame, block_id: str, **extra: Any) -> str:
    """One element. ``extra`` are attributes of its control: an id, what describes it, what is wrong."""
    kind = str(element.get("type"))
    render = _RENDERERS.get(kind)
    if render is None:
        return note(f"unsupported element {kind}")
    return render(element, frame, extra | _aim(element, frame, block_id))


def image(element: Block, _frame: Frame, **extra: Any) -> str:
    """An image of this machine; of any other only its description, as nothing is fetched from elsewhere."""
    url, alt = str(element.get("image_url", "")), str(element.get("alt_text", ""))
    file = element.get("slack_file") or {}
    if file.get("id") and str(file["id"]).isalnum():
        url = f"/files/{file['id']}"
    elif file.get("url"):
        url = str(file["url"])
    if url.startswith("/files/") or is_own_image(url):
        return tag("img", src=url, alt=alt, loading="lazy", **extra)
    label = tag("span", escape(alt), class_="image-elsewhere", role="img", aria_label=alt, title=url)
    return link(url, label)


def standing(element: Block, frame: Frame, block_id: str) -> list[str]:
    """What stands in a control: what was typed or chosen so far, else what it starts with."""
    states, action_id = frame.values.get(block_id, {}), str(element.get("action_id"))
    if action_id in states:
        given = states[action_id]
        if isinstance(given, Mapping):  # as view.state reports it
            given = next((value for name, value in given.items() if name != "type"), None)
    else:
        given = next((element[name] for name in element if name.startswith("initial_")), None)
    listed = given if isinstance(given, list | tuple) else [given]
    return [str(_value(one)) for one in listed if one is not None]


def _value(thing: Any) -> Any:
    return thing.get("value", thing.get("id", "")) if isinstance(thing, Mapping) else thing


def _aim(element: Block, frame: Frame, block_id: str) -> dict[str, Any]:
    return {
        "data_action": element.get("action_id", ""),
        "data_block": block_id,
        "data_kind": element.get("type"),
        "data_confirm": frame.confirm(element),
        "data_focus": bool(element.get("focus_on_load")),
    }


def _button(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    seen_by = element.get("visible_to_user_ids")
    if seen_by and frame.viewer.user not in seen_by:
        return ""
    style, url = str(element.get("style", "")), str(element.get("url", ""))
    return tag(
        "button",
        frame.text(element.get("text")),
        type="button",
        class_=f"el-button {style}".strip() if style in ("primary", "danger") else "el-button",
        data_value=element.get("value"),
        data_url=url if is_safe(url) else None,
        aria_label=element.get("accessibility_label"),
        **aim,
    )


def _icon_button(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    return _button(
        {**element, "text": {"type": "plain_text", "text": f":wastebasket: {words(element['text'])}"}},
        frame,
        aim,
    )


def _feedback(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    pressed = (element.get(name) or {} for name in ("positive_button", "negative_button"))
    return "".join(_button(one, frame, aim) for one in pressed)


def _overflow(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    return _select(element, frame, aim | {"class_": "el-overflow", "aria_label": "More actions"}, empty="⋯")


def _select(element: Block, frame: Frame, aim: dict[str, Any], *, empty: str = "") -> str:
    kind, chosen = str(element["type"]), standing(element, frame, aim["data_block"])
    several = kind.startswith("multi_")
    empty = empty or words(element.get("placeholder")) or _asks(kind)
    groups = [
        tag("optgroup", _options(_listed(group["options"]), chosen), label=words(group.get("label")))
        for group in element.get("option_groups") or []
    ]
    inside = "".join(groups) or _options(_offered(element, frame, chosen), chosen)
    settled = bool(chosen) and bool(aim.get("required"))  # as in Slack, such a choice changes and never goes
    if not several and not settled:
        inside = tag("option", escape(empty), value="", selected=not chosen) + inside
    attributes = {"class_": "el-select", "aria_label": None if "id" in aim else empty, **aim}
    return tag("select", inside, multiple=several, data_max=element.get("max_selected_items"), **attributes)


def _external(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    """A select whose options the app would be asked for: the value is typed."""
    empty = words(element.get("placeholder")) or _asks(str(element["type"]))
    value = ", ".join(standing(element, frame, aim["data_block"]))
    attributes = {"class_": "el-select", "aria_label": None if "id" in aim else empty, **aim}
    return tag("input", type="text", value=value, placeholder=empty, **attributes)


def _asks(kind: str) -> str:
    named = _NAMED.get(kind.removeprefix("multi_").removesuffix("_select"))
    return f"Choose {named[0]}" if named else "Choose an option"


def _offered(element: Block, frame: Frame, chosen: Iterable[str]) -> Options:
    named = _NAMED.get(str(element["type"]).removeprefix("multi_").removesuffix("_select"))
    if named is None:
        return _listed(element.get("options") or [])
    known = frame.viewer.ids(*named[1])
    sign = "@" if named[1][0] == "U" else "#"
    ids = [*known, *(one for one in chosen if one not in known)]
    return [(one, ("@" if one.startswith("D") else sign) + frame.viewer.name(one), "") for one in ids]


def _listed(options: Iterable[Block]) -> Options:
    return [(str(one.get("value", "")), _label(one), str(one.get("url", ""))) for one in options]


def _label(option: Block) -> str:
    """An option's text, and behind it what Slack writes in small print below it."""
    return " · ".join(filter(None, (words(option.get("text")), words(option.get("description")))))


def _options(options: Options, chosen: Iterable[str]) -> str:
    return "".join(
        tag(
            "option",
            escape(text),
            value=value,
            selected=value in chosen,
            data_url=url if is_safe(url) else None,
        )
        for value, text, url in options
    )


def _boxes(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    """Radio buttons or checkboxes: one group, of which every box has its value."""
    kind = "radio" if element["type"] == "radio_buttons" else "checkbox"
    block_id, action_id = str(aim["data_block"]), str(aim["data_action"])
    chosen = standing(element, frame, block_id)
    name = frame.new_id(block_id, action_id, "group")
    rows = []
    for option in element.get("options") or []:
        value, identifier = str(option.get("value", "")), frame.new_id(block_id, action_id, "option")
        box = tag("input", type=kind, name=name, id=identifier, value=value, checked=value in chosen)
        about = option.get("description")
        text = frame.text(option.get("text"))
        if about:
            text += tag("span", frame.text(about), class_="option-about")
        rows.append(tag("div", box + tag("label", text, for_=identifier), class_="option"))
    named = {} if "aria_labelledby" in aim else {"aria_label": "Options"}
    group = "el-radio" if kind == "radio" else "el-checkboxes"
    attributes = {"class_": group, "role": "radiogroup" if kind == "radio" else "group", **named, **aim}
    return tag("fieldset", "".join(rows), **attributes)


def _picker(element: Block, frame: Frame, aim: dict[str, Any]) -> str:
    kind = str(element["type"])
    value = "".join(standing(element, frame, aim["data_block"])[:1])
    if kind == "datetimepicker":
        value = _local(value, frame)
    label = words(element.get("placeholder")) or (
        "Choose a time" if kind == "timepicker" else "Choose a date"
    )
    attributes = {"class_": "el-picker", "aria_label": None if "id" in aim else label, **aim}
    return tag("input", type=_PICKERS[kind], value=value, title=label, data_tz=frame.viewer.tz, **attributes)


def _local(epoch: str, frame: Frame) -> str:
    """Seconds since the epoch as the viewer's clock shows them, for a control that knows no zones."""
    if not epoch.isdecimal():
        return ""
    return f"{datetime.fromtimestamp(int(epoch), frame.viewer.zone):%Y-%m-%dT%H:%M}"


_RENDERERS: Mapping[str, Callable[[Block, Frame, dict[str, Any]], str]] = {
    "button": _button,
    "icon_button": _icon_button,
    "feedback_buttons": _feedback,
    "overflow": _overflow,
    "image": lambda element, frame, _aim: image(element, frame, class_="accessory-image"),
    "radio_buttons": _boxes,
    "checkboxes": _boxes,
    **dict.fromkeys(_PICKERS, _picker),
    **dict.fromkeys(("external_select", "multi_external_select"), _external),
    **{f"{many}{kind}_select": _select for kind in ("static", *_NAMED) for many in ("", "multi_")},
}
