"""Single questions to Slack for an examination: asked once, answered whole, with the head of the answer."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack_identity import UNREACHABLE, quiet
from bot.domain.errors import ChatError

ASK_SECONDS = 8.0
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class SlackAnswer:
    """What Slack said to one method."""

    data: Mapping[str, Any]
    scopes: frozenset[str]
    """Granted to the token that asked, as the head of the answer names them."""
    date: datetime | None
    """Slack's own clock, to the second; None when the answer does not tell it."""


class SlackLookup:
    """Asks with ``token`` at ``api_url``. Nothing is repeated, and nothing is ever changed by it."""

    def __init__(self, token: str, api_url: str) -> None:
        self._client = AsyncWebClient(
            token=token, base_url=api_url, timeout=int(ASK_SECONDS), logger=quiet, retry_handlers=[]
        )

    async def ask(self, method: str, **arguments: str) -> SlackAnswer:
        """One Web API method.

        Raises:
            ChatError: Slack's own word; ``slack-unreachable`` when no answer of Slack's came.
        """
        try:
            async with asyncio.timeout(ASK_SECONDS):
                answer = await self._client.api_call(method, data=arguments)
        except SlackApiError as error:
            data = error.response.data if isinstance(error.response.data, dict) else {}
            status = int(error.response.status_code)
            if status >= _SERVER_ERROR or not data.get("error"):
                raise ChatError(UNREACHABLE, f"it answers with status {status}") from None
            raise ChatError(str(data["error"])) from None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise ChatError(UNREACHABLE, f"{type(error).__name__} {error}".strip()) from None
        scopes = str(answer.headers.get("x-oauth-scopes", "")).split(",")
        return SlackAnswer(
            data=answer.data if isinstance(answer.data, dict) else {},
            scopes=frozenset(scope.strip() for scope in scopes if scope.strip()),
            date=date_of(answer.headers.get("Date")),
        )


def date_of(text: object) -> datetime | None:
    """The moment in a ``Date`` header; None when there is none that can be read."""
    try:
        moment = parsedate_to_datetime(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
