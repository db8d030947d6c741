"""Port ``Cube`` through the official SDK, on a bounded pool of threads, with a deadline on every call.

An answer that may be repeated and names its Retry-After is waited for, a few times and within the deadline;
whatever else fails is the caller's to decide.

Looking never goes through ``Sandbox.connect``, which would resume a paused sandbox, and no handle is used in
a ``with`` statement, which would kill one. Whatever the SDK raises becomes a ``CubeError`` here, once.
"""

import asyncio
import builtins
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx
import requests
from cubesandbox import Config, Sandbox, Template
from cubesandbox._config import _auth_headers
from cubesandbox._exceptions import CubeSandboxError
from cubesandbox._transport import build_client

from bot.adapters.cube_session import Answer, BoundedStream, PatientSession, install, using
from bot.domain.cube_errors import DATA_PLANE, READS, CubeFault, FaultClass, classify
from bot.domain.errors import CubeError
from bot.domain.rules import Deadlines
from bot.domain.sandbox import (
    HOST_MOUNT_KEY,
    CreateSpec,
    SandboxState,
    SandboxView,
    TemplateView,
)
from bot.ports import CommandResult, Redactor

__all__ = ["MAX_OUTPUT", "CubeSdk", "classify"]

T = TypeVar("T")

MAX_OUTPUT = 1024 * 1024
"""Characters of standard output, and of standard error, that a command result keeps."""

_NONSENSE = (ValueError, KeyError, AttributeError, TypeError)
"""What the SDK raises when an answer has another shape than it expects."""

ATTEMPTS = 3
"""How often a call is made at most when Cube's answer says that it may be repeated, and after how long."""

_NEVER = "9999-"
"""The year that some versions write where others leave the end out."""

_GRACE_SECONDS = 2.0
"""What the deadline inside a thread has before the one outside gives up on the thread."""


class _Handle(Sandbox):  # type: ignore[misc]  # the SDK ships no types
    """The SDK's sandbox on connections of ours. Made for one call, so nothing in it outlives a pause."""

    def _reset_connections(self) -> None:
        """Leave the shared connections open when a handle is collected."""
        self._client = None


class CubeSdk:
    """Cube at ``api_url``; its sandboxes at ``proxy_ip:proxy_port``, or through DNS when there is no IP.

    ``threads`` calls run at once; further ones wait, and their waiting counts towards their deadline.
    """

    def __init__(
        self,
        api_url: str,
        api_key: str = "",
        proxy_ip: str = "",
        proxy_port: int = 80,
        domain: str = "cube.app",
        *,
        deadlines: Deadlines | None = None,
        redactor: Redactor | None = None,
        threads: int = 16,
    ) -> None:
        self._config = Config(
            api_url=api_url,
            api_key=api_key or None,
            template_id=None,
            proxy_node_ip=proxy_ip or None,
            proxy_port=proxy_port,
            sandbox_domain=domain,
        )
        if redactor is not None and api_key:
            redactor.learn(api_key)
        self._deadlines = deadlines or Deadlines()
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="cube")
        self._mine = threading.local()
        self._sessions: list[PatientSession] = []
        self._data: Any = None
        self._data_lock = threading.Lock()
        install()

    async def create(self, spec: CreateSpec) -> SandboxView:
        """Make a sandbox. The answer tells only its id, so the rest of the view is what was asked for."""

        def call() -> SandboxView:
            handle = _Handle.create(
                spec.template,
                timeout=spec.timeout,
                metadata=spec.metadata(),
                distribution_scope=list(spec.scope) or None,
                lifecycle={"on_timeout": spec.on_timeout, "auto_resume": spec.auto_resume},
                config=self._config,
            )
            return SandboxView(
                sandbox_id=handle.sandbox_id,
                state=SandboxState.RUNNING,
                template=spec.template,
                metadata={k: v for k, v in spec.metadata().items() if k != HOST_MOUNT_KEY},
                mounts=tuple((m.guest_path, m.read_only) for m in spec.mounts),
            )

        return await self._control("create", call, self._deadlines.create)

    async def list(self, *, labels: Mapping[str, str] | None = None) -> builtins.list[SandboxView]:
        """One call, filtered by Cube and, for platforms that ignore the filter, once more here."""
        wanted = dict(labels or {})

        def call() -> list[SandboxView]:
            if wanted:
                # The SDK's list takes no filter. All pairs travel url-encoded as one value.
                answer = self._session().get(
                    f"{self._config.api_url}/sandboxes",
                    params={"metadata": urlencode(wanted)},
                    headers=_auth_headers(self._config),
                )
                _raise_refusal("list", answer)
                entries = answer.json()
            else:
                entries = _Handle.list(config=self._config)
            views = [_view(entry) for entry in entries or []]
            return [view for view in views if wanted.items() <= view.metadata.items()]

        return await self._control("list", call)

    async def get(self, sandbox_id: str) -> SandboxView | None:
        """One sandbox; None on a 404."""

        def call() -> SandboxView:
            return _view(self._handle(sandbox_id).get_info())

        return await self._none_on(FaultClass.NOT_FOUND, self._control("get", call))

    async def kill(self, sandbox_id: str) -> None:
        """Destroy a sandbox."""
        await self._control("kill", lambda: self._handle(sandbox_id).kill())

    async def pause(self, sandbox_id: str) -> None:
        """Ask for a pause, without the SDK's own waiting, which would call a slow pause a failed one."""
        await self._control("pause", lambda: self._handle(sandbox_id).pause(wait=False))

    async def set_timeout(self, sandbox_id: str, seconds: int) -> None:
        """Its idle time from now on."""
        await self._control("timeout", lambda: self._handle(sandbox_id).set_timeout(seconds))

    async def resume(self, sandbox_id: str) -> None:
        """Wake a paused sandbox.

        Cube's ``connect`` does that without changing the idle timeout as long as none is sent; the SDK's
        ``resume`` is deprecated, and fails for a sandbox that runs.
        """

        def call() -> None:
            _Handle.connect(sandbox_id, config=self._config)

        await self._control("connect", call)

    async def templates(self) -> builtins.list[TemplateView]:
        """All templates."""

        def call() -> list[TemplateView]:
            return [_template(info) for info in Template.list(config=self._config)]

        return await self._control("template_list", call)

    async def template(self, name: str) -> TemplateView | None:
        """By id or alias; None on a 404."""

        def call() -> TemplateView:
            return _template(Template.get(name, config=self._config))

        return await self._none_on(FaultClass.TEMPLATE_NOT_FOUND, self._control("template_get", call))

    async def healthy(self) -> bool:
        """Whether CubeAPI answers and says ok."""
        try:
            answer = await self._control("health", lambda: Sandbox.health(config=self._config))
        except CubeError:
            return False
        return isinstance(answer, dict) and answer.get("status") in {"ok", "healthy"}

    async def run(
        self, sandbox_id: str, command: str, *, env: Mapping[str, str] | None = None, deadline: float = 30.0
    ) -> CommandResult:
        """A login shell's command, as root.

        A command that may have started and whose end is not known raises a fault of class
        ``unknown_outcome``; one that did not reach the sandbox raises what the proxy said.
        """
        if deadline <= 0:
            raise ValueError("a command's deadline is a positive number of seconds")

        def call(seconds: float) -> CommandResult:
            handle = self._handle(sandbox_id)
            handle._client = self._data_client()  # noqa: SLF001 - the SDK's slot for a client that is already there
            self._mine.answer, self._mine.until = None, time.monotonic() + seconds + 1
            try:
                result = handle.commands.run(command, envs=dict(env or {}), timeout=seconds, user="root")
            except (RuntimeError, httpx.HTTPError, *_NONSENSE) as error:
                raise CubeError(_run_fault(error, self._mine.answer)) from error
            return CommandResult(result.exit_code, result.stdout[:MAX_OUTPUT], result.stderr[:MAX_OUTPUT])

        return await _patiently(lambda left: self._on_thread("run", lambda: call(left), left + 1), deadline)

    def close(self) -> None:
        """Give connections and threads up. Calls that still run end on their own deadlines."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._data is not None:
            self._data.close()
        for session in self._sessions:
            session.shut()

    def _data_client(self) -> Any:
        """One for all threads, made at its first use: it loads the CA bundle, and a start should not wait."""
        with self._data_lock:
            if self._data is None:
                self._data = build_client(self._config, headers=_auth_headers(self._config))
                self._data.event_hooks = {"response": [self._on_response]}
                # A sandbox may have replaced its envd: it must not send our commands on to another one.
                self._data.follow_redirects = False
            return self._data

    def _handle(self, sandbox_id: str) -> _Handle:
        return _Handle({"sandboxID": sandbox_id, "templateID": ""}, self._config)

    def _session(self) -> PatientSession:
        """This thread's session for reads; its connections are kept."""
        session: PatientSession | None = getattr(self._mine, "session", None)
        if session is None:
            session = self._mine.session = PatientSession(self._config.api_url)
            self._sessions.append(session)
        return session

    async def _control(self, operation: str, call: Callable[[], T], seconds: float | None = None) -> T:
        def guarded(allowed: float) -> T:
            if operation in READS:
                return self._read(operation, call, allowed)
            session = PatientSession(self._config.api_url)
            try:
                return _translated(operation, call, session, allowed)
            finally:
                session.shut()

        return await _patiently(
            lambda left: self._on_thread(operation, lambda: guarded(left), left),
            seconds or self._deadlines.control,
        )

    def _read(self, operation: str, call: Callable[[], T], seconds: float) -> T:
        """On a kept connection; once more on a fresh one, as the kept one may just have been closed."""
        session = self._session()
        begun = time.monotonic()
        try:
            return _translated(operation, call, session, seconds)
        except CubeError as error:
            left = seconds - (time.monotonic() - begun)
            if not isinstance(error.__cause__, requests.ConnectionError) or left <= 0:
                raise
            session.shut()
            return _translated(operation, call, session, left)

    async def _on_thread(self, operation: str, call: Callable[[], T], seconds: float) -> T:
        future = self._pool.submit(call)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds + _GRACE_SECONDS)
        except TimeoutError as error:
            if future.cancelled():
                raise CubeError(_no_answer("get", f"all {self._threads} calls to Cube were busy")) from error
            raise CubeError(_no_answer(operation, f"no answer within {seconds:g} s")) from error

    async def _none_on(self, kind: FaultClass, looking: Awaitable[T]) -> T | None:
        try:
            return await looking
        except CubeError as error:
            if error.fault.kind is kind:
                return None
            raise

    def _on_response(self, response: httpx.Response) -> None:
        """Bound the body, and keep an error answer whole: the SDK passes only its words on."""
        stream = response.stream
        if isinstance(stream, httpx.SyncByteStream):
            response.stream = BoundedStream(stream, self._mine.until)
        if response.is_error or response.is_redirect:
            response.read()
            self._mine.answer = Answer(response.status_code, response.text, dict(response.headers))


async def _patiently(attempt: Callable[[float], Awaitable[T]], seconds: float) -> T:
    """Make a call that may take ``seconds``, again after the wait that Cube asks for while that fits in."""
    until = time.monotonic() + seconds
    for _ in range(ATTEMPTS - 1):
        try:
            return await attempt(until - time.monotonic())
        except CubeError as error:
            wait = error.fault.retry_after_s
            if wait is None or not error.fault.retryable or time.monotonic() + wait >= until:
                raise
        await asyncio.sleep(wait)
    return await attempt(until - time.monotonic())


def _translated(operation: str, call: Callable[[], T], session: PatientSession, seconds: float) -> T:
    session.begin(seconds)
    try:
        with using(session):
            return call()
    except (CubeSandboxError, requests.RequestException, *_NONSENSE) as error:
        if not session.sent and not isinstance(error, requests.RequestException):
            raise  # the call itself was wrong, and Cube never heard of it
        raise CubeError(_control_fault(operation, session, error)) from error


def _control_fault(operation: str, session: PatientSession, error: Exception) -> CubeFault:
    refused = session.refused
    if refused is not None:
        return classify(operation, refused.status, refused.body, refused.headers)
    if not session.sent:
        # No connection stood, or the request was never made: nothing can have happened.
        return _no_answer("get", f"no connection to CubeAPI ({type(error).__name__})")
    if isinstance(error, requests.Timeout):
        return _no_answer(operation, "no answer before the deadline")
    if isinstance(error, requests.ConnectionError):
        return _no_answer(operation, "the connection ended before the answer")
    return _no_answer(operation, "the answer was not what CubeAPI sends")


def _no_answer(operation: str, words: str) -> CubeFault:
    return classify(operation, None, words, {})


def _run_fault(error: Exception, answer: Answer | None) -> CubeFault:
    if answer is not None:
        return classify(DATA_PLANE, answer.status, answer.body, answer.headers)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return _no_answer(DATA_PLANE, f"no connection to CubeProxy ({type(error).__name__})")
    words = str(error)
    if words.startswith("unauthenticated"):
        return classify(DATA_PLANE, 401, words, {})
    if isinstance(error, httpx.TimeoutException) or words.startswith("deadline_exceeded"):
        return _no_answer("run", "the command did not end before its deadline")
    if isinstance(error, RuntimeError) and words.startswith(("resource_exhausted", "unavailable")):
        return classify(DATA_PLANE, 500, words, {})
    return _no_answer("run", f"the command's answer broke off ({words[:200] or type(error).__name__})")


def _raise_refusal(operation: str, answer: requests.Response) -> None:
    if not answer.ok:
        fault = classify(operation, answer.status_code, answer.text, dict(answer.headers))
        raise CubeError(fault)


def _view(entry: Mapping[str, Any]) -> SandboxView:
    mounts = entry.get("volumeMounts") or []
    end_at = str(entry.get("endAt") or "")
    return SandboxView(
        sandbox_id=str(entry["sandboxID"]),
        state=SandboxState.of(str(entry.get("state", ""))),
        template=str(entry.get("templateID") or ""),
        metadata={str(k): str(v) for k, v in (entry.get("metadata") or {}).items()},
        started_at=str(entry.get("startedAt") or ""),
        end_at=None if end_at.startswith(_NEVER) else end_at or None,
        host_id=str(entry.get("clientID") or ""),
        mounts=tuple((str(m.get("path", "")), bool(m.get("readOnly"))) for m in mounts),
    )


def _template(info: Any) -> TemplateView:
    request, replicas = info.create_request, info.replicas
    ports = request.get("exposedPorts") if isinstance(request, dict) else None
    told = isinstance(ports, list) and all(isinstance(port, int) for port in ports)
    copies = [entry for entry in replicas or () if isinstance(entry, dict)]
    return TemplateView(
        template_id=info.template_id,
        name=info.name,
        status=info.status,
        exposed_ports=frozenset(ports) if told and ports else None,
        replicas=tuple((_node_of(copy), str(copy.get("status") or "")) for copy in copies) or None,
    )


def _node_of(replica: Mapping[str, Any]) -> str:
    return str(replica.get("nodeID") or replica.get("nodeId") or replica.get("node_id") or "")
