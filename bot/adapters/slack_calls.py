"""Calls to Slack's Web API and response URLs: what is repeated, what is not, and what an answer means.

Posting has no idempotency key. So a call that creates something is sent at most once here: when the
connection breaks after the request may have been written, its fate is unknown and it is not repeated. Others
are, once.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.adapters.slack_pace import LONGEST_WAIT, MethodTurns, Turns
from bot.domain.errors import ChatError
from bot.ports import Clock

quiet = logging.getLogger("bot.adapters.slack_calls.sdk")
# At DEBUG the SDK writes whole bodies, response URLs and answers to its log.
quiet.setLevel(logging.INFO)

CALL_SECONDS = 15.0
WAITS = 3
"""How often a call is sent again after 429."""
PAUSE = 1.0
"""Seconds before the one repetition of a call that broke."""
SERVER_ERROR = 500

_RATE_LIMITED = frozenset({"ratelimited", "rate_limited"})
_ERROR_WORD = re.compile(r"[a-z][a-z0-9_]{0,79}")

Body = dict[str, Any]


class _TooFastError(Exception):
    """Slack wants us to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class _BrokenError(Exception):
    """No answer. ``written`` is False when the request cannot have reached Slack."""

    def __init__(self, cause: str, *, written: bool) -> None:
        super().__init__(cause)
        self.written = written


class SlackCalls:
    """One shared connection pool. Every error leaves as ``ChatError``."""

    def __init__(self, client: AsyncWebClient, clock: Clock) -> None:
        # A client of our own: the given one is Bolt's, and repeats a post after a broken connection.
        self._web = AsyncWebClient(
            token=client.token,
            base_url=client.base_url,
            timeout=int(CALL_SECONDS),
            ssl=client.ssl,
            proxy=client.proxy,
            session=client.session,
            logger=quiet,
            retry_handlers=[],
        )
        self._clock = clock
        self._turns = MethodTurns(clock)
        self._own_session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """End the connections, unless they are the given client's."""
        if self._own_session is not None:
            await self._own_session.close()

    async def web(
        self,
        method: str,
        body: Mapping[str, Any],
        *,
        repeatable: bool = False,
        patient: bool = True,
        how: Literal["json", "form", "query"] = "json",
        turns: Turns | None = None,
    ) -> Mapping[str, Any]:
        """A Web API method.

        Args:
            method: its name, such as ``chat.postMessage``.
            body: its arguments.
            repeatable: sending it twice does no harm.
            patient: wait for a turn, and when Slack's rate limit asks for it.
            how: the form of ``body``; as a query it is a GET.
            turns: the paces that it obeys, together with other calls; else those of its method alone.

        Raises:
            ChatError: Slack's error word, ``post-unknown``, ``slack-unreachable`` or ``ratelimited``.
        """

        async def once() -> Mapping[str, Any]:
            return await self._once(method, body, how)

        turns = turns or self._turns.of(method)
        return await self._persist(method, once, turns, repeatable=repeatable, patient=patient)

    async def response_url(self, url: str, body: Mapping[str, Any]) -> None:
        """Post through a response URL.

        Raises:
            ChatError: ``used_url``, ``expired_url`` and the like, or as for ``web``.
        """

        async def once() -> Mapping[str, Any]:
            return await self._once_by_url(url, body)

        await self._persist(
            "response_url", once, self._turns.of("response_url"), repeatable=False, patient=True
        )

    async def upload(self, url: str, content: bytes) -> None:
        """Send the bytes of a file to the URL that Slack has given for them. Done twice it is done once.

        Raises:
            ChatError: as for ``web``.
        """

        async def once() -> Mapping[str, Any]:
            return await self._once_uploaded(url, content)

        await self._persist("upload", once, self._turns.of("upload"), repeatable=True, patient=True)

    async def _persist(
        self,
        method: str,
        once: Callable[[], Awaitable[Mapping[str, Any]]],
        turns: Turns,
        *,
        repeatable: bool,
        patient: bool,
    ) -> Mapping[str, Any]:
        waited, waits, broken = 0.0, 0, 0
        while True:
            if patient:
                if turns.held > LONGEST_WAIT - waited:
                    raise ChatError("ratelimited", f"{method}: Slack asks for {turns.held:.0f} s.")
                waited += max(0.0, turns.held)
                await turns.turn()
            try:
                answer = await once()
            except _TooFastError as error:
                waits += 1
                turns.hold(error.seconds)
                if not patient or waits > WAITS:
                    raise ChatError(
                        "ratelimited", f"{method}: Slack asks for {error.seconds:.0f} s."
                    ) from None
            except _BrokenError as error:
                broken += 1
                if error.written and not repeatable:
                    raise ChatError("post-unknown", f"{method}: {error}") from error
                if broken > 1 or not patient:
                    raise ChatError("slack-unreachable", f"{method}: {error}") from error
                await self._clock.sleep(PAUSE)
            else:
                return answer
            finally:
                turns.ended()

    async def _once(self, method: str, body: Mapping[str, Any], how: str) -> Mapping[str, Any]:
        self._web.session = self._session()
        verb = "GET" if how == "query" else "POST"
        arguments = {{"query": "params", "form": "data"}.get(how, how): dict(body)}
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await self._web.api_call(method, http_verb=verb, **arguments)
        except SlackApiError as error:
            raise _meaning(method, error) from None
        except aiohttp.ClientConnectorError as error:
            raise _BrokenError(type(error).__name__, written=False) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _BrokenError(type(error).__name__, written=True) from error
        data = answer.data
        return data if isinstance(data, dict) else {}

    async def _once_by_url(self, url: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        hook = AsyncWebhookClient(
            url,
            session=self._session(),
            proxy=self._web.proxy,
            ssl=self._web.ssl,
            logger=quiet,
            retry_handlers=[],
        )
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await hook.send_dict(dict(body))
        except aiohttp.ClientConnectorError as error:
            raise _BrokenError(type(error).__name__, written=False) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _BrokenError(type(error).__name__, written=True) from None
        if answer.status_code == 200:  # noqa: PLR2004 - anything else is an error that the SDK does not raise
            return {}
        _raise_if_waiting(answer.status_code, answer.headers, "")
        if answer.status_code >= SERVER_ERROR:
            raise _BrokenError(f"status {answer.status_code}", written=True)
        word = _ERROR_WORD.search(answer.body or "")
        raise ChatError(word[0] if word else f"http-{answer.status_code}")

    async def _once_uploaded(self, url: str, content: bytes) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(CALL_SECONDS), self._session().post(url, data=content) as answer:
                status, headers = answer.status, answer.headers
        except aiohttp.ClientConnectorError as error:
            raise _BrokenError(type(error).__name__, written=False) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _BrokenError(type(error).__name__, written=True) from None
        _raise_if_waiting(status, headers, "")
        if status >= SERVER_ERROR:
            raise _BrokenError(f"status {status}", written=True)
        if status != 200:  # noqa: PLR2004 - nothing else means that the bytes were taken
            raise ChatError(f"http-{status}")
        return {}

    def _session(self) -> aiohttp.ClientSession:
        given = self._web.session
        if given is None or given.closed:
            # Made here and not in the constructor, because it belongs to the running loop.
            given = self._own_session = aiohttp.ClientSession()
        return given


def _meaning(method: str, error: SlackApiError) -> Exception:
    response = error.response
    data = response.data if isinstance(response.data, dict) else {}
    word = str(data.get("error") or "")
    try:
        _raise_if_waiting(response.status_code, response.headers, word)
    except _TooFastError as wait:
        return wait
    if response.status_code >= SERVER_ERROR:
        # Slack's own warning: after such an answer a part of the call may have happened.
        return _BrokenError(f"status {response.status_code}", written=True)
    if word:
        return ChatError(word, _described(method, word, data))
    return ChatError(f"http-{response.status_code}", f"{method}: status {response.status_code}")


def _described(method: str, word: str, data: Mapping[str, Any]) -> str:
    """Slack's error with what it says beside it: which scope is missing, which block is wrong."""
    parts = [f"{method}: {word}"]
    if data.get("needed"):
        parts.append(f"needs scope {data['needed']}")
    metadata = data.get("response_metadata")
    messages = metadata.get("messages") if isinstance(metadata, dict) else None
    parts += [str(text) for text in (messages or data.get("errors") or ())][:5]
    return "; ".join(parts)


def _raise_if_waiting(status: int, headers: Mapping[str, Any], word: str) -> None:
    if status != 429 and word not in _RATE_LIMITED:  # noqa: PLR2004 - Too Many Requests
        return
    given = next((str(value) for name, value in headers.items() if name.lower() == "retry-after"), "")
    raise _TooFastError(float(given) if given.isdigit() else PAUSE)
