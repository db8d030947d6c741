"""The views of the create form, held against Slack's rules, at their emptiest and at their fullest."""

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.domain.outcome import Refused
from bot.domain.rules import Lifecycle, Limits, NodeRules, Rules
from bot.domain.sandbox import SandboxState, TemplateView
from bot.standin.slack.blocks import check_message_blocks, check_view
from bot.usecases.suggestions import HomeChoice, LastTime, Suggestions
from handlers.form_fields import Ticket, ticket
from handlers.render import blocks, limits
from handlers.render.create_form import form_view, loading_view, not_opened, refused_view

TICKET = Ticket(request_id="r-0123456789a-0123456789", channel="C_OPS")
NOTHING = Suggestions(homes=(), templates=None, last=LastTime(), mine=None)
BARE = Rules(nodes=(NodeRules(id="node-1"),))


def home(number: int) -> HomeChoice:
    name = f"{number:03}-{'h' * 59}"
    return HomeChoice(home=name, workspace="w" * 63, live=SandboxState.PAUSED, colleague=True)


FULL = Suggestions(
    homes=tuple(home(number) for number in range(120)),
    templates=tuple(
        TemplateView(template_id=f"tpl-{number}", name=f"{number:03}-{'t' * 60}", status="READY")
        for number in range(120)
    ),
    last=LastTime(template=f"007-{'t' * 60}", profile="p" * 128, timeout=-1),
    mine=tuple(home(number).home for number in range(60)),
    missing=("which homes are in use", "the templates", "your earlier homes"),
)
CROWDED = Rules(
    nodes=tuple(NodeRules(id=f"node-{number}-{'n' * 110}") for number in range(120)),
    template="000-" + "t" * 60,
    limits=Limits(per_user=1),
    lifecycle=Lifecycle(idle=-1),
    env_profiles={"p" * 128: {}, **{f"p-{number}": {} for number in range(120)}},
)
REFUSED = Refused(code="role-needed", what="<!channel> " * 900, safe="Nothing.", todo="`/hermes whoami`")


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("loading", loading_view()),
        ("refused", refused_view(REFUSED)),
        ("bare", form_view(NOTHING, BARE, TICKET)),
        ("nothing-ready", form_view(replace(NOTHING, templates=()), BARE, TICKET)),
        ("full", form_view(FULL, CROWDED, TICKET)),
    ],
)
def test_slack_takes_every_view(name: str, view: dict[str, Any]) -> None:
    check_view(json.loads(json.dumps(view)), kinds=("modal",))

    assert len(json.dumps(view)) < 250_000


@pytest.mark.parametrize("reason", ["expired_trigger_id", "invalid_arguments"])
def test_slack_takes_the_word_on_a_form_that_did_not_open(reason: str) -> None:
    message = not_opened(reason)

    check_message_blocks(json.loads(json.dumps(message.blocks)))
    assert "/hermes create home=atlas" in message.text


@pytest.mark.parametrize("channel", ["C_OPS", "G_PRIVATE", "D_U_OPERATOR", "U_OPERATOR"])
def test_a_ticket_comes_back_as_it_was_given(channel: str) -> None:
    given = Ticket(request_id="r-1", channel=channel)

    assert ticket(given.written()) == given
    assert len(given.written()) < limits.PRIVATE_METADATA


def test_a_choice_that_is_not_offered_any_more_is_not_preselected() -> None:
    field = blocks.select_field("f", "a", "Label", [blocks.option("One", "1")], initial="2")

    assert "initial_option" not in field["element"]
