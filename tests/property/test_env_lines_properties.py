"""Laws of the form's environment lines that hold for any text."""

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.environment import env_name_problem, env_value_problem
from handlers.env_lines import read_env_lines
from handlers.grammar import Command, parse

PIECES = st.sampled_from(
    [
        *("A=1", "export ", "env=", "PATH=x", "=", '"', "'", "\\", "#", " ", "\u00a0", "\t"),
        *(
            "\n",
            "\r\n",
            "\r",
            "\u2028",
            "\u0085",
            "\ufeff",
            "\u201c",
            "\u201d",
            "\u2019",
            "\0",
            "\x7f",
            "\ud800",
        ),
    ]
)
TEXTS = st.text() | st.lists(PIECES | st.text(max_size=4), max_size=15).map("".join)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True).filter(
    lambda name: env_name_problem(name) is None and name not in {"env", "export"}
)
VALUES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"], exclude_characters="\"'\\\u2018"
                  "\u2019\u201a\u201b\u201c\u201d\u201e\u201f<>&"),
    min_size=1,
)  # fmt: skip


@given(TEXTS)
def test_whatever_is_read_can_be_set(text: str) -> None:
    read = read_env_lines(text)

    for name, value in read.env.items():
        assert env_name_problem(name) is None
        assert env_value_problem(value) is None


@given(TEXTS)
def test_every_fault_has_a_line_of_the_text(text: str) -> None:
    read = read_env_lines(text)

    numbers = [number for number, _ in read.faults]
    assert numbers == sorted(set(numbers))
    assert all(1 <= number <= len(text) + 1 for number in numbers)
    assert bool(read.complaint()) == bool(numbers)


@given(st.integers(min_value=0).map("EXAMPLE-{}-secret".format), TEXTS)
def test_no_complaint_repeats_a_line(secret: str, around: str) -> None:
    read = read_env_lines(f"{around}\n{secret}\n{secret}={secret}\nA='{secret}")

    assert secret not in read.complaint()


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n", "\n\n# x\n"]))
def test_lines_and_the_typed_command_agree(env: dict[str, str], end: str) -> None:
    lines = end.join(f"{name}={value}" for name, value in env.items())
    typed = parse("create home=alpha " + " ".join(f"env={name}={value}" for name, value in env.items()))

    assert isinstance(typed, Command)
    assert read_env_lines(lines).env == typed.env == env


@given(NAMES, st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"])))
def test_a_value_in_quotes_is_taken_as_it_is(name: str, value: str) -> None:
    plain = "".join(c for c in value if c not in "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f")
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')

    read = read_env_lines(f'{name}="  {escaped}  "')

    if not read.faults:
        assert read.env == {name: f"  {plain}  "}
    else:
        assert env_value_problem(f"  {plain}  ") is not None
