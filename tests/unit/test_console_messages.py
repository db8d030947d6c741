"""Every message and view of ours, as a person reads it in the console."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from unit.console_kit import VIEWER, Page, shown
from unit.test_render_messages import PLAN, WHO, failure, interrupted, messages, views

import handlers
from bot.domain.actors import Action, Actor, Role
from bot.domain.outcome import Offer, Refused, Unknown
from bot.domain.provisioning import CreateRequest
from bot.ports import Message
from bot.standin.console.emoji import DRAWN, spoken
from bot.standin.console.mrkdwn import render_mrkdwn
from bot.usecases.whoami import WhoAmI
from handlers import refusals
from handlers.commands import AVAILABLE
from handlers.render import help as help_
from handlers.render import notices, result, stop
from handlers.render.failure import failure_message
from handlers.render.home import home_view
from handlers.render.interrupted import interrupted_message

AT = datetime(2026, 1, 1, tzinfo=UTC)
REQUEST = CreateRequest(request_id="r-1", actor=Actor(id="U_OPERATOR"), home="alpha", workspace="alpha")
ALL_OFFERS = tuple(Offer)

Payload = tuple[str, str, Sequence[Mapping[str, Any]]]


def more_messages() -> Iterator[tuple[str, Message]]:
    """What the limits need no test for, and a reader of the console meets all the same."""
    yield "announcement", result.announcement(REQUEST)
    yield "announcement-failed", result.announcement_failed(REQUEST, failure())
    yield "refusal", help_.refusal_message(refusals.unknown_verb("creat<e>"))
    yield "not-asked", stop.not_asked("U_OPERATOR", "alpha", "It is gone.")
    yield "working", stop.working("U_OPERATOR")
    yield "kept", notices.settled("t", stop.stop_card(PLAN, "cli:anna").blocks, stop.decided_keep("U_1", AT))
    yield "continued", notices.notice(notices.continued_by("U_ADMIN", AT))
    yield "cancelling", notices.cancelling("U_ADMIN")
    yield "sent-directly", notices.sent_directly()
    yield "wrong-channel", notices.wrong_channel(["C_OPS", "C_ALERTS"])
    yield "window-failed", notices.window_failed("expired_trigger_id")
    yield "link-not-shown", notices.link_not_shown("view_too_large")
    for name in ("UNKNOWN_BUTTON", "UNKNOWN_FORM", "UNKNOWN_COMMAND", "UNKNOWN_SHORTCUT"):
        yield name, getattr(notices, name)
    for kind in (Refused, Unknown):
        outcome = kind(code="c", what="W.", safe="S.", todo="T.", offers=ALL_OFFERS, sandbox="f" * 32)
        yield f"failure-{kind.__name__}", failure_message(outcome, request_id="r-1")
    yield "interrupted-stop", interrupted_message(interrupted(action=Action.STOP))


def sent(blocks: Any) -> list[dict[str, Any]]:
    made = json.loads(json.dumps(blocks))
    return [{"block_id": f"b{number}", **block} for number, block in enumerate(made)]


def payloads() -> Iterator[Payload]:
    """Name, surface and blocks of everything, as it arrives at Slack."""
    for name, message in (*messages(), *more_messages()):
        yield name, "message", sent(message.blocks)
        if message.classic is not None:
            yield f"{name}-classic", "message", sent(message.classic)
    for name, view in views():
        yield f"view-{name}", "modal", sent(view["blocks"])
    for role in Role:
        who = WhoAmI(actor_id="U_OPERATOR", role=role, may=("create", "stop"), may_not=())
        yield f"home-{role.name}", "home", sent(home_view(who, AVAILABLE)["blocks"])
    yield "home-outsider", "home", sent(home_view(WHO, AVAILABLE)["blocks"])


ALL = pytest.mark.parametrize(("name", "surface", "blocks"), list(payloads()))


def below(thing: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Every object of a kind within a payload; questions before a press are not on the page."""
    if isinstance(thing, dict):
        if thing.get("type") == kind:
            yield thing
        for name, value in thing.items():
            if name != "confirm":
                yield from below(value, kind)
    elif isinstance(thing, list):
        for one in thing:
            yield from below(one, kind)


def words_of(markup: str) -> list[str]:
    """The words of a text in markup that is ours, whatever its styles: references and emoji left out."""
    bare = re.sub(r"<[^<>\n]*>|:[a-z_]+:", " ", markup)
    return re.findall(r"[A-Za-z0-9]+", html.unescape(bare))


@ALL
def test_the_console_shows_all_of_it(name: str, surface: str, blocks: list[dict[str, Any]]) -> None:
    page = shown(*blocks, surface=surface)

    assert "unsupported" not in page.text
    assert page.all("p", "block-note") == []
    for text in below(blocks, "plain_text"):
        assert spoken(text["text"]) in page.text
    for text in below(blocks, "mrkdwn"):
        assert [word for word in words_of(text["text"]) if word not in page.text] == []
    for text in (*below(blocks, "text"), *below(blocks, "raw_text")):
        assert text["text"] in page.text
    for plan in (*below(blocks, "plan"), *below(blocks, "task_card")):
        assert plan["title"] in page.text


@ALL
def test_every_button_can_be_pressed(name: str, surface: str, blocks: list[dict[str, Any]]) -> None:
    page = shown(*blocks, surface=surface)

    buttons = [
        (
            block["block_id"],
            button["action_id"],
            button.get("value"),
            button.get("url"),
            button["text"]["text"],
        )
        for block in blocks
        for button in below(block, "button")
    ]
    assert [
        (found["data-block"], found["data-action"], found["data-value"], found["data-url"], found.text)
        for found in page.all("button")
    ] == buttons
    asked = [button["confirm"] for button in below(blocks, "button") if "confirm" in button]
    told = [json.loads(found["data-confirm"] or "") for found in page.all("button") if found["data-confirm"]]
    assert [Page(one["text"]).text for one in told] == [one["text"]["text"] for one in asked]


@ALL
def test_every_choice_can_be_chosen(name: str, surface: str, blocks: list[dict[str, Any]]) -> None:
    page = shown(*blocks, surface=surface)

    offered = [
        str(option["value"])
        for block in blocks
        for element in (block.get("element"), block.get("accessory"))
        if element
        for option in element.get("options", [])
    ]
    assert [str(found["value"]) for found in page.all("option") if found["value"]] == offered


@ALL
def test_its_ids_are_unique(name: str, surface: str, blocks: list[dict[str, Any]]) -> None:
    page = shown(*blocks, surface=surface, prefix=name)

    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize(("name", "message"), [*messages(), *more_messages()])
def test_the_line_for_notifications_is_readable(name: str, message: Message) -> None:
    page = Page(render_mrkdwn(message.text, VIEWER))

    assert [word for word in words_of(message.text) if word not in page.text] == []


def test_every_emoji_that_we_write_has_a_drawing() -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(handlers.__path__[0]).rglob("*.py")]
    written = {name for text in sources for name in re.findall(r'[":| ]:([a-z0-9_+-]+):(?=[ "])', f" {text}")}

    assert "white_check_mark" in written
    assert written - set(DRAWN) == set()
