"""Every answer of Cube that went wrong, as a person reads it: three sentences that fit what was asked for."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bot.domain.block_text import as_text
from bot.domain.cube_errors import CubeFault, classify
from bot.domain.errors import CubeError
from bot.domain.explanations import PRESS_CONTINUE, TRY_AGAIN, code_of, sentences
from bot.domain.outcome import Failed
from handlers.render.failure import failure_message
from handlers.verbs import BY_NAME

FILE = Path(__file__).parents[1] / "data/cube_errors.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip()]
AGAIN = {"create": PRESS_CONTINUE, "resume": "Press Resume", "connect": "Press Resume"}
SAFE = "Home and workspace are safe on the node."
JARGON = re.compile(r"\b(\d{6}|HTTP|[45]\d\d|CubeMaster|CubeAPI|TAP|virtio|RPC|timeout|endpoint|null)\b")


def fault_of(case: dict[str, Any]) -> CubeFault:
    return classify(case["operation"], case["status"], case["body"], case["headers"])


def told(case: dict[str, Any]) -> tuple[str, str]:
    error = CubeError(fault_of(case))
    return sentences(error, again=AGAIN.get(case["operation"], TRY_AGAIN))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_it_is_told_in_three_sentences_above_cube_s_own_words(case: dict[str, Any]) -> None:
    error = CubeError(fault_of(case))
    what, todo = told(case)

    message = failure_message(
        Failed(code=code_of(error), what=what, safe=SAFE, todo=todo, detail=str(error))
    )

    shown = as_text("", message.blocks)
    order = [shown.index(part) for part in ("What happened:", "What is safe:", "What to do:", "Code ")]
    assert order == sorted(order)
    assert code_of(error) in shown
    assert " ".join(error.fault.message.split())[:40] in " ".join(shown.split())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_its_sentences_need_no_knowledge_of_cube(case: dict[str, Any]) -> None:
    what, todo = told(case)

    assert JARGON.findall(f"{what} {todo}") == []
    assert what.endswith(".")
    assert todo.endswith(".")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_to_do_can_be_done(case: dict[str, Any]) -> None:
    _, todo = told(case)

    assert ("Continue" in todo) <= (case["operation"] == "create")
    assert ("Resume" in todo) <= (case["operation"] in {"resume", "connect"})
    assert set(re.findall(r"/hermes ([a-z]+)", todo)) <= {name.partition(".")[0] for name in BY_NAME}


def test_no_two_kinds_of_failure_read_the_same() -> None:
    by_operation: dict[str, dict[tuple[str, str], set[str]]] = {}
    for case in CASES:
        texts = by_operation.setdefault(case["operation"], {})
        texts.setdefault(told(case), set()).add(case["expect_class"])

    same = {
        (operation, words): kinds
        for operation, texts in by_operation.items()
        for words, kinds in texts.items()
        if len(kinds) > 1
    }
    assert same == {}


def test_every_advice_has_words_of_its_own() -> None:
    advice = {case["advice_key"]: told(case)[0] for case in CASES}

    assert len(set(advice.values())) == len(advice)
