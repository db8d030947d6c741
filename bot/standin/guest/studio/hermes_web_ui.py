"""``hermes-web-ui``: starts, stops and asks after Studio's web server."""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from contextlib import suppress

from .child import THRIFT, Child
from .listener import is_alive, is_healthy, is_open, pid_on
from .login_locks import LoginLocks
from .places import (
    DEFAULT_PORT,
    LIBRARY,
    complain,
    generation,
    say,
    standin_options,
    studio_version,
    web_home,
)
from .users_db import FIRST_NAME, UsersDb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .place import Place

_START_S = 30.0
_STOP_S = 15.0
_POLL_S = 0.02


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit codes are the real program's."""
    options = _parser().parse_args(argv)
    if options.version:
        say(f"hermes-web-ui v{studio_version()}")
        return 0
    commands: dict[str, Callable[[], int]] = {
        "start": lambda: _start(options.port),
        "stop": _stop,
        "restart": lambda: _restart(options.port or _last_port()),
        "status": _status,
        "clear-login-locks": lambda: _clear_login_locks(restart=options.restart),
        "reset-default-login": _reset_default_login,
    }
    if options.command is None:
        _parser().print_help()
        return 1
    return commands[options.command]()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hermes-web-ui", description="Hermes Studio (stand-in)")
    parser.add_argument("-v", "--version", action="store_true")
    commands = parser.add_subparsers(dest="command")
    for name in ("start", "restart"):
        command = commands.add_parser(name)
        command.add_argument("--port", type=int, default=DEFAULT_PORT if name == "start" else None)
        command.add_argument("--no-open", action="store_true")
    commands.add_parser("stop")
    commands.add_parser("status")
    commands.add_parser("clear-login-locks").add_argument("--restart", action="store_true")
    commands.add_parser("reset-default-login")
    return parser


def _start(port: int) -> int:
    """Start in the background: 0 once ``/health`` answers, 1 when already running or unable to."""
    if standin_options().get("studio") == "does-not-start":
        complain("hermes-web-ui failed to start: Cannot find module 'dist/server/index.js'")
        return 1
    running = _running_pid()
    if running is None and is_open(port):
        # Whoever listens there is taken for a Studio, and a later stop ends it.
        running = pid_on(port)
        if running is not None:
            _remember(running, port)
    if running is not None or is_open(port):
        say(f"hermes-web-ui is already running (PID {running or 'unknown'}, port {port})")
        return 1
    try:
        server = _spawn(port)
    except OSError as error:
        complain(f"hermes-web-ui failed to start: {error}")
        return 1
    if not _becomes_healthy(server, port):
        complain("hermes-web-ui failed to start")
        complain(_tail(web_home() / "server.log"))
        server.send(signal.SIGTERM)
        return 1
    say(f"hermes-web-ui v{studio_version()} is running (PID {server.pid})")
    say(f"  {_link(port)}")
    return 0


def _spawn(port: int) -> Child:
    own = web_home()
    own.make_dir()
    return Child(
        [LIBRARY / "server", str(port)],
        output=own / "server.log",
        env={**os.environ, **THRIFT},
        leads_session=True,
    )


def _becomes_healthy(server: Child, port: int) -> bool:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        if is_healthy(port):
            return True
        time.sleep(_POLL_S)
    return False


def _link(port: int) -> str:
    """The address a person opens; the token generation prints it with the token in it."""
    if generation() == "users":
        return f"http://localhost:{port}/"
    token = os.environ.get("AUTH_TOKEN") or (web_home() / ".token").read_text().strip()
    return f"http://localhost:{port}/#/?token={token}"


def _stop() -> int:
    """SIGTERM, SIGKILL after 15 s: 0 when stopped, 1 when there was nothing to stop."""
    pid = _running_pid()
    if pid is None:
        say("hermes-web-ui is not running")
        return 1
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_S
    while is_alive(pid):
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_S)
    (web_home() / "server.pid").remove()
    say(f"hermes-web-ui stopped (PID {pid})")
    return 0


def _restart(port: int) -> int:
    _stop()
    return _start(port)


def _status() -> int:
    pid = _running_pid()
    if pid is None:
        say("hermes-web-ui is not running")
    else:
        say(f"hermes-web-ui is running (PID {pid}, port {_last_port()})")
    return 0


def _clear_login_locks(*, restart: bool) -> int:
    cleared = LoginLocks(web_home() / ".login-lock.json").clear()
    say("Login locks cleared" if cleared else "There are no login locks")
    if restart and _running_pid() is not None:
        return _restart(_last_port())
    return 0


def _reset_default_login() -> int:
    if generation() != "users" or not (web_home() / "hermes-web-ui.db").exists():
        complain("There are no accounts here")
        return 1
    users = UsersDb(web_home() / "hermes-web-ui.db")
    try:
        users.reset_first_login()
    finally:
        users.close()
    say(f"The next login is {FIRST_NAME} with the default password")
    return 0


def _running_pid() -> int | None:
    """The process in server.pid if it lives and listens on the recorded port.

    A web home that outlives its sandbox brings a stale number with it, which another process may bear now.
    """
    try:
        pid = int((web_home() / "server.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if is_alive(pid) and pid_on(_last_port()) == pid else None


def _last_port() -> int:
    try:
        return int(json.loads((web_home() / "config.json").read_text())["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return DEFAULT_PORT


def _remember(pid: int, port: int) -> None:
    own = web_home()
    own.make_dir()
    (own / "config.json").write_text(json.dumps({"port": port}) + "\n")
    (own / "server.pid").write_text(f"{pid}\n")


def _tail(path: Place) -> str:
    with suppress(OSError):
        return "\n".join(path.read_bytes().decode("utf-8", "replace").splitlines()[-5:])
    return ""
