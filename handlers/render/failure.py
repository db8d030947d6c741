"""Failures, in three sentences: what happened, what is safe, what to do next."""

import dataclasses
from typing import Any

from bot.domain.outcome import Failed, NotDone, Offer, Refused, Unknown
from bot.ports import Message, Redactor
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.mrkdwn import code, fenced, prose

DETAIL = 2_400
"""Characters of another system's words that are shown; escaping may still lengthen them."""


def cleaned(outcome: NotDone, redactor: Redactor) -> NotDone:
    """Without secrets, before anything is cut: half a secret would not be recognised any more."""
    return dataclasses.replace(
        outcome,
        what=redactor.text(outcome.what),
        safe=redactor.text(outcome.safe),
        todo=redactor.text(outcome.todo),
        detail=redactor.text(outcome.detail),
        facts={name: redactor.text(value) for name, value in outcome.facts.items()},
    )


def failure_message(outcome: NotDone, *, request_id: str = "") -> Message:
    """The message for a refusal, a failure, or an end that nobody can tell; ``outcome`` must be cleaned."""
    text = " ".join(sentence for sentence in (outcome.what, outcome.safe, outcome.todo) if sentence)
    parts: list[dict[str, object]] = [blocks.section(_sentences(outcome))]
    if outcome.detail:
        parts.append(blocks.section(fenced(limits.cut(outcome.detail, DETAIL))))
    buttons = _offers(outcome, request_id)
    if buttons:
        parts.append(blocks.actions(*buttons))
    reference = f"Code {code(outcome.code)}"
    parts.append(blocks.context(reference + (f" · request {code(request_id)}" if request_id else "")))
    return limits.message(prose(text), parts)


def failure_view(title: str, outcome: NotDone, *, callback_id: str) -> dict[str, Any]:
    """The same in a modal, without buttons; ``outcome`` must be cleaned."""
    content = [dict(block) for block in failure_message(outcome).blocks if block["type"] != "actions"]
    return blocks.modal(title, content, callback_id=callback_id)


def _sentences(outcome: NotDone) -> str:
    sign = {Refused: ":no_entry_sign:", Failed: ":x:", Unknown: ":grey_question:"}[type(outcome)]
    lines = [f"{sign} *What happened:* {prose(outcome.what)}"]
    if outcome.safe:
        lines.append(f":shield: *What is safe:* {prose(outcome.safe)}")
    if outcome.todo:
        lines.append(f":arrow_right: *What to do:* {prose(outcome.todo)}")
    return "\n".join(lines)


def _offers(outcome: NotDone, request_id: str) -> list[dict[str, object]]:
    """Buttons for what is offered, as far as there is an id for it to act on."""
    buttons: list[dict[str, object]] = []
    for offer in outcome.offers:
        if offer is Offer.OPEN and outcome.sandbox:
            buttons.append(blocks.button("Open Studio", Press.OPEN, outcome.sandbox, style="primary"))
        elif offer is Offer.STOP and outcome.sandbox:
            buttons.append(blocks.button("Stop", Press.STOP_ASK, outcome.sandbox))
        elif offer is Offer.RESUME and outcome.sandbox:
            buttons.append(blocks.button("Resume", Press.RESUME, outcome.sandbox))
        elif offer is Offer.STATUS and outcome.sandbox:
            buttons.append(blocks.button("Status", Press.STATUS, outcome.sandbox))
        elif offer is Offer.FORM:
            buttons.append(blocks.form_button("Create a new one"))
        elif offer is Offer.CONTINUE and request_id:
            buttons.append(blocks.button("Continue", Press.CREATE_CONTINUE, request_id, style="primary"))
        elif offer is Offer.CANCEL and request_id:
            buttons.append(blocks.button("Cancel", Press.CREATE_CANCEL, request_id))
    return buttons
