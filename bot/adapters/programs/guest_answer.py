"""In the sandbox: the entry point of each of our programs there."""

from __future__ import annotations

import base64
import json
import sys
from typing import TYPE_CHECKING, Any

from bot.adapters.programs.beneath import Refusal
from bot.adapters.programs.guest_entries import is_wrong_kind

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER_PREFIX = "hermes-bot-answer:"
WRONG_KIND = "unsafe-home-entry"
"""From inside, an unsafe path is an entry of the home that is not of the kind it must be."""


def answer(verb: Callable[[dict[str, Any]], dict[str, Any]], args: dict[str, Any]) -> dict[str, Any]:
    """Perform a verb; a refusal is an answer too."""
    try:
        return {"ok": verb(args)}
    except Refusal as refusal:
        code = WRONG_KIND if refusal.code == "unsafe-path" else refusal.code
        return {"error": {"code": code, "message": str(refusal)}}
    except OSError as error:
        named = f" ({error.filename})" if isinstance(error.filename, str) else ""
        code = WRONG_KIND if is_wrong_kind(error) else ""
        return {"error": {"code": code, "message": f"{error.strerror or type(error).__name__}{named}"}}


def main(verbs: dict[str, Callable[[dict[str, Any]], dict[str, Any]]]) -> None:
    """Arguments as base64 of JSON, no secrets among them; the answer as one line behind a prefix.

    The prefix sets it apart from what a login shell may print.
    """
    args = json.loads(base64.b64decode(sys.argv[2]).decode("utf-8"))
    print(ANSWER_PREFIX + json.dumps(answer(verbs[sys.argv[1]], args)), flush=True)
