"""The limits of the stand-in's tables by name, beside those of slackblocks: which is which, and who is right.

A name of ours is the path to it in the tables, such as ``section/fields/each.text-max``. Names may be
patterns where many places share one rule. *Reference* is docs.slack.dev/reference/block-kit.
"""

from collections.abc import Iterator, Mapping
from math import isinf
from types import ModuleType

from bot.standin.slack.block_shapes import SHAPES, VIEWS
from bot.standin.slack.block_spec import (
    BLOCKS_PER_SURFACE,
    CHARTS_PER_MESSAGE,
    ID_LIMIT,
    MARKDOWN_TOTAL,
    TABLE_TEXT_TOTAL,
    Many,
    Num,
    Shape,
    Spec,
    Str,
    Text,
)
from bot.standin.slack.methods_chat import MOST_ATTACHMENTS


def ours() -> dict[str, float]:
    """Every number in the tables of the stand-in."""
    found: dict[str, float] = {
        "message.blocks": BLOCKS_PER_SURFACE["message"],
        "modal.blocks": BLOCKS_PER_SURFACE["modal"],
        "home.blocks": BLOCKS_PER_SURFACE["home"],
        "block.block_id": ID_LIMIT,
        "message.attachments": MOST_ATTACHMENTS,
        "message.charts": CHARTS_PER_MESSAGE,
        "message.markdown": MARKDOWN_TOTAL,
        "table.content": TABLE_TEXT_TOTAL["table"],
        "data_table.content": TABLE_TEXT_TOTAL["data_table"],
    }
    for name, shape in {**SHAPES, **VIEWS}.items():
        found.update(_numbers(shape, name))
    return found


def theirs(limits: ModuleType) -> dict[str, float]:
    """Every number of slackblocks' table."""
    return {name: value for name, value in vars(limits).items() if name.isupper()}


def _numbers(spec: Spec, path: str) -> Iterator[tuple[str, float]]:
    match spec:
        case Text():
            yield from ((f"{path}.text-min", spec.lo), (f"{path}.text-max", spec.hi))
        case Str():
            yield from ((f"{path}.string-min", spec.lo), (f"{path}.string-max", spec.hi))
        case Num():
            ends = (("min", spec.lo), ("max", spec.hi))
            yield from ((f"{path}.{name}", value) for name, value in ends if not isinf(value))
        case Many():
            yield from ((f"{path}.items-min", spec.lo), (f"{path}.items-max", spec.hi))
            yield from _numbers(spec.of, f"{path}/each")
        case Shape():
            for key, inner in {**spec.required, **spec.optional}.items():
                yield from _numbers(inner, f"{path}/{key}")


_OPTION = ("*options/each/{}", "*/initial_option/{}")


def _option(end: str) -> tuple[str, ...]:
    return tuple(pattern.format(end) for pattern in _OPTION)


SAME: Mapping[str, tuple[str, ...]] = {
    "TEXT_MIN_LENGTH": ("*.text-min",),
    "TEXT_MAX_LENGTH": ("plain_text/text.string-max", "mrkdwn/text.string-max"),
    "ACTION_ID_MAX_LENGTH": ("*/action_id.string-max",),
    "BLOCK_ID_MAX_LENGTH": ("block.block_id",),
    "BUTTON_TEXT_MAX_LENGTH": ("button/text.text-max", "icon_button/text.text-max"),
    "BUTTON_URL_MAX_LENGTH": ("button/url.string-max",),
    "BUTTON_VALUE_MAX_LENGTH": ("button/value.string-max",),
    "BUTTON_ACCESSIBILITY_LABEL_MAX_LENGTH": ("button/accessibility_label.string-max",),
    "BUTTON_AGENT_PROMPT_MAX_LENGTH": ("button/agent_prompt.string-max",),
    "CONFIRMATION_TITLE_MAX_LENGTH": ("*/confirm/title.text-max",),
    "CONFIRMATION_TEXT_MAX_LENGTH": ("*/confirm/text.text-max",),
    "CONFIRMATION_CONFIRM_MAX_LENGTH": ("*/confirm/confirm.text-max",),
    "CONFIRMATION_DENY_MAX_LENGTH": ("*/confirm/deny.text-max",),
    "OPTION_TEXT_MAX_LENGTH": _option("text.text-max"),
    "OPTION_VALUE_MAX_LENGTH": _option("value.string-max"),
    "OPTION_DESCRIPTION_MAX_LENGTH": _option("description.text-max"),
    "OPTION_URL_MAX_LENGTH": ("overflow/options/each/url.string-max",),
    "OPTION_GROUP_LABEL_MAX_LENGTH": ("*/option_groups/each/label.text-max",),
    "OPTION_GROUP_OPTIONS_MIN_ITEMS": ("*/option_groups/each/options.items-min",),
    "OPTION_GROUP_OPTIONS_MAX_ITEMS": ("*/option_groups/each/options.items-max",),
    "SELECT_PLACEHOLDER_MAX_LENGTH": ("*_select/placeholder.text-max",),
    "SELECT_OPTIONS_MIN_ITEMS": ("*static_select/options.items-min",),
    "SELECT_OPTIONS_MAX_ITEMS": ("*static_select/options.items-max", "multi_*/initial_options.items-max"),
    "SELECT_OPTION_GROUPS_MIN_ITEMS": ("*/option_groups.items-min",),
    "SELECT_OPTION_GROUPS_MAX_ITEMS": ("*/option_groups.items-max",),
    "SELECT_MIN_QUERY_LENGTH_MIN": ("*/min_query_length.min",),
    "OVERFLOW_OPTIONS_MIN_ITEMS": ("overflow/options.items-min",),
    "OVERFLOW_OPTIONS_MAX_ITEMS": ("overflow/options.items-max",),
    "CHECKBOXES_OPTIONS_MIN_ITEMS": ("checkboxes/options.items-min",),
    "CHECKBOXES_OPTIONS_MAX_ITEMS": ("checkboxes/options.items-max", "checkboxes/initial_options.items-max"),
    "RADIO_BUTTONS_OPTIONS_MIN_ITEMS": ("radio_buttons/options.items-min",),
    "RADIO_BUTTONS_OPTIONS_MAX_ITEMS": ("radio_buttons/options.items-max",),
    "FILE_INPUT_MAX_FILES_MIN": ("file_input/max_files.min",),
    "FILE_INPUT_MAX_FILES_MAX": ("file_input/max_files.max",),
    "PLAIN_TEXT_INPUT_MIN_LENGTH_MIN": ("plain_text_input/min_length.min",),
    "PLAIN_TEXT_INPUT_MIN_LENGTH_MAX": ("plain_text_input/min_length.max",),
    "PLAIN_TEXT_INPUT_MAX_LENGTH_MIN": ("plain_text_input/max_length.min",),
    "PLAIN_TEXT_INPUT_MAX_LENGTH_MAX": (
        "plain_text_input/max_length.max",
        "plain_text_input/initial_value.string-max",
    ),
    "PLAIN_TEXT_INPUT_PLACEHOLDER_MAX_LENGTH": ("plain_text_input/placeholder.text-max",),
    "EMAIL_INPUT_PLACEHOLDER_MAX_LENGTH": ("email_text_input/placeholder.text-max",),
    "URL_INPUT_PLACEHOLDER_MAX_LENGTH": ("url_text_input/placeholder.text-max",),
    "NUMBER_INPUT_PLACEHOLDER_MAX_LENGTH": ("number_input/placeholder.text-max",),
    "DATE_PICKER_PLACEHOLDER_MAX_LENGTH": ("datepicker/placeholder.text-max",),
    "TIME_PICKER_PLACEHOLDER_MAX_LENGTH": ("timepicker/placeholder.text-max",),
    "RICH_TEXT_INPUT_PLACEHOLDER_MAX_LENGTH": ("rich_text_input/placeholder.text-max",),
    "RICH_TEXT_INPUT_MIN_LINES_MIN": ("rich_text_input/min_lines.min",),
    "RICH_TEXT_INPUT_MIN_LINES_MAX": ("rich_text_input/min_lines.max",),
    "RICH_TEXT_INPUT_MAX_LINES_MIN": ("rich_text_input/max_lines.min",),
    "RICH_TEXT_INPUT_MAX_LINES_MAX": ("rich_text_input/max_lines.max",),
    "MULTI_SELECT_MAX_SELECTED_ITEMS_MIN": ("multi_*/max_selected_items.min",),
    "CONVERSATION_FILTER_INCLUDE_MIN_ITEMS": ("*/filter/include.items-min",),
    "DISPATCH_ACTION_CONFIGURATION_TRIGGER_ACTIONS_ON_MIN_ITEMS": ("*/trigger_actions_on.items-min",),
    "DISPATCH_ACTION_CONFIGURATION_TRIGGER_ACTIONS_ON_MAX_ITEMS": ("*/trigger_actions_on.items-max",),
    "ACTIONS_ELEMENTS_MAX_ITEMS": ("actions/elements.items-max",),
    "ALERT_TEXT_MAX_LENGTH": ("alert/text.text-max",),
    "CARD_TITLE_MAX_LENGTH": ("card/title.text-max",),
    "CARD_SUBTITLE_MAX_LENGTH": ("card/subtitle.text-max",),
    "CARD_BODY_MAX_LENGTH": ("card/body.text-max",),
    "CARD_SUBTEXT_MAX_LENGTH": ("card/subtext.text-max",),
    "CAROUSEL_ELEMENTS_MIN_ITEMS": ("carousel/elements.items-min",),
    "CAROUSEL_ELEMENTS_MAX_ITEMS": ("carousel/elements.items-max",),
    "CONTAINER_TITLE_MAX_LENGTH": ("container/title.text-max",),
    "CONTAINER_SUBTITLE_MAX_LENGTH": ("container/subtitle.text-max",),
    "CONTAINER_CHILD_BLOCKS_MIN_ITEMS": ("container/child_blocks.items-min",),
    "CONTAINER_CHILD_BLOCKS_MAX_ITEMS": ("container/child_blocks.items-max",),
    "CONTEXT_ELEMENTS_MAX_ITEMS": ("context/elements.items-max",),
    "CONTEXT_ACTIONS_ELEMENTS_MAX_ITEMS": ("context_actions/elements.items-max",),
    "FEEDBACK_BUTTON_TEXT_MAX_LENGTH": ("feedback_buttons/*_button/text.text-max",),
    "FEEDBACK_BUTTON_VALUE_MAX_LENGTH": ("feedback_buttons/*_button/value.string-max",),
    "FEEDBACK_BUTTON_ACCESSIBILITY_LABEL_MAX_LENGTH": (
        "feedback_buttons/*_button/accessibility_label.string-max",
    ),
    "ICON_BUTTON_VALUE_MAX_LENGTH": ("icon_button/value.string-max",),
    "ICON_BUTTON_ACCESSIBILITY_LABEL_MAX_LENGTH": ("icon_button/accessibility_label.string-max",),
    "ICON_BUTTON_VISIBLE_TO_USER_IDS_MAX_ITEMS": ("*button/visible_to_user_ids.items-max",),
    "WORKFLOW_BUTTON_TEXT_MAX_LENGTH": ("workflow_button/text.text-max",),
    "WORKFLOW_BUTTON_ACCESSIBILITY_LABEL_MAX_LENGTH": ("workflow_button/accessibility_label.string-max",),
    "TABLE_ROWS_MAX_ITEMS": ("table/rows.items-max",),
    "TABLE_COLUMNS_MAX_ITEMS": ("table/rows/each.items-max",),
    "TABLE_COLUMN_SETTINGS_MAX_ITEMS": ("table/column_settings.items-max",),
    "DATA_TABLE_ROWS_MIN_ITEMS": ("data_table/rows.items-min",),
    "DATA_TABLE_COLUMNS_MIN_ITEMS": ("data_table/rows/each.items-min",),
    "DATA_TABLE_COLUMNS_MAX_ITEMS": ("data_table/rows/each.items-max",),
    "DATA_TABLE_PAGE_SIZE_MIN": ("data_table/page_size.min",),
    "DATA_TABLE_PAGE_SIZE_MAX": ("data_table/page_size.max",),
    "DATA_TABLE_CELL_TEXT_MIN_LENGTH": ("raw_text/text.string-min",),
    "DATA_TABLE_ROW_HEADER_COLUMN_INDEX_MIN": ("data_table/row_header_column_index.min",),
    "DATA_VISUALIZATION_TITLE_MAX_LENGTH": ("data_visualization/title.string-max",),
    "DATA_VISUALIZATION_SEGMENTS_MIN_ITEMS": ("pie/segments.items-min",),
    "DATA_VISUALIZATION_SEGMENTS_MAX_ITEMS": ("pie/segments.items-max",),
    "DATA_VISUALIZATION_SEGMENT_LABEL_MAX_LENGTH": ("pie/segments/each/label.string-max",),
    "DATA_VISUALIZATION_SEGMENT_VALUE_EXCLUSIVE_MIN": ("pie/segments/each/value.min",),
    "DATA_VISUALIZATION_SERIES_MIN_ITEMS": ("*/series.items-min",),
    "DATA_VISUALIZATION_SERIES_MAX_ITEMS": ("*/series.items-max",),
    "DATA_VISUALIZATION_SERIES_NAME_MAX_LENGTH": ("*/series/each/name.string-max",),
    "DATA_VISUALIZATION_DATA_MIN_ITEMS": ("*/series/each/data.items-min",),
    "DATA_VISUALIZATION_DATA_MAX_ITEMS": ("*/series/each/data.items-max",),
    "DATA_VISUALIZATION_POINT_LABEL_MAX_LENGTH": ("*/series/each/data/each/label.string-max",),
    "DATA_VISUALIZATION_CATEGORIES_MIN_ITEMS": ("*/axis_config/categories.items-min",),
    "DATA_VISUALIZATION_CATEGORIES_MAX_ITEMS": ("*/axis_config/categories.items-max",),
    "DATA_VISUALIZATION_CATEGORY_LABEL_MAX_LENGTH": ("*/axis_config/categories/each.string-max",),
    "DATA_VISUALIZATION_AXIS_LABEL_MAX_LENGTH": ("*/axis_config/?_label.string-max",),
    "HEADER_TEXT_MAX_LENGTH": ("header/text.text-max",),
    "IMAGE_IMAGE_URL_MAX_LENGTH": ("image/image_url.string-max",),
    "IMAGE_ALT_TEXT_MAX_LENGTH": ("image/alt_text.string-max",),
    "IMAGE_TITLE_MAX_LENGTH": ("image/title.text-max",),
    "IMAGE_ELEMENT_IMAGE_URL_MAX_LENGTH": ("image_element/image_url.string-max",),
    "IMAGE_ELEMENT_ALT_TEXT_MAX_LENGTH": ("image_element/alt_text.string-max",),
    "INPUT_LABEL_MAX_LENGTH": ("input/label.text-max",),
    "INPUT_HINT_MAX_LENGTH": ("input/hint.text-max",),
    "MARKDOWN_TEXT_MAX_LENGTH": ("markdown/text.string-max",),
    "MARKDOWN_TOTAL_TEXT_MAX_LENGTH": ("message.markdown",),
    "PLAN_TASKS_MAX_ITEMS": ("plan/tasks.items-max",),
    "RICH_TEXT_LIST_INDENT_MIN": ("rich_text_list/indent.min",),
    "RICH_TEXT_LIST_INDENT_MAX": ("rich_text_list/indent.max",),
    "RICH_TEXT_LIST_OFFSET_MIN": ("rich_text_list/offset.min",),
    "RICH_TEXT_LIST_BORDER_MIN": ("rich_text_list/border.min",),
    "RICH_TEXT_LIST_BORDER_MAX": ("rich_text_list/border.max",),
    "RICH_TEXT_QUOTE_BORDER_MIN": ("rich_text_quote/border.min",),
    "RICH_TEXT_QUOTE_BORDER_MAX": ("rich_text_quote/border.max",),
    "RICH_TEXT_PREFORMATTED_BORDER_MIN": ("rich_text_preformatted/border.min",),
    "RICH_TEXT_PREFORMATTED_BORDER_MAX": ("rich_text_preformatted/border.max",),
    "SECTION_TEXT_MAX_LENGTH": ("section/text.text-max",),
    "SECTION_FIELDS_MAX_ITEMS": ("section/fields.items-max",),
    "SECTION_FIELDS_ITEM_MAX_LENGTH": ("section/fields/each.text-max",),
    "VIDEO_ALT_TEXT_MAX_LENGTH": ("video/alt_text.string-max",),
    "VIDEO_DESCRIPTION_MAX_LENGTH": ("video/description.text-max",),
    "VIDEO_PROVIDER_NAME_MAX_LENGTH": ("video/provider_name.string-max",),
    "VIDEO_THUMBNAIL_URL_MAX_LENGTH": ("video/thumbnail_url.string-max",),
    "VIDEO_VIDEO_URL_MAX_LENGTH": ("video/video_url.string-max",),
    "VIDEO_TITLE_URL_MAX_LENGTH": ("video/title_url.string-max",),
    "VIDEO_PROVIDER_ICON_URL_MAX_LENGTH": ("video/provider_icon_url.string-max",),
    "MESSAGE_DATA_VISUALIZATIONS_MAX_ITEMS": ("message.charts",),
    "MESSAGE_BLOCKS_MAX_ITEMS": ("message.blocks",),
    "MESSAGE_ATTACHMENTS_MAX_ITEMS": ("message.attachments",),
    "VIEW_BLOCKS_MAX_ITEMS": ("modal.blocks", "home.blocks"),
    "VIEW_PRIVATE_METADATA_MAX_LENGTH": ("*/private_metadata.string-max",),
    "VIEW_CALLBACK_ID_MAX_LENGTH": ("*/callback_id.string-max",),
    "VIEW_EXTERNAL_ID_MAX_LENGTH": ("modal/external_id.string-max", "home/external_id.string-max"),
    "VIEW_TITLE_MAX_LENGTH": ("modal/title.text-max",),
    "VIEW_CLOSE_MAX_LENGTH": ("modal/close.text-max",),
    "VIEW_SUBMIT_MAX_LENGTH": ("modal/submit.text-max",),
}
"""Constant of slackblocks → the places of ours that must hold the same number."""

DIFFERENT: Mapping[str, tuple[str, float, float, str]] = {
    "CARD_ACTIONS_MAX_ITEMS": (
        "card/actions.items-max", 2, 3,
        "TightknitAI's schema has 2, slackblocks 3; the stricter one until a real workspace has been asked",
    ),
    "DATA_TABLE_ROWS_MAX_ITEMS": (
        "data_table/rows.items-max", 101, 201,
        "one header and 100 rows in TightknitAI's schema, 200 in slackblocks; the stricter one",
    ),
    "DATA_TABLE_CONTENT_MAX_LENGTH": (
        "data_table.content", 10_000, 20_000, "reports name 10,000 and 20,000; the stricter one",
    ),
    "VIDEO_TITLE_MAX_LENGTH": (
        "video/title.text-max", 199, 200, "reference: must be *less than* 200 characters",
    ),
    "VIDEO_AUTHOR_NAME_MAX_LENGTH": (
        "video/author_name.string-max", 49, 50, "reference: must be *less than* 50 characters",
    ),
}  # fmt: skip
"""Constant of slackblocks → our place, our number, theirs, and why ours stands."""

ONLY_THEIRS: Mapping[str, tuple[float, str]] = {
    "DATA_TABLE_TOTAL_CONTENT_MAX_LENGTH": (
        20_000,
        "over all data tables of a message; ours counts each one",
    ),
    "MESSAGE_CHANNEL_MIN_LENGTH": (1, "an argument of chat.postMessage, not of blocks: channel_not_found"),
}
"""Constant of slackblocks → its number, and why no table of ours has it."""

_IDS = "ids of Slack's own: the reference names no limit, the one of our ids stands"
_ROOM = "no source names a limit; wide enough for anything that makes sense"

ONLY_OURS: Mapping[str, str] = {
    "*.string-min": "an empty string is refused, or is what a field without a value holds (0)",
    "*/initial_date.string-*": "YYYY-MM-DD (reference)",
    "*/initial_time.string-*": "HH:mm (reference)",
    "*/initial_date_time.m*": "a UNIX time of ten digits (reference)",
    "*.items-min": "an empty list is refused: 'no fewer than 1 items'",
    "rich_text*/elements.items-*": _ROOM,
    "*/initial_user*": _IDS,
    "*/initial_conversation*": _IDS,
    "*/initial_channel*": _IDS,
    "*/visible_to_user_ids/each*": _IDS,
    "*/timezone.string-max": _IDS,
    "*/slack_file/*": "an id, or a URL of at most 3,000 characters as everywhere",
    "*_id.string-max": _IDS,
    "*/filter/include.items-max": "there are four kinds of conversation",
    "*/filetypes*": _ROOM,
    "email_text_input/initial_value.string-max": _ROOM,
    "url_text_input/initial_value.string-max": _ROOM,
    "number_input/*_value.string-max": _ROOM,
    "url/*": "a URL of at most 3,000 characters as everywhere, and its text",
    "raw_*/text.string-max": "what a text object holds; the sum over all cells is the limit that counts",
    "text/text.string-max": "the length of a message; msg_blocks_too_long comes earlier on a real Slack",
    "link/*": "a URL of at most 3,000 characters as everywhere, and its text",
    "emoji/*": "skin tones are 1 to 6 (slack_sdk)",
    "date/*": "a URL of at most 3,000 characters as everywhere; a time is not before 1970",
    "color/value.string-max": _ROOM,
    "rich_text_preformatted/language.string-max": _ROOM,
    "table.content": "10,000 characters over all cells: reports on table blocks that were refused",
    "task_card/title.string-max": _ROOM,
    "task_card/sources.items-max": _ROOM,
    "plan/title.string-max": _ROOM,
    "data_table/caption.string-max": _ROOM,
    "data_table/row_header_column_index.max": "the last of 20 columns; slackblocks asks the first row",
}
"""Places of ours that slackblocks has no number for, and where the number comes from."""

SURFACE_DIFFERENCES: Mapping[tuple[str, str], str] = {
    ("card", "modal"): "slackblocks and the reference list it; reported not to render there",
    ("container", "home"): "in newer sources only; announced for messages",
    ("table", "home"): "listed by slackblocks and the reference, forbidden by TightknitAI's schema",
    ("data_visualization", "home"): "in newer sources only; announced for messages",
}
"""(block, surface) that slackblocks allows and we do not, and why. Nothing is the other way round."""
