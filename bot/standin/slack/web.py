"""The Web API over HTTP: tokens, scopes, faults, and the transcript of every call."""

import hmac
from typing import Any

from aiohttp import web

from bot.standin.slack.access import visible_channel
from bot.standin.slack.args import Args, read_args
from bot.standin.slack.call_faults import CallFaults
from bot.standin.slack.cast import APP_SCOPES
from bot.standin.slack.errors import SlackError
from bot.standin.slack.limits import POST
from bot.standin.slack.methods import METHODS, Method
from bot.standin.slack.world import World


class WebApi:
    """Answers ``/api/METHOD``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._faults = CallFaults(world.faults)

    async def handle(self, request: web.Request) -> web.Response:
        """One call. Like Slack it answers 200 with ``ok: false`` unless it is throttled or broken."""
        name = request.match_info["method"]
        headers: dict[str, str] = {}
        try:
            args = await self._recorded_args(name, request)
            await self._faults.before(name, request)
            method = _method(name)
            headers = self._admit(method, request)
            hidden = self._world.limits.admit(name, self._place(args) if name == POST else "")
            answer = method.call(self._world, args)
        except SlackError as refused:
            body = self._with_provided(refused)
            return web.json_response(body, status=refused.status, headers={**headers, **refused.headers})
        if hidden:
            self._world.messages.hide(str(answer["channel"]), str(answer["ts"]))
        await self._faults.after(name, request)
        return web.json_response(answer, headers=headers)

    async def _recorded_args(self, name: str, request: web.Request) -> Args:
        try:
            args = await read_args(request)
        except SlackError:
            self._world.record(name, await request.text())
            raise
        self._world.record(name, args.values)
        return args

    def _place(self, args: Args) -> str:
        """The conversation that a post goes to, however it is named."""
        try:
            return visible_channel(self._world, args.text("channel"), allow_user=True, allow_name=True).id
        except SlackError:
            return ""

    def _admit(self, method: Method, request: web.Request) -> dict[str, str]:
        """Check token and scope, and give the scope headers of the answer."""
        if method.caller == "anybody":
            return {}
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if not token:
            raise SlackError("not_authed")
        known = self._world.secrets
        is_bot = hmac.compare_digest(token.encode(), known.bot_token.encode())
        is_app = hmac.compare_digest(token.encode(), known.app_token.encode())
        if not (is_bot or is_app):
            raise SlackError("invalid_auth")
        if (method.caller == "app") != is_app:
            raise SlackError("not_allowed_token_type")
        granted = APP_SCOPES if is_app else self._world.scopes
        if method.scopes and not set(method.scopes) & set(granted):
            raise SlackError("missing_scope", extra={"needed": ",".join(method.scopes)})
        return {"x-oauth-scopes": ",".join(granted), "x-accepted-oauth-scopes": ",".join(method.scopes)}

    def _with_provided(self, refused: SlackError) -> dict[str, Any]:
        body = refused.body()
        if refused.error == "missing_scope":
            body["provided"] = ",".join(self._world.scopes)
        return body


def _method(name: str) -> Method:
    method = METHODS.get(name)
    if method is None:
        raise SlackError("unknown_method", extra={"req_method": name})
    return method
