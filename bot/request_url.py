"""HTTP mode: the request URL that Slack posts commands, button presses and events to.

Whatever is not signed by Slack is refused before anything reads it, and leaves one line without its content.
"""

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from bot.ports import Clock
from bot.settings import Settings, SettingsError

log = logging.getLogger(__name__)

PATH = "/slack/events"
"""One address for commands, interactivity and events."""

LARGEST_BODY = 1024 * 1024
"""Bytes. Slack's largest payload, a view with all its state, stays below 300 kB."""

READ_SECONDS = 3.0
"""For a whole body to arrive: Slack waits no longer for the answer."""

SKEW_SECONDS = 300
"""How old, or how far ahead, a signature may be. Source: Slack, *Verifying requests from Slack*."""

REMEMBERED = 20_000
"""Signatures that are kept while they are good: more than fifty requests a second for five minutes."""

QUIET_SECONDS = 60.0
"""Between two log lines on refused requests, so that a stranger cannot fill the disk."""

_SECRET = re.compile(r"[0-9a-f]{32}")
_STAMP = re.compile(r"[0-9]{1,11}")
_OK, _NOT_FOUND = 200, 404


def secret_for_http(settings: Settings) -> str:
    """The signing secret.

    Raises:
        SettingsError: there is none, it cannot be one, or nothing would listen.
    """
    secret = settings.slack.signing_secret.strip()
    where = "Slack app's settings → Basic Information → Signing Secret"
    if not secret:
        raise SettingsError(
            "SLACK_SIGNING_SECRET is not set; serve --http needs it to tell Slack's requests from others"
            f" ({where})."
        )
    if not _SECRET.fullmatch(secret) or len(set(secret)) < 4:  # noqa: PLR2004 - 32 random digits have more
        raise SettingsError(
            f"SLACK_SIGNING_SECRET cannot be one: it has 32 digits of 0-9 and a-f, and is no token ({where})."
        )
    if not settings.http:
        raise SettingsError(
            "HERMES_BOT_HTTP is empty, so nothing would listen; serve --http needs HOST:PORT, such as"
            " 127.0.0.1:8080."
        )
    return secret


class Refusal(Exception):  # noqa: N818 - an answer to a stranger, not an error of ours
    """The request is not Slack's, or not a new one."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: str = ""
    content_type: str = "text/plain"

    def response(self) -> web.Response:
        return web.Response(status=self.status, text=self.body, content_type=self.content_type)


class RequestUrl:
    """Takes Slack's requests once the app is there; answers 503 before, so that Slack tries again."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._app: AsyncApp | None = None
        self._clock: Clock | None = None
        self._answers: OrderedDict[str, tuple[float, asyncio.Future[_Answer]]] = OrderedDict()
        self._told = float("-inf")
        self._untold = 0

    @property
    def routes(self) -> Sequence[web.RouteDef]:
        """What the server of ``bot.health`` serves beside its own."""
        return [web.post(PATH, self._post), web.get(PATH, self._get, allow_head=False)]

    def open(self, app: AsyncApp, clock: Clock) -> None:
        """Dispatch to this app from now on; ``clock`` decides how old a signature is."""
        self._app, self._clock = app, clock

    async def _get(self, request: web.Request) -> web.Response:
        """Slack looks now and then whether the certificate is good; nobody else has a reason to come."""
        if request.query.get("ssl_check") == "1":
            return web.Response()
        raise web.HTTPMethodNotAllowed("GET", ["POST"])

    async def _post(self, request: web.Request) -> web.Response:
        app, clock = self._app, self._clock
        if app is None or clock is None:
            return web.Response(status=503, headers={"Retry-After": "5"})
        try:
            body = await _body(request)
            signature = self._verified(request, body, clock.now().timestamp())
        except Refusal as refused:
            self._note(request, refused)
            return web.Response(status=refused.status)
        return (await self._once(signature, request, body, app)).response()

    def _verified(self, request: web.Request, body: bytes, now: float) -> str:
        """The signature, if it is Slack's and fresh."""
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        if not stamp or not signature:
            raise Refusal(401, "it has no signature")
        if not _STAMP.fullmatch(stamp):
            raise Refusal(401, "its time stamp is no number")
        if abs(now - int(stamp)) > SKEW_SECONDS:
            raise Refusal(401, "its signature is more than five minutes off this machine's clock")
        digest = hmac.new(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(f"v0={digest}".encode(), signature.encode("utf-8", "replace")):
            raise Refusal(401, "its signature is wrong")
        return signature

    async def _once(self, signature: str, request: web.Request, body: bytes, app: AsyncApp) -> _Answer:
        """Dispatch it; the very same request again is given the same answer and does nothing."""
        now = time.monotonic()
        while self._answers and (
            len(self._answers) > REMEMBERED or next(iter(self._answers.values()))[0] < now - 2 * SKEW_SECONDS
        ):
            self._answers.popitem(last=False)
        if signature in self._answers:
            log.warning("a request of Slack came twice; the second time it did nothing")
            return await asyncio.shield(self._answers[signature][1])
        # A task of its own: whoever hangs up leaves the work as it is, and a second one can wait for it.
        answer = asyncio.ensure_future(_dispatch(app, request, body))
        self._answers[signature] = (now, answer)
        return await asyncio.shield(answer)

    def _note(self, request: web.Request, refused: Refusal) -> None:
        self._untold += 1
        now = time.monotonic()
        if now - self._told < QUIET_SECONDS:
            return
        log.warning(
            "%d request(s) to %s refused, the last one from %s with %d: %s. Nothing was done. If they are"
            " Slack's, compare SLACK_SIGNING_SECRET and the clock.",
            self._untold, PATH, request.remote, refused.status, refused,
        )  # fmt: skip
        self._told, self._untold = now, 0


async def _body(request: web.Request) -> bytes:
    if (request.content_length or 0) > LARGEST_BODY:
        raise Refusal(413, "it is too large")
    body = bytearray()
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for chunk in request.content.iter_chunked(64 * 1024):
                body += chunk
                if len(body) > LARGEST_BODY:
                    raise Refusal(413, "it is too large")
    except TimeoutError:
        raise Refusal(408, "its body did not arrive in time") from None
    return bytes(body)


async def _dispatch(app: AsyncApp, request: web.Request, body: bytes) -> _Answer:
    try:
        asked = AsyncBoltRequest(
            body=body.decode("utf-8"),
            query=request.query_string,
            headers={name: [value] for name, value in request.headers.items()},
        )
        response = await app.async_dispatch(asked)
    except (UnicodeDecodeError, ValueError) as error:
        log.warning("a signed request could not be read: %s", type(error).__name__)
        return _Answer(400)
    except Exception:
        log.exception("Bolt broke on a request; its person sees an error and nothing was done")
        return _Answer(500)
    if response.status == _NOT_FOUND:
        # No listener knows it. Slack would show an error or send it again, and neither helps anybody.
        log.warning("Slack sent a kind of request that nobody here takes; it is acked and did nothing")
        return _Answer(_OK)
    kind = response.first_headers().get("content-type", "").partition(";")[0]
    text = response.body or ""
    return _Answer(response.status, text, kind or ("application/json" if text[:1] == "{" else "text/plain"))
