"""``serve --http``: what Slack signs is taken once, and what it does not sign leaves nothing behind."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from slack_alone import HTTP, Alone, slack_alone

from bot.demo.processes import Program
from bot.request_url import LARGEST_BODY, secret_for_http
from bot.settings import Settings, SettingsError, SlackSettings

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARK = "EXAMPLE-body-that-must-not-be-logged"


class Door:
    """The bot's request URL, and letters with and without Slack's seal."""

    def __init__(self, alone: Alone, bot: Program, url: str) -> None:
        self.alone = alone
        self.bot = bot
        self.url = url

    def seal(self, body: bytes, *, stamp: str = "", secret: str = "") -> dict[str, str]:
        stamp = stamp or str(int(time.time()))
        key = (secret or self.alone.slack.secrets.signing_secret).encode()
        digest = hmac.new(key, f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}

    async def post(
        self, body: bytes, headers: dict[str, str], *, kind: str = "application/x-www-form-urlencoded"
    ) -> tuple[int, str]:
        async with self.alone.http.post(
            self.url, data=body, headers={"Content-Type": kind, **headers}
        ) as answer:
            return answer.status, await answer.text()

    def command(self, text: str = "help", trigger: str = "1.2.a") -> bytes:
        world = self.alone.slack.world
        return urlencode(
            {
                "team_id": "T_DEMO",
                "channel_id": "C_OPS",
                "user_id": "U_OPERATOR",
                "command": "/hermes",
                "text": text,
                "trigger_id": trigger,
                "note": MARK,
                "response_url": world.base_url + world.tickets.new_response_url("C_OPS", "U_OPERATOR"),
            }
        ).encode()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Door]:
    async with slack_alone(tmp_path_factory.mktemp("http")) as alone:
        bot = await alone.start(HTTP)
        url = f"http://{alone.address()}/slack/events"
        await alone.slack.deliver_to(url)
        yield Door(alone, bot, url)


async def test_handshake_command_event_and_home_work_over_http(door: Door) -> None:
    said = await door.alone.slack.people.say("U_OPERATOR", "C_OPS", "<@U_BOT> hello")
    opened = await door.alone.slack.people.open_home("U_OPERATOR")

    assert await door.alone.command("whoami") == said["outcome"] == opened["outcome"] == "acked"
    await door.alone.until(lambda: "operator" in door.alone.whispers())
    await door.alone.until(lambda: door.alone.slack.home("U_OPERATOR") is not None)
    assert door.alone.slack.world.sockets.connected == 0


@pytest.mark.parametrize(
    ("name", "headers"),
    [
        ("no signature at all", {}),
        ("no time stamp", {"X-Slack-Signature": "v0=" + "0" * 64}),
        ("a time stamp that is no number", {"X-Slack-Request-Timestamp": "soon"}),
        ("a negative time stamp", {"X-Slack-Request-Timestamp": "-5"}),
        ("digits of another alphabet", {"X-Slack-Request-Timestamp": "\u0661\u0662"}),
        ("a signature that is no text of ours", {"X-Slack-Signature": "v0=\u00e9"}),
        ("another secret", {"secret": "f" * 31 + "0"}),
        ("six minutes ago", {"age": "360"}),
        ("six minutes ahead", {"age": "-360"}),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
async def test_request_that_slack_did_not_sign_now_is_refused_unread(
    door: Door, name: str, headers: dict[str, str]
) -> None:
    body = door.command(trigger=f"9.9.{name}")
    changes = dict(headers)
    stamp = str(int(time.time()) - int(changes.pop("age", "0")))
    sealed = door.seal(body, stamp=stamp, secret=changes.pop("secret", "")) if headers else {}
    before = door.alone.calls("response_url")

    status, text = await door.post(body, sealed | changes)

    assert (status, text) == (401, "")
    assert await door.alone.command("whoami") == "acked"
    await door.alone.until(lambda: door.alone.calls("response_url") > before)
    assert door.alone.calls("response_url") == before + 1
    assert MARK not in door.alone.log()
    assert "Traceback" not in door.alone.log()


async def test_refusals_are_told_once_a_minute_with_what_to_compare(door: Door) -> None:
    for _ in range(20):
        await door.post(b"anything", {})

    told = [line for line in door.alone.log().splitlines() if "refused" in line]
    assert len(told) == 1
    assert "compare SLACK_SIGNING_SECRET and the clock" in told[0]


async def test_same_signed_request_again_acts_once_and_is_answered_alike(door: Door) -> None:
    body = door.command()
    sealed = door.seal(body)
    before = door.alone.calls("response_url")

    answers = await asyncio.gather(*(door.post(body, sealed) for _ in range(20)))
    answers.append(await door.post(body, sealed))

    assert set(answers) == {(200, "")}
    assert await door.alone.command("whoami") == "acked"
    await door.alone.until(lambda: door.alone.calls("response_url") >= before + 2)
    assert door.alone.calls("response_url") == before + 2


async def test_oversized_body_is_refused_whether_or_not_it_says_so(door: Door) -> None:
    async def drops() -> AsyncIterator[bytes]:
        for _ in range(LARGEST_BODY // 65_536 + 2):
            yield b"x" * 65_536

    large = b"x" * (LARGEST_BODY + 1)
    assert (await door.post(large, door.seal(large)))[0] == 413
    async with door.alone.http.post(door.url, data=drops()) as answer:
        assert answer.status == 413


async def test_get_is_for_slacks_look_at_the_certificate_only(door: Door) -> None:
    async with door.alone.http.get(door.url) as plain:
        assert (plain.status, plain.headers["Allow"]) == (405, "POST")
    async with door.alone.http.get(door.url + "?ssl_check=1&token=EXAMPLE") as look:
        assert look.status == 200


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "workflow_step_edit", "callback_id": "x", "workflow_step": {}},
        {"type": "interactive_message", "callback_id": "x", "actions": [{"name": "old"}]},
        {"type": "block_actions", "actions": [{"action_id": "of.another.time", "type": "button"}]},
        {"type": "view_submission", "view": {"id": "V1", "callback_id": "nobody", "type": "modal"}},
        {"type": "view_closed", "view": {"id": "V1", "callback_id": "nobody", "type": "modal"}},
        {"type": "nothing that exists"},
    ],
    ids=lambda payload: payload["type"],
)
async def test_interaction_that_nobody_takes_is_acked(door: Door, payload: dict[str, Any]) -> None:
    full = {
        "user": {"id": "U_OPERATOR", "team_id": "T_DEMO"}, "team": {"id": "T_DEMO"}, "token": MARK, **payload,
    }  # fmt: skip
    body = urlencode({"payload": json.dumps(full)}).encode()

    status, text = await door.post(body, door.seal(body))

    assert (status, text) == (200, "")
    assert MARK not in door.alone.log()


async def test_event_that_nobody_subscribed_to_is_acked(door: Door) -> None:
    event = {"type": "event_callback", "team_id": "T_DEMO", "event": {"type": "pin_added"}, "event_id": "Ev9"}
    body = json.dumps(event).encode()

    assert (await door.post(body, door.seal(body), kind="application/json"))[0] == 200


@pytest.mark.parametrize("body", [b"\xff\xfe", b"{not json", b"payload=%7Bnot", b""])
async def test_signed_nonsense_breaks_nothing(door: Door, body: bytes) -> None:
    status, _ = await door.post(body, door.seal(body), kind="application/json")

    assert status in (200, 400)
    assert await door.alone.command("whoami") == "acked"
    assert "Traceback" not in door.alone.log()


async def test_slow_web_api_does_not_slow_the_ack(door: Door) -> None:
    door.alone.slack.world.faults.arm({"target": "slack", "kind": "slow-api", "delay_s": 1.5})

    answer = await door.alone.slack.people.command("U_OPERATOR", "C_OPS", "whoami")

    assert answer["outcome"] == "acked"
    assert answer["ack_ms"] < 1000


SECRET = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("", "is not set"),
        ("  ", "is not set"),
        ("changeme", "cannot be one"),
        ("your-signing-secret", "cannot be one"),
        ("0" * 32, "cannot be one"),
        ("xoxb-EXAMPLE", "cannot be one"),
        (SECRET[:-1], "cannot be one"),
        (SECRET.upper(), "cannot be one"),
    ],
)
async def test_secret_that_cannot_be_one_is_named_at_the_start(secret: str, why: str) -> None:
    settings = Settings.model_construct(
        slack=SlackSettings(bot_token="EXAMPLE", signing_secret=secret), http="127.0.0.1:0"
    )

    with pytest.raises(SettingsError, match=why) as told:
        secret_for_http(settings)

    assert "Signing Secret" in str(told.value)
    assert not secret.strip() or secret not in str(told.value)


async def test_http_mode_without_an_address_is_refused_at_the_start() -> None:
    settings = Settings.model_construct(
        slack=SlackSettings(bot_token="EXAMPLE", signing_secret=SECRET), http=""
    )

    with pytest.raises(SettingsError, match="HERMES_BOT_HTTP is empty"):
        secret_for_http(settings)


async def test_bot_without_a_secret_does_not_start(door: Door) -> None:
    program = await door.alone.start(HTTP, ready=False, env={"SLACK_SIGNING_SECRET": "changeme"})

    assert await program.process.wait() != 0
    assert "SLACK_SIGNING_SECRET cannot be one" in door.alone.log()
