"""The Slack stand-in as one server: start it, act on it, read it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.standin.clock import StandInClock
from bot.standin.faults import Faults
from bot.standin.listener import Listener
from bot.standin.slack.call_faults import RESPONSE_URL, UPLOAD, CallFaults
from bot.standin.slack.cast import SCOPES, Cast
from bot.standin.slack.crawler import Crawler
from bot.standin.slack.errors import ImpossibleActionError, SlackError
from bot.standin.slack.limits import Limits
from bot.standin.slack.messages import MessageStore
from bot.standin.slack.methods import METHODS
from bot.standin.slack.modals import ViewStore
from bot.standin.slack.people import People
from bot.standin.slack.request_url import RequestUrl
from bot.standin.slack.responses import use_response_url
from bot.standin.slack.sockets import SOCKET_FAULTS, Sockets
from bot.standin.slack.tickets import Tickets
from bot.standin.slack.uploads import File, Uploads
from bot.standin.slack.web import WebApi
from bot.standin.slack.world import Secrets, World

_LARGEST_BODY = 64 * 1024 * 1024


class SlackStandIn:
    """A workspace whose state lives below ``state/slack``.

    Tokens, messages and the port survive a restart, so that a running bot reconnects to it. With ``seed``
    envelopes choose between several sockets in a repeatable way.
    """

    def __init__(
        self,
        *,
        state: Path,
        clock: StandInClock,
        faults: Faults,
        scopes: Sequence[str] = SCOPES,
        seed: int | None = None,
    ) -> None:
        folder = state / "slack"
        folder.mkdir(parents=True, exist_ok=True)
        secrets = Secrets.kept_in(folder / "credentials.json")
        self.world = World(
            clock=clock,
            faults=faults,
            secrets=secrets,
            cast=Cast(),
            messages=MessageStore(clock, folder / "messages.jsonl"),
            views=ViewStore(clock),
            tickets=Tickets(clock),
            sockets=Sockets(clock, faults, seed=seed),
            limits=Limits(faults),
            crawler=Crawler(clock),
            request_url=RequestUrl(clock, secrets.signing_secret, secrets.verification_token),
            scopes=tuple(scopes),
            files=Uploads(folder / "files"),
        )
        self.world.messages.watch = self.world.crawler.look_at
        self.people = People(self.world)
        self._call_faults = CallFaults(faults)
        self._listener = Listener(self._application(), kept_port=folder / "port")

    @property
    def api_url(self) -> str:
        """The Web API's base URL, ending in ``/api/``."""
        return f"{self.world.base_url}/api/"

    @property
    def secrets(self) -> Secrets:
        """The app's credentials."""
        return self.world.secrets

    async def start(self) -> None:
        """Listen on loopback."""
        await self._listener.start()
        self.world.base_url = self._listener.url

    async def stop(self) -> None:
        """Close the sockets and the server."""
        await self.world.request_url.stop()
        await self.world.sockets.close()
        await self.world.crawler.close()
        await self._listener.stop()
        self.world.messages.close()

    async def apply_disconnects(self) -> None:
        """Carry out the armed faults of sockets now; without a socket they wait for the next one.

        Those armed with ``after`` set to ``envelope`` hit a socket between an envelope and its ack.
        """
        for kind in SOCKET_FAULTS:
            while fault := self.world.faults.take("slack", kind, after=""):
                await self.world.sockets.meet(fault)

    @staticmethod
    def check_method(method: str) -> None:
        """Refuse a fault for a call that there is not, which would never fire.

        Raises:
            ImpossibleActionError: With what can be named.
        """
        known = (*METHODS, RESPONSE_URL, UPLOAD)
        if method not in known:
            raise ImpossibleActionError(f"method must be one of {', '.join(sorted(known))}")

    def recover(self) -> None:
        """What disarming all faults does to those that have left a mark."""
        self.world.sockets.recover()

    async def deliver_to(self, url: str) -> None:
        """Deliver to this request URL after Slack's handshake with it; an empty text = over sockets again."""
        if url:
            await self.world.request_url.use(url)
        else:
            await self.world.request_url.stop()

    def messages(
        self, channel: str, thread: str | None = None, *, even_hidden: bool = False
    ) -> list[dict[str, Any]]:
        """The messages of a channel or thread as they stand, oldest first, replies included.

        Those that Slack hides are left out like in the client, unless asked for.
        """
        if channel not in self.world.cast.channels:
            known = ", ".join(self.world.cast.channels)
            raise ImpossibleActionError(f"there is no channel {channel!r}; there are {known}", status=404)
        found = self.world.messages.in_channel(channel, thread, even_hidden=even_hidden)
        return [message.shown() for message in found]

    def health(self) -> dict[str, Any]:
        """Open sockets, hidden messages, and how often each method was throttled."""
        world = self.world
        return {
            "sockets": world.sockets.connected,
            "hidden": world.messages.hidden(),
            "throttled": dict(world.limits.throttled),
        }

    def views(self, user: str) -> list[dict[str, Any]]:
        """A person's open modals, the top one last."""
        return [view.shown() for view in self.world.views.stack(user)]

    def home(self, user: str) -> dict[str, Any] | None:
        """A person's Home tab, if one was published."""
        view = self.world.views.home(user)
        return None if view is None else view.shown()

    def fill(self, user: str, view_id: str | None, values: Mapping[str, Mapping[str, Any]]) -> None:
        """What a person has typed into an open modal so far, submitted or not.

        A field that its modal would hold back at a submission keeps what it had.
        """
        view = self.world.views.top(user, view_id)
        for block_id, actions in values.items():
            with suppress(ImpossibleActionError):
                self.world.views.fill(view, {block_id: actions})

    def file(self, file_id: str) -> File:
        """An uploaded file."""
        file = self.world.files.find(file_id)
        if file is None or file.content is None:
            raise ImpossibleActionError(f"there is no uploaded file {file_id!r}", status=404)
        return file

    def change_members(self, group: str, *, add: Iterable[str], remove: Iterable[str]) -> list[str]:
        """Change who is in a channel or user group, and give its members."""
        adding, removing = list(add), set(remove)
        unknown = [user for user in adding if user not in self.world.cast.people]
        if unknown:
            raise ImpossibleActionError(f"there is no person {unknown[0]!r}")
        if group in self.world.cast.usergroups:
            users = self.world.cast.usergroups[group]
            users[:] = [user for user in dict.fromkeys([*users, *adding]) if user not in removing]
            return list(users)
        if group not in self.world.cast.channels:
            raise ImpossibleActionError(f"there is no channel or user group {group!r}", status=404)
        channel = self.world.cast.channels[group]
        channel.members = (channel.members | set(adding)) - removing
        return sorted(channel.members)

    def _application(self) -> web.Application:
        api = WebApi(self.world)
        application = web.Application(client_max_size=_LARGEST_BODY)
        application.router.add_route("*", "/api/{method}", api.handle)
        application.router.add_get("/link/", self.world.sockets.serve)
        application.router.add_post("/upload/v1/{key}", self._take_upload)
        for kind in ("commands", "actions"):
            application.router.add_post(f"/{kind}/{{team}}/{{number}}/{{secret}}", self._take_response)
        return application

    async def _take_response(self, request: web.Request) -> web.Response:
        text = await request.text()
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        self.world.record(RESPONSE_URL, body if body is not None else text)
        if not isinstance(body, dict):
            return web.Response(status=400, text="invalid_payload")
        try:
            await self._call_faults.before(RESPONSE_URL, request)
            use_response_url(self.world, request.path, body)
        except SlackError as refused:
            return web.Response(status=refused.status, text=refused.error, headers=refused.headers)
        await self._call_faults.after(RESPONSE_URL, request)
        return web.Response(text="ok")

    async def _take_upload(self, request: web.Request) -> web.Response:
        key = request.match_info["key"]
        file = self.world.files.awaited(key)
        content = await _uploaded_bytes(request)
        self.world.record(
            "upload", {"file": file.id if file else None, "content": content.decode("utf-8", "replace")}
        )
        if file is None or file.completed:
            return web.Response(status=404, text="file_not_found")
        if len(content) != file.length:  # the bytes that were announced, and no others
            return web.Response(status=400, text="invalid_length")
        try:
            await self._call_faults.before(UPLOAD, request)
        except SlackError as refused:
            return web.Response(status=refused.status, text=refused.error, headers=refused.headers)
        file.content = content
        await self._call_faults.after(UPLOAD, request)
        return web.Response(text=f"OK - {len(content)}")


async def _uploaded_bytes(request: web.Request) -> bytes:
    """The file in a raw body or in the first part of a form."""
    if request.content_type != "multipart/form-data":
        return await request.read()
    for part in (await request.post()).values():
        if isinstance(part, web.FileField):
            return part.file.read()
        if isinstance(part, str):
            return part.encode()
    return b""
