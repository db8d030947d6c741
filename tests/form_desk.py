"""Opening the create form at the desk, and reading what stands in it."""

import json
from typing import Any

from slack_desk import Desk

from bot.standin.slack.blocks import check_view

USER = "U_OPERATOR"


async def opened(desk: Desk, user: str = USER, **where: Any) -> dict[str, Any]:
    await desk.command(user, "create", **where)
    view = desk.view_of(user)
    check_view(view, kinds=("modal",))
    return view


def fields(view: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {block["block_id"]: block for block in view["blocks"] if block["type"] == "input"}


def choices(view: dict[str, Any], field: str) -> dict[str, str]:
    options = fields(view)[field]["element"]["options"]
    return {one["value"]: one.get("description", {}).get("text", "") for one in options}


def errors(ack: Any) -> dict[str, str]:
    body = json.loads(ack.body)
    assert body["response_action"] == "errors"
    return dict(body["errors"])
