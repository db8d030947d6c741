"""Rich text, tables and standard Markdown as the console draws them."""

from typing import Any

import pytest
from unit.console_kit import NEW_YEAR, cells, rich, rt_section, shown, text


def test_rich_text_is_exact_and_styled() -> None:
    page = shown(
        rich(
            rt_section(
                text("*a* <b> &amp; :x:\n"),
                text("all", bold=True, italic=True, strike=True, code=True, underline=True),
                {"type": "link", "url": "https://x.example", "text": "link", "style": {"bold": True}},
                {"type": "link", "url": "javascript:alert(1)", "text": "no link"},
                {"type": "user", "user_id": "U_ADMIN"},
                {"type": "usergroup", "usergroup_id": "S_APPROVERS"},
                {"type": "channel", "channel_id": "C_OPS"},
                {"type": "broadcast", "range": "channel"},
                {"type": "emoji", "name": "unheard", "unicode": "1f44d-1f3fb"},
                {"type": "emoji", "name": "unheard_of"},
                {"type": "date", "timestamp": NEW_YEAR, "format": "{date_num}", "fallback": "then"},
                {"type": "date", "timestamp": NEW_YEAR, "format": "{never}", "fallback": "then"},
                {"type": "color", "value": "#ff0000"},
                {"type": "team", "team_id": "T_X"},
            )
        )
    )

    assert page.text == (
        "*a* <b> &amp; :x:\nalllinkno link@ada-admin@approvers#ops@channel"
        "👍🏻:unheard_of:2026-01-01then#ff0000T_X"
    )
    assert [page.all(tag)[0].text for tag in ("b", "i", "s", "u", "code")] == ["all"] * 5
    assert page.one("a").text == "link"


@pytest.mark.parametrize("code_points", ["d800", "110000", "1f44d<script>", ""])
def test_rich_text_emoji_with_odd_code_points_are_their_names(code_points: str) -> None:
    page = shown(rich(rt_section({"type": "emoji", "name": "odd", "unicode": code_points})))

    assert page.text == ":odd:"


def test_rich_text_lists_quotes_and_code() -> None:
    page = shown(
        rich(
            {
                "type": "rich_text_list",
                "style": "bullet",
                "elements": [rt_section(text("a")), rt_section(text("b"))],
            },
            {
                "type": "rich_text_list",
                "style": "ordered",
                "indent": 1,
                "offset": 2,
                "elements": [rt_section(text("c"))],
            },
            {
                "type": "rich_text_list",
                "style": "bullet",
                "indent": 99,
                "border": 1,
                "elements": [rt_section(text("d"))],
            },
            {"type": "rich_text_quote", "elements": [text("q\nr")]},
            {"type": "rich_text_preformatted", "elements": [text("<p>\n  x")]},
            {"type": "rich_text_poem", "elements": []},
        )
    )

    assert [item.text for item in page.all("li")] == ["a", "b", "c", "d"]
    assert page.one("ol", "indent-1")["start"] == "3"
    assert page.one("ul", "indent-8")["class"] == "rt-list indent-8 bordered"
    assert page.one("blockquote").text == "q\nr"
    assert page.one("pre").text == "<p>\n  x"
    assert page.one("p", "block-note").text == "unsupported rich text rich_text_poem"


def test_a_table_has_a_head_and_keeps_to_its_columns() -> None:
    page = shown(
        {
            "type": "table",
            "column_settings": [{"is_wrapped": True}, None, {"align": "center"}],
            "rows": [
                cells("Home", "Size", "Who", "More"),
                [
                    *cells("<b>", " "),
                    rich(rt_section({"type": "user", "user_id": "U_ADMIN"})),
                    {"type": "raw_number", "value": 2.5},
                ],
            ],
        }
    )

    assert [(head.text, head["scope"]) for head in page.all("th")] == [
        ("Home", "col"),
        ("Size", "col"),
        ("Who", "col"),
        ("More", "col"),
    ]
    assert [(cell.text, cell["class"]) for cell in page.all("td")] == [
        ("<b>", "align-left wrap"),
        (" ", "align-left"),
        ("@ada-admin", "align-center"),
        ("2.5", "align-right"),
    ]
    box = page.one("div", "table-box")
    assert (box["tabindex"], box["role"], box["aria-label"]) == ("0", "region", "Table")


@pytest.mark.parametrize(
    ("chart", "texts"),
    [
        (
            {"type": "pie", "segments": [{"label": "free", "value": 3}, {"label": "<b>", "value": 1}]},
            ["free3", "<b>1"],
        ),
        (
            {
                "type": "line",
                "series": [
                    {"name": "cpu", "data": [{"label": "Mon", "value": 1}, {"label": "Tue", "value": 2}]},
                    {"name": "disk", "data": [{"label": "Mon", "value": 7}]},
                ],
            },
            ["cpudisk", "Mon17", "Tue2"],
        ),
    ],
)
def test_a_chart_is_its_numbers(chart: dict[str, Any], texts: list[str]) -> None:
    page = shown({"type": "data_visualization", "title": "Use", "chart": chart})

    assert page.one("caption").text == f"Use ({chart['type']} chart)"
    assert [row.text for row in page.all("tr")] == texts


def test_a_data_table_has_a_caption_and_row_heads() -> None:
    page = shown(
        {
            "type": "data_table",
            "caption": "Homes",
            "row_header_column_index": 0,
            "rows": [cells("h", "s"), cells("a", "1")],
        }
    )

    assert page.one("caption").text == "Homes"
    assert [(head.text, head["scope"]) for head in page.all("th")] == [
        ("h", "col"),
        ("s", "col"),
        ("a", "row"),
    ]


def test_markdown_is_a_safe_part_of_the_standard() -> None:
    source = (
        "## Head *it*\n**bold** _it_ ~~gone~~ `c*d*` [link](https://x.example) [no](data:1) <b>raw</b>\n"
        "next\n\n- one\n  - two\n3. three\n> quoted\n> more\n---\n```py\n<x>\n*y*\n```\n\\*plain\\* :x: <https://y.example>"
    )
    page = shown({"type": "markdown", "text": source})

    assert page.text == (
        "Head itbold it gone c*d* link no <b>raw</b>\nnextonetwothreequoted\nmore<x>\n*y**plain* ❌ https://y.example"
    )
    assert page.one("h3", "md-2").text == "Head it"
    assert [page.one(tag).text for tag in ("b", "s", "pre")] == ["bold", "gone", "<x>\n*y*"]
    assert [item.text for item in page.all("li")] == ["one", "two", "three"]
    assert (page.one("ol")["start"], page.one("ul", "indent-1").text) == ("3", "two")
    assert [link["href"] for link in page.all("a")] == ["https://x.example", "https://y.example"]


def test_a_code_block_of_markdown_that_never_ends_is_shown() -> None:
    assert shown({"type": "markdown", "text": "```\na\nb"}).one("pre").text == "a\nb"
