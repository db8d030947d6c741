"""The link to Slack, watched: it is made, judged, made anew, reported, and at last given up.

What the verdicts are and why is in ``bot.domain.link``; this module observes, acts and tells operators.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack_socket import Answer, Envelope, SlackSocket, SocketError
from bot.domain.errors import ChatError
from bot.domain.link import (
    REFUSALS,
    TOO_MANY,
    Link,
    LinkState,
    Patience,
    Seen,
    judge,
    pause_before,
    wants_another,
)
from bot.health import LinkReport

log = logging.getLogger(__name__)

PATIENCE = Patience()
"""Set anew by tests that cannot wait for minutes."""

LOOK_SECONDS = 1.0
"""Between two verdicts."""

ACK_SECONDS = 0.4
"""For acks that are under way when the bot ends. They take ten milliseconds."""

GAVE_UP = 75
"""The exit code after a link that was given up: start the bot again (EX_TEMPFAIL of sysexits.h)."""

REFUSED = 2
"""The exit code after Slack's refusal, as for settings that cannot be used: starting again cures nothing."""

API, SOCKET = "auth.test", "apps.connections.open"
RATE_LIMITED = frozenset({"ratelimited", "rate_limited"})

Identity = Mapping[str, Any]
Ask = Callable[[], Awaitable[Identity]]

AT_ONCE = 3
"""Connections in a row that ended before they were steady, and are replaced without a pause."""


class SlackLink:
    """Both ways to Slack: ``auth.test`` for the Web API, and in Socket Mode the socket, once attached."""

    def __init__(self, ask: Ask, patience: Patience) -> None:
        self._ask = ask
        self._patience = patience
        self._link = Link()
        self._since: datetime | None = None
        self._socket: SlackSocket | None = None
        self._attached = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._tried = False
        self._wanted = asyncio.Event()
        self._over = asyncio.Event()
        self._unanswered = 0
        self._refusal = ""
        self._refused: dict[str, str] = {}  # what was asked → the refusal that it got the last time
        self._opened = 0
        self.identity: asyncio.Future[Identity] = asyncio.get_running_loop().create_future()
        """The first answer of ``auth.test``."""
        self.up = asyncio.Event()
        """Set once the first socket is there."""

    @asynccontextmanager
    async def socket_mode(self, app: AsyncApp, client: AsyncWebClient, app_token: str) -> AsyncIterator[None]:
        """Keep a socket connected; at the end, ack what has come in over it, then close it."""
        socket = SlackSocket(client, app_token, answering(app), ping_seconds=self._patience.ping)
        self._socket = socket
        self._attached.set()
        try:
            yield
        finally:
            self._socket = None  # nobody judges it any more, nor opens another one
            if self._keeping:
                self._keeping.cancel()
                await asyncio.gather(self._keeping, return_exceptions=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(ACK_SECONDS):
                    await socket.settled()
            await socket.close()

    async def watch(self) -> int:
        """Watch until the process is to end; gives its exit code."""
        async with asyncio.TaskGroup() as group:
            self._keeping = group.create_task(self._keep_connected())
            asking = group.create_task(self._keep_asking())
            judging = group.create_task(self._keep_judging())
            await self._over.wait()
            for task in (self._keeping, asking, judging):
                task.cancel()
        return REFUSED if self._link.state is LinkState.REFUSED else GAVE_UP

    def report(self) -> LinkReport:
        """How it stands, for ``/healthz``, ``/readyz`` and ``/metrics``."""
        seen = self._seen()
        trouble = self._link.state not in (LinkState.HEALTHY, LinkState.SUSPECT)
        return LinkReport(
            state=self._link.state.value,
            reasons=self._link.reasons if trouble else (),
            since=self._since if trouble else None,
            pong_age=seen.pong_age if self._socket and seen.connected else None,
            reconnects=max(self._opened - 1, 0),
        )

    async def _keep_asking(self) -> None:
        while True:
            await self._ask_once()
            doubtful = self._unanswered or self._refused
            await asyncio.sleep(self._patience.probe_again if doubtful else self._patience.probe)

    async def _ask_once(self) -> None:
        try:
            identity = await self._ask()
        except ChatError as error:
            if error.code in REFUSALS:
                self._unanswered = 0
                self._refuse(API, error.code, sure=not self.identity.done())
            elif error.code in RATE_LIMITED and self.identity.done():
                self._unanswered = 0  # too often for Slack, which is there and knows us
            else:
                self._unanswered += 1
                log.warning("auth.test had no answer from Slack: %s; it is asked again", error)
        else:
            self._unanswered = 0
            self._refused.pop(API, None)
            if not self.identity.done():
                self.identity.set_result(identity)

    async def _keep_connected(self) -> None:
        await self._attached.wait()
        socket = self._socket
        if socket is None:
            return
        failures = 0
        while True:
            before = socket.reason
            try:
                await socket.open()
            except SocketError as error:
                failures += 1
                self._tried = True
                self._opening_failed(error, before, failures)
                if self._refusal:
                    return
                pause = max(pause_before(failures, error.word, self._patience.pause), error.retry_after)
            else:
                self._tried = True
                self._connected(before)
                began = time.monotonic()
                await self._another(socket)
                # A few that end soon are replaced at once, as commands fail meanwhile; a row of them is slow.
                steady = time.monotonic() - began >= self._patience.steady
                failures = 0 if steady else failures + 1
                pause = pause_before(failures - AT_ONCE, first=self._patience.pause)
            await asyncio.sleep(pause)

    def _connected(self, before: str) -> None:
        self._opened += 1
        self._wanted.clear()
        self._refused.pop(SOCKET, None)
        self.up.set()
        if self._opened > 1:
            log.info("a new connection to Slack is open; the last one: %s", before or "in doubt or quiet")

    def _opening_failed(self, error: SocketError, before: str, failures: int) -> None:
        if error.word in REFUSALS:
            self._refuse(SOCKET, error.word, sure=self._opened == 0)
        elif error.word and before == "link_disabled":
            self._refuse(SOCKET, before, sure=False)
        elif error.word == TOO_MANY:
            log.error(
                "Slack takes no more connections of this app; ten is the most. Commands reach the other"
                " copies of the bot. End those that are not needed; it is tried again in %.0f s.",
                pause_before(failures, TOO_MANY),
            )
        else:
            log.warning("no new connection to Slack (try %d): %s", failures, error)

    def _refuse(self, asked: str, word: str, *, sure: bool) -> None:
        """Slack said no. While it runs the bot believes it only when it is said twice."""
        if sure or self._refused.get(asked) == word:
            self._refusal = f"{word}: {REFUSALS[word]}"
        else:
            self._refused[asked] = word
            log.warning("Slack refused us with %s; it is asked once more", word)

    async def _another(self, socket: SlackSocket) -> None:
        """Wait until a new connection is wanted: the old one is lost, or doubted."""
        waits = [asyncio.create_task(event.wait()) for event in (socket.lost, self._wanted)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _keep_judging(self) -> None:
        while not self._link.state.over:
            seen = self._seen()
            before, self._link = self._link, judge(self._link, seen, self._patience)
            if self._link.state is not before.state:
                self._tell(before)
            if self._socket and wants_another(self._link, seen, self._patience):
                self._wanted.set()
            if not self._link.state.over:
                await asyncio.sleep(min(LOOK_SECONDS, self._patience.not_ready / 5))
        self._over.set()

    def _seen(self) -> Seen:
        now, socket = time.monotonic(), self._socket
        if socket is None or not self._tried:
            return Seen(at=now, unanswered=self._unanswered, refusal=self._refusal)
        return Seen(
            at=now,
            connected=socket.connected,
            pong_age=now - socket.pong_at,
            frame_age=now - socket.frame_at,
            unanswered=self._unanswered,
            refusal=self._refusal,
        )

    def _tell(self, before: Link) -> None:
        """One line for operators at each change: what happened, what is safe, what to do."""
        why, patience = "; ".join(self._link.reasons), self._patience
        match self._link.state:
            case LinkState.HEALTHY:
                log.info("the link to Slack is well again after %.0f s", before.doubted + before.steady)
                self._since = None
            case LinkState.SUSPECT:
                self._since = datetime.now(UTC)
                log.warning(
                    "the link to Slack is in doubt: %s. Running jobs go on. A new connection is tried;"
                    " nothing is to be done.", why,
                )  # fmt: skip
            case LinkState.NOT_READY:
                log.error(
                    "not ready: for %.0f s %s. Commands may not reach the bot; running jobs go on and nothing"
                    " is lost. Look at Slack's status page and at this machine's network. The process ends"
                    " with %d in %.0f s, to be started anew.",
                    self._link.doubted, why, GAVE_UP, patience.give_up - self._link.doubted,
                )  # fmt: skip
            case LinkState.GIVEN_UP:
                log.critical(
                    "the link to Slack is given up: for %.0f s %s. The process ends with %d. What runs is in"
                    " the audit log and the next start goes on from there.", self._link.doubted, why, GAVE_UP,
                )  # fmt: skip
            case LinkState.REFUSED:
                log.critical(
                    "Slack refuses the bot: %s. Nothing is lost. The process ends with %d; starting it again"
                    " without that cures nothing.", why, REFUSED,
                )  # fmt: skip


def answering(app: AsyncApp) -> Answer:
    """Bolt's answer to an envelope, as the payload of its ack."""

    async def answer(envelope: Envelope) -> Mapping[str, Any] | None:
        headers = {}
        if envelope.retry:
            headers = {"x-slack-retry-num": envelope.retry[0], "x-slack-retry-reason": envelope.retry[1]}
        request = AsyncBoltRequest(
            mode="socket_mode", body=dict(envelope.payload), headers={k: [v] for k, v in headers.items()}
        )
        try:
            response = await app.async_dispatch(request)
        except Exception:
            log.exception("Bolt broke on an envelope; its person sees a time-out and nothing was done")
            return None
        return ack_payload(response.status, response.body, response.first_headers().get("content-type", ""))

    return answer


def ack_payload(status: int, body: str | None, content_type: str) -> Mapping[str, Any] | None:
    """What Bolt's HTTP response becomes in an ack. An envelope that no listener knows is acked, too."""
    if status == 404:  # noqa: PLR2004 - Bolt's word for no listener
        return {}
    if status != 200:  # noqa: PLR2004 - nothing that Slack could show
        log.error("an envelope could not be acked: Bolt answered %d", status)
        return None
    if not body:
        return {}
    if content_type.startswith("application/json"):
        payload = json.loads(body)
        return payload if isinstance(payload, dict) else {}
    return {"text": body}
