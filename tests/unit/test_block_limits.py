"""The stand-in's own Block Kit tables: every limit from both sides."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.standin.slack.block_shapes import SHAPES
from bot.standin.slack.blocks import check_message_blocks, check_view
from bot.standin.slack.errors import SlackError

Block = dict[str, Any]


def plain(text: str = "x") -> Block:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str = "x") -> Block:
    return {"type": "mrkdwn", "text": text}


def button(**more: Any) -> Block:
    return {"type": "button", "text": plain(), "action_id": "go", **more}


def buttons(count: int) -> list[Block]:
    return [button(action_id=str(number)) for number in range(count)]


def options(count: int) -> list[Block]:
    return [{"text": plain(), "value": str(number)} for number in range(count)]


def section(**more: Any) -> Block:
    return {"type": "section", "text": mrkdwn(), **more}


def table(rows: int = 1, cells: int = 1, text: str = "x", **more: Any) -> Block:
    row = [{"type": "raw_text", "text": text}] * cells
    return {"type": "table", "rows": [row] * rows, **more}


def task(status: str = "pending", **more: Any) -> Block:
    return {"type": "task_card", "task_id": "1", "title": "Look", "status": status} | more


def plan(tasks: int = 1) -> Block:
    return {"type": "plan", "title": "Create", "tasks": [task(task_id=str(n)) for n in range(tasks)]}


def rich() -> Block:
    elements = [{"type": "rich_text_section", "elements": [{"type": "text", "text": "x"}]}]
    return {"type": "rich_text", "elements": elements}


def modal(*blocks: Block, **more: Any) -> Block:
    return {"type": "modal", "title": plain("T"), "blocks": list(blocks), **more}


def text_input() -> Block:
    return {"type": "input", "label": plain(), "element": {"type": "plain_text_input", "action_id": "t"}}


def pointers(blocks: Any) -> list[str]:
    with pytest.raises(SlackError) as caught:
        check_message_blocks(blocks)
    assert caught.value.error == "invalid_blocks"
    return [text.split("[json-pointer:")[1].removesuffix("]") for text in caught.value.extra["errors"]]


def view_messages(view: Any, *kinds: str) -> list[str]:
    with pytest.raises(SlackError) as caught:
        check_view(view, kinds=kinds or ("modal",))
    assert caught.value.error == "invalid_arguments"
    messages: list[str] = caught.value.extra["response_metadata"]["messages"]
    return messages


@pytest.mark.parametrize(
    "block",
    [
        section(text=mrkdwn("x" * 3000)),
        {"type": "section", "fields": [mrkdwn("x" * 2000)] * 10},
        section(accessory=button(value="v" * 2000, url="https://x.example/" + "x" * 2900, style="danger")),
        {"type": "header", "text": plain("x" * 150)},
        {"type": "divider"},
        {
            "type": "context",
            "elements": [mrkdwn()] * 9
            + [{"type": "image", "image_url": "https://x.example/i", "alt_text": "i"}],
        },
        {"type": "actions", "elements": buttons(25)},
        {"type": "actions", "elements": [{"type": "static_select", "options": options(100)}]},
        {"type": "actions", "elements": [{"type": "overflow", "options": options(5)}]},
        {
            "type": "image",
            "image_url": "https://x.example/i",
            "alt_text": "x" * 2000,
            "title": plain("x" * 2000),
        },
        text_input(),
        rich(),
        {"type": "markdown", "text": "x" * 12_000},
        table(100, 20, text="x" * 5, column_settings=[None, {"align": "right"}]),
        task(
            "complete",
            details=rich(),
            output=rich(),
            sources=[{"type": "url", "url": "https://x.example", "text": "x"}],
        ),
        plan(50),
        {"type": "card", "title": mrkdwn("x" * 150), "body": mrkdwn("x" * 200), "actions": buttons(2)},
        {"type": "carousel", "elements": [{"type": "card", "title": mrkdwn()}] * 10},
        {"type": "container", "title": plain("x" * 150), "child_blocks": [section()] * 10},
        {
            "type": "video",
            "alt_text": "x",
            "title": plain(),
            "thumbnail_url": "https://x.example",
            "video_url": "https://x.example",
        },
    ],
    ids=lambda block: str(block["type"]),
)
def test_a_block_at_its_limits_is_accepted(block: Block) -> None:
    assert check_message_blocks([block]) == [block]


@pytest.mark.parametrize(
    ("block", "pointer"),
    [
        (section(text=mrkdwn("x" * 3001)), "/blocks/0/text/text"),
        (section(text=mrkdwn("")), "/blocks/0/text/text"),
        ({"type": "section"}, "/blocks/0"),
        ({"type": "section", "fields": [mrkdwn()] * 11}, "/blocks/0/fields"),
        ({"type": "section", "fields": [mrkdwn("x" * 2001)]}, "/blocks/0/fields/0/text"),
        (section(surprise=1), "/blocks/0"),
        (section(block_id="x" * 256), "/blocks/0/block_id"),
        (section(accessory={"type": "plain_text_input", "action_id": "t"}), "/blocks/0/accessory/type"),
        ({"type": "header", "text": plain("x" * 151)}, "/blocks/0/text/text"),
        ({"type": "header", "text": mrkdwn()}, "/blocks/0/text/type"),
        ({"type": "context", "elements": [mrkdwn()] * 11}, "/blocks/0/elements"),
        ({"type": "context", "elements": [button()]}, "/blocks/0/elements/0/type"),
        ({"type": "actions", "elements": []}, "/blocks/0/elements"),
        ({"type": "actions", "elements": buttons(26)}, "/blocks/0/elements"),
        ({"type": "actions", "elements": [button(), button()]}, "/blocks/0/elements"),
        ({"type": "actions", "elements": [button(text=plain("x" * 76))]}, "/blocks/0/elements/0/text/text"),
        ({"type": "actions", "elements": [button(value="x" * 2001)]}, "/blocks/0/elements/0/value"),
        ({"type": "actions", "elements": [button(action_id="x" * 256)]}, "/blocks/0/elements/0/action_id"),
        ({"type": "actions", "elements": [button(style="warning")]}, "/blocks/0/elements/0/style"),
        ({"type": "actions", "elements": [button(url="x" * 3001)]}, "/blocks/0/elements/0/url"),
        (
            {
                "type": "actions",
                "elements": [
                    button(
                        confirm={
                            "title": plain("x" * 101),
                            "text": plain(),
                            "confirm": plain(),
                            "deny": plain(),
                        }
                    )
                ],
            },
            "/blocks/0/elements/0/confirm/title/text",
        ),
        (
            {
                "type": "actions",
                "elements": [
                    button(
                        confirm={
                            "title": plain(),
                            "text": plain("x" * 301),
                            "confirm": plain(),
                            "deny": plain(),
                        }
                    )
                ],
            },
            "/blocks/0/elements/0/confirm/text/text",
        ),
        (
            {
                "type": "actions",
                "elements": [
                    button(
                        confirm={
                            "title": plain(),
                            "text": plain(),
                            "confirm": plain("x" * 31),
                            "deny": plain(),
                        }
                    )
                ],
            },
            "/blocks/0/elements/0/confirm/confirm/text",
        ),
        (
            {"type": "actions", "elements": [{"type": "static_select", "options": options(101)}]},
            "/blocks/0/elements/0/options",
        ),
        ({"type": "actions", "elements": [{"type": "static_select"}]}, "/blocks/0/elements/0"),
        (
            {"type": "actions", "elements": [{"type": "overflow", "options": options(6)}]},
            "/blocks/0/elements/0/options",
        ),
        (
            {"type": "actions", "elements": [{"type": "checkboxes", "options": options(11)}]},
            "/blocks/0/elements/0/options",
        ),
        ({"type": "image", "image_url": "https://x.example/i", "alt_text": "x" * 2001}, "/blocks/0/alt_text"),
        ({"type": "image", "alt_text": "x"}, "/blocks/0"),
        ({"type": "markdown", "text": "x" * 12_001}, "/blocks/0/text"),
        (table(101), "/blocks/0/rows"),
        (table(1, 21), "/blocks/0/rows/0"),
        (table(text=""), "/blocks/0/rows/0/0/text"),
        (table(100, 20, text="x" * 6), "/blocks/0/rows"),
        (task("pending"), "/blocks/0/status"),
        (task("done"), "/blocks/0/status"),
        (task("complete", details="text"), "/blocks/0/details"),
        (plan(51), "/blocks/0/tasks"),
        ({"type": "alert", "text": mrkdwn()}, "/blocks/0/type"),
        ({"type": "card", "title": mrkdwn(), "actions": buttons(3)}, "/blocks/0/actions"),
        ({"type": "card", "body": mrkdwn("x" * 201)}, "/blocks/0/body/text"),
        ({"type": "card", "subtitle": mrkdwn()}, "/blocks/0"),
        ({"type": "carousel", "elements": [{"type": "card", "title": mrkdwn()}] * 11}, "/blocks/0/elements"),
        ({"type": "container", "title": plain(), "child_blocks": [section()] * 11}, "/blocks/0/child_blocks"),
        ({"type": "container", "title": plain(), "child_blocks": [plan()]}, "/blocks/0/child_blocks/0/type"),
        ({"type": "rich_text", "elements": [{"type": "text", "text": "x"}]}, "/blocks/0/elements/0/type"),
        ({"type": "bogus"}, "/blocks/0/type"),
        ({"text": mrkdwn()}, "/blocks/0/type"),
        (section(accessory={"type": "file_input", "action_id": "f"}), "/blocks/0/accessory/type"),
    ],
)
def test_a_block_beyond_a_limit_is_refused_at_the_right_place(block: Block, pointer: str) -> None:
    assert pointer in pointers([block])


def test_a_message_holds_fifty_blocks() -> None:
    check_message_blocks([section()] * 50)

    assert pointers([section()] * 51) == ["/blocks"]


def test_a_block_id_stands_once_in_a_message() -> None:
    container = {"type": "container", "title": plain(), "child_blocks": [section(block_id="a")]}

    assert pointers([section(block_id="a"), section(block_id="a")]) == ["/blocks/1/block_id"]
    assert pointers([section(block_id="a"), container]) == ["/blocks/1/child_blocks/0/block_id"]


def test_markdown_counts_over_all_blocks() -> None:
    half = {"type": "markdown", "text": "x" * 6000}
    check_message_blocks([half, half])

    assert pointers([half, half, {"type": "markdown", "text": "x"}]) == ["/blocks"]


def test_one_plan_stands_in_a_message() -> None:
    assert pointers([plan(), plan()]) == ["/blocks"]


@pytest.mark.parametrize(
    "blocks",
    [[table(), table()], [table(), {"type": "container", "title": plain(), "child_blocks": [table()]}]],
)
def test_one_table_stands_in_a_message(blocks: list[Block]) -> None:
    with pytest.raises(SlackError, match="invalid_attachments") as caught:
        check_message_blocks(blocks)

    assert "only_one_table_allowed" in caught.value.extra["response_metadata"]["messages"][0]


@pytest.mark.parametrize("blocks", ["{", "[1]", {"type": "section"}, ["x"]])
def test_what_is_no_list_of_blocks_has_its_own_error(blocks: Any) -> None:
    with pytest.raises(SlackError, match="invalid_blocks_format"):
        check_message_blocks(blocks)


def test_an_alert_lives_in_modals_only_and_a_table_never() -> None:
    check_view(modal({"type": "alert", "text": mrkdwn("x" * 200), "level": "warning"}))

    assert "/view/blocks/0/text/text" in view_messages(modal({"type": "alert", "text": mrkdwn("x" * 201)}))[0]
    assert "unsupported type: table" in view_messages(modal(table()))[0]
    assert "unsupported type: markdown" in view_messages(modal({"type": "markdown", "text": "x"}))[0]
    assert (
        "unsupported type: alert"
        in view_messages({"type": "home", "blocks": [{"type": "alert", "text": mrkdwn()}]}, "home")[0]
    )


def test_a_view_with_an_input_needs_a_submit_button() -> None:
    check_view(modal(text_input(), submit=plain("Go")))

    assert "submit" in view_messages(modal(text_input()))[0]


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"title": plain("x" * 25)}, "/view/title/text"),
        ({"submit": plain("x" * 25)}, "/view/submit/text"),
        ({"close": plain("x" * 25)}, "/view/close/text"),
        ({"title": mrkdwn()}, "/view/title/type"),
        ({"private_metadata": "x" * 3001}, "/view/private_metadata"),
        ({"callback_id": "x" * 256}, "/view/callback_id"),
        ({"blocks": [section()] * 101}, "/view/blocks"),
        ({"blocks": []}, "/view/blocks"),
        ({"extra": True}, "/view"),
    ],
)
def test_a_modal_beyond_a_limit_is_refused(more: Block, pointer: str) -> None:
    assert f"[json-pointer:{pointer}]" in view_messages({**modal(section()), **more})[0]


def test_a_view_over_a_quarter_megabyte_is_too_large() -> None:
    with pytest.raises(SlackError, match="view_too_large"):
        check_view(modal(*[section(text=mrkdwn("x" * 3000))] * 90))


def test_a_home_tab_takes_a_hundred_blocks_and_no_submit() -> None:
    home = {"type": "home", "blocks": [section()] * 100}
    check_view(home, kinds=("home",))

    assert "submit" in view_messages({**home, "submit": plain()}, "home")[0]
    assert "must be one of: home" in view_messages(modal(section()), "home")[0]


def _json_like() -> st.SearchStrategy[Any]:
    """Blocks that are right in places: known types and keys, and anything below them."""
    names = st.sampled_from([*SHAPES, "bogus"])
    keys = st.sampled_from(
        sorted({"block_id", *(k for s in SHAPES.values() for k in (*s.required, *s.optional))})
    )
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | names
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.builds(
                lambda kind, rest: {**rest, "type": kind},
                names | inner,
                st.dictionaries(keys, inner, max_size=4),
            )
        ),
        max_leaves=30,
    )


@given(st.lists(_json_like(), max_size=4) | _json_like())
def test_no_json_breaks_the_validator(given_json: Any) -> None:
    for check in (check_message_blocks, check_view):
        with contextlib.suppress(SlackError):
            check(given_json)
