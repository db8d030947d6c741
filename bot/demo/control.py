"""A client of the stand-ins' control API: types commands and clicks buttons like a person."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

import aiohttp


class ControlError(Exception):
    """The control API refused a call; the message is its own sentence."""


class Control:
    """One stand-in installation. Use as an async context manager."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the HTTP session."""
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        if self._session:
            await self._session.close()

    async def command(self, user: str, channel: str, text: str) -> dict[str, Any]:
        """Type ``/hermes TEXT``."""
        answer: dict[str, Any] = await self.post("/command", user=user, channel=channel, text=text)
        return answer

    async def click(self, user: str, channel: str, ts: str, action_id: str, **more: Any) -> dict[str, Any]:
        """Press a button of a message."""
        answer: dict[str, Any] = await self.post(
            "/click", user=user, channel=channel, ts=ts, action_id=action_id, **more
        )
        return answer

    async def messages(self, channel: str, thread: str = "") -> list[dict[str, Any]]:
        """The messages of a channel or thread as they stand now, oldest first."""
        query = {"channel": channel, **({"thread": thread} if thread else {})}
        found: list[dict[str, Any]] = await self.get("/messages", **query)
        return found

    async def views(self, user: str) -> list[dict[str, Any]]:
        """The modals a person has open, top last."""
        found: list[dict[str, Any]] = await self.get("/views", user=user)
        return found

    async def transcript(self) -> list[dict[str, Any]]:
        """Every Web API call that Slack has received."""
        found: list[dict[str, Any]] = await self.get("/transcript")
        return found

    async def get(self, path: str, **query: str) -> Any:
        """GET."""
        return await self._call("GET", path, params=query)

    async def post(self, path: str, **body: Any) -> Any:
        """POST."""
        return await self._call("POST", path, json=body)

    async def delete(self, path: str) -> Any:
        """DELETE."""
        return await self._call("DELETE", path)

    async def until(self, what: str, look: Callable[[], Any], *, seconds: float = 60.0) -> Any:
        """Ask again until the answer is truthy.

        Raises:
            TimeoutError: naming ``what`` was waited for.
        """
        deadline = time.monotonic() + seconds
        while True:
            answer = await look()
            if answer:
                return answer
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds:.0f} s for {what}")
            await asyncio.sleep(0.05)

    async def _call(self, method: str, path: str, **arguments: Mapping[str, Any]) -> Any:
        if self._session is None:
            raise RuntimeError("use Control as an async context manager")
        async with self._session.request(method, self.url + path, **arguments) as response:  # type: ignore[arg-type]
            body = await response.json(content_type=None)
            if response.status >= 400:  # noqa: PLR2004 - the HTTP classes of failure
                raise ControlError(
                    f"{method} {path}: {body.get('error', body) if isinstance(body, dict) else body}"
                )
            return body
