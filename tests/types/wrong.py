"""Payloads that are wrong on purpose: a judge that lets one of them pass proves nothing."""

from typing import Any

from tests.golden.corpus import Payload

_PLAIN = {"type": "plain_text", "text": "x"}
_MARKUP = {"type": "mrkdwn", "text": "x"}
_TASK = {"type": "task_card", "task_id": "1", "title": "x", "status": "complete"}


def _message(name: str, *blocks: dict[str, Any]) -> Payload:
    return Payload(f"wrong/{name}", "message", list(blocks))


def _button(**changes: Any) -> dict[str, Any]:
    return {"type": "actions", "elements": [{"type": "button", "action_id": "a", "text": _PLAIN, **changes}]}


WRONG = [
    _message("unknown-block", {"type": "bogus"}),
    _message("markup-in-header", {"type": "header", "text": _MARKUP}),
    _message("markup-on-button", _button(text=_MARKUP)),
    _message("unknown-style", _button(style="warning")),
    _message("number-as-value", _button(value=1)),
    _message("extra-key", {"type": "divider", "text": _PLAIN}),
    _message("unknown-status", {**_TASK, "status": "done"}),
    _message("unknown-status-in-plan", {"type": "plan", "title": "x", "tasks": [_TASK | {"status": "done"}]}),
    _message("details-as-text", {**_TASK, "details": "x"}),
    _message("section-as-child-text", {"type": "context", "elements": [{"type": "section", "text": _PLAIN}]}),
    _message("no-elements", {"type": "actions"}),
    Payload("wrong/block-in-modal", "modal", {
        "type": "modal", "title": _PLAIN, "blocks": [{"type": "section", "text": "x"}]}),
    Payload("wrong/markup-title", "modal", {"type": "modal", "title": _MARKUP, "blocks": []}),
    Payload("wrong/home-with-submit", "home", {"type": "home", "submit": _PLAIN, "blocks": []}),
    Payload("wrong/block-in-home", "home", {"type": "home", "blocks": [{"type": "header", "text": _MARKUP}]}),
]  # fmt: skip
