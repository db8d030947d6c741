"""The blocks themselves, and the view, in the words of `block_spec`."""

from collections.abc import Mapping

from bot.standin.slack.block_spec import (
    ACTION_ELEMENTS,
    CONTAINER_CHILDREN,
    ELEMENTS,
    ID,
    INPUT_ELEMENTS,
    PLAIN,
    SECTION_ACCESSORIES,
    SLACK_FILE,
    URL,
    Choice,
    Fields,
    Flag,
    Many,
    Num,
    Shape,
    Str,
    Text,
    Typed,
)

MESSAGE = ("message",)
RICH = Typed(("rich_text",))
_CARD_ACTIONS = Many(Typed(("button",)), 2)
_TASK = Shape(
    {
        "task_id": ID,
        "title": Str(3000),
        "status": Choice(("pending", "in_progress", "complete", "error")),
    },
    {"details": RICH, "output": RICH, "sources": Many(Typed(("url",)), 50)},
    surfaces=MESSAGE,
)
_IMAGE_SOURCE: Fields = {"image_url": URL, "slack_file": SLACK_FILE}
_MARKUP = ("mrkdwn",)
_CELL = Typed(("raw_text", "raw_number", "rich_text"))
CONTAINERS: Mapping[str, str] = {"container": "child_blocks", "carousel": "elements"}
"""Blocks that hold other blocks, and the key that holds them."""

BLOCKS: Mapping[str, Shape] = {
    "section": Shape(
        {},
        {
            "text": Text(3000),
            "fields": Many(Text(2000), 10),
            "accessory": Typed(SECTION_ACCESSORIES),
            "expand": Flag(),
        },
        ("text", "fields"),
    ),
    "header": Shape({"text": Text(150, PLAIN)}),
    "divider": Shape(),
    "context": Shape({"elements": Many(Typed(("image_element", "plain_text", "mrkdwn")), 10)}),
    "actions": Shape({"elements": Many(Typed(ACTION_ELEMENTS), 25)}),
    "input": Shape(
        {"label": Text(2000, PLAIN), "element": Typed(INPUT_ELEMENTS)},
        {"hint": Text(2000, PLAIN), "optional": Flag(), "dispatch_action": Flag()},
    ),
    "image": Shape(
        {"alt_text": Str(2000)}, {"title": Text(2000, PLAIN), **_IMAGE_SOURCE}, ("image_url", "slack_file")
    ),
    "rich_text": Shape(
        {
            "elements": Many(
                Typed(("rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote")),
                500,
                lo=0,
            )
        }
    ),
    "video": Shape(
        {"alt_text": Str(2000), "title": Text(199, PLAIN), "thumbnail_url": URL, "video_url": URL},
        {
            "title_url": Str(2000),
            "description": Text(200, PLAIN),
            "provider_icon_url": Str(2000),
            "provider_name": Str(50),
            "author_name": Str(49),
        },
    ),
    "file": Shape({"external_id": ID, "source": Choice(("remote",))}, surfaces=MESSAGE),
    "markdown": Shape({"text": Str(12_000)}, surfaces=MESSAGE),
    "table": Shape(
        {"rows": Many(Many(_CELL, 20), 100)},
        {
            "column_settings": Many(
                Shape({}, {"align": Choice(("left", "center", "right")), "is_wrapped": Flag()}),
                20,
                nullable=True,
            )
        },
        surfaces=MESSAGE,
    ),
    "task_card": _TASK,
    "plan": Shape({"title": Str(3000)}, {"tasks": Many(Typed(("task_card",)), 50)}, surfaces=MESSAGE),
    "alert": Shape(
        {"text": Text(200)},
        {"level": Choice(("default", "info", "warning", "error", "success"))},
        surfaces=("modal",),
    ),
    "card": Shape(
        {},
        {
            "hero_image": Typed(("image_element",)),
            "icon": Typed(("image_element",)),
            "title": Text(150, _MARKUP),
            "subtitle": Text(150, _MARKUP),
            "body": Text(200, _MARKUP),
            "subtext": Text(200, _MARKUP),
            "actions": _CARD_ACTIONS,
        },
        ("hero_image", "title", "actions", "body"),
        surfaces=("message", "home"),
    ),
    "carousel": Shape({"elements": Many(Typed(("card",)), 10)}, surfaces=("message", "home")),
    "container": Shape(
        {"child_blocks": Many(Typed(CONTAINER_CHILDREN), 10)},
        {
            "title": Text(150, PLAIN),
            "rich_text_title": RICH,
            "subtitle": Text(150),
            "width": Choice(("narrow", "standard", "wide", "full")),
            "icon": Typed(("image_element",)),
            "is_collapsible": Flag(),
            "default_collapsed": Flag(),
            "has_header_divider": Flag(),
        },
        ("title", "rich_text_title"),
        surfaces=MESSAGE,
    ),
    "context_actions": Shape(
        {"elements": Many(Typed(("feedback_buttons", "icon_button")), 5)}, surfaces=MESSAGE
    ),
    "data_table": Shape(
        {"rows": Many(Many(_CELL, 20), 101, lo=2), "caption": Str(3000)},
        {"page_size": Num(1, 100), "row_header_column_index": Num(0, 19)},
        surfaces=("message", "home"),
    ),
    "data_visualization": Shape(
        {"title": Str(50), "chart": Typed(("pie", "bar", "area", "line"))}, surfaces=MESSAGE
    ),
}

_POINT = Shape({"label": Str(20), "value": Num()})
_AXES = Shape(
    {
        "series": Many(Shape({"name": Str(20), "data": Many(_POINT, 20)}), 12),
        "axis_config": Shape(
            {"categories": Many(Str(20), 20)}, {"x_label": Str(50, 0), "y_label": Str(50, 0)}
        ),
    }
)
_CHARTS: Mapping[str, Shape] = {
    "pie": Shape({"segments": Many(Shape({"label": Str(20), "value": Num(0, open=True)}), 12)}),
    "bar": _AXES,
    "area": _AXES,
    "line": _AXES,
}

_STYLED: Fields = {
    "style": Shape({}, {name: Flag() for name in ("bold", "italic", "strike", "code", "underline")})
}
_RICH_LEAVES = (
    "text",
    "link",
    "emoji",
    "user",
    "usergroup",
    "channel",
    "broadcast",
    "date",
    "color",
    "team",
)
_RICH_TEXT: Mapping[str, Shape] = {
    "rich_text_section": Shape({"elements": Many(Typed(_RICH_LEAVES), 1000, lo=0)}),
    "rich_text_list": Shape(
        {"elements": Many(Typed(("rich_text_section",)), 1000), "style": Choice(("bullet", "ordered"))},
        {"indent": Num(0, 8), "offset": Num(0), "border": Num(0, 1)},
    ),
    "rich_text_preformatted": Shape(
        {"elements": Many(Typed(("text", "link")), 1000)}, {"border": Num(0, 1), "language": Str(50)}
    ),
    "rich_text_quote": Shape({"elements": Many(Typed(_RICH_LEAVES), 1000)}, {"border": Num(0, 1)}),
    "text": Shape({"text": Str(40_000)}, _STYLED),
    "link": Shape({"url": URL}, {"text": Str(3000), "unsafe": Flag(), **_STYLED}),
    "emoji": Shape({"name": Str(100)}, {"unicode": Str(100), "skin_tone": Num(1, 6), **_STYLED}),
    "user": Shape({"user_id": ID}, _STYLED),
    "usergroup": Shape({"usergroup_id": ID}, _STYLED),
    "channel": Shape({"channel_id": ID}, _STYLED),
    "broadcast": Shape({"range": Choice(("here", "channel", "everyone"))}, _STYLED),
    "date": Shape(
        {"timestamp": Num(0), "format": Str(255)}, {"url": URL, "fallback": Str(3000, 0), **_STYLED}
    ),
    "color": Shape({"value": Str(50)}, _STYLED),
    "team": Shape({"team_id": ID}, _STYLED),
}
_TEXT_OBJECTS: Mapping[str, Shape] = {
    "plain_text": Shape({"text": Str(3000)}, {"emoji": Flag()}),
    "mrkdwn": Shape({"text": Str(3000)}, {"verbatim": Flag()}),
}

SHAPES: Mapping[str, Shape] = {**ELEMENTS, **_CHARTS, **_RICH_TEXT, **_TEXT_OBJECTS, **BLOCKS}

VIEW_SIZE = 250_000
VIEWS: Mapping[str, Shape] = {
    "modal": Shape(
        {"title": Text(24, PLAIN)},
        {
            "submit": Text(24, PLAIN),
            "close": Text(24, PLAIN),
            "private_metadata": Str(3000, 0),
            "callback_id": Str(255, 0),
            "external_id": Str(255, 0),
            "clear_on_close": Flag(),
            "notify_on_close": Flag(),
            "submit_disabled": Flag(),
        },
    ),
    "home": Shape(
        {},
        {"private_metadata": Str(3000, 0), "callback_id": Str(255, 0), "external_id": Str(255, 0)},
    ),
}
