"""Everything that the bot says, before each judge that runs in Python; `make test-types` is the other one.

A judge's test fails with every payload that it refuses, by name, and what it said.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import slackblocks
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View
from slackblocks._core import resolve

from bot.standin.slack.blocks import check_message_blocks, check_view
from bot.standin.slack.errors import SlackError
from handlers.render import limits
from tests.golden import slackblocks_builder
from tests.golden.corpus import Payload, makers
from tests.golden.samples import corpus, samples
from tests.types.typescript import JudgeBrokenError, findings, literal
from tests.types.wrong import WRONG

ROOT = Path(__file__).parents[2]
CORPUS = list(corpus())
BLOCKS = [payload for payload in CORPUS if payload.surface == "message"]
VIEWS = [payload for payload in CORPUS if payload.surface in ("modal", "home")]
TEXTS = [payload for payload in CORPUS if payload.surface == "text"]


def refused(
    judge: Callable[[Any], object], payloads: list[Payload], *errors: type[Exception]
) -> dict[str, str]:
    """Payload → what the judge said against it. Each judge gets a copy of its own."""
    found: dict[str, str] = {}
    for payload in payloads:
        try:
            judge(copy.deepcopy(payload.body))
        except errors as error:
            found[payload.name] = f"{error} {getattr(error, 'extra', '')}"
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


def test_the_stand_in_takes_every_message() -> None:
    assert refused(check_message_blocks, BLOCKS, SlackError) == {}


def test_the_stand_in_takes_every_view() -> None:
    def judge(view: Any) -> None:
        check_view(view, kinds=("modal", "home"))

    assert refused(judge, VIEWS, SlackError) == {}


def test_every_text_fits_an_edit_and_says_something() -> None:
    assert [p.name for p in TEXTS if not p.body.strip()] == []
    assert [p.name for p in TEXTS if p.name.endswith("own-text") and len(p.body) > limits.TEXT] == []


def test_no_foreign_word_reaches_the_whole_channel() -> None:
    live = [p.name for p in CORPUS for text in markup_in(p.body) if "<!channel>" in text or "|here>" in text]
    plain = [p.name for p in TEXTS if "<!channel>" in p.body or "|here>" in p.body]

    assert live + plain == []


def test_slack_sdk_reads_every_message_and_loses_nothing() -> None:
    def judge(blocks: Any) -> None:
        for block in copy.deepcopy(blocks):
            parsed = Block.parse(copy.deepcopy(block))
            assert parsed is not None
            assert parsed.to_dict() == block

    assert refused(judge, BLOCKS, AssertionError, SlackObjectFormationError) == {}


def test_slack_sdk_reads_every_view_and_loses_nothing() -> None:
    def judge(view: Any) -> None:
        assert View(**copy.deepcopy(view)).to_dict() == view

    assert refused(judge, VIEWS, AssertionError, SlackObjectFormationError) == {}


def test_slackblocks_takes_every_message() -> None:
    def judge(blocks: Any) -> None:
        kinds = [block["type"] for block in blocks]
        assert [block["type"] for block in resolve(slackblocks_builder.message(blocks))["blocks"]] == kinds

    assert refused(judge, BLOCKS, AssertionError, slackblocks.InvalidUsageError, KeyError) == {}


def test_slackblocks_takes_every_view() -> None:
    def judge(view: Any) -> None:
        assert resolve(slackblocks_builder.built(view))["type"] == view["type"]

    assert refused(judge, VIEWS, AssertionError, slackblocks.InvalidUsageError, KeyError) == {}


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}],
        [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}],
        [{"type": "alert", "text": {"type": "mrkdwn", "text": "x"}}],
        [{"type": "task_card", "task_id": "1", "title": "x", "status": "pending"}],
        [{"type": "divider"}] * 51,
    ],
    ids=["long-header", "long-section", "alert", "pending-task", "many-blocks"],
)
def test_the_judges_refuse_what_is_wrong(blocks: list[dict[str, Any]]) -> None:
    wrong = [Payload("wrong", "message", blocks)]

    assert refused(check_message_blocks, wrong, SlackError)
    assert refused(slackblocks_builder.message, wrong, slackblocks.InvalidUsageError)


def test_a_finding_of_the_compiler_names_the_payload_and_nothing_else_passes() -> None:
    lines = {("message.ts", 7): "stop.stop_card/usual"}

    [finding] = findings("message.ts(7,14): error TS2322: no.\n  because of this\n", lines)

    assert str(finding) == "stop.stop_card/usual: error TS2322: no."
    with pytest.raises(JudgeBrokenError):
        list(findings("message.ts(1,1): error TS2307: Cannot find module '@slack/types'.", lines))


def test_the_wrong_payloads_are_of_every_surface_and_stay_literals() -> None:
    assert {payload.surface for payload in WRONG} == {"message", "modal", "home"}
    assert all("\n" not in literal(payload.body) for payload in WRONG)
