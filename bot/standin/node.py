"""The node's SSH server: a real one, on loopback, for one user with one key.

Commands run as root in the view of a :class:`bot.standin.node_space.NodeSpace`, where ``/data/shared``
is a directory of the stand-in's state.
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import asyncssh

from bot.standin.faults import Fault, Faults
from bot.standin.node_exec import Command
from bot.standin.node_mounts import remount
from bot.standin.node_space import NodeSpace

_HOST = "127.0.0.1"
_USER = "root"
_KEY_TYPE = "ssh-ed25519"
_MAX_SESSIONS = 10  # sshd_config(5), MaxSessions: open sessions per connection
_LOOK_FOR_FAULTS_S = 0.05
_CONDITIONS = ("host-key-changed", "auth-refused", "read-only-root")


class NodeServer:
    """SSH access to one node.

    ``state`` keeps the host key, the client key (0600), ``known_hosts`` and the port, so that a restart
    looks like the same machine. ``address``, ``client_key`` and ``known_hosts`` are good after ``start``.
    """

    def __init__(self, *, state: Path, space: NodeSpace, faults: Faults) -> None:
        self.user = _USER
        self.address: tuple[str, int] = (_HOST, 0)
        self._directory = state / "ssh" / space.node_id
        self.client_key = self._directory / "client_key"
        self.known_hosts = self._directory / "known_hosts"
        self._space = space
        self._faults = faults
        self._listener: asyncssh.SSHAcceptor | None = None
        self._watch: asyncio.Task[None] | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._commands: set[Command] = set()
        self._own_key: asyncssh.SSHKey | None = None
        self._conditions: frozenset[str] = frozenset()

    async def start(self) -> None:
        """Listen. The space must have been started. Raises OSError when no port can be had."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        host_key = _load_or_make(self._directory / "host_key")
        client = _load_or_make(self.client_key).convert_to_public()
        self._listener = await self._listen(host_key, client)
        self.address = (_HOST, self._listener.get_port())
        (self._directory / "port").write_text(f"{self.address[1]}\n", encoding="ascii")
        public = host_key.export_public_key().decode().strip()
        self.known_hosts.write_text(f"[{_HOST}]:{self.address[1]} {public}\n", encoding="ascii")
        self._watch = asyncio.get_running_loop().create_task(self._drop_while_down())
        self._own_key = host_key
        self._faults.watch(self._match_faults)
        self._match_faults()

    async def stop(self) -> None:
        """Close the port and every connection, and end every command that still runs."""
        if self._own_key:
            self._faults.unwatch(self._match_faults)
            self._become(frozenset())
            self._own_key = None
        if self._watch:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        if self._listener:
            self._listener.close()
            await self._listener.wait_closed()
            self._listener = None
        self.drop_connections()
        for command in list(self._commands):
            command.kill()
            await command.closed.wait()

    def drop_connections(self) -> None:
        """Cut every open connection, as a node does that goes down."""
        for connection in list(self._connections):
            connection.abort()

    def _match_faults(self) -> None:
        armed = {kind for kind in _CONDITIONS if self._faults.peek("node", kind, node=self._space.node_id)}
        self._become(frozenset(armed))

    def _become(self, wanted: frozenset[str]) -> None:
        """Take on the conditions that are armed, and give up the others."""
        changed, self._conditions = self._conditions ^ wanted, wanted
        if "read-only-root" in changed:
            remount(self._space.enter_argv(), self._space.shared, read_only="read-only-root" in wanted)
        if "host-key-changed" in changed and self._listener and self._own_key:
            strange = "host-key-changed" in wanted
            shown = asyncssh.generate_private_key(_KEY_TYPE) if strange else self._own_key
            self._listener.update(server_host_keys=[shown])
        # A machine that comes back with another key, or without ours, has lost its connections.
        if changed & wanted & {"host-key-changed", "auth-refused"}:
            self.drop_connections()

    async def _listen(self, host_key: asyncssh.SSHKey, client: asyncssh.SSHKey) -> asyncssh.SSHAcceptor:
        port_file = self._directory / "port"
        last = int(port_file.read_text(encoding="ascii")) if port_file.exists() else 0
        for port in dict.fromkeys((last, 0)):
            try:
                return await asyncssh.listen(
                    _HOST,
                    port,
                    server_factory=lambda: _Login(self, client),
                    server_host_keys=[host_key],
                    password_auth=False,
                    kbdint_auth=False,
                    host_based_auth=False,
                    allow_pty=False,
                    allow_scp=False,
                    agent_forwarding=False,
                    x11_forwarding=False,
                    encoding=None,
                )
            except OSError:
                # Somebody else has taken last time's port; any other will do.
                if port == 0:
                    raise
        raise AssertionError("port 0 either listens or raises")

    async def _drop_while_down(self) -> None:
        """Look for ``ssh-down`` now and then, so that a command under way loses its connection too."""
        while True:
            if self._connections and self._faults.peek("node", "ssh-down", node=self._space.node_id):
                self.drop_connections()
            await asyncio.sleep(_LOOK_FOR_FAULTS_S)

    def take(self, kind: str) -> Fault | None:
        """Use up a fault of this node."""
        return self._faults.take("node", kind, node=self._space.node_id)

    def _opened(self, connection: asyncssh.SSHServerConnection) -> bool:
        """Note a new connection; False when the node is down, which uses the fault up once."""
        self._faults.count("node", "connection")
        if self.take("ssh-down"):
            self.drop_connections()
            return False
        self._connections.add(connection)
        # This connection shows its key already; one that was counted is over for the next.
        self.take("host-key-changed")
        return True

    def _lost(self, connection: asyncssh.SSHServerConnection) -> None:
        self._connections.discard(connection)

    def _command(self, connection: asyncssh.SSHServerConnection) -> Command:
        command = Command(
            space=self._space,
            faults=self._faults,
            drop=connection.abort,
            ended=self._commands.discard,
        )
        self._commands.add(command)
        return command


class _Login(asyncssh.SSHServer):
    """One connection: root, by the one client key, for commands only."""

    def __init__(self, node: NodeServer, client: asyncssh.SSHKey) -> None:
        self._node = node
        self._client = client
        self._connection: asyncssh.SSHServerConnection | None = None
        self._sessions: list[Command] = []
        self._refuses = False

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        if not self._node._opened(conn):  # noqa: SLF001 - one story told by two classes of this module
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._connection is not None:
            self._node._lost(self._connection)  # noqa: SLF001 - see above

    async def begin_auth(self, username: str) -> bool:
        del username
        self._refuses = self._node.take("auth-refused") is not None
        slow = self._node.take("connect-slow")
        if slow is not None:
            await asyncio.sleep(slow.number("delay_s", 2.0))
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return not self._refuses and username == _USER and key.public_data == self._client.public_data

    def session_requested(self) -> Command:
        self._sessions = [session for session in self._sessions if not session.closed.is_set()]
        if self._connection is None or len(self._sessions) >= _MAX_SESSIONS:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, "open failed")
        command = self._node._command(self._connection)  # noqa: SLF001 - see above
        self._sessions.append(command)
        return command


def _load_or_make(path: Path) -> asyncssh.SSHKey:
    """The private key kept in a file (0600), made on first use."""
    if not path.exists():
        key = asyncssh.generate_private_key(_KEY_TYPE)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(key.export_private_key("openssh"))
    return asyncssh.read_private_key(str(path))
