"""Slack's link crawler: it fetches what stands in a message, and so spends a link that works once.

Slack leaves a message alone only when it was posted with both ``unfurl_links`` and ``unfurl_media`` false.
Ephemeral messages, edits and files have no such arguments in the SDK, and nobody promises that their
links are not fetched; so they are looked at too, an edit with what its message was posted with. Links of
modals and Home tabs are never fetched.
"""

import asyncio
import html
import ipaddress
import re
import socket
from collections import deque
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from bot.standin.clock import StandInClock
from bot.standin.slack.messages import Message

FETCH_S = 3.0
LONGEST_BODY = 64 * 1024
AT_ONCE = 8
USER_AGENT = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
_KEPT = 5_000
_URL = re.compile(r"https?://[^\s<>|\"'`]+", re.IGNORECASE)
_AFTER_A_URL = ".,;:!?)]}*_~"


class Crawler:
    """Looks at every message and fetches the links of those that do not forbid it.

    Only this machine is really called: loopback addresses, ``localhost`` and names below it. Other links
    are recorded, not fetched. A redirect is not followed.
    """

    def __init__(self, clock: StandInClock) -> None:
        self._clock = clock
        self._crawls: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._seen: set[tuple[str, str, str]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._few = asyncio.Semaphore(AT_ONCE)

    def shown(self) -> list[dict[str, Any]]:
        """Every link that was followed or would have been, oldest first.

        ``fetched`` says whether it was really called; ``status`` is the answer's, once it is there.
        """
        return [dict(crawl) for crawl in self._crawls]

    def look_at(self, message: Message) -> None:
        """Take the links of a message that was posted or changed."""
        if not (message.unfurl_links or message.unfurl_media):
            return
        for url in dict.fromkeys(links_of([message.text, message.blocks, message.attachments])):
            key = (message.channel, message.ts, url)
            if key in self._seen:
                continue
            self._seen.add(key)
            crawl: dict[str, Any] = {
                "url": url,
                "channel": message.channel,
                "ts": message.ts,
                "user": message.user,
                "at": self._clock.time(),
                "fetched": is_local(url),
                "status": None,
                "error": None,
            }
            self._crawls.append(crawl)
            if crawl["fetched"]:
                task = asyncio.get_running_loop().create_task(self._fetch(crawl))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop fetching."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _fetch(self, crawl: dict[str, Any]) -> None:
        timeout = aiohttp.ClientTimeout(total=FETCH_S)
        try:
            async with (
                self._few,
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(resolver=_ThisMachine()), timeout=timeout
                ) as session,
                session.get(
                    crawl["url"], allow_redirects=False, headers={"User-Agent": USER_AGENT}
                ) as answer,
            ):
                crawl["status"] = answer.status
                await answer.content.read(LONGEST_BODY)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as failed:
            crawl["error"] = type(failed).__name__


class _ThisMachine(AbstractResolver):
    """Every name is this machine; only names below ``localhost`` are asked for."""

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002  # aiohttp names it
    ) -> list[ResolveResult]:
        """127.0.0.1, whatever the machine's own resolver knows of ``*.localhost``."""
        return [
            ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)
        ]

    async def close(self) -> None:
        """Nothing to end."""


def links_of(value: Any) -> Iterator[str]:
    """The web addresses in all strings of a value, as they are called: without Slack's escapes."""
    if isinstance(value, str):
        for match in _URL.finditer(value):
            yield html.unescape(match[0]).rstrip(_AFTER_A_URL)
    elif isinstance(value, dict):
        for item in value.values():
            yield from links_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from links_of(item)


def is_local(url: str) -> bool:
    """Whether an address is on this machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
