"""The case sheet for Cube's error answers, and the corners between its lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.cube_sdk import classify
from bot.domain.cube_errors import DATA_PLANE, READS, FaultClass

DATA = Path(__file__).parents[1] / "data" / "cube_errors.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
DENIED = "is not within an allowed mount prefix"


def said(code: int | None, text: str, status: int = 500) -> str:
    prefix = "" if code is None else f"CubeMaster returned error code {code}: "
    return json.dumps({"code": status, "message": prefix + text})


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    fault = classify(case["operation"], case["status"], case["body"], case["headers"])

    assert (fault.kind, fault.retryable, fault.advice_key) == (
        case["expect_class"],
        case["retryable"],
        case["advice_key"],
    )


@pytest.mark.parametrize(
    ("operation", "status", "body", "headers", "expected"),
    [
        ("create", 500, said(130598, "no node"), {}, "unavailable"),
        ("create", 500, said(130408, "CubeletUnHealthy"), {}, "node_unreachable"),
        ("create", 500, said(130545, "bind mount /a -> /b: permission denied"), {}, "unavailable"),
        ("create", 500, said(130545, "/x/no such file or directory/y -> /b: busy"), {}, "unavailable"),
        ("create", 500, "no such file or directory", {}, "unavailable"),
        (
            "create",
            400,
            said(
                130400, '"host-mount" entry[0]: hostPath must be an absolute path, got "must be under one of"'
            ),
            {},
            "bad_request",
        ),
        ("create", 400, said(None, 'invalid name: "error code 130597: no more resource"'), {}, "bad_request"),
        ("create", 502, "<html><head><title>502 Bad Gateway</title></head></html>", {}, "unknown_outcome"),
        ("create", 503, "", {"Retry-After": "2"}, "unavailable"),
        ("create", 404, said(130404, "template not found", 404), {}, "template_not_found"),
        ("pause", 500, said(130409, "busy"), {}, "conflict_retry"),
        ("pause", 500, said(130490, "task state invalid"), {}, "conflict_retry"),
        ("pause", 500, said(130400, "sandbox is already paused"), {}, "already_paused"),
        ("kill", 500, said(130490, "sandbox is already paused"), {}, "conflict_retry"),
        ("resume", 500, said(130589, "Resume vm failed: out of disk"), {}, "unavailable"),
        ("resume", 409, said(130409, "paused_resource_release_ratio policy"), {}, "no_capacity"),
        (
            "kill",
            503,
            said(130593, "sandbox not in normal state"),
            {"retry-AFTER": "5"},
            "stuck_not_deletable",
        ),
        ("kill", 503, "", {"retry-AFTER": "5"}, "conflict_retry"),
        ("kill", 503, "", {}, "unavailable"),
        ("kill", 500, said(130404, "sandbox not found"), {}, "not_found"),
        ("get", 504, "", {}, "unavailable"),
        ("get", 418, "", {}, "bad_request"),
        ("get", 200, "not json", {}, "unavailable"),
        ("create", 200, "not json", {}, "unknown_outcome"),
        ("get", 401, said(130597, "no more resource"), {}, "auth"),
        ("network", 415, "", {}, "bad_request"),
        ("template_get", 404, said(None, "template x not found", 404), {}, "template_not_found"),
        (DATA_PLANE, 401, "", {}, "auth"),
        (DATA_PLANE, 500, said(130597, "the application's own words"), {}, "unavailable"),
    ],
)
def test_between_the_lines(
    operation: str, status: int, body: str, headers: dict[str, str], expected: str
) -> None:
    assert classify(operation, status, body, headers).kind == expected


@pytest.mark.parametrize(
    "operation", ["create", "pause", "resume", "connect", "kill", "network", "set_timeout"]
)
def test_no_answer_to_a_change_leaves_its_outcome_unknown(operation: str) -> None:
    fault = classify(operation, None, "", {})

    assert (fault.kind, fault.retryable, fault.message) == (FaultClass.UNKNOWN_OUTCOME, False, "no answer")


@pytest.mark.parametrize("operation", sorted(READS | {DATA_PLANE}))
def test_no_answer_to_a_look_may_be_tried_again(operation: str) -> None:
    fault = classify(operation, None, "", {})

    assert (fault.kind, fault.retryable) == (FaultClass.UNAVAILABLE, True)


@pytest.mark.parametrize(
    "body",
    [
        r'{"code":400,"message":"CubeMaster returned error code 130400: hostPath \"/x\" ' + DENIED,
        r'message":"CubeMaster returned error code 130400: hostPath \"/x\" ' + DENIED + '"}\n',
        r'{"message":"CubeMaster returned error code 130400: \"/x\" ' + DENIED + r" \u00",
        'CubeMaster returned error code 130400: hostPath "/x" ' + DENIED,
    ],
    ids=["end-cut", "front-cut", "cut-in-an-escape", "plain-text"],
)
def test_a_damaged_body_still_speaks(body: str) -> None:
    assert classify("create", 400, body, {}).kind is FaultClass.MOUNT_PREFIX_DENIED


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (said(130597, "no\nmore   resource"), "CubeMaster returned error code 130597: no more resource"),
        ('{"error":"gone"}', "gone"),
        ("<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"),
        ("", "HTTP 500"),
        ("[" * 100_000, "[" * 399 + "…"),
    ],
    ids=["json", "proxy", "html", "empty", "nested-without-end"],
)
def test_cubes_own_words_come_on_one_line(body: str, message: str) -> None:
    assert classify("get", 500, body, {}).message == message


def test_a_hostile_body_is_read_in_one_pass() -> None:
    steps = 200_000

    fault = classify(DATA_PLANE, 500, '\\"' * steps, {})

    assert fault.kind is FaultClass.UNAVAILABLE


def test_code_status_and_wait_are_kept() -> None:
    fault = classify("kill", 503, said(130490, "busy", 503), {"Retry-After": "2"})

    assert (fault.status, fault.code, fault.retry_after_s) == (503, 130490, 2)


def test_a_date_to_wait_for_is_no_number_of_seconds() -> None:
    fault = classify("kill", 503, "", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})

    assert (fault.kind, fault.retry_after_s) == (FaultClass.CONFLICT_RETRY, None)
