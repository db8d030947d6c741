"""The case sheet for slash commands, and the rules around it that the sheet states in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from handlers.grammar import Command, Refusal, parse
from handlers.suggest import closest
from handlers.verbs import BY_NAME, SLASH, VERBS, first_words

DATA = Path(__file__).parents[1] / "data" / "slash.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
EXACT = "a" * 32


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    expect = case["expect"]

    answer = parse(case["text"])

    if "command" in expect:
        assert answer == Command(expect["command"], expect["args"])
        return
    assert isinstance(answer, Refusal)
    assert answer.kind == expect["refuse"]
    for field in ("argument", "key", "suggest"):
        if field in expect:
            assert getattr(answer, field) == expect[field]
    assert (answer.suggest is not None) == ("did you mean" in answer.message)


@pytest.mark.parametrize("case", [c for c in CASES if "refuse" in c["expect"]], ids=lambda case: case["id"])
def test_a_refusal_shows_a_command_that_works(case: dict[str, Any]) -> None:
    refusal = parse(case["text"])

    assert isinstance(refusal, Refusal)
    assert refusal.message.endswith((".", "?"))
    assert "\n" not in refusal.message
    assert refusal.message.isascii()
    assert isinstance(parse(refusal.example.removeprefix(SLASH)), Command)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_example_in_the_help_is_the_command_it_explains(verb: Any) -> None:
    answer = parse(verb.example.removeprefix(SLASH))

    assert isinstance(answer, Command)
    assert answer.name == verb.name


def test_help_lists_every_command_once() -> None:
    usages = [verb.usage for verb in VERBS]

    assert len(usages) == len(set(usages)) == len(BY_NAME)


@pytest.mark.parametrize(
    ("text", "command", "args"),
    [
        ("create", "create", {}),
        ("audit", "audit", {}),
        ("pause mine", "pause", {"target": "mine"}),
        ("resume mine", "resume", {"target": "mine"}),
        ("status ALL", "status", {"target": "all"}),
        ("status mine", "status", {"target": "mine"}),
        ("skills refresh All", "skills.refresh", {"target": "all"}),
        ("skills diff", "skills.diff", {}),
        ("alerts list", "alerts.list", {}),
        ("backup atlas", "backup", {"target": "atlas"}),
        ("drill", "drill", {}),
        ("keep atlas 1D2H3M4S", "keep", {"target": "atlas", "duration": "93784"}),
        ("keep atlas 365d", "keep", {"target": "atlas", "duration": "31536000"}),
        ("keep atlas \u22121", "keep", {"target": "atlas", "duration": "-1"}),
        ("keep atlas NEVER", "keep", {"target": "atlas", "duration": "-1"}),
        ("audit user=W0EXAMPLE9", "audit", {"user": "W0EXAMPLE9"}),
        ("audit since=2026\u201311\u201301", "audit", {"since": "2026-11-01"}),
        ('rebuild atlas "disk   full" again', "rebuild", {"target": "atlas", "reason": "disk   full again"}),
        ('rebuild atlas ""', "rebuild", {"target": "atlas"}),
        ("rebuild atlas --force home=x", "rebuild", {"target": "atlas", "reason": "--force home=x"}),
        ("rebuild atlas see <#C1|>", "rebuild", {"target": "atlas", "reason": "see #C1"}),
        (
            "rebuild atlas ask <mailto:al@example.com|al@example.com>",
            "rebuild",
            {"target": "atlas", "reason": "ask al@example.com"},
        ),
        (
            "rebuild atlas <https://example.com/x|see here>",
            "rebuild",
            {"target": "atlas", "reason": "https://example.com/x"},
        ),
        ("rebuild atlas &amp;lt;b&gt;", "rebuild", {"target": "atlas", "reason": "&lt;b>"}),
        (
            "network atlas [2001:db8::5]:443",
            "network",
            {"target": "atlas", "endpoints": ["[2001:db8::5]:443"]},
        ),
        (
            "network atlas HTTPS://a.example?x=1",
            "network",
            {"target": "atlas", "endpoints": ["HTTPS://a.example?x=1"]},
        ),
        ("backend set atlas vercel_sandbox", "backend.set", {"target": "atlas", "backend": "vercel_sandbox"}),
        (
            "create home=a 'env=A=it is'",
            "create",
            {"home": "a", "workspace": "a", "env": {"A": "it is"}},
        ),
        (
            r"create home=a env=A='x\"y' env=B=" + '"a\\\\b\\n"',
            "create",
            {"home": "a", "workspace": "a", "env": {"A": r"x\"y", "B": "a\\b\\n"}},
        ),
        (
            "create home=a env=A=\u2018x y\u2019",
            "create",
            {"home": "a", "workspace": "a", "env": {"A": "x y"}},
        ),
        (
            "create ENV=path=/x home=a",
            "create",
            {"home": "a", "workspace": "a", "env": {"path": "/x"}},
        ),
    ],
)
def test_accepted(text: str, command: str, args: dict[str, object]) -> None:
    assert parse(text) == Command(command, args)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("help me", "unexpected-argument", {}),
        ("whoami now", "unexpected-argument", {}),
        ("template list x", "unexpected-argument", {}),
        ("alerts list x", "unexpected-argument", {}),
        ("template", "missing-subverb", {}),
        ("rescue restore atlas", "unknown-subverb", {"suggest": None}),
        ("skills refresh", "missing-argument", {"argument": "target"}),
        ("alerts snooze atlas", "missing-argument", {"argument": "duration"}),
        ("network", "missing-argument", {"argument": "target"}),
        ("stop all", "bad-id", {}),
        ("open mine", "bad-id", {}),
        ("status backups", "bad-id", {}),
        ("status 1F0C7A52E3B94D0D8A6B5C4E3F2A1B0C", "bad-id", {}),
        (f"create home={EXACT}", "bad-id", {"argument": "home"}),
        (f"create home=a workspace={EXACT}", "bad-id", {"argument": "workspace"}),
        ("create home=atlas\u200b", "bad-id", {}),
        ("create home=atlas\u0301", "bad-id", {}),
        ("create home=a template=../x", "bad-id", {"argument": "template"}),
        ("create home=a node=a/b", "bad-id", {"argument": "node"}),
        ("status home=atlas", "unknown-key", {"key": "home"}),
        ("stop atlas force=yes", "unknown-key", {"key": "force"}),
        ("create home=atlas --force", "unknown-key", {"key": "force"}),
        ("create home=atlas --timeout", "missing-value", {"key": "timeout"}),
        ("create home=", "missing-value", {"key": "home"}),
        ('create home=""', "missing-value", {"key": "home"}),
        ("create home=a env=", "missing-value", {"key": "env"}),
        ("create home=a env=DEBUG", "missing-value", {"key": "env"}),
        ("create home=a env==x", "bad-env-name", {}),
        ("create home=a env=DYLD_X=1", "bad-env-name", {}),
        (f"create home=a env={'A' * 257}=1", "bad-env-name", {}),
        ("create home=a =x", "unexpected-argument", {}),
        ("create home=a Timeout=1h timeout=2h", "duplicate-key", {"key": "timeout"}),
        ("keep atlas 366d", "bad-duration", {}),
        ("keep atlas 1h1h", "bad-duration", {}),
        ("keep atlas -2", "bad-duration", {}),
        ("keep atlas \u0663", "bad-duration", {}),
        ("keep atlas 2\u017f", "bad-duration", {}),
        (f"keep atlas {'9' * 5000}", "bad-duration", {}),
        ("audit since=2026-02-30", "bad-duration", {"argument": "since"}),
        ("audit user=<@bob|bob>", "bad-user", {}),
        ("audit user=Wendy", "bad-user", {}),
        ("network atlas host:", "bad-endpoint", {}),
        ("network atlas host:0", "bad-endpoint", {}),
        ("network atlas 8000", "bad-endpoint", {}),
        ("network atlas 10.10.0.256", "bad-endpoint", {}),
        ("network atlas https://", "bad-endpoint", {}),
        ("network atlas https://u:p@host/", "bad-endpoint", {}),
        ("network atlas ok.example /etc", "bad-endpoint", {}),
        ("backend set atlas kubernetes", "unknown-backend", {"suggest": None}),
        ("\u212aeep atlas 2h", "unknown-verb", {}),
        ("rebuild atlas 'tis broken", "unbalanced-quotes", {}),
        ('create home=a env=A="x\\"', "unbalanced-quotes", {}),
    ],
)
def test_refused(text: str, kind: str, fields: dict[str, object]) -> None:
    answer = parse(text)

    assert isinstance(answer, Refusal)
    assert {"kind": answer.kind} | {name: getattr(answer, name) for name in fields} == {"kind": kind} | fields


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("stauts", "status"),
        ("sttaus", "status"),
        ("stats", "status"),
        ("stat", "status"),
        ("diag", "diagnose"),
        ("skill", "skills"),
        ("whoiam", "whoami"),
        ("templates", "template"),
        ("OPNE", "open"),
        ("kill", None),
        ("start", None),
        ("restart", None),
        ("rename", None),
        ("recreate", None),
        ("delete", None),
        ("destroy", None),
        ("list", None),
        ("res", None),
        ("back", None),
        ("ps", None),
        ("x" * 10_000, None),
    ],
)
def test_did_you_mean(typed: str, meant: str | None) -> None:
    assert closest(typed, first_words()) == meant


def test_strange_characters_of_an_id_are_spelled_out() -> None:
    answer = parse("create home=atlas\u202egnp`")

    assert isinstance(answer, Refusal)
    assert r"`atlas\u202egnp'`" in answer.message
