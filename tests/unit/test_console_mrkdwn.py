"""Slack's markup as HTML, case by case."""

import pytest
from unit.console_kit import NEW_YEAR, VIEWER, Page

from bot.standin.console.dates import spoken_moment
from bot.standin.console.emoji import DRAWN, EMOJI, with_emoji
from bot.standin.console.mrkdwn import render_mrkdwn
from bot.standin.console.viewer import Viewer


def made(text: str) -> str:
    return render_mrkdwn(text, VIEWER)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*bold* _italic_ ~strike~ `code`", "<b>bold</b> <i>italic</i> <s>strike</s> <code>code</code>"),
        ("*_~all~_*", "<b><i><s>all</s></i></b>"),
        ("*bold with `code` in it*", "<b>bold with <code>code</code> in it</b>"),
        ('(*bold*), "_it_"!', "(<b>bold</b>), &quot;<i>it</i>&quot;!"),
        ("`*stars* in code`", "<code>*stars* in code</code>"),
        ("a\nb", "a<br>b"),
        ("a\n\nb", "a<br><br>b"),
        ("• one\n• two", "• one<br>• two"),
    ],
)
def test_styles(text: str, html: str) -> None:
    assert made(text) == html


@pytest.mark.parametrize(
    "text",
    [
        "snake_case_names",
        "2*3*4",
        "a~b~c",
        "word`code`word",
        "* a *",
        "*not\nacross lines*",
        "`not\nacross lines`",
        "**",
        "__init__",
        "**twice**",
        "_ _",
        "``",
        "``````",
        "``` ```",
        "*open",
        "open*",
        "12:30:45",
        ":unheard_of:",
        "/hermes create home=a_b env=A_B",
    ],
)
def test_what_only_looks_like_a_style_stays(text: str) -> None:
    page = Page(made(text))

    assert page.text == text
    assert {element.tag for element in page.elements} <= {"br"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("&amp; &lt; &gt;", "& < >"),
        ("&amp;lt; &amp;amp;", "&lt; &amp;"),
        ("&quot; &#39; &nbsp; &copy;", "&quot; &#39; &nbsp; &copy;"),
        ("a < b > c & d", "a < b > c & d"),
        ("`&lt;b&gt;` ```&amp;lt;```", "<b> &lt;"),
    ],
)
def test_three_entities_are_read_and_each_once(text: str, shown: str) -> None:
    assert Page(made(text)).text == shown


def test_a_block_of_code_keeps_everything() -> None:
    page = Page(made("before\n```\n*x* :x: _y_\n  &lt;b&gt;\n```\nafter"))

    assert page.one("pre").text == "*x* :x: _y_\n  <b>"
    assert [element.tag for element in page.elements] == ["pre", "br"]
    assert page.text.startswith("before")


@pytest.mark.parametrize("sign", [">", "&gt;"])
def test_quotes_run_over_lines(sign: str) -> None:
    assert made(f"{sign} one\n{sign}*two*\nthree") == "<blockquote>one<br><b>two</b></blockquote>three"


@pytest.mark.parametrize("sign", [">>>", "&gt;&gt;&gt;"])
def test_three_signs_quote_all_that_follows(sign: str) -> None:
    assert made(f"a\n{sign} b\n\nc") == "a<blockquote>b<br><br>c</blockquote>"


def test_a_sign_within_a_line_quotes_nothing() -> None:
    assert made("a > b") == "a &gt; b"


@pytest.mark.parametrize(
    ("text", "url", "label"),
    [
        ("<https://x.example/?a=1&amp;b=2|here &amp; now>", "https://x.example/?a=1&b=2", "here & now"),
        ("<http://x.example>", "http://x.example", "http://x.example"),
        ("<mailto:a@x.example|write>", "mailto:a@x.example", "write"),
        ("<mailto:a@x.example>", "mailto:a@x.example", "a@x.example"),
        ("see https://x.example/a_b_c.", "https://x.example/a_b_c", "https://x.example/a_b_c"),
        ('<https://x.example/"onclick="a|q>', 'https://x.example/"onclick="a', "q"),
    ],
)
def test_links(text: str, url: str, label: str) -> None:
    link = Page(made(text)).one("a")

    assert (link["href"], link.text) == (url, label)
    assert (link["target"], link["rel"]) == ("_blank", "noopener noreferrer")
    assert set(link.attributes) == {"href", "target", "rel"}


@pytest.mark.parametrize(
    "text",
    [
        "<javascript:alert(1)|click>",
        "<JaVaScRiPt:alert(1)>",
        "<data:text/html,hi|click>",
        "<file:///etc/passwd|x>",
        "<//x.example|x>",
        "<https:x|y>",
        "<ht\ttps://x.example|x>",
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<a href='https://x.example'>",
        "< javascript:alert(1)|x>",
        "<>",
        "<|x>",
        "<@>",
        "<@u_small>",
    ],
)
def test_what_is_no_reference_stays_text(text: str) -> None:
    page = Page(made(text))

    assert page.text == text
    assert page.elements == [] or {element.tag for element in page.elements} == {"a"}
    assert all((link["href"] or "").startswith("https://x.example") for link in page.all("a"))


def test_a_verbatim_text_links_no_bare_address() -> None:
    assert render_mrkdwn("https://x.example", VIEWER, verbatim=True) == "https://x.example"


@pytest.mark.parametrize(
    ("text", "shown", "rings"),
    [
        ("<@U_ADMIN>", "@ada-admin", False),
        ("<@U_ADMIN|someone>", "@ada-admin", False),
        ("<@U_STRANGER|bob>", "@bob", False),
        ("<@U_STRANGER>", "@U_STRANGER", False),
        ("<@U_OPERATOR>", "@ola-operator", True),
        ("<#C_OPS|old-name>", "#ops", False),
        ("<#C_HIDDEN|>", "#C_HIDDEN", False),
        ("<!subteam^S_APPROVERS|@x>", "@approvers", False),
        ("<!subteam^S_OTHER|@others>", "@others", False),
        ("<!here>", "@here", True),
        ("<!channel|channel>", "@channel", True),
        ("<!everyone>", "@everyone", True),
        ("`<!channel>`", "@channel", True),
    ],
)
def test_mentions_are_marked_and_those_that_ring_stand_out(text: str, shown: str, rings: bool) -> None:  # noqa: FBT001 - a column of the table
    mention = Page(made(text)).one("span", "mention")

    assert mention.text == shown
    assert ("mention-me" in (mention["class"] or "")) is rings


def test_an_escaped_call_rings_for_nobody() -> None:
    assert made("&lt;!channel&gt;") == "&lt;!channel&gt;"


def test_an_unknown_call_shows_its_label() -> None:
    assert made("<!later|soon>") == "&lt;soon&gt;"


@pytest.mark.parametrize(
    ("pattern", "zone", "shown"),
    [
        ("{date_num}", "Europe/Amsterdam", "2026-01-01"),
        ("{date_num}", "America/New_York", "2025-12-31"),
        ("{date}", "Europe/Amsterdam", "January 1st, 2026"),
        ("{date_short}", "Europe/Amsterdam", "Jan 1, 2026"),
        ("{date_long}", "Europe/Amsterdam", "Thursday, January 1st, 2026"),
        ("{date_pretty} at {time}", "Asia/Shanghai", "Today at 8:00 AM"),
        ("On {date_short_pretty}, {time_secs}", "Europe/Amsterdam", "On today, 1:00:00 AM"),
        ("{date_long_pretty}", "Nowhere/Atlantis", "Today"),
        ("{time}", "../etc/passwd", "12:00 AM"),
        ("{ago}", "UTC", "Just now"),
    ],
)
def test_moments_in_the_zone_of_who_looks(pattern: str, zone: str, shown: str) -> None:
    viewer = Viewer("U_X", zone, {}, now=NEW_YEAR)

    assert Page(render_mrkdwn(f"<!date^{NEW_YEAR}^{pattern}|then>", viewer)).one("time").text == shown


@pytest.mark.parametrize(
    ("away", "pattern", "shown"),
    [
        (-86_400, "{date_pretty}", "Yesterday"),
        (86_400, "{date_short_pretty}", "Tomorrow"),
        (2 * 86_400, "{date_short_pretty}", "Jan 3, 2026"),
        (2 * 86_400, "{date_long_pretty}", "Saturday, January 3rd, 2026"),
        (86_400, "{date}", "January 2nd, 2026"),
        (12 * 86_400, "{date}", "January 13th, 2026"),
        (20 * 86_400, "{date}", "January 21st, 2026"),
        (-90, "{ago}", "1 minute ago"),
        (-7200, "{ago}", "2 hours ago"),
        (7200, "{ago}", "In 2 hours"),
    ],
)
def test_near_days_have_names(away: int, pattern: str, shown: str) -> None:
    assert spoken_moment(str(NEW_YEAR + away), pattern, VIEWER) == shown


def test_a_moment_can_be_a_link() -> None:
    page = Page(made(f"<!date^{NEW_YEAR}^{{date_num}}^https://x.example/a|then>"))

    assert (page.one("a")["href"], page.one("a").text) == ("https://x.example/a", "2026-01-01")


def test_a_moment_is_no_script() -> None:
    page = Page(made(f"<!date^{NEW_YEAR}^{{date_num}}^javascript:alert(1)|then>"))

    assert page.text == "2026-01-01"
    assert page.all("a") == []


@pytest.mark.parametrize(
    "inside",
    [
        "!date^soon^{date}|fall &amp; back",
        "!date^1^no token|fall &amp; back",
        "!date^1^{unheard_of}|fall &amp; back",
        "!date^999999999999999^{date}|fall &amp; back",
        "!date^|fall &amp; back",
    ],
)
def test_an_unreadable_moment_is_its_fallback(inside: str) -> None:
    assert Page(made(f"<{inside}>")).text == "fall & back"


def test_an_unreadable_moment_without_fallback_stays_as_typed() -> None:
    assert Page(made("<!date^soon^{date}>")).text == "<!date^soon^{date}>"


def test_emoji_are_pictures_with_a_name() -> None:
    page = Page(made("*Done* :white_check_mark: :+1::skin-tone-3:"))

    first, second = page.all("span", "emoji")
    assert (first.text, first["role"], first["aria-label"], first["title"]) == (
        "✅",
        "img",
        "white check mark emoji",
        ":white_check_mark:",
    )
    assert second.text == "👍🏼"


def test_plain_text_has_emoji_and_no_styles() -> None:
    assert Page(with_emoji("*a* <b> &amp;\n:x:")).text == "*a* <b> &amp;\n❌"


def test_every_drawn_emoji_is_one() -> None:
    assert set(DRAWN) <= set(EMOJI)


def test_a_lone_surrogate_is_shown_as_a_question_mark() -> None:
    assert made("a\ud800b").encode() == b"a?b"


def test_a_long_hostile_text_takes_no_long_time() -> None:
    for piece in ("*a ", "_", "`", "```", "<", "~a~ ", ":x", ">", "https://", "<!date^1^{", "* "):
        text = piece * (40_000 // len(piece))

        assert len(made(text)) >= len(text)
