"""Everything that the bot says, before each judge that runs in Python; `make test-types` is the other one."""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import slackblocks
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View
from slackblocks import _surfaces as slackblocks_surfaces

from bot.standin.slack.blocks import check_message_blocks, check_view
from handlers.render import limits
from tests.golden.corpus import Payload, makers
from tests.golden.samples import corpus, samples
from tests.types.typescript import literal
from tests.types.wrong import WRONG

ROOT = Path(__file__).parents[2]
CORPUS = list(corpus())
BLOCKS = [payload for payload in CORPUS if payload.surface == "message"]
VIEWS = [payload for payload in CORPUS if payload.surface in ("modal", "home")]
TEXTS = [payload for payload in CORPUS if payload.surface == "text"]

FROM_DICT = {
    "section": slackblocks.SectionBlock,
    "header": slackblocks.HeaderBlock,
    "context": slackblocks.ContextBlock,
    "divider": slackblocks.DividerBlock,
}
"""The blocks of ours that slackblocks can read; it has no reader for actions, plan and rich_text."""


def named(payloads: list[Payload]) -> Any:
    return pytest.mark.parametrize("payload", payloads, ids=[payload.name for payload in payloads])


def blocks_of(payload: Payload) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = payload.body if payload.surface == "message" else payload.body["blocks"]
    return found


def markup_in(value: Any) -> Iterator[str]:
    """Every text in which Slack looks for markup."""
    if isinstance(value, dict):
        if value.get("type") == "mrkdwn":
            yield value["text"]
        for item in value.values():
            yield from markup_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from markup_in(item)


def test_every_render_function_has_a_sample() -> None:
    missing = makers() - {one.source for one in samples()}

    assert missing == set(), "add a line for each to tests/golden/samples.py"


def test_messages_are_made_in_render_only() -> None:
    """What is put together elsewhere would be in no corpus."""
    outside = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ("handlers", "bot/usecases")
        for path in (ROOT / room).rglob("*.py")
        if path.parent.name != "render"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Message"
    ]

    assert outside == []


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(p.name for p in CORPUS).items() if count > 1] == []


@named(BLOCKS)
def test_the_stand_in_takes_every_message(payload: Payload) -> None:
    check_message_blocks(copy.deepcopy(payload.body))


@named(VIEWS)
def test_the_stand_in_takes_every_view(payload: Payload) -> None:
    check_view(copy.deepcopy(payload.body), kinds=(payload.surface,))


def test_every_text_fits_an_edit_and_says_something() -> None:
    assert [p.name for p in TEXTS if not 0 < len(p.body.strip()) <= len(p.body) <= limits.TEXT] == []


def test_no_foreign_word_reaches_the_whole_channel() -> None:
    live = [p.name for p in CORPUS for text in markup_in(p.body) if "<!channel>" in text or "|here>" in text]
    plain = [p.name for p in TEXTS if "<!channel>" in p.body or "|here>" in p.body]

    assert live + plain == []


@named(BLOCKS + VIEWS)
def test_slack_sdk_reads_every_block_and_loses_nothing(payload: Payload) -> None:
    for block in blocks_of(payload):
        parsed = Block.parse(copy.deepcopy(block))

        assert parsed is not None
        assert parsed.to_dict() == block


@named(VIEWS)
def test_slack_sdk_reads_every_view(payload: Payload) -> None:
    assert View(**copy.deepcopy(payload.body)).to_dict() == payload.body


@named(BLOCKS + VIEWS)
def test_slackblocks_takes_every_block_on_its_surface(payload: Payload) -> None:
    surface: Any = payload.surface
    slackblocks_surfaces.validate_surface_blocks(blocks_of(payload), surface)

    for block in blocks_of(payload):
        reader = FROM_DICT.get(block["type"])
        if reader is not None:
            reader.from_dict(copy.deepcopy(block))


def test_what_slackblocks_cannot_read_is_known() -> None:
    ours = {block["type"] for payload in BLOCKS + VIEWS for block in blocks_of(payload)}

    assert ours - FROM_DICT.keys() == {"actions", "plan", "rich_text"}


def test_the_wrong_payloads_are_of_every_surface_and_stay_literals() -> None:
    assert {payload.surface for payload in WRONG} == {"message", "modal", "home"}
    assert all("\n" not in literal(payload.body) for payload in WRONG)
