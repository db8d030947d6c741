"""Who we are in Slack: ``auth.test``, asked once, without repetitions of the SDK's own."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.errors import ChatError

quiet = logging.getLogger("bot.adapters.slack_identity.sdk")
quiet.setLevel(logging.INFO)

ASK_SECONDS = 10.0
UNREACHABLE = "slack-unreachable"
_SERVER_ERROR = 500


async def ask_identity(client: AsyncWebClient) -> Mapping[str, Any]:
    """What Slack says about the bot token: ``team_id``, ``user_id``, ``bot_id`` and more.

    Raises:
        ChatError: Slack's own word, or ``slack-unreachable`` when there was no answer within ten seconds.
    """
    once = AsyncWebClient(
        token=client.token, base_url=client.base_url, timeout=int(ASK_SECONDS), ssl=client.ssl,
        proxy=client.proxy, session=client.session, logger=quiet, retry_handlers=[],
    )  # fmt: skip
    try:
        async with asyncio.timeout(ASK_SECONDS):
            answer = await once.auth_test()
    except SlackApiError as error:
        data = error.response.data if isinstance(error.response.data, dict) else {}
        status = int(error.response.status_code)
        if status >= _SERVER_ERROR or not data.get("error"):
            raise ChatError(UNREACHABLE, f"status {status}") from None
        raise ChatError(str(data["error"])) from None
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ChatError(UNREACHABLE, f"{type(error).__name__} {error}".strip()) from None
    return answer.data if isinstance(answer.data, dict) else {}
