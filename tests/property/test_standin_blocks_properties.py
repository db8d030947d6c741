"""Whatever an app sends as blocks or a view, the Slack stand-in takes it or says why not; it never breaks."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.standin.slack.block_shapes import BLOCKS
from bot.standin.slack.block_spec import ELEMENTS
from bot.standin.slack.blocks import check_message_blocks, check_view
from bot.standin.slack.errors import SlackError

KINDS = sorted({*BLOCKS, *ELEMENTS, "plain_text", "mrkdwn", "rich_text_section", "text", "gremlin"})
KEYS = [
    "accessory", "action_id", "actions", "block_id", "blocks", "child_blocks", "confirm", "details",
    "element", "elements", "fields", "initial_option", "label", "option_groups", "options", "rows",
    "status", "tasks", "task_id", "text", "title", "url", "value",
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)


def things(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    typed = st.builds(lambda kind, rest: {"type": kind, **rest}, st.sampled_from(KINDS) | inner, named)
    return st.lists(inner, max_size=3) | typed | named


ANYTHING = st.recursive(SCALARS, things, max_leaves=25)


def refusal(check: Callable[[Any], Any], value: Any) -> SlackError | None:
    """What Slack says against it, if anything."""
    try:
        check(value)
    except SlackError as refused:
        return refused
    return None


@given(st.lists(ANYTHING, max_size=4) | ANYTHING)
def test_blocks_are_taken_or_refused_with_a_word(blocks: Any) -> None:
    refused = refusal(check_message_blocks, blocks)

    if refused is None:
        listed = json.loads(blocks) if isinstance(blocks, str) else blocks
        assert all(isinstance(block, dict) and block["type"] in BLOCKS for block in listed)
    else:
        assert refused.error in {"invalid_blocks", "invalid_blocks_format", "invalid_attachments"}
        assert json.dumps(refused.body())


@given(ANYTHING, st.dictionaries(st.sampled_from([*KEYS, "submit", "close", "private_metadata"]), ANYTHING))
def test_a_view_is_taken_or_refused_with_a_word(blocks: Any, rest: dict[str, Any]) -> None:
    view = {"title": {"type": "plain_text", "text": "t"}, **rest, "type": "modal", "blocks": blocks}

    refused = refusal(check_view, view)

    if refused is None:
        assert blocks
    else:
        assert refused.error == "invalid_arguments"
        assert refused.extra["response_metadata"]["messages"]
