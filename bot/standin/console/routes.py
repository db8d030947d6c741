"""The console's routes: the page, its static files, and the stream that keeps an open page true."""

import asyncio
import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.standin.console.manifest import read_manifest
from bot.standin.console.messages import channel_pieces, thread_pieces
from bot.standin.console.modal import home_pieces, modal_pieces
from bot.standin.console.page import page
from bot.standin.console.panel import truth_pieces
from bot.standin.console.pieces import Memory, Regions
from bot.standin.console.standpoint import Standpoint, roles, standpoint, visible_channels
from bot.standin.console.truth import Truth
from bot.standin.slack import SlackStandIn

_STATIC = Path(__file__).with_name("static")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# The workspace does not announce its changes. A look costs it a millisecond, and nobody notices the wait.
_LOOK_EVERY_S = 0.15
_SIGN_OF_LIFE_S = 10.0
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_OURS_ALONE = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}
_HEADERS = {
    **_OURS_ALONE,
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Console:
    """The routes below ``/console``. What changes something goes to the control API beside it."""

    def __init__(self, slack: SlackStandIn, truth: Truth) -> None:
        self._slack = slack
        self._truth = truth
        self._files = {path.name: path for path in _STATIC.iterdir() if path.suffix in _TYPES}
        self._closing = asyncio.Event()

    def add_to(self, application: web.Application) -> None:
        """Serve the console in an application."""
        application.add_routes(
            [
                web.get("/", self._away),
                web.get("/console", self._page),
                web.get("/console/stream", self._stream),
                web.get("/console/static/{name}", self._static),
            ]
        )
        application.on_shutdown.append(self._close)

    async def _close(self, _application: web.Application) -> None:
        self._closing.set()

    async def _away(self, _request: web.Request) -> web.Response:
        raise web.HTTPSeeOther("/console")

    async def _static(self, request: web.Request) -> web.StreamResponse:
        path = self._files.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        headers = {
            "Content-Type": f"{_TYPES[path.suffix]}; charset=utf-8",
            "Cache-Control": "no-cache",
            **_OURS_ALONE,
        }
        return web.FileResponse(path, headers=headers)

    async def _page(self, request: web.Request) -> web.Response:
        at = self._standpoint(request)
        await self._truth.look()
        regions = self._regions(at)
        memory = Memory()
        text = page(
            self._slack.world.cast,
            at,
            manifest=read_manifest(),
            roles=roles(self._slack.world.cast, self._truth.config_file),
            theme=request.cookies.get("theme", ""),
            region=lambda name: memory.whole(name, regions.get(name, ())),
        )
        return web.Response(text=text, content_type="text/html", headers=_HEADERS)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: everything once, then what changed, until the page goes away."""
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        await response.prepare(request)
        memory = Memory()
        silent_s = 0.0
        try:
            await response.write(b"retry: 1000\n\n")
            while not self._closing.is_set():
                if request.transport is None or request.transport.is_closing():
                    break
                await self._truth.look()
                news = self._news(memory, self._standpoint(request))
                if news:
                    await response.write(f"data: {json.dumps(news)}\n\n".encode())
                    silent_s = 0.0
                elif silent_s >= _SIGN_OF_LIFE_S:
                    await response.write(b": still here\n\n")
                    silent_s = 0.0
                silent_s += _LOOK_EVERY_S
                await self._pause()
        except ConnectionError:
            pass  # the page has gone
        return response

    def _standpoint(self, request: web.Request) -> Standpoint:
        world = self._slack.world
        return standpoint(world.cast, request.query, world.clock.time())

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._closing.wait(), _LOOK_EVERY_S)
        except TimeoutError:
            return

    def _news(self, memory: Memory, at: Standpoint) -> dict[str, Any]:
        """Region → its news; ``latest`` has the newest message of each channel."""
        found = {name: memory.news(name, pieces) for name, pieces in self._regions(at).items()}
        news: dict[str, Any] = {name: one for name, one in found.items() if one is not None}
        latest = self._latest(at)
        if memory.latest != latest:
            memory.latest = news["latest"] = latest
        return news

    def _latest(self, at: Standpoint) -> dict[str, str]:
        """Channel → the newest message there that somebody else wrote and this person sees."""
        user, found = at.person.id, {}
        for channel in visible_channels(self._slack.world.cast, user):
            for message in self._slack.world.messages.in_channel(channel.id):
                if message.user != user and message.ephemeral_for in (None, user):
                    found[channel.id] = message.ts
        return found

    def _regions(self, at: Standpoint) -> Regions:
        world = self._slack.world
        today = dt.datetime.fromtimestamp(world.clock.time(), at.zone).date()
        regions: dict[str, Any] = {
            "modal": modal_pieces(world.views.stack(at.person.id), at.viewer),
            **truth_pieces(self._truth, at),
        }
        if at.channel is None:
            regions["home"] = home_pieces(world.views.home(at.person.id), at.viewer)
            return regions
        messages = list(world.messages.in_channel(at.channel.id))
        regions["feed"] = list(channel_pieces(world.cast, at, messages, today))
        in_thread = [one for one in messages if at.thread in (one.ts, one.thread_ts)] if at.thread else []
        regions["thread"] = list(thread_pieces(world.cast, at, in_thread, today))
        return regions


def file_headers(mimetype: str) -> Mapping[str, str]:
    """How an uploaded file is served beside the console: never as a page that could act for a person."""
    kind = "inline" if mimetype.startswith("image/") else "attachment"
    return {
        "Content-Disposition": kind,
        "Content-Security-Policy": "default-src 'none'; sandbox",
        **_OURS_ALONE,
    }
