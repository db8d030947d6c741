"""The control API: what tests, the demo and the console drive the stand-ins with."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from bot.standin.clock import StandInClock
from bot.standin.console.routes import file_headers
from bot.standin.faults import Faults, UnknownFaultError
from bot.standin.slack import ImpossibleActionError, SlackStandIn
from bot.standin.slack.people import Click

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# A year; not a number and infinity are no times, and dates end before the numbers do.
_LONGEST_ADVANCE_S = 365 * 86_400
_FASTEST = 1e6
_NO_HEADER = re.compile(r"[^ -~]")  # a line break in a file's name would end the header
MakePaper = Callable[[Mapping[str, Any]], Awaitable[Any]]


@web.middleware
async def one_sentence(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every refusal into ``{"error": one sentence}``."""
    try:
        return await handler(request)
    except ImpossibleActionError as refused:
        return web.json_response({"error": str(refused)}, status=refused.status)
    except UnknownFaultError as refused:
        return web.json_response({"error": str(refused)}, status=400)
    except web.HTTPNotFound:
        return web.json_response({"error": f"there is nothing at {request.path}"}, status=404)
    except web.HTTPMethodNotAllowed as refused:
        allowed = " or ".join(sorted(refused.allowed_methods))
        return web.json_response(
            {"error": f"{request.path} takes {allowed}, not {request.method}"}, status=405
        )
    except web.HTTPRequestEntityTooLarge:
        return web.json_response({"error": "this is too long; a megabyte is the most"}, status=413)


@web.middleware
async def loopback_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what a web page elsewhere could send to this port: another Host, or another Origin."""
    origin = request.headers.get("Origin")
    if _host_name(request.host) not in _LOOPBACK or (
        origin is not None and origin != f"{request.scheme}://{request.host}"
    ):
        return web.json_response({"error": "this address is for programs on this machine only"}, status=403)
    return await handler(request)


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:  # half an IPv6 address
        return None


class Control:
    """The routes of the control API over the stand-ins."""

    def __init__(
        self, *, slack: SlackStandIn, clock: StandInClock, faults: Faults, make_paper: MakePaper | None = None
    ) -> None:
        self._slack = slack
        self._clock = clock
        self._faults = faults
        self._make_paper = make_paper

    def application(self) -> web.Application:
        """An aiohttp application with the control API at its root."""
        application = web.Application(middlewares=[loopback_only, one_sentence])
        application.add_routes(
            [
                web.post("/command", self._command),
                web.post("/say", self._say),
                web.post("/click", self._click),
                web.post("/submit", self._submit),
                web.post("/close", self._close),
                web.post("/reload", self._reload),
                web.post("/members", self._members),
                web.get("/messages", self._messages),
                web.get("/views", self._views),
                web.get("/home", self._home),
                web.get("/files/{id}", self._file),
                web.get("/transcript", self._transcript),
                web.get("/envelopes", self._envelopes),
                web.get("/crawls", self._crawls),
                web.get("/sockets", self._sockets),
                web.post("/sockets", self._seed_sockets),
                web.post("/rates", self._rates),
                web.post("/paper", self._paper),
                web.post("/faults", self._arm),
                web.get("/faults", self._report_faults),
                web.delete("/faults", self._disarm),
                web.post("/clock", self._advance),
                web.post("/delivery", self._delivery),
                web.get("/healthz", self._health),
            ]
        )
        return application

    async def _command(self, request: web.Request) -> web.Response:
        body = await _body(request)
        answer = await self._slack.people.command(
            _text(body, "user"),
            _text(body, "channel"),
            _text(body, "text", default=""),
            command=_text(body, "command", default="/hermes"),
            phone=bool(body.get("phone")),
            raw=bool(body.get("raw")),
        )
        return web.json_response(answer)

    async def _say(self, request: web.Request) -> web.Response:
        body = await _body(request)
        thread_ts = _optional(body, "thread_ts")
        user, channel, text = (_text(body, name) for name in ("user", "channel", "text"))
        return web.json_response(await self._slack.people.say(user, channel, text, thread_ts=thread_ts))

    async def _click(self, request: web.Request) -> web.Response:
        body = await _body(request)
        user = _text(body, "user")
        home = bool(body.get("home"))
        if home and "action_id" not in body:
            return web.json_response(
                await self._slack.people.open_home(user, _text(body, "tab", default="home"))
            )
        in_message = not home and "view_id" not in body
        if "view_id" in body and "filled" in body:
            self._slack.fill(user, _optional(body, "view_id"), _values(body, "filled"))
        click = Click(
            user=user,
            action_id=_text(body, "action_id"),
            channel=_text(body, "channel") if in_message else "",
            ts=_text(body, "ts") if in_message else "",
            block_id=_optional(body, "block_id"),
            value=_optional(body, "value"),
            selected=body.get("selected"),
            view_id=_optional(body, "view_id"),
            home=home,
            stale=bool(body.get("stale")),
        )
        return web.json_response(await self._slack.people.click(click))

    async def _submit(self, request: web.Request) -> web.Response:
        body = await _body(request)
        values = _values(body, "values")
        answer = await self._slack.people.submit(_text(body, "user"), _optional(body, "view_id"), values)
        return web.json_response(answer)

    async def _close(self, request: web.Request) -> web.Response:
        body = await _body(request)
        answer = await self._slack.people.close(
            _text(body, "user"), _optional(body, "view_id"), clear=bool(body.get("clear"))
        )
        return web.json_response(answer)

    async def _reload(self, request: web.Request) -> web.Response:
        body = await _body(request)
        return web.json_response({"lost": self._slack.world.messages.forget_ephemerals(_text(body, "user"))})

    async def _members(self, request: web.Request) -> web.Response:
        body = await _body(request)
        members = self._slack.change_members(
            _text(body, "group"), add=_names(body, "add"), remove=_names(body, "remove")
        )
        return web.json_response({"members": members})

    async def _messages(self, request: web.Request) -> web.Response:
        channel = _query(request, "channel")
        found = self._slack.messages(
            channel, request.query.get("thread"), even_hidden=bool(request.query.get("hidden"))
        )
        return web.json_response(found)

    async def _views(self, request: web.Request) -> web.Response:
        return web.json_response(self._slack.views(_query(request, "user")))

    async def _home(self, request: web.Request) -> web.Response:
        return web.json_response(self._slack.home(_query(request, "user")))

    async def _file(self, request: web.Request) -> web.Response:
        file = self._slack.file(request.match_info["id"])
        headers = {
            "Content-Type": file.mimetype,
            "X-File-Name": _NO_HEADER.sub("?", file.name),
            **file_headers(file.mimetype),
        }
        return web.Response(body=file.content, headers=headers)

    async def _transcript(self, _request: web.Request) -> web.Response:
        return web.json_response(self._slack.world.transcript)

    async def _envelopes(self, _request: web.Request) -> web.Response:
        return web.json_response(self._slack.world.sockets.log.shown())

    async def _crawls(self, _request: web.Request) -> web.Response:
        return web.json_response(self._slack.world.crawler.shown())

    async def _sockets(self, _request: web.Request) -> web.Response:
        return web.json_response(self._slack.world.sockets.shown())

    async def _seed_sockets(self, request: web.Request) -> web.Response:
        seed = (await _body(request)).get("seed")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ImpossibleActionError('seed must be a whole number, for example {"seed": 7}')
        self._slack.world.sockets.seed(seed)
        return await self._sockets(request)

    async def _rates(self, request: web.Request) -> web.Response:
        speed = (await _body(request)).get("speed")
        if isinstance(speed, bool) or not isinstance(speed, int | float) or not 0 < speed <= _FASTEST:
            raise ImpossibleActionError(
                f'speed must be a number above 0 and up to {_FASTEST:.0f}, for example {{"speed": 100}}'
            )
        self._slack.world.limits.quicken(float(speed))
        return web.json_response({"speed": speed})

    async def _paper(self, request: web.Request) -> web.Response:
        body = await _body(request)
        if self._make_paper is None:
            raise ImpossibleActionError(
                "this stand-in runs without Cube, so it holds no sandboxes", status=409
            )
        try:
            made = await self._make_paper(body)
        except (KeyError, TypeError, ValueError) as wrong:
            raise ImpossibleActionError(f"paper sandboxes could not be made: {wrong}") from wrong
        return web.json_response(made)

    async def _arm(self, request: web.Request) -> web.Response:
        body = await _body(request)
        times = body.get("times", 1)
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise ImpossibleActionError('times must be a number from 1, for example {"times": 1}')
        if body.get("target") == "slack" and "method" in body:
            self._slack.check_method(_text(body, "method"))
        self._faults.arm(body)
        await self._slack.apply_disconnects()
        return web.json_response(self._faults.report())

    async def _report_faults(self, _request: web.Request) -> web.Response:
        return web.json_response(self._faults.report())

    async def _disarm(self, request: web.Request) -> web.Response:
        target, kind = request.query.get("target"), request.query.get("kind")
        if target is None and kind is None:
            self._faults.clear()
        else:
            self._faults.disarm(target or "", kind or "")
        if target in {None, "slack"}:
            self._slack.recover()
        return web.json_response(self._faults.report())

    async def _advance(self, request: web.Request) -> web.Response:
        seconds = (await _body(request)).get("advance_s")
        if (
            isinstance(seconds, bool)
            or not isinstance(seconds, int | float)
            or not 0 <= seconds <= _LONGEST_ADVANCE_S
        ):
            raise ImpossibleActionError(
                'advance_s must be a number of seconds up to a year, for example {"advance_s": 60}'
            )
        offset = self._clock.advance(float(seconds))
        return web.json_response({"offset_s": offset, "now": self._clock.time()})

    async def _delivery(self, request: web.Request) -> web.Response:
        body = await _body(request)
        mode, url = _text(body, "mode"), _text(body, "url", default="")
        if mode not in ("socket", "http") or (mode == "http") != bool(url):
            raise ImpossibleActionError(
                'give {"mode": "socket"} or {"mode": "http", "url": "http://127.0.0.1:8080/slack/events"}'
            )
        await self._slack.deliver_to(url)
        return web.json_response({"mode": mode, "url": url})

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"ok": True, **self._slack.health()})


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.text() or "{}")
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ImpossibleActionError("the body must be a JSON object")
    return body


def _text(body: Mapping[str, Any], name: str, *, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str):
        raise ImpossibleActionError(f'{name} must be a string, for example {{"{name}": "…"}}')
    return value


def _optional(body: Mapping[str, Any], name: str) -> str | None:
    return None if body.get(name) is None else _text(body, name)


def _values(body: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    values = body.get(name, {})
    if not isinstance(values, dict) or not all(isinstance(actions, dict) for actions in values.values()):
        raise ImpossibleActionError(f'{name} must look like {{"block_id": {{"action_id": "text"}}}}')
    return values


def _names(body: Mapping[str, Any], name: str) -> list[str]:
    value = body.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ImpossibleActionError(f'{name} must be a list of user ids, for example {{"{name}": ["U_BOT"]}}')
    return value


def _query(request: web.Request, name: str) -> str:
    value = request.query.get(name)
    if not value:
        raise ImpossibleActionError(f"say which: {request.path}?{name}=…")
    return value
