"""Environment lines of the form: what is taken in good part, and what is refused without being repeated."""

import pytest

from handlers.env_lines import read_env_lines
from handlers.grammar import Command, parse


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ("", {}),
        ("  \n\t\n# NAME=value\n   # too", {}),
        ("A=1", {"A": "1"}),
        ("A=1\r\nB=2\rC=3\u2028D=4", {"A": "1", "B": "2", "C": "3", "D": "4"}),
        ("\ufeffA=1", {"A": "1"}),
        ("  A = 1  ", {"A": "1"}),
        ("A=", {"A": ""}),
        ("A=''", {"A": ""}),
        ("export A=1\nexport  B=2", {"A": "1", "B": "2"}),
        ("export=1", {"export": "1"}),
        ("A=two words", {"A": "two words"}),
        ("A=it's", {"A": "it's"}),
        ('A="two words"', {"A": "two words"}),
        ("A='  kept  '", {"A": "  kept  "}),
        ("A=\u201csmart\u201d", {"A": "smart"}),
        ("A=\u2018smart\u2019", {"A": "smart"}),
        ("A=no\u00a0break", {"A": "no break"}),
        (r'A="a\"b\\c"', {"A": 'a"b\\c'}),
        ("A='{\"x\": 1}'", {"A": '{"x": 1}'}),
        ('A={"x": 1}', {"A": '{"x": 1}'}),
        ("A=b=c==", {"A": "b=c=="}),
        ("A=value # no comment", {"A": "value # no comment"}),
        ("A=$HOME `x` &amp; <b>", {"A": "$HOME `x` &amp; <b>"}),
        ("env=plain", {"env": "plain"}),
    ],
)
def test_lines_are_read_as_they_are_meant(text: str, env: dict[str, str]) -> None:
    read = read_env_lines(text)

    assert (read.env, read.faults) == (env, ())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("OK=1\n\nEXAMPLE-secret", "Line 3: write NAME=value."),
        ("export EXAMPLE", "Line 1: write NAME=value."),
        ("env=EXAMPLE=1", "Line 1: leave out the env= in front; write NAME=value."),
        ("A-EXAMPLE=1", "Line 1: An environment name is made of letters, digits and _"),
        ("=EXAMPLE", "Line 1: An environment name is made of letters, digits and _"),
        ("\u0410EXAMPLE=1", "Line 1: An environment name is made of letters, digits and _"),
        ("PATH=EXAMPLE", "Line 1: That environment name decides which programs run"),
        ("LD_PRELOAD=EXAMPLE", "Line 1: That environment name decides which programs run"),
        ("A=1\n#\nA=EXAMPLE", "Line 3: An environment variable is given twice."),
        ('A="EXAMPLE', "Line 1: the quotes are not clear"),
        ('A="EXAMPLE" # a note', "Line 1: the quotes are not clear"),
        ("A=EXAMPLE\x00", "Line 1: An environment value has no line breaks and no control characters."),
        ("A=" + "é" * 2049, "Line 1: An environment value has at most 4096 bytes."),
        ("A" * 257 + "=EXAMPLE", "Line 1: An environment name has at most 256 characters."),
    ],
)
def test_faults_name_the_line_and_repeat_nothing(text: str, complaint: str) -> None:
    read = read_env_lines(text)

    assert read.complaint().startswith(complaint)
    assert "EXAMPLE" not in read.complaint()
    assert "EXAMPLE" not in repr(read)


def test_many_faults_are_counted_and_good_lines_are_read() -> None:
    read = read_env_lines("\n".join(["A=1", *["x"] * 9]))

    assert read.env == {"A": "1"}
    assert read.complaint().endswith("Line 5: write NAME=value. And 5 more lines.")


@pytest.mark.parametrize("value", ["1", "'two words'", '"a\\"b"', "\u201cx\u201d", "a=b", "it's"])
def test_a_line_means_what_it_means_behind_env(value: str) -> None:
    typed = parse(f"create home=alpha env=A={value}")

    assert isinstance(typed, Command)
    assert read_env_lines(f"A={value}").env == typed.env
