"""CubeProxy: one request per connection, gated by the sandbox's state, then passed on as bytes."""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import AsyncIterator, Callable

from bot.standin.cube import proxy_answers
from bot.standin.cube.http_wire import HEAD_LIMIT, Head, WireError
from bot.standin.cube.lifecycle import Lifecycle, Machinery
from bot.standin.cube.proxy_route import Route, route_of
from bot.standin.cube.proxy_splice import Client, NoAnswerError, Splice, TooLargeError
from bot.standin.cube.record import Record

log = logging.getLogger(__name__)
# nginx.conf of CubeProxy: connect timeout, and the limit of the resume sub-request.
_CONNECT_SECONDS = 3.0
_RESUME_SECONDS = 25.0
_HEAD_SECONDS = 60.0
_JUPYTER_PORT = 49999
_TOKEN_HEADERS = ("e2b-traffic-access-token", "cube-traffic-access-token")


class AnswerError(Exception):
    """The proxy answers by itself with these bytes."""

    def __init__(self, answer: bytes) -> None:
        super().__init__(answer[:40])
        self.answer = answer


class Proxy:
    """The HTTP ingress. ``home_node`` is the node it runs on, whose sandboxes it reaches on any port."""

    def __init__(self, machinery: Machinery, lifecycle: Callable[[], Lifecycle], home_node: str) -> None:
        self._machinery = machinery
        self._platform = machinery.platform
        self._lifecycle = lifecycle
        self._home_node = home_node
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: dict[str, set[asyncio.Task[None]]] = {}

    async def start(self, listener: socket.socket) -> None:
        """Serve on a bound socket."""
        self._server = await asyncio.start_server(
            self._accepted, sock=listener, limit=HEAD_LIMIT, backlog=512
        )

    async def stop(self) -> None:
        """Close the listener and every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def break_connections(self, sandbox_id: str) -> None:
        """Cut what is open to a sandbox, as the end of its VM process does."""
        for task in list(self._open.get(sandbox_id, ())):
            task.cancel()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        self._tasks.add(task)
        client = Client(reader, writer)
        try:
            await self._serve(client, task)
        except (ConnectionError, asyncio.IncompleteReadError):
            client.abort()
        except asyncio.CancelledError:
            # Cut off by a pause, a kill or the end of the server: the peer sees a broken connection.
            client.abort()
        finally:
            await client.close()
            self._tasks.discard(task)

    async def _serve(self, client: Client, task: asyncio.Task[None]) -> None:
        try:
            head = Head.parse(await asyncio.wait_for(client.head(), _HEAD_SECONDS))
            route = _required(route_of(head))
            self._machinery.faults.count("cube", "data_plane")
            record = self._find(route, head)
        except TimeoutError:
            return
        except (WireError, asyncio.LimitOverrunError):
            await client.refuse(proxy_answers.page(400))
            return
        except AnswerError as error:
            await client.refuse(error.answer)
            return
        async with self._counted(record, task):
            try:
                await self._pass_on(client, head, route, record)
            except AnswerError as error:
                await client.refuse(error.answer)
            except TooLargeError:
                await client.refuse(proxy_answers.page(413))
            except NoAnswerError:
                await client.refuse(proxy_answers.page(502))

    @contextlib.asynccontextmanager
    async def _counted(self, record: Record, task: asyncio.Task[None]) -> AsyncIterator[None]:
        """Every request routed to a sandbox is activity, whatever its answer, when it ends."""
        tasks = self._open.setdefault(record.sandbox_id, set())
        tasks.add(task)
        try:
            yield
        finally:
            tasks.discard(task)
            if not tasks:
                self._open.pop(record.sandbox_id, None)
            record.touch(self._machinery.clock.time())
            self._machinery.store.mark(record)

    def _find(self, route: Route, head: Head) -> Record:
        """The sandbox of a route. Raises AnswerError for what never reaches one."""
        record = self._machinery.store.get(route.sandbox_id)
        if record is None:
            gone = self._lifecycle().is_gone(route.sandbox_id)
            raise AnswerError(proxy_answers.said(410 if gone else self._platform.unknown_route_status))
        if record.state == "killing":
            raise AnswerError(proxy_answers.said(410))
        if record.traffic_token and record.traffic_token not in {head.get(name) for name in _TOKEN_HEADERS}:
            raise AnswerError(proxy_answers.said(404 if self._platform.version == "0.5.1" else 403))
        if record.node_id != self._home_node and route.port not in record.exposed_ports:
            raise AnswerError(proxy_answers.said(404))
        return record

    async def _gate(self, record: Record) -> None:
        """Let a request through only to a running sandbox, waking it where that is allowed."""
        if record.state == "pausing":
            raise AnswerError(proxy_answers.said(503, retry_after=2))
        if record.state == "paused":
            if self._lifecycle().ills.is_tap_held(record):
                raise AnswerError(proxy_answers.said(503, retry_after=5))
            if record.paused_by == "api" and not self._platform.proxy_knows_api_pauses:
                await asyncio.sleep(_CONNECT_SECONDS)
                raise AnswerError(proxy_answers.page(504))
            if not record.auto_resume or not await self._woken(record):
                raise AnswerError(proxy_answers.said(503, retry_after=5))

    async def _woken(self, record: Record) -> bool:
        try:
            return await asyncio.wait_for(self._lifecycle().wake(record), _RESUME_SECONDS)
        except TimeoutError:
            return False

    async def _pass_on(self, client: Client, head: Head, route: Route, record: Record) -> None:
        await self._meet_faults(record, route.port)
        splice = Splice(client, head, route, str(record.network.get("maskRequestHost") or ""))
        splice.check_size()
        upstream = await self._connect(record, route.port)
        await splice.run(upstream)

    async def _meet_faults(self, record: Record, port: int) -> None:
        faults, match = self._machinery.faults, {"sandbox": record.sandbox_id, "port": port}
        if faults.take("cube", "proxy-unavailable", **match):
            raise AnswerError(proxy_answers.said(503))
        await self._gate(record)
        unreachable = faults.peek("cube", "node-gone", node=record.node_id)
        unreachable = unreachable or faults.take("cube", "data-plane-dead", **match)
        if unreachable is None and self._lifecycle().ills.is_dark(record):
            unreachable = faults.peek("cube", "running-but-dark", sandbox=record.sandbox_id)
        if unreachable is not None:
            await asyncio.sleep(unreachable.number("delay_s", _CONNECT_SECONDS))
            raise AnswerError(proxy_answers.page(504))
        if faults.take("cube", "nothing-listens", **match):
            raise AnswerError(proxy_answers.page(502))

    async def _connect(self, record: Record, port: int) -> socket.socket:
        runtime = self._lifecycle().runtimes.get(record.sandbox_id)
        if runtime is None and not record.paper:
            raise AnswerError(proxy_answers.page(504))
        try:
            if runtime is None:
                raise ConnectionRefusedError
            return await asyncio.wait_for(runtime.connect(port), _CONNECT_SECONDS)
        except TimeoutError:
            raise AnswerError(proxy_answers.page(504)) from None
        except OSError as error:
            if error.errno not in {errno.ECONNREFUSED, errno.ECONNRESET, None}:
                log.warning("port %d of %s cannot be reached: %s", port, record.sandbox_id, error)
            if port == _JUPYTER_PORT:
                text = "run_code is not available on this stand-in; use commands.run"
                raise AnswerError(proxy_answers.unsupported(text)) from None
            raise AnswerError(proxy_answers.page(502)) from None


def _required(route: Route | None) -> Route:
    if route is None:
        raise AnswerError(proxy_answers.said(400))
    return route
