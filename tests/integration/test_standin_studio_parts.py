"""What the stand-in's Studio does itself so that it stays small: child processes and digests."""

import hashlib
import hmac
import signal
import time
from pathlib import Path

import pytest

from bot.standin.guest.studio.child import Child, output_of
from bot.standin.guest.studio.digests import mac, password_hash

_DEADLINE_S = 10.0


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def test_a_child_appends_both_outputs_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    child = Child(_sh("echo out; echo err >&2; exit 3"), output=str(log))
    assert child.wait(_DEADLINE_S) == 3
    assert log.read_text() == "before\nout\nerr\n"


def test_a_child_has_an_empty_input_and_the_given_environment(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = Child(_sh('cat; echo "$GREETING"'), output=str(log), env={"GREETING": "hello"})
    assert child.wait(_DEADLINE_S) == 0
    assert log.read_text() == "hello\n"


def test_a_child_that_does_not_want_to_end_is_ended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = Child(_sh("trap '' TERM; echo ready; exec sleep 60"), output=str(log))
    deadline = time.monotonic() + _DEADLINE_S
    while "ready" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    child.stop(0.2)
    assert child.wait(_DEADLINE_S) == -signal.SIGKILL


def test_a_program_that_is_missing_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        Child(["no-such-program-here"], output="/dev/null")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo one; echo two >&2", "one\n"),
        ("echo one; exit 1", None),
        ("head -c 20000 /dev/zero", "\0" * 20000),
    ],
)
def test_output_is_what_a_program_that_ends_well_prints(script: str, said: str | None) -> None:
    assert output_of(_sh(script), _DEADLINE_S) == said


def test_a_program_that_takes_too_long_says_nothing() -> None:
    began = time.monotonic()
    assert output_of(["sleep", "60"], 0.2) is None
    assert time.monotonic() - began < _DEADLINE_S


def test_digests_are_those_of_the_standards() -> None:
    assert mac(b"key", b"text") == hmac.digest(b"key", b"text", "sha256")
    assert password_hash("123456", b"salt") == hashlib.pbkdf2_hmac("sha256", b"123456", b"salt", 10_000)
