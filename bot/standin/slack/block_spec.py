"""What Block Kit allows, as tables: which keys, how long, how many, and where.

The numbers are those of docs.slack.dev/reference/block-kit, and of slack_sdk's models and @slack/types where
the pages are silent; where sources disagree the stricter one stands, so that what passes here passes there.
A test holds them against the independent tables of slackblocks and names each difference.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

SURFACES = ("message", "modal", "home")
BLOCKS_PER_SURFACE: Mapping[str, int] = {"message": 50, "modal": 100, "home": 100}
ID_LIMIT = 255
MARKDOWN_TOTAL = 12_000  # characters over all markdown blocks of one message
TABLE_TEXT_TOTAL: Mapping[str, int] = {"table": 10_000, "data_table": 10_000}  # characters over all cells
ONE_PER_MESSAGE = ("table", "plan")
CHARTS_PER_MESSAGE = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A text object of ``lo`` to ``hi`` characters."""

    hi: int
    kinds: tuple[str, ...] = ("plain_text", "mrkdwn")
    lo: int = 1


@dataclass(frozen=True, slots=True)
class Str:
    """A plain JSON string."""

    hi: int
    lo: int = 1


@dataclass(frozen=True, slots=True)
class Num:
    """A JSON number within bounds; ``open`` leaves the lower bound itself out."""

    lo: float = float("-inf")
    hi: float = float("inf")
    open: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """A JSON boolean."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a closed list of strings."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Free:
    """Any JSON; what stands below it is not looked at."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An object whose ``type`` names one of the shapes listed in `SHAPES`."""

    allowed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Many:
    """A list of ``lo`` to ``hi`` items."""

    of: "Spec"
    hi: int
    lo: int = 1
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """An object: its required and optional keys, and keys of which one at least must be there."""

    required: "Mapping[str, Spec]" = field(default_factory=dict)
    optional: "Mapping[str, Spec]" = field(default_factory=dict)
    one_of: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = SURFACES


Spec = Text | Str | Num | Flag | Choice | Free | Typed | Many | Shape
Fields = dict[str, Spec]

PLAIN = ("plain_text",)
ID = Str(ID_LIMIT)
URL = Str(3000)

CONFIRM = Shape(
    {"title": Text(100, PLAIN), "text": Text(300), "confirm": Text(30, PLAIN), "deny": Text(30, PLAIN)},
    {"style": Choice(("primary", "danger"))},
)
OPTION = Shape({"text": Text(75, PLAIN), "value": Str(150)}, {"description": Text(75, PLAIN)})
OVERFLOW_OPTION = Shape(OPTION.required, {**OPTION.optional, "url": URL})
BOX_OPTION = Shape({"text": Text(75), "value": Str(150)}, {"description": Text(75)})
OPTION_GROUP = Shape({"label": Text(75, PLAIN), "options": Many(OPTION, 100)})
FILTER = Shape(
    {},
    {
        "include": Many(Choice(("im", "mpim", "private", "public")), 4),
        "exclude_external_shared_channels": Flag(),
        "exclude_bot_users": Flag(),
    },
)
SLACK_FILE = Shape({}, {"id": ID, "url": URL}, ("id", "url"))
DISPATCH = Shape({}, {"trigger_actions_on": Many(Choice(("on_enter_pressed", "on_character_entered")), 2)})
FEEDBACK = Shape({"text": Text(75, PLAIN), "value": Str(2000)}, {"accessibility_label": Str(75)})
VIEWERS = Many(ID, 10)
_ACTION: Fields = {"action_id": ID, "confirm": CONFIRM, "focus_on_load": Flag()}
_PLACEHOLDER: Fields = {"placeholder": Text(150, PLAIN)}
_SELECT: Fields = _ACTION | _PLACEHOLDER
_MANY: Fields = _SELECT | {"max_selected_items": Num(1)}
_OPTIONS: Fields = {"options": Many(OPTION, 100), "option_groups": Many(OPTION_GROUP, 100)}
_TYPED_TEXT: Fields = {
    "action_id": ID,
    "placeholder": Text(150, PLAIN),
    "focus_on_load": Flag(),
    "dispatch_action_config": DISPATCH,
}

ELEMENTS: Mapping[str, Shape] = {
    "button": Shape(
        {"text": Text(75, PLAIN)},
        {
            "action_id": ID,
            "confirm": CONFIRM,
            "url": URL,
            "value": Str(2000),
            "style": Choice(("primary", "danger")),
            "accessibility_label": Str(75),
            "agent_prompt": Str(4000),
            "visible_to_user_ids": VIEWERS,
        },
    ),
    "workflow_button": Shape(
        {"text": Text(75, PLAIN), "workflow": Free()},
        {
            "action_id": ID,
            "confirm": CONFIRM,
            "style": Choice(("primary", "danger")),
            "accessibility_label": Str(75),
        },
    ),
    "static_select": Shape({}, _SELECT | _OPTIONS | {"initial_option": OPTION}, ("options", "option_groups")),
    "multi_static_select": Shape(
        {}, _MANY | _OPTIONS | {"initial_options": Many(OPTION, 100)}, ("options", "option_groups")
    ),
    "external_select": Shape({}, _SELECT | {"min_query_length": Num(0), "initial_option": OPTION}),
    "multi_external_select": Shape(
        {}, _MANY | {"min_query_length": Num(0), "initial_options": Many(OPTION, 100)}
    ),
    "users_select": Shape({}, _SELECT | {"initial_user": ID}),
    "multi_users_select": Shape({}, _MANY | {"initial_users": Many(ID, 100)}),
    "conversations_select": Shape(
        {},
        _SELECT
        | {
            "initial_conversation": ID,
            "default_to_current_conversation": Flag(),
            "response_url_enabled": Flag(),
            "filter": FILTER,
        },
    ),
    "multi_conversations_select": Shape(
        {},
        _MANY
        | {
            "initial_conversations": Many(ID, 100),
            "default_to_current_conversation": Flag(),
            "filter": FILTER,
        },
    ),
    "channels_select": Shape({}, _SELECT | {"initial_channel": ID, "response_url_enabled": Flag()}),
    "multi_channels_select": Shape({}, _MANY | {"initial_channels": Many(ID, 100)}),
    "overflow": Shape({"options": Many(OVERFLOW_OPTION, 5)}, {"action_id": ID, "confirm": CONFIRM}),
    "checkboxes": Shape(
        {"options": Many(BOX_OPTION, 10)}, _ACTION | {"initial_options": Many(BOX_OPTION, 10)}
    ),
    "radio_buttons": Shape({"options": Many(BOX_OPTION, 10)}, _ACTION | {"initial_option": BOX_OPTION}),
    "datepicker": Shape({}, _SELECT | {"initial_date": Str(10, 10)}),
    "timepicker": Shape({}, _SELECT | {"initial_time": Str(5, 5), "timezone": ID}),
    "datetimepicker": Shape({}, _ACTION | {"initial_date_time": Num(1_000_000_000, 9_999_999_999)}),
    "plain_text_input": Shape(
        {},
        _TYPED_TEXT
        | {
            "initial_value": Str(3000, 0),
            "multiline": Flag(),
            "min_length": Num(0, 3000),
            "max_length": Num(1, 3000),
        },
    ),
    "email_text_input": Shape({}, _TYPED_TEXT | {"initial_value": Str(3000, 0)}),
    "url_text_input": Shape({}, _TYPED_TEXT | {"initial_value": Str(3000, 0)}),
    "number_input": Shape(
        {"is_decimal_allowed": Flag()},
        _TYPED_TEXT | {"initial_value": Str(255, 0), "min_value": Str(255), "max_value": Str(255)},
    ),
    "rich_text_input": Shape(
        {},
        _TYPED_TEXT
        | {"initial_value": Typed(("rich_text",)), "min_lines": Num(1, 100), "max_lines": Num(1, 100)},
    ),
    "file_input": Shape(
        {}, {"action_id": ID, "filetypes": Many(ID, 100), "max_files": Num(1, 10)}, surfaces=("modal",)
    ),
    "image_element": Shape(
        {"alt_text": Str(2000)}, {"image_url": URL, "slack_file": SLACK_FILE}, ("image_url", "slack_file")
    ),
    "feedback_buttons": Shape({"positive_button": FEEDBACK, "negative_button": FEEDBACK}, {"action_id": ID}),
    "icon_button": Shape(
        {"icon": Choice(("trash",)), "text": Text(75, PLAIN)},
        {
            "action_id": ID,
            "value": Str(2000),
            "confirm": CONFIRM,
            "accessibility_label": Str(75),
            "visible_to_user_ids": VIEWERS,
        },
    ),
    "url": Shape({"url": URL, "text": Str(3000)}),
    "raw_text": Shape({"text": Str(3000)}),
    "raw_number": Shape({"value": Num(), "text": Str(3000)}),
}

SELECTS = tuple(name for name in ELEMENTS if name.endswith("_select"))
CHOICES = ("static_select", "multi_static_select", "checkboxes", "radio_buttons")
PICKERS = ("datepicker", "timepicker", "datetimepicker")
SECTION_ACCESSORIES = (
    *SELECTS,
    "button",
    "workflow_button",
    "checkboxes",
    "radio_buttons",
    "overflow",
    "datepicker",
    "timepicker",
    "image_element",
)
ACTION_ELEMENTS = (
    *(name for name in SELECTS if not name.startswith("multi_")),
    *(name for name in SELECTS if name.startswith("multi_")),
    "button",
    "workflow_button",
    "checkboxes",
    "radio_buttons",
    "overflow",
    "rich_text_input",
    *PICKERS,
)
INPUT_ELEMENTS = (
    *SELECTS,
    *PICKERS,
    "checkboxes",
    "radio_buttons",
    "plain_text_input",
    "email_text_input",
    "url_text_input",
    "number_input",
    "rich_text_input",
    "file_input",
)
CONTAINER_CHILDREN = (
    "actions",
    "context",
    "divider",
    "file",
    "header",
    "image",
    "input",
    "rich_text",
    "section",
    "table",
    "video",
)
