"""Every message that we make, held against the rules that Slack's stand-in checks messages with."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.adapters.redaction import Redactor
from bot.domain.actors import Action, Role
from bot.domain.outcome import Failed, NotDone, Offer, Refused, Unknown
from bot.domain.provisioning import (
    SIGN_IN_NOTES,
    AgentFacts,
    Generation,
    PortHealth,
    Provisioned,
    Seeding,
    SignIn,
    Step,
    StepEvent,
    StepState,
)
from bot.domain.skills import OverlayPlan
from bot.ports import Message
from bot.standin.slack.blocks import check_message_blocks, check_view
from bot.usecases.access import Access
from bot.usecases.lifecycle import Stopped, StopPlan
from bot.usecases.recovery import Interrupted
from bot.usecases.whoami import WhoAmI
from handlers.commands import AVAILABLE
from handlers.render import limits, notices
from handlers.render.access import access_message, access_view, loading_view, refused_view
from handlers.render.failure import cleaned, failure_message
from handlers.render.help import help_line, help_message, not_available, whoami_message
from handlers.render.home import home_view
from handlers.render.interrupted import interrupted_announcement, interrupted_message
from handlers.render.progress import Progress, progress_message, still_progress
from handlers.render.result import announcement_done, result_message
from handlers.render.stop import decided_stop, looking, stop_card, stopped_message

SANDBOX = "0123456789abcdef0123456789abcdef"
LONG = "<!channel> & `" + "long words " * 1000
AT = datetime(2026, 1, 1, tzinfo=UTC)


def provisioned(**changes: Any) -> Provisioned:
    given: dict[str, Any] = {
        "request_id": "r-1",
        "sandbox_id": SANDBOX,
        "home": "alpha",
        "workspace": "proj",
        "template": "hermes-studio",
        "node": "node-1",
        "owner": "U_OPERATOR",
        "url": f"https://9000-{SANDBOX}.cube.app",
        "generation": Generation.USERS,
        "seeding": Seeding.SEEDED,
        "overlay": OverlayPlan(("deploy-check",), ("my-notes",), ("log-triage",), (), (), ()),
        "ports": (
            PortHealth(port=9000, name="Web UI", ok=True),
            PortHealth(port=49983, name="envd", ok=None),
        ),
        "agent": AgentFacts(version="0.19.0", lacks_wal_guard=True),
        "durations": {Step.CHECK: 0.2, Step.CREATE: 4.0},
    }
    return Provisioned(**(given | changes))


def failure(**changes: Any) -> Failed:
    given: dict[str, Any] = {"code": "x", "what": "It broke.", "safe": "All is safe.", "todo": "Try again."}
    return Failed(**(given | changes))


def access(**changes: Any) -> Access:
    given: dict[str, Any] = {
        "sandbox_id": SANDBOX,
        "home": "alpha",
        "url": "https://x.cube.app",
        "link": "https://x.cube.app/",
        "username": "hermes",
        "password": "EXAMPLE-pass",
    }
    return Access(**(given | changes))


def interrupted(**changes: Any) -> Interrupted:
    given: dict[str, Any] = {
        "request_id": "r-1",
        "action": Action.CREATE,
        "owner": "U_OPERATOR",
        "home": "alpha",
        "workspace": "alpha",
        "channel": "C_OPS",
        "thread_ts": "1.1",
        "progress_ts": "1.2",
        "after": Step.SEED,
        "sandbox_id": SANDBOX,
        "sandbox_known": True,
    }
    return Interrupted(**(given | changes))


def progress(note: str = "fine", state: StepState = StepState.RUNNING) -> Progress:
    steps = {step: StepEvent(step, StepState.DONE, note, 1.5) for step in Step if step < Step.STUDIO}
    return Progress(
        request_id="r-1", home="alpha", steps={**steps, Step.STUDIO: StepEvent(Step.STUDIO, state, note)}
    )


PLAN = StopPlan(
    request_id="r-2",
    sandbox_id=SANDBOX,
    home="alpha",
    workspace="proj",
    owner="U_OPERATOR",
    state="running",
    lost=("running programs",),
    kept=("home alpha", "workspace proj"),
)
STOPPED = Stopped(sandbox_id=SANDBOX, home="alpha", workspace="proj", seconds=3.2, studio_closed=True)
WHO = WhoAmI(actor_id="U_OUTSIDER", role=Role.NONE, may=(), may_not=(("create", "You have no role."),))


def messages() -> Iterator[tuple[str, Message]]:
    yield "help", help_message(AVAILABLE)
    yield "help-line", help_line()
    yield "whoami", whoami_message(WHO)
    yield "not-available", not_available("skills.list", AVAILABLE)
    yield "progress-waiting", progress_message(Progress(request_id="r-1", home="a" * 63, waiting=True))
    yield "progress", progress_message(progress())
    yield "progress-hostile", progress_message(progress(LONG))
    yield "progress-done", progress_message(progress().closed("ready in 12 s", well=True))
    yield "progress-interrupted", progress_message(still_progress("r-1", "alpha", Step.SEED, "x"))
    yield "announcement", announcement_done(provisioned())
    yield "result", result_message(provisioned())
    yield "result-token", result_message(provisioned(generation=Generation.TOKEN, adopted=True))
    yield "result-hostile", result_message(provisioned(notes=(LONG,) * 40, template=LONG, home="a" * 63))
    yield (
        "failure",
        failure_message(failure(detail="words\nof Cube", offers=(Offer.CONTINUE,)), request_id="r-1"),
    )
    yield "failure-hostile", failure_message(failure(what=LONG, safe=LONG, todo=LONG, detail=LONG))
    yield "stop", stop_card(PLAN, "U_OPERATOR")
    yield "stop-looking", looking("U_OPERATOR", "alpha")
    yield "stopped", stopped_message(STOPPED, "U_OPERATOR")
    yield (
        "settled",
        notices.settled("text", stop_card(PLAN, "U_OPERATOR").blocks, decided_stop("U_1", AT, gone=True)),
    )
    yield "interrupted", interrupted_message(interrupted())
    yield "interrupted-nothing", interrupted_message(interrupted(sandbox_id=None))
    yield "interrupted-first", interrupted_announcement(interrupted())
    yield "access-direct", access_message(access())
    yield "moved", notices.moved("not_in_channel", "U_BOT")
    yield "only-here", notices.only_here("something_else", "U_BOT")
    yield "outsider", notices.OUTSIDER


def views() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "loading", loading_view()
    yield "access", access_view(access())
    yield "access-changed", access_view(access(password="", sign_in=SignIn.CHANGED))
    yield "access-odd", access_view(access(link="https://x/" + "y" * 3500, password="a`b<c>&d"))
    yield "refused", refused_view(failure(detail=LONG, offers=(Offer.STOP,), sandbox=SANDBOX))


@pytest.mark.parametrize(("name", "message"), list(messages()))
def test_slack_takes_every_message(name: str, message: Message) -> None:
    check_message_blocks(_json(message.blocks))

    assert 0 < len(message.text) <= limits.TEXT


@pytest.mark.parametrize(("name", "message"), [(n, m) for n, m in messages() if m.classic is not None])
def test_slack_takes_every_classic_form(name: str, message: Message) -> None:
    assert message.classic is not None
    check_message_blocks(_json(message.classic))


@pytest.mark.parametrize(("name", "view"), list(views()))
def test_slack_takes_every_modal(name: str, view: dict[str, Any]) -> None:
    check_view(_json(view))


def test_slack_takes_the_app_home() -> None:
    check_view(_json(home_view(WHO, AVAILABLE)), kinds=("home",))


@pytest.mark.parametrize(("name", "message"), list(messages()))
def test_no_foreign_word_reaches_the_whole_channel(name: str, message: Message) -> None:
    live = json.dumps([*message.blocks, *(message.classic or ()), message.text])

    plan = [t for b in message.blocks if b["type"] == "plan" for t in b["tasks"]]
    exact = sum(json.dumps(task).count("<!channel>") for task in plan)
    assert live.count("<!channel>") == exact


def test_the_result_has_every_fact_of_the_thread() -> None:
    text = repr(result_message(provisioned()))

    for fact in (
        "`alpha`",
        "`proj`",
        "`hermes-studio`",
        f"`{SANDBOX}`",
        "`node-1`",
        "4.2 s",
        "`deploy-check`, `log-triage`",
        "`my-notes`",
        "Web UI, port 9000: answers",
        "envd, port 49983: could not be told",
        f"`https://9000-{SANDBOX}.cube.app/`",
    ):
        assert fact in text


def test_an_agent_without_the_guard_gets_one_plain_line() -> None:
    assert "only safe while one sandbox at a time uses the home" in repr(result_message(provisioned()))
    assert "WAL" not in repr(result_message(provisioned(agent=AgentFacts(version="0.20.0"))))


def test_a_token_address_stays_without_its_token_after_redaction() -> None:
    message = result_message(provisioned(generation=Generation.TOKEN))

    shown = Redactor().payload({"blocks": [dict(b) for b in message.blocks]})
    assert f"https://9000-{SANDBOX}.cube.app/#/?token=" in repr(shown)


@pytest.mark.parametrize(
    ("outcome", "sign"),
    [
        (Refused(code="c", what="W.", safe="S.", todo="T."), ":no_entry_sign:"),
        (Failed(code="c", what="W.", safe="S.", todo="T."), ":x:"),
        (Unknown(code="c", what="W.", safe="S.", todo="T."), ":grey_question:"),
    ],
)
def test_three_sentences_and_the_kind_of_end(outcome: NotDone, sign: str) -> None:
    text = failure_message(outcome).blocks[0]["text"]["text"]

    assert text.startswith(sign)
    assert [line.split("*")[1] for line in text.split("\n")] == [
        "What happened:",
        "What is safe:",
        "What to do:",
    ]


def test_offers_become_buttons_when_they_have_something_to_act_on() -> None:
    outcome = failure(offers=(Offer.CONTINUE, Offer.STOP, Offer.OPEN, Offer.CANCEL), sandbox=SANDBOX)

    [row] = [b for b in failure_message(outcome, request_id="r-1").blocks if b["type"] == "actions"]
    assert [(e["action_id"], e["value"]) for e in row["elements"]] == [
        ("hermes.create.continue", "v1:r-1"),
        ("hermes.stop.ask", f"v1:{SANDBOX}"),
        ("hermes.open", f"v1:{SANDBOX}"),
        ("hermes.create.cancel", "v1:r-1"),
    ]


def test_offers_without_an_id_make_no_dead_buttons() -> None:
    outcome = failure(offers=(Offer.CONTINUE, Offer.STOP))

    assert not [b for b in failure_message(outcome).blocks if b["type"] == "actions"]


def test_secrets_go_before_anything_is_cut() -> None:
    secret = "EXAMPLE-" + "s" * 40
    redactor = Redactor([secret])
    outcome = failure(detail="x" * 2380 + secret + "y" * 500)

    message = failure_message(cleaned(outcome, redactor))

    assert "EXAMPLE-s" not in repr(message)


def test_the_modal_shows_odd_passwords_exactly() -> None:
    view = access_view(access(password="a`b<c>&d"))

    exact = [e for b in view["blocks"] if b["type"] == "rich_text" for e in b["elements"][0]["elements"]]
    assert {"type": "text", "text": "a`b<c>&d", "style": {"code": True}} in exact


@pytest.mark.parametrize("username", ["admin", ""])
def test_the_modal_shows_no_dead_password_when_the_owner_set_another(username: str) -> None:
    told = repr(access_view(access(username=username, password="", sign_in=SignIn.CHANGED)))

    assert "The password is the one that was set in Studio; the bot does not know it." in told
    assert "https://x.cube.app/" in told
    assert "*Password*" not in told
    assert ("*User name*" in told) is bool(username)


def test_the_result_says_where_the_password_comes_from() -> None:
    told = repr(result_message(provisioned(sign_in=SignIn.CHANGED, notes=(SIGN_IN_NOTES[SignIn.CHANGED],))))

    assert "its password is the one that was set in Studio" in told
    assert "• The bot does not know the password of this Studio" in told
    assert "for the sign-in" not in told


def test_what_the_modal_reveals_passes_the_redactor_and_nothing_else_does() -> None:
    token, other = "EXAMPLE-token-123456", "EXAMPLE-other-secret"
    redactor = Redactor([token, other])
    shown = access(
        link=f"https://x.cube.app/#/?token={token}", generation=Generation.TOKEN, home=other, password=""
    )

    view = redactor.payload(access_view(shown), reveal=shown.secrets)

    button = next(b for b in view["blocks"] if b["type"] == "actions")["elements"][0]
    assert button["url"] == shown.link
    assert f"`{shown.link}`" in repr(view)
    assert other not in repr(view)


def test_code_and_people_in_a_note_are_not_shown_as_markup() -> None:
    [plan] = [
        b
        for b in progress_message(progress("`abc` of <@U_OPERATOR>, <!channel>")).blocks
        if b["type"] == "plan"
    ]

    assert plan["tasks"][0]["details"]["elements"][0]["elements"] == [
        {"type": "text", "text": "abc", "style": {"code": True}},
        {"type": "text", "text": " of "},
        {"type": "user", "user_id": "U_OPERATOR"},
        {"type": "text", "text": ", <!channel> · 1.5 s"},
    ]


def test_a_create_that_waits_its_turn_can_be_cancelled() -> None:
    waiting = progress_message(Progress(request_id="r-1", home="alpha", waiting=True))

    assert [b for b in waiting.blocks if b["type"] == "actions"]


def test_a_settled_card_keeps_its_content_and_loses_its_buttons() -> None:
    card = stop_card(PLAN, "U_OPERATOR")

    settled = notices.settled(card.text, card.blocks, "Decided.")

    assert [b for b in card.blocks if b["type"] != "actions"] == list(settled.blocks[:-1])
    assert settled.blocks[-1]["text"]["text"] == "Decided."


def _json(value: Any) -> Any:
    return json.loads(json.dumps(value))
