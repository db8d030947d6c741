from datetime import UTC, datetime, timedelta, timezone

import pytest

from handlers.render.mrkdwn import bold, code, escape, fenced, listed, moment, person, prose, seconds

HOSTILE = "<!channel> <http://evil.invalid|click> <@U1> & `x` *y*"


@pytest.mark.parametrize("shown", [code, fenced, bold])
def test_foreign_text_is_inert(shown) -> None:  # noqa: ANN001 - one of three functions
    result = shown(HOSTILE)

    assert "<" not in result
    assert "&amp;" in result


def test_foreign_text_cannot_turn_what_stands_around_it() -> None:
    assert escape("a\u202eb\x07c\u2066") == "a\ufffdb\ufffdc\ufffd"
    assert escape("two\nlines\tand a tab") == "two\nlines\tand a tab"


def test_foreign_backticks_cannot_end_code() -> None:
    assert code("a`b").count("`") == 2
    assert fenced("a```b").count("```") == 2


def test_code_stays_on_one_line() -> None:
    assert code("a\nb") == "`a b`"


def test_our_sentences_mention_people_and_nobody_else() -> None:
    assert (
        prose("ask <@U_APPROVER>, not <!channel> & co") == "ask <@U_APPROVER>, not &lt;!channel&gt; &amp; co"
    )


def test_a_slack_user_is_mentioned_and_a_login_is_named() -> None:
    assert person("U_OPERATOR") == "<@U_OPERATOR>"
    assert person("cli:anna") == "`cli:anna`"
    assert person("U1>|<!channel") == "`U1&gt;|&lt;!channel`"


def test_a_moment_is_shown_in_the_readers_zone_with_utc_beside_it() -> None:
    at = datetime(2026, 3, 1, 13, 0, tzinfo=timezone(timedelta(hours=1)))

    assert moment(at) == "<!date^1772366400^{date_short_pretty} {time}|2026-03-01 12:00 UTC>"
    assert moment(at.astimezone(UTC)) == moment(at)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0.04, "0.0 s"),
        (0.44, "0.4 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3780, "1 h 3 min"),
    ],
)
def test_lengths_of_time_read_well(length: float, expected: str) -> None:
    assert seconds(length) == expected


def test_a_long_list_is_counted() -> None:
    assert listed(tuple("abcd"), most=2) == "`a`, `b` and 2 more"
    assert listed(()) == "none"
