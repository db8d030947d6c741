"""Whatever a message says, the console shows it as text and lets nothing of it run."""

from typing import Any
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st
from unit.console_kit import VIEWER, Page, shown

from bot.standin.console.markdown import render_markdown
from bot.standin.console.markup import SCHEMES
from bot.standin.console.mrkdwn import render_mrkdwn
from bot.standin.console.viewer import Viewer

TAGS = {"b", "i", "s", "u", "code", "pre", "blockquote", "br", "a", "span", "time"}
MARKDOWN_TAGS = TAGS | {"h3", "p", "hr", "ul", "ol", "li"}
ATTRIBUTES = {
    "a": {"href", "target", "rel"},
    "span": {"class", "role", "aria-label", "title"},
    "time": {"datetime", "title"},
    "ul": {"class"},
    "ol": {"class", "start"},
    "h3": {"class"},
}

TEXT = st.text(max_size=200)
PIECES = st.sampled_from(
    [
        *"*_~`<>|&;:\"'\\/!@#^()[]{}.- \n",
        "```",
        ">>>",
        "&amp;",
        "&lt;",
        "&gt;",
        "&quot;",
        "&#60;",
        "<@U_ADMIN|",
        "<#C_OPS>",
        "<!here>",
        "<!subteam^S_APPROVERS",
        "<!date^1767225600^{date}",
        "{time}",
        "<https://x.example/",
        "https://x.example/a_b",
        "<javascript:alert(1)|",
        "<mailto:a@b>",
        "<script>",
        '" onload="',
        ":x:",
        ":skin-tone-3:",
        "](https://x.example)",
        "](javascript:1)",
        "# ",
        "1. ",
        "word",
        "é",
        "\N{OBJECT REPLACEMENT CHARACTER}",
        "\ud800",
    ]
)
MARKUP = st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=40).map("".join)
ANY = st.one_of(TEXT, MARKUP)

# Without the signs that Slack takes for markup; an escaped text may hold every other one.
UNMARKED = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="*_~`:>\r"), max_size=200
).filter(lambda text: "http" not in text)


def escaped(text: str) -> str:
    """As an app has to send text that is not its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def assert_harmless(html: str, tags: set[str]) -> Page:
    html.encode()
    page = Page(html)
    for element in page.elements:
        assert element.tag in tags
        assert set(element.attributes) <= ATTRIBUTES.get(element.tag, set())
        assert urlsplit(element["href"] or "https://").scheme in SCHEMES
    return page


@given(text=ANY)
def test_markup_makes_only_tags_that_we_know(text: str) -> None:
    assert_harmless(render_mrkdwn(text, VIEWER), TAGS)


@given(text=ANY)
def test_standard_markdown_makes_only_tags_that_we_know(text: str) -> None:
    assert_harmless(render_markdown(text), MARKDOWN_TAGS)


@given(text=UNMARKED)
def test_an_escaped_text_is_shown_as_it_was(text: str) -> None:
    assert Page(render_mrkdwn(escaped(text), VIEWER)).text == text


@given(text=ANY)
def test_an_escaped_text_calls_nobody_and_links_nowhere(text: str) -> None:
    page = Page(render_mrkdwn(escaped(text), VIEWER, verbatim=True))

    assert page.all("a") == page.all("time") == page.all("span", "mention") == []


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_every_character_of_a_text_without_markup_stays(text: str) -> None:
    block = {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}],
    }
    plain = {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": text}]]}

    for one in (block, plain, table):
        assert shown(one).text == text


@given(name=ANY, tz=TEXT)
def test_names_and_zones_are_no_markup(name: str, tz: str) -> None:
    viewer = Viewer("U_A", tz, {"U_A": name, "C_A": name})

    page = assert_harmless(render_mrkdwn("<@U_A> <#C_A> <!date^1^{date_num}|x>", viewer), TAGS)

    assert len(page.all("span", "mention")) == 2


@given(words=st.lists(ANY, min_size=12, max_size=12))
def test_no_word_of_a_block_becomes_a_tag_or_an_attribute(words: list[str]) -> None:
    def plain(at: int) -> dict[str, Any]:
        return {"type": "plain_text", "text": words[at]}

    def marked(at: int) -> dict[str, Any]:
        return {"type": "mrkdwn", "text": words[at]}

    option = {"text": plain(0), "value": words[1], "description": plain(2), "url": words[3]}
    button = {
        "type": "button",
        "action_id": words[4],
        "text": plain(5),
        "value": words[6],
        "url": words[7],
        "style": words[8],
        "accessibility_label": words[9],
        "confirm": {"title": plain(0), "text": marked(1), "confirm": plain(2), "deny": plain(3)},
    }
    image = {"type": "image", "image_url": words[10], "alt_text": words[11]}
    fields: list[dict[str, Any]] = [
        {"type": "static_select", "options": [option], "placeholder": plain(3)},
        {"type": "checkboxes", "options": [option]},
        {"type": "plain_text_input", "initial_value": words[5], "placeholder": plain(6)},
        {"type": "plain_text_input", "initial_value": words[5], "multiline": True},
        {"type": "datepicker", "initial_date": words[7]},
        {"type": "number_input", "initial_value": words[8], "min_value": words[9]},
    ]
    blocks = [
        {"type": "section", "block_id": words[0], "text": marked(1), "accessory": image},
        {"type": "actions", "block_id": words[2], "elements": [button]},
        {"type": "image", **image, "title": plain(4)},
        *(
            {
                "type": "input",
                "block_id": words[9],
                "label": plain(0),
                "hint": plain(1),
                "element": {"action_id": words[2], **field},
            }
            for field in fields
        ),
        {"type": words[3]},
    ]

    page = shown(*blocks, surface="modal", errors={words[9]: words[10]}, prefix=words[11])

    known = {
        "div",
        "p",
        "label",
        "fieldset",
        "input",
        "select",
        "option",
        "textarea",
        "button",
        "figure",
        "figcaption",
    }
    for element in page.elements:
        assert element.tag in TAGS | known | {"img"}
        assert not any(name.startswith("on") or name in ("style", "srcdoc") for name in element.attributes)
        assert urlsplit(element["href"] or element["data-url"] or "https://").scheme in SCHEMES
    assert len(page.ids) == len(set(page.ids))
    assert not [identifier for identifier in page.ids if any(sign.isspace() for sign in identifier)]
