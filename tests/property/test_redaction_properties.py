"""For every text: nothing known survives, nothing harmless changes, a second time changes nothing."""

import base64
import html
import json
import re
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from bot.adapters.redaction import MARKER, Redactor

SECRET_CHARACTERS = "abcXYZ019 +/=&<>\"'\\%#?;:,._~-(){}[]|$*`éß漢\U0001f600"
secrets = st.text(SECRET_CHARACTERS, min_size=6, max_size=40).filter(
    lambda secret: secret.strip() == secret and secret not in MARKER
)
VOCABULARY = r"""
token API_KEY password accessToken home max_tokens Authorization sig --secret --token
= : ： ＝ & ? # / , ; 。 " ' ` \" \\\" \ \n \/ \u0026 “ ” ( ) [ ] { } < > | @ + - ***
null 12 abc it's EXAMPLE Bearer !!str b' http:// %3D %26 %22 &amp; eyJhbGci.eyJzdWIi.EXAMPLE
sk-EXAMPLE0000notreal0000 hooks.slack.com/services/ REDACTED
"""  # noqa: RUF001 -- full-width signs are signs here
SPACED = [" ", "  ", ": ", " = ", ", ", "\n", "\n  ", "\r\n", "| ", "|\n", "- ", "# ", " #"]
PEM = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"]
FRAGMENTS = (*VOCABULARY.split(), *SPACED, *PEM)
pieces = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=14).map("".join)
surroundings = st.text(SECRET_CHARACTERS + "\n\t", max_size=30) | pieces | st.text(max_size=30)


def broken(secret: str, at: int, line_end: str) -> str:
    at %= len(secret)
    return secret[:at] + line_end + secret[at:]


def percent_all(secret: str) -> str:
    return "".join(f"%{byte:02x}" for byte in secret.encode())


ENCODERS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda secret: urllib.parse.quote(secret, safe=""),
    "percent, lower case": lambda secret: re.sub(
        "%..", lambda match: match[0].lower(), urllib.parse.quote(secret, safe="")
    ),
    "percent, slash kept": urllib.parse.quote,
    "form": urllib.parse.quote_plus,
    "percent, every byte": percent_all,
    "json": lambda secret: json.dumps(secret)[1:-1],
    "json, not ascii": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "json, slash": lambda secret: json.dumps(secret)[1:-1].replace("/", "\\/"),
    "json twice": lambda secret: json.dumps(json.dumps(secret)),
    "slack": lambda secret: html.escape(secret, quote=False),
    "slack in json": lambda secret: json.dumps(html.escape(secret, quote=False)),
}


def decoded(text: str) -> set[str]:
    """The text as each receiver would read it."""
    views = {text, urllib.parse.unquote(text), urllib.parse.unquote_plus(text), html.unescape(text)}
    for view in (text, html.unescape(text)):
        for _ in range(2):
            unescaped = re.sub(
                r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])', lambda match: json.loads(f'"{match[0]}"'), view
            )
            views.add(unescaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
            view = unescaped  # noqa: PLW2901 -- JSON inside JSON
    return views


def base64_read(text: str) -> bytes:
    """Everything that base64 in the text can stand for, whatever character it is read from."""
    read = []
    for run in re.findall(r"[A-Za-z0-9+/_-]+", text):
        for offset in range(4):
            whole = run[offset : offset + (len(run) - offset) // 4 * 4].replace("-", "+").replace("_", "/")
            read.append(base64.b64decode(whole))
    return b"\n".join(read)


@pytest.mark.parametrize("encoding", ENCODERS)
@given(secret=secrets, before=surroundings, after=surroundings)
@settings(max_examples=60, deadline=None)
def test_no_known_secret_survives_in_an_encoding(encoding: str, secret: str, before: str, after: str) -> None:
    assume(not before.endswith("\\"))  # a backslash would change what the encoded text means
    redactor = Redactor([secret])

    redacted = redactor.text(before + ENCODERS[encoding](secret) + after)

    assert [view for view in decoded(redacted) if secret in view] == []


@given(
    secret=secrets,
    before=surroundings,
    after=surroundings,
    at=st.integers(1, 100),
    line_end=st.sampled_from(["\n", "\r\n", "\\\n", "\\\r\n", "\n    ", "\\\n\t", "\r\n  "]),
)
@settings(max_examples=200, deadline=None)
def test_no_known_secret_survives_a_line_end(
    secret: str, before: str, after: str, at: int, line_end: str
) -> None:
    assume(at % len(secret))
    # A wrapped line does not tell how many blanks there were, nor whose the backslash is.
    assume(len(re.sub(" +", " ", secret.replace("\\", ""))) >= 6)
    redactor = Redactor([secret])

    redacted = redactor.text(before + broken(secret, at, line_end) + after)

    assert broken(secret, at, line_end) not in redacted
    assert secret not in re.sub(r"\\?\r?\n[ \t]*", "", redacted)


@given(
    secret=secrets,
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
    around=st.tuples(surroundings, surroundings),
    safe=st.booleans(),
    padded=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_no_known_secret_survives_in_base64(
    secret: str,
    before: bytes,
    after: bytes,
    around: tuple[str, str],
    safe: bool,  # noqa: FBT001 -- drawn by hypothesis
    padded: bool,  # noqa: FBT001 -- see above
) -> None:
    encode = base64.urlsafe_b64encode if safe else base64.b64encode
    encoded = encode(before + secret.encode() + after).decode()
    redactor = Redactor([secret])

    redacted = redactor.text(around[0] + " " + (encoded if padded else encoded.rstrip("=")) + " " + around[1])

    assert secret.encode() not in base64_read(redacted)


@given(st.lists(secrets, min_size=2, max_size=6), st.data())
@settings(max_examples=200, deadline=None)
def test_no_secret_of_several_survives_among_each_other(several: list[str], data: st.DataObject) -> None:
    overlapping = [*several, several[0] + several[1], several[0][2:] + several[1][:4]]
    text = "".join(data.draw(st.lists(st.sampled_from([*overlapping, " ", "x"]), max_size=8)))
    redactor = Redactor(overlapping)

    redacted = redactor.text(text)

    assert [secret for secret in overlapping if secret in redacted] == []


@given(pieces | st.text(), st.lists(secrets, max_size=3))
@settings(max_examples=1500, deadline=None)
@example("token: |\n token: a\n  b", [])
@example("token='a\\\ntoken=\"b", [])
def test_redacting_again_changes_nothing(text: str, known: list[str]) -> None:
    redactor = Redactor(known)

    redacted = redactor.text(text)

    assert redactor.text(redacted) == redacted


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | pieces | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(pieces | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values, st.lists(secrets, max_size=2))
@settings(max_examples=300, deadline=None)
@example([5000000], ["000000"])
def test_a_payload_keeps_its_shape_and_is_stable(value: Any, known: list[str]) -> None:
    redactor = Redactor(known)

    redacted = redactor.payload(value)

    assert same_shape(value, redacted)
    assert redactor.payload(redacted) == redacted
    json.dumps(redacted)


def same_shape(before: Any, after: Any) -> bool:
    if isinstance(before, dict):
        if not isinstance(after, dict) or len(before) != len(after):
            return after == MARKER
        return all(same_shape(*pair) for pair in zip(before.values(), after.values(), strict=True))
    if isinstance(before, list):
        if not isinstance(after, list) or len(before) != len(after):
            return after == MARKER
        return all(same_shape(*pair) for pair in zip(before, after, strict=True))
    if isinstance(before, int) and isinstance(after, str):  # a number can hold a secret of digits
        return MARKER in after
    return type(before) is type(after) or after == MARKER


@given(
    st.dictionaries(
        st.sampled_from(["user", "home", "port", "note", "token", "db_password", "url", "n"]),
        st.text(SECRET_CHARACTERS, max_size=20) | st.integers() | st.booleans() | st.none(),
        max_size=5,
    ),
    st.sampled_from([None, 1, 2]),
)
@settings(max_examples=300, deadline=None)
def test_json_text_stays_json_and_hides_what_the_payload_hides(
    value: dict[str, Any], indent: int | None
) -> None:
    redactor = Redactor()

    redacted = json.loads(redactor.text(json.dumps(value, indent=indent)))

    assert redacted.keys() == value.keys()
    for name, content in value.items():
        if name in {"token", "db_password"} and not re.fullmatch(r"None|\*{3,}|", str(content)):
            assert redacted[name] == MARKER


HARMLESS = """\
sandbox 1f0c7a52e3b94d0d8a6b5c4e3f2a1b0c from tpl-4f0c2a9b1d3e5f60718293a4 as snap-9a8b7c6d5e4f on node-a
image ops/agent@sha256:9f86d081884c7d659f86d081884c7d659f86d081884c7d659f86d081884c7d65
commit 2c26b46b68ffc68ff99b453c1d30413413422d70 by ops@example.com, 3 files changed
host key SHA256:uJ3ExampleFingerprint0000000000000000000000 (ED25519) changed for node-a
request 3fa85f64-5717-4562-b3fc-2c963f66afa6 wrote /root/.hermes/skills/deploy-check/SKILL.md (0644)
KeyError: 'atlas'
tokenizer=qwen2 max_tokens=4096 total_tokens: 18231 token_count=77 TOKENIZERS_PARALLELISM=false
KEYBOARD=us MONKEY=ape KEYRING_BACKEND=file passwordless=yes secretary: ops-desk keyspace=8
PUBLIC_KEY_PATH=/root/.ssh/id_ed25519.pub PASSWORD_FILE=/run/secrets/db SECRET_NAME=hermes-env TOKEN_TTL=3600
the token is stored in the home; the password was replaced; no key is needed
*Token*: redacted
<@U012ABCDEF> asked in <#C0123456789|ops> at <!date^1700000000^{date_short}|today>, ts 1700000000.000100
see disk-usage-report-2026-11-30 and risk-review-0000-quarterly-2026 and task-force-on-desks-and-masks
http://9000-1f0c7a52e3b94d0d8a6b5c4e3f2a1b0c.localhost:43210/#/home?path=/workspace/a.txt&download=1
ssh://git@github.com/ops/skills.git https://ops@git.example.com/x postgres://hermes@db:5432/hermes
tests/unit/test_secret_names.py::test_token::case secret://vault/x npm/pkg@1.0 http://node:3000/a@b
{"error": "error code 130404: template not found", "monkey": [1, 2], "public_key": "ssh-ed25519 AAAAC3Nza"}
  File "bot/adapters/cube_sdk.py", line 41, in create
TOKEN= PORT=5432
{"password": null, "token": "", "n": 1}
100 % done + 5 more & <b> \\n \\u0041 %41
"""


@pytest.mark.parametrize("line", HARMLESS.splitlines())
def test_harmless_lines_are_left_alone(line: str) -> None:
    redactor = Redactor(["EXAMPLEknownvalue1", "an EXAMPLE of words", "ops"])

    assert redactor.text(line) == line


LENGTH = 100_000
WORDS = r"""
a token token= token=[ token=` token=a'b token=\" " \ \" ` %41 %25 + @ - sk- eyJ eyJ. eyJa. aB ，
http://a:b@c/?token=x& a://a: a://u:x/ hooks.slack.com/services/ &amp;amp; \u0041 RVhBTVBM known&lt;
('token',' "token":"a\" "token":{ token%22%3A%22 EXAMPLEknownvalue1
"""  # noqa: RUF001 -- a full-width comma ends a value
HOSTILE = [
    *WORDS.split(),
    *(
        "a ",
        'token="',
        "token='x\n",
        "token=\"a\ntoken='b\n",
        "token=[\n",
        'token=a" ',
        "\n",
        "\r\n ",
        "\\\n",
    ),
    *(
        "token: |\n  a\n",
        "token:\n",
        "token: a\n ",
        "Authorization: ",
        "Cookie: a\n b\n",
        '"token: |\\n  a\\n',
    ),
    *("-----BEGIN PRIVATE KEY-----", "--token ", "{a: 1, token: b ", "token: !a ", '"key"    ', "token : ("),
    *("EXAMPLE\nknownvalue1", "token: a, b=", "token:a\\n", "\ud800token=", "\x00"),
]


@pytest.mark.parametrize("unit", HOSTILE, ids=[repr(unit) for unit in HOSTILE])
def test_the_time_for_hostile_text_grows_with_its_length_only(unit: str) -> None:
    redactor = Redactor(["EXAMPLEknownvalue1", "aaaaaa b", "\\n\\n\\nx"])
    began = time.process_time()

    redactor.text('"' + unit * (LENGTH // len(unit)))

    assert time.process_time() - began < 5  # seconds; quadratic time would be minutes
