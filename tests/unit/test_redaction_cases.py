"""The shared cases: what may not survive redaction, and what has to."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.redaction import Redactor

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "redaction.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    redactor = Redactor(case["known_secrets"])

    redacted = redactor.text(case["input"])

    assert [each for each in case["must_hide"] if each in redacted] == []
    assert [each for each in case["must_keep"] if each not in redacted] == []
    assert redactor.text(redacted) == redacted
