"""HTTP mode, Slack's side: signed requests to the app's request URL, its answers, and events sent again."""

import asyncio
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import aiohttp

from bot.standin.clock import StandInClock
from bot.standin.slack.errors import ImpossibleActionError
from bot.standin.slack.sockets import ACK_DEADLINE_S, Delivery

log = logging.getLogger(__name__)

RETRIES_AFTER_S = (0.0, 60.0, 300.0)
"""When an event that was not taken is sent again, from the try before. Source: Slack, *Events API*."""

_CLOCK_LOOK_S = 0.05
_MOST_REDIRECTS = 2
_AGENT = "Slackbot 1.0 (+https://api.slack.com/robots)"
_FORM, _JSON = "application/x-www-form-urlencoded", "application/json"


@dataclass(frozen=True, slots=True)
class _Answered:
    """One HTTP answer, or why there was none (Slack's word for ``x-slack-retry-reason``)."""

    status: int = 0
    text: str = ""
    content_type: str = ""
    no_retry: bool = False
    failure: str = ""
    seconds: float = 0.0

    @property
    def taken(self) -> bool:
        return not self.failure and 200 <= self.status < 300  # noqa: PLR2004 - success


class RequestUrl:
    """Delivers to an address instead of to sockets, while one is set."""

    def __init__(self, clock: StandInClock, signing_secret: str, verification_token: str) -> None:
        self._clock = clock
        self._secret = signing_secret.encode()
        self._token = verification_token
        self._session: aiohttp.ClientSession | None = None
        self.retrying: set[asyncio.Task[None]] = set()
        """Events that were not taken and are sent again."""
        self.url = ""
        """Empty = Socket Mode."""

    async def use(self, url: str) -> None:
        """Deliver there from now on, if it passes Slack's handshake.

        Raises:
            ImpossibleActionError: it did not answer with the challenge.
        """
        challenge = secrets.token_hex(24)
        body = json.dumps({"token": self._token, "challenge": challenge, "type": "url_verification"})
        answer = await self._post(url, body.encode(), _JSON, {})
        if not answer.taken or _challenge_in(answer) != challenge:
            raise ImpossibleActionError(
                "Your URL didn't respond with the value of the challenge parameter"
                f" ({answer.failure or f'it answered {answer.status}'})",
                status=409,
            )
        self.url = url

    async def stop(self) -> None:
        """Deliver nothing more, and send nothing again."""
        self.url = ""
        for task in self.retrying:
            task.cancel()
        await asyncio.gather(*self.retrying, return_exceptions=True)
        if self._session:
            await self._session.close()
            self._session = None

    async def deliver(self, kind: str, payload: Mapping[str, Any]) -> Delivery:
        """Post one payload; the answer's body is the ack. Three seconds, as for a socket."""
        body, content_type = encoded(kind, payload)
        answer = await self._post(self.url, body, content_type, {})
        if kind == "events_api" and not answer.taken and not answer.no_retry:
            task = asyncio.create_task(self._send_again(body, answer))
            self.retrying.add(task)
            task.add_done_callback(self.retrying.discard)
        if answer.failure == "http_timeout":
            return Delivery("operation_timeout", ACK_DEADLINE_S * 1000)
        if not answer.taken or (kind != "events_api" and answer.status != 200):  # noqa: PLR2004 - see Slack
            return Delivery("dispatch_failed", answer.seconds * 1000)
        return Delivery("acked", answer.seconds * 1000, _ack_in(kind, answer))

    async def _send_again(self, body: bytes, answer: _Answered) -> None:
        for number, pause in enumerate(RETRIES_AFTER_S, start=1):
            due = self._clock.time() + pause
            while self._clock.time() < due:  # noqa: ASYNC110 - the clock is moved from outside, without an event
                await asyncio.sleep(_CLOCK_LOOK_S)
            again = {
                "x-slack-retry-num": str(number),
                "x-slack-retry-reason": answer.failure or "http_error",
            }
            answer = await self._post(self.url, body, _JSON, again)
            if answer.taken or answer.no_retry:
                return
        log.warning("an event was not taken in %d tries and is given up", len(RETRIES_AFTER_S) + 1)

    async def _post(self, url: str, body: bytes, content_type: str, more: Mapping[str, str]) -> _Answered:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        headers = {"Content-Type": content_type, "User-Agent": _AGENT, "Accept": "*/*", **more}
        headers |= signed(self._secret, body, self._clock.time())
        begin = time.perf_counter()
        try:
            async with (
                asyncio.timeout(ACK_DEADLINE_S),
                self._session.post(
                    url, data=body, headers=headers, max_redirects=_MOST_REDIRECTS
                ) as response,
            ):
                text = await response.text()
                return _Answered(
                    status=response.status,
                    text=text,
                    content_type=response.content_type,
                    no_retry=response.headers.get("x-slack-no-retry") == "1",
                    seconds=time.perf_counter() - begin,
                )
        except TimeoutError:
            return _Answered(failure="http_timeout")
        except aiohttp.TooManyRedirects:
            return _Answered(failure="too_many_redirects")
        except aiohttp.ClientSSLError:
            return _Answered(failure="ssl_error")
        except (aiohttp.ClientConnectionError, OSError):
            return _Answered(failure="connection_failed")
        except (aiohttp.ClientError, ValueError):
            return _Answered(failure="unknown_error")


def encoded(kind: str, payload: Mapping[str, Any]) -> tuple[bytes, str]:
    """A payload as Slack posts it: commands as a form, interactions as JSON in a form, events as JSON."""
    if kind == "slash_commands":
        return urlencode(dict(payload)).encode(), _FORM
    if kind == "interactive":
        return urlencode({"payload": json.dumps(payload)}).encode(), _FORM
    return json.dumps(payload).encode(), _JSON


def signed(secret: bytes, body: bytes, now: float) -> dict[str, str]:
    """The two headers of a signature, version 0."""
    stamp = str(int(now))
    digest = hmac.new(secret, f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}


def _ack_in(kind: str, answer: _Answered) -> dict[str, Any] | None:
    """What an answer's body says: a message, a response action, or nothing. Events have none."""
    text = answer.text.strip()
    if not text or kind == "events_api":
        return None
    if answer.content_type == _JSON:
        try:
            ack = json.loads(text)
        except ValueError:
            return None
        return ack if isinstance(ack, dict) and ack else None
    return {"text": text} if kind == "slash_commands" else None


def _challenge_in(answer: _Answered) -> str:
    if answer.content_type == _JSON:
        try:
            found = json.loads(answer.text)
        except ValueError:
            return ""
        return str(found.get("challenge", "")) if isinstance(found, dict) else ""
    if answer.content_type == _FORM:
        return dict(parse_qsl(answer.text)).get("challenge", "")
    return answer.text.strip()
