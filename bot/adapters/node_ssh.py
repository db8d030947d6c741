"""Port ``Node`` over one SSH connection that all calls share.

Values travel on standard input, never on a command line, so that none shows in the node's process list. The
node's own programs do the work (``bot.adapters.programs``), one round trip each.
"""

import asyncio
import functools
import json
import shlex
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncssh

from bot.adapters.node_looks import PULSE_BYTES, batches, pulse_of, sizes_of
from bot.adapters.programs.assemble import NODE_FILES, NODE_VERBS, program
from bot.domain.errors import NodeError
from bot.domain.provisioning import Generation, Seeding, SignIn
from bot.domain.rules import Deadlines
from bot.domain.sandbox import Places
from bot.ports import CommandResult, MarkersFound, NodePulse, Prepared, Seeded, Sizes, StoredAccess

MAX_OUTPUT = 1024 * 1024
"""Bytes of a command's standard output, and of its errors, that are kept; the rest is read and dropped."""

AT_ONCE = 8
"""Commands at once on one connection; OpenSSH opens at most ten sessions (``MaxSessions``)."""

CONNECT_SECONDS = 10.0
LOGIN_SECONDS = 15.0
KEEPALIVE_SECONDS = 15.0
CLOSE_SECONDS = 0.5
_CHUNK = 65_536

_CODES = frozenset(
    {
        "node-timeout",
        "unsafe-path",
        "not-writable",
        "disk-low",
        "disk-full",
        "default-home-missing",
        "public-skills-missing",
    }
)


class SshNode:
    """The node at ``host:port``, logged in to with ``key`` only and known by ``known_hosts`` only."""

    def __init__(
        self,
        node_id: str,
        host: str,
        port: int,
        user: str,
        key: Path | str,
        known_hosts: Path | str,
        *,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._node_id = node_id
        self._host = host
        self._port = port
        self._user = user
        self._key = str(key)
        self._known_hosts = str(known_hosts)
        self._deadlines = deadlines or Deadlines()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._connecting = asyncio.Lock()
        self._turns = asyncio.Semaphore(AT_ONCE)

    @functools.cached_property
    def _program(self) -> str:
        return "python3 -I -c " + shlex.quote(program(NODE_FILES, NODE_VERBS))

    @property
    def node_id(self) -> str:
        """Our id of the node."""
        return self._node_id

    async def prepare(
        self, places: Places, *, launch_env: Mapping[str, str], min_free_bytes: int
    ) -> Prepared:
        """Create and check the directories and store the launch environment."""
        answer = await self._verb("prepare", places, env=dict(launch_env), min_free_bytes=min_free_bytes)
        return Prepared(
            home_created=bool(answer["home_created"]),
            workspace_created=bool(answer["workspace_created"]),
            home_initialised=bool(answer["home_initialised"]),
            free_bytes=int(answer["free_bytes"]),
        )

    async def seed(self, places: Places) -> Seeded:
        """Fill a home without ``config.yaml``; safe to repeat, and it completes what was interrupted."""
        answer = await self._verb("seed", places)
        skipped = tuple(str(name) for name in answer["skipped"])
        return Seeded(outcome=Seeding(answer["outcome"]), files=int(answer["files"]), skipped=skipped)

    async def has_home(self, places: Places) -> bool:
        """Whether the home's directory exists."""
        return bool((await self._verb("has_home", places))["there"])

    async def launch_env(self, places: Places) -> dict[str, str] | None:
        """The stored launch environment, or None."""
        env = (await self._verb("launch_env", places))["env"]
        return None if env is None else {str(name): str(value) for name, value in env.items()}

    async def plant_markers(self, places: Places, marker: str) -> None:
        """Write the node's markers."""
        await self._verb("plant", places, marker=marker)

    async def collect_markers(self, places: Places, marker: str) -> MarkersFound:
        """Look for the answers and remove all markers. Never repeated: a second look would find none."""
        answer = await self._verb("collect", places, repeat=False, marker=marker)
        return MarkersFound(home=bool(answer["home"]), workspace=bool(answer["workspace"]))

    async def read_access(self, places: Places) -> StoredAccess | None:
        """The stored sign-in, or None."""
        access = (await self._verb("read_access", places))["access"]
        if access is None:
            return None
        return StoredAccess(
            generation=Generation(access["generation"]),
            token=access.get("token", ""),
            username=access.get("username", ""),
            password=access.get("password", ""),
            sign_in=SignIn(access.get("sign_in", SignIn.KNOWN)),
        )

    async def pulse(self, shared_root: str, homes: Collection[str]) -> NodePulse:
        """The heartbeats of these homes, and how the node is."""
        looks = []
        for some in batches(homes):
            arguments = {"shared_root": shared_root, "homes": some}
            looks.append((some, await self._ask("pulse", arguments, most_bytes=PULSE_BYTES)))
        return pulse_of(looks)

    async def sizes(self, places: Places) -> Sizes:
        """How much a home and its workspace hold."""
        return sizes_of(await self._verb("sizes", places))

    async def run(self, command: str, *, stdin: bytes = b"", deadline: float = 30.0) -> CommandResult:
        """One command, sent once: when the connection ends under it, it is not sent again."""
        exit_code, stdout, stderr = await self._execute(command, stdin, deadline)
        return CommandResult(exit_code, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))

    async def close(self) -> None:
        """End the connection; a node that does not take leave is left."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await connection.wait_closed()
            except TimeoutError:
                connection.abort()
            except (asyncssh.Error, OSError):
                return

    async def _verb(self, verb: str, places: Places, *, repeat: bool = True, **more: Any) -> dict[str, Any]:
        arguments = {
            "shared_root": places.shared_root,
            "home_id": places.home_id,
            "workspace_id": places.workspace_id,
            **more,
        }
        return await self._ask(verb, arguments, repeat=repeat)

    async def _ask(
        self, verb: str, arguments: Mapping[str, Any], *, repeat: bool = True, most_bytes: int = MAX_OUTPUT
    ) -> dict[str, Any]:
        seconds = self._deadlines.node
        stdin = json.dumps({**arguments, "seconds": seconds}).encode("utf-8")
        command = f"{self._program} {verb}"
        try:
            answer = await self._execute(command, stdin, seconds, most_bytes)
        except NodeError as error:
            if error.code != "node-unreachable" or not repeat or not isinstance(error.__cause__, _Lost):
                raise
            answer = await self._execute(command, stdin, seconds, most_bytes)
        return self._parse(verb, *answer)

    def _parse(self, verb: str, exit_code: int, stdout: bytes, stderr: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(stdout)
            if "ok" in answer:
                return dict(answer["ok"])
            code, message = str(answer["error"]["code"]), str(answer["error"]["message"])
        except (ValueError, KeyError, TypeError) as error:
            said = stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
            sentence = f"The program {verb} on node {self._node_id} ended with {exit_code}: {said[0][:300]}"
            raise NodeError("node-program-failed", sentence) from error
        raise NodeError(
            code if code in _CODES else "node-program-failed", f"Node {self._node_id}: {message}."
        )

    async def _execute(
        self, command: str, stdin: bytes, seconds: float, most_bytes: int = MAX_OUTPUT
    ) -> tuple[int, bytes, bytes]:
        async with self._turns:
            connection = await self._connect()
            try:
                async with asyncio.timeout(seconds):
                    return await _communicate(connection, command, stdin, most_bytes)
            except TimeoutError as error:
                sentence = f"Node {self._node_id} did not finish within {seconds:g} s."
                raise NodeError("node-timeout", sentence) from error
            except (asyncssh.Error, OSError) as error:
                if self._connection is connection and connection.is_closed():
                    self._connection = None
                sentence = f"The connection to node {self._node_id} ended during a command ({error})."
                raise NodeError("node-unreachable", sentence) from _Lost(str(error))

    async def _connect(self) -> asyncssh.SSHClientConnection:
        async with self._connecting:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._log_in()
            return self._connection

    async def _log_in(self) -> asyncssh.SSHClientConnection:
        where = f"{self._host}:{self._port}"
        try:
            async with asyncio.timeout(CONNECT_SECONDS + LOGIN_SECONDS):
                return await asyncssh.connect(
                    self._host,
                    self._port,
                    username=self._user,
                    client_keys=[self._key],
                    known_hosts=self._known_hosts,
                    config=None,
                    agent_path=None,
                    preferred_auth="publickey",
                    connect_timeout=CONNECT_SECONDS,
                    login_timeout=LOGIN_SECONDS,
                    keepalive_interval=KEEPALIVE_SECONDS,
                )
        except asyncssh.HostKeyNotVerifiable as error:
            sentence = (
                f"Node {self._node_id} at {where} does not show the host key that known_hosts has for it."
            )
            raise NodeError("host-key-changed", sentence) from error
        except asyncssh.PermissionDenied as error:
            sentence = f"Node {self._node_id} at {where} refuses the key of {self._user}."
            raise NodeError("node-login-refused", sentence) from error
        except TimeoutError as error:
            sentence = f"Node {self._node_id} at {where} did not answer in time."
            raise NodeError("node-unreachable", sentence) from error
        except (asyncssh.Error, OSError, ValueError) as error:
            sentence = f"Node {self._node_id} at {where} cannot be reached ({error})."
            raise NodeError("node-unreachable", sentence) from error


class _Lost(Exception):  # noqa: N818 - a circumstance: the command may or may not have run
    """An open connection ended under a command."""


async def _communicate(
    connection: asyncssh.SSHClientConnection, command: str, stdin: bytes, most_bytes: int
) -> tuple[int, bytes, bytes]:
    process = await connection.create_process(command, encoding=None)
    try:
        if stdin:
            process.stdin.write(stdin)
        process.stdin.write_eof()
        stdout, stderr = await asyncio.gather(
            _bounded(process.stdout, most_bytes), _bounded(process.stderr, MAX_OUTPUT)
        )
        await process.wait_closed()
    except BaseException:
        with suppress(OSError):
            process.terminate()
        process.close()
        raise
    if process.exit_status is None and process.exit_signal is None:
        raise asyncssh.ConnectionLost("no exit status")
    return int(process.returncode if process.returncode is not None else 255), stdout, stderr


async def _bounded(reader: asyncssh.SSHReader[bytes], most: int) -> bytes:
    kept = bytearray()
    while chunk := await reader.read(_CHUNK):
        kept += chunk[: most - len(kept)]
    return bytes(kept)
