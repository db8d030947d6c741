"""In the sandbox: which processes belong to Studio, who listens on its port, and how to end them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from bot.adapters.programs.beneath import Refusal

LISTENING = "0A"
POLL_SECONDS = 0.05
STOP_COMMAND_SECONDS = 45
TERM_SECONDS = 15.0
KILL_SECONDS = 5.0
INTERPRETERS = ("python", "node", "bun")
STUDIO_WORDS = ("hermes-web-ui", "hermes_bridge", "hermes-studio")


def port_open(port: int) -> bool:
    """Whether something accepts a connection on loopback."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False


def is_studio(argv: list[str]) -> bool:
    """Whether a command line is Studio's server, its agent bridge or its gateway.

    What counts is the program or the script that an interpreter runs, not what else is named: an editor
    that has a file of Studio open is left alone.
    """
    script, rest = _script(argv)
    if any(word in script for word in STUDIO_WORDS):
        return True
    return Path(script).name == "hermes" and "gateway" in rest[:2]


def _script(argv: list[str]) -> tuple[str, list[str]]:
    """The program, or the script of an interpreter, and the arguments behind it."""
    if not argv or not Path(argv[0]).name.startswith(INTERPRETERS):
        return (argv[0] if argv else ""), argv[1:]
    for position, argument in enumerate(argv[1:], start=1):
        if argument in ("-c", "-e", "-"):
            return "", []
        if not argument.startswith("-"):
            return argument, argv[position + 1 :]
    return "", []


def studio_processes() -> list[int]:
    """Processes of Studio, this program and its ancestors aside."""
    return [pid for pid, argv in command_lines() if is_studio(argv)]


def command_lines() -> list[tuple[int, list[str]]]:
    """Every process with its command line, this program and its ancestors aside."""
    mine = _ancestors()
    found = []
    for pid in _processes():
        if pid not in mine:
            try:
                argv = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
            found.append((pid, argv))
    return found


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _ancestors() -> set[int]:
    found = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = int((_stat_fields(pid) or ["", "0"])[1])
    return found


def _stat_fields(pid: int) -> list[str]:
    """State, parent and so on: what follows the name in ``/proc/PID/stat``."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return []


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    fields = _stat_fields(pid)
    return bool(fields) and fields[0] not in ("Z", "X")


def listeners(port: int) -> list[int]:
    """Processes that hold a listening socket on the port."""
    inodes = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        try:
            rows = [line.split() for line in Path(table).read_text(encoding="ascii").splitlines()[1:]]
        except OSError:
            continue
        inodes |= {
            f"socket:[{row[9]}]" for row in rows if row[3] == LISTENING and row[1].endswith(f":{port:04X}")
        }
    return [pid for pid in _processes() if _holds(pid, inodes)] if inodes else []


def _holds(pid: int, inodes: set[str]) -> bool:
    try:
        # Path.readlink came with Python 3.9.
        return any(os.readlink(handle) in inodes for handle in Path(f"/proc/{pid}/fd").iterdir())  # noqa: PTH115
    except OSError:
        return False


def end(pids: list[int]) -> None:
    """SIGTERM, so that databases are closed; SIGKILL for what is still there afterwards."""
    for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        left = [pid for pid in pids if alive(pid)]
        for pid in left:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + seconds
        while any(alive(pid) for pid in left) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


def stop_studio(env: dict[str, str], port: int) -> bool:
    """End whatever Studio runs here, ours or one that the template brought along; False when none did.

    Studio's own ``stop`` comes first, once for our web home and once for its default one, as each knows only
    the process that its pid file names. What is left is ended by process id.
    """
    if not port_open(port) and not studio_processes():
        return False
    default = {name: value for name, value in env.items() if name != "HERMES_WEB_UI_HOME"}
    for environment in (env, default):
        _stop_command(environment)
        if not port_open(port) and not studio_processes():
            return True
    end(sorted({*listeners(port), *studio_processes()}))
    if port_open(port):
        raise Refusal("program-failed", f"something still listens on port {port} after Studio was stopped")
    return True


def _stop_command(env: dict[str, str]) -> None:
    try:
        subprocess.run(
            ["hermes-web-ui", "stop"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd="/",
            timeout=STOP_COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # what it could not end is ended by process id
