"""Laws of the grammar and of the small readers below it that hold for any text."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from bot.domain.durations import FOREVER, MAX_SECONDS, read_duration, spell_duration
from bot.domain.endpoints import is_endpoint
from bot.domain.environment import env_name_problem, env_value_problem, merge_env
from bot.domain.ids import home_id, is_reference, sandbox_id, target, workspace_id
from handlers.grammar import Command, Refusal, parse
from handlers.verbs import BY_NAME, VERBS, first_words
from handlers.words import plain_text, split_words

PIECES = st.sampled_from(
    [
        *first_words(),
        *(part for verb in VERBS for part in verb.name.split(".")),
        *(f"{key}=" for verb in VERBS for key in verb.keys),
        *(
            "atlas",
            "all",
            "mine",
            "2h",
            "-1",
            "docker",
            "10.0.0.5:80",
            "env=A=1",
            "--home=a",
            "since=2026-11-01",
        ),
        *(
            "<@U1|x>",
            "<#C1|>",
            "<http://a|a>",
            "<",
            ">",
            "|",
            "&amp;",
            "&lt;",
            '"',
            "'",
            "\u201c",
            "\u2019",
            "\\",
            "=",
            "\u2014",
        ),
        *(" ", "\u00a0", "\n", "\u200b", "\u202e", "\0", "\ud800"),
    ]
)
ANY_TEXT = st.text() | st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)
SPOKEN = st.lists(PIECES | st.text(max_size=3), max_size=8).map(" ".join)
BLANKS = st.text(alphabet=" \t\n\u00a0\u3000", min_size=1, max_size=3)
TEXTS = ANY_TEXT | SPOKEN


@given(TEXTS)
def test_any_text_is_a_known_command_or_a_refusal(text: str) -> None:
    answer = parse(text)

    if isinstance(answer, Command):
        assert answer.name in BY_NAME
    else:
        assert isinstance(answer, Refusal)
        assert answer.message.isprintable()
        assert answer.message.isascii()
        assert isinstance(parse(answer.example.removeprefix("/hermes")), Command)


@given(TEXTS, BLANKS, BLANKS)
@example("status atlas", "\u00a0", "\n")
def test_blanks_around_a_command_mean_nothing(text: str, before: str, after: str) -> None:
    if isinstance(parse(text), Command):
        assert parse(before + text + after) == parse(text)


@given(
    st.lists(st.sampled_from(["create", "home=atlas", "status", "atlas", "env=A=b", "2h"]), max_size=5),
    BLANKS,
)
def test_blanks_between_words_mean_nothing(words: list[str], blanks: str) -> None:
    assert parse(blanks.join(words)) == parse(" ".join(words))


@given(ANY_TEXT)
def test_reading_words_that_were_read_changes_nothing(text: str) -> None:
    words = split_words(plain_text(text))
    plain = [w for w in words or [] if w and not set(w) & set(" \"'<>&|\\")]

    assert split_words(plain_text(" ".join(plain))) == plain


@given(TEXTS)
def test_accepted_names_are_never_paths(text: str) -> None:
    answer = parse(text)

    if isinstance(answer, Command):
        for argument in ("target", "home", "workspace", "template", "node", "profile"):
            value = answer.text(argument) or "x"
            assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]*", value)
            assert ".." not in value


@given(st.text() | st.from_regex(r"[a-z0-9./\\-]{0,70}"))
def test_ids_never_accept_a_path(text: str) -> None:
    accepted = [home_id(text), workspace_id(text), sandbox_id(text), target(text)]

    if any(accepted):
        assert re.fullmatch(r"[a-z0-9-]{1,63}", text)
    if is_reference(text):
        assert not set(text) & set("/\\ \n\0")


@given(st.text(alphabet="0123456789abcdef", min_size=32, max_size=32))
def test_a_sandbox_id_is_never_a_home(text: str) -> None:
    assert sandbox_id(text) == text
    assert home_id(text) is None
    assert str(target(text)) == text


# With a Z in front it is neither a member id nor a number.
SECRET = st.text(alphabet="ABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=12, max_size=24).map("Z".__add__)


@given(
    SECRET,
    st.sampled_from(
        [
            "create home=atlas env={}",
            "create home=atlas env={}=x",
            "create home=atlas env=API_KEY={} env=API_KEY={}",
            'create home=atlas env=API_KEY="{}',
            "create home=atlas env=API_KEY=first {}",
            "create home=atlas env=2BAD={}",
            "create home=atlas env=PATH={}",
            "create home=Bad env=API_KEY={}",
            "create home=atlas API_KEY={}",
            "create env=API_KEY={}",
            "craete home=atlas env=API_KEY={}",
            "create home=atlas timeout={}",
            "stop atlas {}",
            "stop atlas token={}",
            "keep atlas {}",
            "network atlas https://user:{}@host/",
            "backend set atlas {}",
            "audit user=@{}",
            "audit since={}",
            "skills refresh atlas {}",
        ]
    ),
)
def test_a_refusal_does_not_repeat_a_value(secret: str, shape: str) -> None:
    answer = parse(shape.format(secret, secret))

    assert isinstance(answer, Refusal) or answer.name == "create"
    assert not isinstance(answer, Refusal) or secret.lower() not in repr(answer).lower()


@given(st.integers(min_value=FOREVER, max_value=MAX_SECONDS))
def test_a_duration_survives_being_spelled(seconds: int) -> None:
    assert read_duration(spell_duration(seconds)) == seconds
    assert read_duration(str(seconds)) == seconds


@given(st.text() | st.from_regex("[0-9dhms\u2212\u2013.-]{0,12}"))
def test_a_duration_is_never_out_of_bounds(text: str) -> None:
    seconds = read_duration(text)

    assert seconds is None or FOREVER <= seconds <= MAX_SECONDS


@given(st.text() | st.from_regex(r"(https?://)?[a-z0-9.:@/\[\]-]{0,20}"))
def test_an_endpoint_has_no_blank_and_no_password(text: str) -> None:
    if is_endpoint(text):
        authority = text.partition("://")[2] or text
        assert text.isascii()
        assert not set(text) & set(" \t\n\0")
        assert "@" not in re.split(r"[/?#]", authority)[0]


PAIRS = st.dictionaries(st.sampled_from(["A", "B", "C"]), st.text(max_size=3))


@given(PAIRS, PAIRS, PAIRS)
def test_the_most_particular_value_wins(
    defaults: dict[str, str], profile: dict[str, str], overrides: dict[str, str]
) -> None:
    merged = merge_env(defaults, profile, overrides)

    assert merged.keys() == defaults.keys() | profile.keys() | overrides.keys()
    for name, value in merged.items():
        assert value == next(layer[name] for layer in (overrides, profile, defaults) if name in layer)


@given(st.text())
def test_an_allowed_environment_line_is_one_line(text: str) -> None:
    if env_name_problem(text) is None:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text)
    if env_value_problem(text) is None:
        assert not set(text) & set("\n\r\0")
