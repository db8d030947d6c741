"""Every message and view of ours, as a person reads it in the console."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from unit.console_kit import VIEWER, Page, shown

import handlers
from bot.standin.console.emoji import DRAWN, spoken
from bot.standin.console.mrkdwn import render_mrkdwn
from tests.golden.samples import corpus


def sent(blocks: Any) -> list[dict[str, Any]]:
    made = json.loads(json.dumps(blocks))
    return [{"block_id": f"b{number}", **block} for number, block in enumerate(made)]


def payloads() -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Name, surface and blocks of everything, as it arrives at Slack."""
    for one in corpus():
        if one.surface != "text":
            yield one.name, one.surface, sent(one.body if one.surface == "message" else one.body["blocks"])


ALL = pytest.mark.parametrize(("name", "surface", "blocks"), list(payloads()))
LINES = [(one.name, one.body) for one in corpus() if one.surface == "text"]


def below(thing: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Every object of a kind within a payload; what is asked first or hinted at is no text of the page."""
    if isinstance(thing, dict):
        if thing.get("type") == kind:
            yield thing
        for name, value in thing.items():
            if name not in {"confirm", "placeholder"}:
                yield from below(value, kind)
    elif isinstance(thing, list):
        for one in thing:
            yield from below(one, kind)


def words_of(markup: str) -> list[str]:
    """The words of a text in markup that is ours, whatever its styles: references and emoji left out."""
    bare = re.sub(r"<[^<>\n]*>|:[a-z_]+:", " ", markup)
    return re.findall(r"[A-Za-z0-9]+", html.unescape(bare))


@ALL
def test_the_console_shows_all_of_it(name: str, surface: str, blocks: list[dict[str, Any]]) -> None:
    page = shown(*blocks, surface=surface)

    assert "unsupported" not in page.text
    assert page.all("p", "block-note") == []
    for text in below(blocks, "plain_text"):
        assert spoken(text["text"]) in page.text
    for text in below(blocks, "mrkdwn"):
        assert [word for word in words_of(text["text"]) if word not in page.text] == []
    for text in (*below(blocks, "text"), *below(blocks, "raw_text")):
        assert text["text"] in page.text
    for plan in (*below(blocks, "plan"), *below(blocks, "task_card")):
        assert plan["title"] in page.text


@ALL
def test_every_button_can_be_pressed(name: str, surface: str, blocks: list[dict[str, Any]]) -> None:
    page = shown(*blocks, surface=surface)

    buttons = [
        (
            block["block_id"],
            button["action_id"],
            button.get("value"),
            button.get("url"),
            button["text"]["text"],
        )
        for block in blocks
        for button in below(block, "button")
    ]
    assert [
        (found["data-block"], found["data-action"], found["data-value"], found["data-url"], found.text)
        for found in page.all("button")
    ] == buttons
    asked = [button["confirm"] for button in below(blocks, "button") if "confirm" in button]
    told = [json.loads(found["data-confirm"] or "") for found in page.all("button") if found["data-confirm"]]
    assert [Page(one["text"]).text for one in told] == [one["text"]["text"] for one in asked]


@ALL
def test_every_choice_can_be_chosen(name: str, surface: str, blocks: list[dict[str, Any]]) -> None:
    page = shown(*blocks, surface=surface)

    offered = [
        str(option["value"])
        for block in blocks
        for element in (block.get("element"), block.get("accessory"))
        if element
        for option in element.get("options", [])
    ]
    assert [str(found["value"]) for found in page.all("option") if found["value"]] == offered


@ALL
def test_its_ids_are_unique(name: str, surface: str, blocks: list[dict[str, Any]]) -> None:
    page = shown(*blocks, surface=surface, prefix=name)

    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize(("name", "text"), LINES)
def test_the_line_for_notifications_is_readable(name: str, text: str) -> None:
    page = Page(render_mrkdwn(text, VIEWER))

    assert [word for word in words_of(text) if word not in page.text] == []


def test_every_emoji_that_we_write_has_a_drawing() -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(handlers.__path__[0]).rglob("*.py")]
    written = {name for text in sources for name in re.findall(r'[":| ]:([a-z0-9_+-]+):(?=[ "])', f" {text}")}

    assert "white_check_mark" in written
    assert written - set(DRAWN) == set()
