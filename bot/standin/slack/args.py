"""The arguments of a Web API call, whichever way they came."""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from bot.standin.slack.errors import SlackError, invalid_arguments


class Args:
    """Arguments merged from the query string, a form and a JSON body."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def get(self, name: str) -> Any:
        """The raw value, or None."""
        return self.values.get(name)

    def text(self, name: str, default: str = "") -> str:
        """A string; numbers are taken as their digits."""
        value = self.values.get(name)
        return default if value is None else str(value)

    def needed(self, name: str) -> str:
        """A string that must be there.

        Raises:
            SlackError: ``invalid_arguments``.
        """
        if not (value := self.text(name)):
            raise invalid_arguments(f"missing required field: {name}")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A boolean; forms and query strings spell it ``1``, ``0``, ``true`` or ``false``."""
        value = self.values.get(name)
        return default if value is None else str(value).lower() in ("1", "true")

    def data(self, name: str, error: str) -> Any:
        """A list or object, which forms and query strings carry as JSON text.

        Raises:
            SlackError: With ``error``, when the text is no JSON.
        """
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise SlackError(error) from None

    def page(self, items: list[Any], *, default: int, most: int = 1000) -> tuple[list[Any], dict[str, Any]]:
        """One page of a list and its ``response_metadata``, from ``limit`` and ``cursor``.

        Raises:
            SlackError: ``invalid_cursor`` or ``invalid_limit``.
        """
        try:
            limit = int(self.text("limit") or default)
        except ValueError:
            raise SlackError("invalid_limit") from None
        if limit < 0:
            raise SlackError("invalid_limit")
        limit = min(limit or default, most)
        cursor = self.text("cursor")
        digits = cursor.removeprefix("page:")
        if cursor and (digits == cursor or not digits.isdigit()):
            raise SlackError("invalid_cursor")
        start = int(digits) if cursor else 0
        more = start + limit < len(items)
        return items[start : start + limit], {"next_cursor": f"page:{start + limit}" if more else ""}


async def read_args(request: web.Request) -> Args:
    """The arguments of a request.

    Raises:
        SlackError: ``invalid_json`` or ``json_not_object``.
    """
    values: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        text = await request.text()
        try:
            body = json.loads(text) if text else {}
        except ValueError:
            raise SlackError("invalid_json") from None
        if not isinstance(body, dict):
            raise SlackError("json_not_object")
        values |= body
    elif request.can_read_body:
        values |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return Args(values)
