"""What a sign-in is taken for, by what Studio answers, what the home held before, and what is stored."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.programs import guest_login
from bot.adapters.programs.beneath import Refusal, open_root
from bot.adapters.programs.guest_accounts import accounts_in, close_window, open_window
from bot.adapters.programs.guest_answer import answer
from bot.adapters.programs.guest_entries import kind_of
from bot.adapters.programs.guest_login import secure_users
from bot.domain.provisioning import SIGN_IN_NOTES, Generation, SignIn, sign_in_words

OURS = {"generation": "users", "username": "admin", "password": "EXAMPLE-ours"}
CANDIDATE = {**OURS, "password": "EXAMPLE-candidate"}
MARK = {"generation": "users", "username": "admin", "sign_in": "changed-by-owner"}
FIRST = guest_login.FIRST_PASSWORD


class Answers:
    """A Studio whose account opens with one password, or that answers every sign-in with one status."""

    def __init__(self, password: str, status: int = 0) -> None:
        self.password = password
        self.status = status
        self.tried: list[str] = []

    def __call__(self, _port: int, _method: str, path: str, body: Any = None, _bearer: str = "") -> Any:
        if path.endswith("/change-password"):
            self.password = body["newPassword"]
            return 200, {"success": True}
        self.tried.append(body["password"])
        if self.status:
            return self.status, {"error": "no"}
        good = body["password"] == self.password
        return (200, {"token": "bearer"}) if good else (401, {"error": "no"})


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Answers:
    answers = Answers("EXAMPLE-of-the-owner")
    monkeypatch.setattr(guest_login, "call", answers)
    return answers


def store(own: Path, **files: dict[str, str]) -> None:
    for name, content in files.items():
        (own / {"access": "access.json", "candidate": "access.new.json"}[name]).write_text(
            json.dumps(content)
        )


def stored(own: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((own / "access.json").read_text())
    return found


@pytest.mark.parametrize(
    ("files", "opens", "told", "tried"),
    [
        ({"access": OURS}, "EXAMPLE-ours", ("known", False), ["EXAMPLE-ours"]),
        (
            {"access": OURS, "candidate": CANDIDATE},
            "EXAMPLE-candidate",
            ("known", False),
            ["EXAMPLE-candidate"],
        ),
        ({"access": OURS}, "other", ("changed-by-owner", False), ["EXAMPLE-ours", FIRST]),
        ({"access": OURS, "candidate": CANDIDATE}, "other", ("changed-by-owner", False), None),
        ({"access": MARK}, "other", ("changed-by-owner", False), [FIRST]),
        ({}, "other", ("changed-by-owner", False), [FIRST]),
    ],
)
def test_what_accounts_of_before_are_taken_for(
    studio: Answers, tmp_path: Path, files: Any, opens: str, told: Any, tried: Any
) -> None:
    studio.password = opens
    store(tmp_path, **files)

    found = secure_users(open_root(str(tmp_path)), 9000, has_users=True, window=False)

    assert found == told
    assert studio.tried == (tried or ["EXAMPLE-candidate", FIRST])
    assert stored(tmp_path).get("password") == (opens if told[0] == "known" else None)
    assert not (tmp_path / "access.new.json").exists()


@pytest.mark.parametrize("files", [{}, {"access": OURS}, {"access": MARK}])
def test_the_first_login_password_is_replaced_whatever_is_stored(
    studio: Answers, tmp_path: Path, files: Any
) -> None:
    studio.password = FIRST
    store(tmp_path, **files)

    found = secure_users(open_root(str(tmp_path)), 9000, has_users=True, window=False)

    assert found == ("known", True)
    assert stored(tmp_path)["password"] == studio.password != FIRST


@pytest.mark.parametrize("has_users", [True, False, None])
def test_accounts_that_came_after_the_start_are_nobody_s(
    studio: Answers, tmp_path: Path, *, has_users: bool | None
) -> None:
    with pytest.raises(Refusal) as refused:
        secure_users(open_root(str(tmp_path)), 9000, has_users, window=True)

    assert refused.value.code == "studio-login-failed"
    assert not (tmp_path / "access.json").exists()


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("files", [{"access": OURS}, {"access": MARK}, {}])
def test_a_lock_is_no_verdict(studio: Answers, tmp_path: Path, status: int, files: Any) -> None:
    studio.status = status
    store(tmp_path, **files)

    found = secure_users(open_root(str(tmp_path)), 9000, has_users=True, window=False)

    assert found == ("not-told", False)
    assert len(studio.tried) == 1
    assert not files or stored(tmp_path) == files["access"]


@pytest.mark.parametrize(("status", "window"), [(429, True), (503, True), (404, False)])
def test_what_cannot_be_told_is_a_failure_where_it_could_hide_a_stranger(
    studio: Answers, tmp_path: Path, status: int, *, window: bool
) -> None:
    studio.status = status

    with pytest.raises(Refusal) as refused:
        secure_users(open_root(str(tmp_path)), 9000, has_users=True, window=window)

    assert refused.value.code == "studio-login-failed"


def database(place: Path, statement: str) -> None:
    with sqlite3.connect(place) as connection:
        connection.executescript(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "accounts"),
    [
        ("", False),
        ("CREATE TABLE sessions (id)", False),
        ("CREATE TABLE users (id)", False),
        ("CREATE TABLE users (id); INSERT INTO users VALUES (1)", True),
    ],
)
def test_when_a_home_had_accounts(tmp_path: Path, statement: str, *, accounts: bool) -> None:
    database(tmp_path / "hermes-web-ui.db", statement)

    assert accounts_in(open_root(str(tmp_path)), str(tmp_path)) is accounts


def test_a_damaged_database_counts_as_one_with_accounts(tmp_path: Path) -> None:
    (tmp_path / "hermes-web-ui.db").write_bytes(b"damaged" * 1000)

    assert accounts_in(open_root(str(tmp_path)), str(tmp_path))


def test_the_window_stays_open_until_the_sign_in_is_ours(tmp_path: Path) -> None:
    own, web = tmp_path / "own", tmp_path / "web"
    own.mkdir()
    web.mkdir()
    fds = open_root(str(own)), open_root(str(web))
    told = [open_window(*fds, str(web))]
    database(web / "hermes-web-ui.db", "CREATE TABLE users (id); INSERT INTO users VALUES (1)")
    told.append(open_window(*fds, str(web)))
    close_window(fds[0])

    told.append(open_window(*fds, str(web)))

    assert told == [True, True, False]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (0o120777, "a symbolic link"),
        (0o010600, "a named pipe"),
        (0o020600, "a device"),
        (0o140600, "a socket"),
    ],
)
def test_kinds_have_words(mode: int, words: str) -> None:
    assert kind_of(mode) == words


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refusal("unsafe-path", "x"), "unsafe-home-entry"),
        (NotADirectoryError(20, "Not a directory", "/x"), "unsafe-home-entry"),
        (OSError(28, "No space left on device"), ""),
        (Refusal("studio-did-not-start", "x"), "studio-did-not-start"),
    ],
)
def test_an_entry_of_the_wrong_kind_has_a_code_of_its_own(error: Exception, code: str) -> None:
    def verb(args: dict[str, Any]) -> dict[str, Any]:
        raise error

    assert answer(verb, {})["error"]["code"] == code


@pytest.mark.parametrize(
    ("sign_in", "replaced", "words"),
    [
        (SignIn.KNOWN, True, "user sign-in, first password replaced"),
        (SignIn.KNOWN, False, "user sign-in, sign-in kept"),
        (SignIn.CHANGED, False, "user sign-in, password set in Studio"),
        (SignIn.NOT_TOLD, False, "user sign-in, sign-in not checked"),
    ],
)
def test_a_step_s_words(sign_in: SignIn, words: str, *, replaced: bool) -> None:
    assert sign_in_words(Generation.USERS, sign_in, replaced=replaced) == words
    assert (sign_in in SIGN_IN_NOTES) is (sign_in is not SignIn.KNOWN)
