"""The redactor at its exits: Slack payloads, structlog events, standard log records, one private view."""

import collections
import io
import json
import logging
import threading
from typing import Any

import pytest

from bot.adapters.redaction import MARKER, RedactingFilter, Redactor, log_processor

SECRET = "EXAMPLEknown/value=1"
Point = collections.namedtuple("Point", "token note")  # noqa: PYI024 -- an untyped one is met in the wild


class Holder:
    def __repr__(self) -> str:
        return f"Holder(token='{SECRET}')"


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError(SECRET)


def test_a_value_under_a_secret_key_is_hidden_whatever_its_type() -> None:
    payload = {
        "api_key": {"a": 1},
        "db_password": 1234,
        "secrets": ["x"],
        "accessToken": True,
        "Cookie": "a=b",
    }

    assert Redactor().payload(payload) == dict.fromkeys(payload, MARKER)


def test_nothing_is_hidden_where_there_is_nothing() -> None:
    payload = {
        "token": None,
        "password": "",
        "secret": "***",
        "max_tokens": 5,
        "public_key": "ssh-ed25519 AAAA",
    }

    assert Redactor().payload(payload) == payload


def test_block_kit_survives() -> None:
    payload = {
        "channel": "C0OPS",
        "ts": "1700000000.000100",
        "blocks": [
            {"type": "section", "block_id": "key:1", "text": {"type": "mrkdwn", "text": "*Home*: `alpha`"}},
            {
                "type": "actions",
                "elements": [{"type": "button", "action_id": "token:open=1", "value": "v1|req-1|aGVsbG8"}],
            },
        ],
    }

    assert Redactor([SECRET]).payload(payload) == payload


def test_a_known_secret_is_hidden_in_identifiers_keys_and_numbers_too() -> None:
    redactor = Redactor([SECRET, "73110042"])

    redacted = redactor.payload({"action_id": SECRET, f"about {SECRET}": 73110042, "n": 7311})

    assert redacted == {"action_id": MARKER, f"about {MARKER}": MARKER, "n": 7311}


def test_keys_that_differ_in_a_secret_only_stay_two_keys() -> None:
    redacted = Redactor(["EXAMPLEone", "EXAMPLEtwo"]).payload({"EXAMPLEone": 1, "EXAMPLEtwo": 2})

    assert list(redacted.values()) == [1, 2]


def test_containers_keep_their_kind() -> None:
    redactor = Redactor([SECRET])

    redacted: Any = redactor.payload(
        (Point("a", SECRET), {"x"}, frozenset({SECRET}), b"\xff" + SECRET.encode(), [1])
    )

    assert redacted == (Point("a", MARKER), {"x"}, frozenset({MARKER}), b"\xff" + MARKER.encode(), [1])
    assert isinstance(redacted[0], Point)


def test_an_object_that_prints_a_secret_is_replaced_by_its_redacted_text() -> None:
    harmless = object()

    redacted: Any = Redactor().payload({"a": Holder(), "b": harmless, "c": Broken()})

    assert SECRET not in str(redacted)
    assert redacted["b"] is harmless


def test_a_secret_learnt_later_is_hidden_from_then_on() -> None:
    redactor = Redactor()
    before = redactor.text(f"now {SECRET}")

    redactor.learn(SECRET, SECRET + "\n", "", "   ")

    assert before == f"now {SECRET}"
    assert redactor.text(f"now {SECRET}") == f"now {MARKER}"
    assert redactor.text("all else   stays") == "all else   stays"


def test_learning_in_many_threads_loses_nothing() -> None:
    redactor = Redactor()
    secrets = [f"EXAMPLE-shared-start-{number:03}" for number in range(200)]

    threads = [threading.Thread(target=redactor.learn, args=secrets[part::4]) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert redactor.text(" ".join(secrets)) == " ".join([MARKER] * 200)


@pytest.mark.parametrize(
    "shown",
    [
        f"<http://9000-sb.localhost:1/#/?token={SECRET}|Open Studio>",
        "http://9000-sb.localhost:1/#/?token=EXAMPLEknown%2Fvalue%3D1",
        f"Password: `{SECRET}`",
        f"Password: {SECRET}",
        f"http://admin:{SECRET.replace('/', '-')}@h/",
    ],
)
def test_a_revealed_secret_passes_where_it_is_asked_for(shown: str) -> None:
    view = {"type": "modal", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": shown}}]}
    allowed = [SECRET, SECRET.replace("/", "-")]
    redactor = Redactor(allowed)

    assert redactor.payload(view, reveal=allowed) == view
    assert redactor.payload(view) != view


def test_revealing_one_secret_reveals_no_other() -> None:
    redactor = Redactor([SECRET, SECRET + "-longer", "EXAMPLEother"])

    redacted = redactor.payload(
        {"password": SECRET, "token": "EXAMPLEother", "text": f"{SECRET} {SECRET}-longer token=EXAMPLEthird"},
        reveal=[SECRET, "EXAMPLEthird"],
    )

    assert redacted == {"password": SECRET, "token": MARKER, "text": f"{SECRET} {MARKER} token={MARKER}"}


def test_a_forged_stand_in_shows_nothing() -> None:
    redacted = Redactor([SECRET]).payload(["\ue0000\ue001", SECRET], reveal=[SECRET])

    assert redacted == ["\ufffd0\ue001", SECRET]


def test_a_structlog_event_is_redacted_with_its_traceback() -> None:
    redact = log_processor(Redactor([SECRET]))
    try:
        raise ValueError(SECRET)  # noqa: TRY301 -- the traceback is the subject
    except ValueError:
        event = redact(
            None, "error", {"event": f"got {SECRET}", "token": 1, "holder": Holder(), "exc_info": True}
        )

    assert event["event"] == f"got {MARKER}"
    assert event["token"] == MARKER
    assert "ValueError: REDACTED" in event["exception"]
    assert SECRET not in json.dumps(event)


@pytest.mark.parametrize("exc_info", [None, False, True, (None, None, None)])
def test_an_event_without_an_exception_gets_none(exc_info: Any) -> None:
    assert log_processor(Redactor())(None, "info", {"event": "x", "exc_info": exc_info}) == {"event": "x"}


def logged(say: Any) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(extra)s", defaults={"extra": ""}))
    handler.addFilter(RedactingFilter(Redactor([SECRET])))
    logger = logging.Logger("ops")  # noqa: LOG001 -- one of its own leaves nothing behind
    logger.addHandler(handler)
    say(logger)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("say", "expected"),
    [
        (lambda log: log.info("a %s b", SECRET), "ops a REDACTED b \n"),
        (lambda log: log.info("token=%s b", "short"), "ops token=REDACTED b \n"),
        (lambda log: log.info("%(a)s", {"a": Holder()}), "ops Holder(token='REDACTED') \n"),
        (lambda log: log.info("50 %% of %d", 3), "ops 50 % of 3 \n"),
        (lambda log: log.info("wrong %d", SECRET), "ops wrong %d ('REDACTED',) \n"),
        (lambda log: log.info(Holder()), "ops Holder(token='REDACTED') \n"),
        (lambda log: log.info("x", extra={"extra": SECRET}), "ops x REDACTED\n"),
        (lambda log: log.info("x", extra={"extra": {"token": 1}}), "ops x {'token': 'REDACTED'}\n"),
    ],
)
def test_a_record_of_the_standard_library_is_redacted(say: Any, expected: str) -> None:
    assert logged(say) == expected


def test_a_chained_traceback_is_redacted_and_kept() -> None:
    def say(logger: logging.Logger) -> None:
        try:
            try:
                raise KeyError(SECRET)  # noqa: TRY301 -- the traceback is the subject
            except KeyError as error:
                raise RuntimeError("outer") from error
        except RuntimeError:
            logger.exception("failed", stack_info=True)

    text = logged(say)

    assert SECRET not in text
    assert "KeyError: 'REDACTED'" in text
    assert "RuntimeError: outer" in text


def test_a_filter_at_two_handlers_redacts_once() -> None:
    record = logging.makeLogRecord({"msg": "token=%s", "args": ("EXAMPLE",)})
    redacting = RedactingFilter(Redactor())

    passed = [redacting.filter(record), redacting.filter(record)]

    assert passed == [True, True]
    assert record.getMessage() == "token=REDACTED"
