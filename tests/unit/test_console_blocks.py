"""Each kind of block as the console draws it."""

import json
from typing import Any

import pytest
from unit.console_kit import VIEWER, Page, cells, mrkdwn, options, plain, rich, rt_section, shown, text

from bot.standin.console.blocks import render_blocks
from bot.standin.slack.block_shapes import BLOCKS
from bot.standin.slack.blocks import check_message_blocks, check_view
from bot.standin.slack.errors import SlackError

IMAGE = {"type": "image", "image_url": "https://x.example/a.png", "alt_text": "a chart"}
BUTTON = {"type": "button", "action_id": "go", "text": plain("Go"), "value": "1"}


TASK = {
    "type": "task_card",
    "task_id": "t",
    "title": "Look <here>",
    "status": "complete",
    "details": rich(rt_section(text("how"))),
    "output": rich(rt_section(text("what"))),
    "sources": [{"type": "url", "url": "https://x.example", "text": "source"}],
}
CARD = {
    "type": "card",
    "hero_image": IMAGE,
    "icon": IMAGE,
    "title": mrkdwn("*Title*"),
    "subtitle": mrkdwn("Under it"),
    "body": mrkdwn("Body"),
    "actions": [BUTTON],
}
SAMPLES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "section": (
        {"type": "section", "text": mrkdwn("*Text*"), "fields": [plain("one"), mrkdwn("_two_")]},
        ("Text", "one", "two"),
    ),
    "header": ({"type": "header", "text": plain("Head")}, ("Head",)),
    "divider": ({"type": "divider"}, ()),
    "context": (
        {"type": "context", "elements": [IMAGE, mrkdwn("*small*"), plain("print")]},
        ("small", "print"),
    ),
    "actions": ({"type": "actions", "elements": [BUTTON]}, ("Go",)),
    "input": (
        {
            "type": "input",
            "label": plain("Name"),
            "element": {"type": "plain_text_input", "action_id": "name"},
            "hint": plain("short"),
        },
        ("Name", "short"),
    ),
    "image": ({**IMAGE, "title": plain("Picture")}, ("Picture", "a chart")),
    "rich_text": (rich(rt_section(text("exact"))), ("exact",)),
    "video": (
        {
            "type": "video",
            "alt_text": "v",
            "title": plain("Film"),
            "thumbnail_url": "https://x.example/t",
            "video_url": "https://x.example/v",
            "description": plain("about"),
        },
        ("Film", "about"),
    ),
    "file": ({"type": "file", "external_id": "F-1", "source": "remote"}, ("F-1",)),
    "markdown": ({"type": "markdown", "text": "# Big\n**bold**"}, ("Big", "bold")),
    "table": (
        {"type": "table", "rows": [cells("Home", "State"), cells("alpha", "running")]},
        ("alpha", "State"),
    ),
    "task_card": (TASK, ("Look <here>", "how", "what", "source", "Done: ")),
    "plan": ({"type": "plan", "title": "All", "tasks": [TASK]}, ("All", "Look <here>", "Done: ")),
    "alert": ({"type": "alert", "level": "warning", "text": mrkdwn("*Careful*")}, ("warning: ", "Careful")),
    "card": (CARD, ("Title", "Under it", "Body", "Go")),
    "carousel": ({"type": "carousel", "elements": [CARD]}, ("Title", "Body", "Go")),
    "container": (
        {
            "type": "container",
            "title": plain("Box"),
            "child_blocks": [{"type": "header", "text": plain("In")}],
        },
        ("Box", "In"),
    ),
    "context_actions": (
        {
            "type": "context_actions",
            "elements": [
                {
                    "type": "feedback_buttons",
                    "action_id": "f",
                    "positive_button": {"text": plain("Good"), "value": "1"},
                    "negative_button": {"text": plain("Bad"), "value": "0"},
                },
                {"type": "icon_button", "action_id": "i", "icon": "trash", "text": plain("Delete")},
            ],
        },
        ("Good", "Bad", "Delete"),
    ),
    "data_table": (
        {"type": "data_table", "caption": "Homes", "rows": [cells("h"), cells("x")]},
        ("Homes", "h", "x"),
    ),
    "data_visualization": (
        {
            "type": "data_visualization",
            "title": "Use",
            "chart": {"type": "pie", "segments": [{"label": "free", "value": 3}]},
        },
        ("Use", "pie"),
    ),
}


def test_there_is_a_sample_of_every_block_that_slack_has() -> None:
    assert set(SAMPLES) == set(BLOCKS)


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_block_shows_its_words_where_slack_shows_it(kind: str) -> None:
    block, words = SAMPLES[kind]
    surface = BLOCKS[kind].surfaces[0]

    page = shown({**block, "block_id": "b"}, surface=surface)

    assert "unsupported" not in page.text
    assert [word for word in words if word not in page.text] == []
    assert page.elements[0]["data-block"] == "b"


@pytest.mark.parametrize("surface", ["message", "modal", "home"])
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_block_is_shown_exactly_where_slack_takes_it(kind: str, surface: str) -> None:
    block = SAMPLES[kind][0]

    page = shown(block, surface=surface)

    assert (page.all("p", "block-note") == []) is _taken(block, surface)


def _taken(block: dict[str, Any], surface: str) -> bool:
    try:
        if surface == "message":
            check_message_blocks([block])
        else:
            view = {"type": surface, "blocks": [block]}
            check_view(
                view | ({"title": plain("T"), "submit": plain("S")} if surface == "modal" else {}),
                kinds=(surface,),
            )
    except SlackError:
        return False
    return True


@pytest.mark.parametrize("surface", ["message", "modal", "home"])
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_block_of_which_everything_is_missing_breaks_no_page(kind: str, surface: str) -> None:
    page = shown({"type": kind}, surface=surface)

    assert page.elements


def test_an_unknown_block_says_so_as_the_client_does() -> None:
    page = shown({"type": "hologram<b>"})

    assert page.text == "unsupported block hologram<b>"
    assert page.one("p", "block-note")["role"] == "note"


def test_fields_are_two_columns_of_markup() -> None:
    page = shown({"type": "section", "fields": [mrkdwn("*Home*\n`alpha`"), mrkdwn("*Node*\n`n`")]})

    assert [field.text for field in page.all("div", "field")] == ["Home\nalpha", "Node\nn"]


def test_plain_text_is_neither_formatted_nor_read_for_entities() -> None:
    page = shown({"type": "section", "text": plain("*a* &amp; <@U_ADMIN> :x:")})

    assert page.one("div", "text").text == "*a* &amp; <@U_ADMIN> ❌"


def test_plain_text_keeps_emoji_names_where_they_are_turned_off() -> None:
    assert shown({"type": "section", "text": plain(":x:", emoji=False)}).text == ":x:"


def test_nothing_is_loaded_from_another_host() -> None:
    page = shown(IMAGE, {"type": "context", "elements": [IMAGE]}, CARD)

    assert page.all("img") == []
    assert {link["href"] for link in page.all("a")} == {"https://x.example/a.png"}
    assert page.text.count("a chart") == 4


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ({"slack_file": {"id": "F123"}}, "/files/F123"),
        ({"image_url": "http://127.0.0.1:4711/a.png"}, "http://127.0.0.1:4711/a.png"),
    ],
)
def test_an_image_of_this_machine_is_shown(source: dict[str, Any], address: str) -> None:
    image = shown({"type": "image", "alt_text": "a <chart>", **source}).one("img")

    assert (image["src"], image["alt"]) == (address, "a <chart>")


@pytest.mark.parametrize(
    "source", ["http://127.0.0.1.x.example/a.png", "javascript:1", "data:image/png,x", "//x"]
)
def test_an_image_that_only_looks_local_is_not_loaded(source: str) -> None:
    assert shown({**IMAGE, "image_url": source}).all("img") == []


@pytest.mark.parametrize(
    ("status", "spoken"),
    [("pending", "Not started"), ("in_progress", "In progress"), ("complete", "Done"), ("error", "Failed")],
)
def test_a_task_tells_its_state_by_picture_and_by_word(status: str, spoken: str) -> None:
    page = shown({"type": "plan", "title": "All", "tasks": [{**TASK, "status": status}]})

    assert page.one("span", f"task-{status}")["aria-hidden"] == "true"
    assert page.one("p", "task-title").text == f"{spoken}: Look <here>"


@pytest.mark.parametrize(("collapsed", "is_open"), [(True, False), (False, True)])
def test_a_container_folds_its_blocks_away(collapsed: bool, is_open: bool) -> None:  # noqa: FBT001 - columns of the table
    page = shown(
        {
            "type": "container",
            "rich_text_title": rich(rt_section(text("Box", bold=True))),
            "subtitle": plain("sub"),
            "is_collapsible": True,
            "default_collapsed": collapsed,
            "child_blocks": [{"type": "section", "text": mrkdwn("*in*")}, {"type": "hologram"}],
        }
    )

    assert ("open" in page.one("details").attributes) is is_open
    assert page.one("summary").text == "Boxsub"
    assert page.one("div", "container-body").text == "inunsupported block hologram"


def test_ids_are_unique_on_a_page_of_many_messages() -> None:
    block = {
        "type": "section",
        "block_id": "same",
        "text": mrkdwn("x"),
        "accessory": {"type": "radio_buttons", "action_id": "a b", "options": options("one", "two")},
    }

    page = Page(
        "".join(render_blocks([block, block], VIEWER, surface="message", prefix=p) for p in ("1.1", "1.2"))
    )

    assert len(page.ids) == len(set(page.ids)) == 8
    assert not [identifier for identifier in page.ids if " " in identifier]


def test_hostile_words_are_words_in_every_block() -> None:
    evil = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"

    for surface in ("message", "modal", "home"):
        for block, _ in SAMPLES.values():
            page = shown(_infected(block, evil), surface=surface)

            assert not {element.tag for element in page.elements} & {"script", "img", "iframe", "style"}
            assert not [n for e in page.elements for n in e.attributes if n.startswith("on") or n == "style"]


def _infected(thing: Any, evil: str) -> Any:
    if isinstance(thing, dict):
        return {key: value if key == "type" else _infected(value, evil) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_infected(one, evil) for one in thing]
    return evil if isinstance(thing, str) else thing


def test_samples_are_what_slack_takes() -> None:
    for kind, (block, _) in SAMPLES.items():
        if "message" in BLOCKS[kind].surfaces:
            assert check_message_blocks(json.loads(json.dumps([block])))
