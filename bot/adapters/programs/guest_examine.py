"""In the sandbox: how everything there is, by looking; a write is tried and leaves nothing behind.

Each part is examined by itself: what fails is told with its reason, and the rest is examined all the same.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.adapters.programs.beneath import BOT_DIRECTORY, Refusal, open_regular, open_root
from bot.adapters.programs.guest_entries import kind_of
from bot.adapters.programs.guest_facts import database_facts, lacks_wal_guard, version_of
from bot.adapters.programs.guest_file_system import file_system
from bot.adapters.programs.guest_login import call
from bot.adapters.programs.guest_mounts import MOUNT_INFO, mount_mode
from bot.adapters.programs.guest_network import listening, reached
from bot.adapters.programs.guest_processes import command_lines, is_studio
from bot.adapters.programs.guest_skills import inventory

if TYPE_CHECKING:
    from collections.abc import Callable

PROBE = ".hermes-bot-probe"
PROBE_BYTES = 4096
LOGS = ("server.log", "logs/server.log", "logs/bridge.log")
LOG_BYTES = 16_384
LOG_LINES = 12
LINE_CHARACTERS = 240
MAX_NAMES = 40


def examine(args: dict[str, Any]) -> dict[str, Any]:
    """All parts; those that could not be examined stand in ``untold`` with the reason."""
    parts: dict[str, Callable[[], Any]] = {
        "mounts": lambda: mounts(args),
        "resources": lambda: resources(args["home"]),
        "databases": lambda: database_facts(args["home"]),
        "processes": studio_names,
        "listeners": listening,
        "studio": lambda: health(int(args["port"])),
        "log": lambda: log_tail(f"{args['home']}/{BOT_DIRECTORY}/web-ui"),
        "config": lambda: config_kind(f"{args['home']}/config.yaml"),
        "skills": lambda: inventory(args),
        "endpoints": lambda: reached(args["endpoints"]),
    }
    report: dict[str, Any] = {"now": time.time(), "uid": os.getuid()}
    untold = {}
    for name, look in parts.items():
        try:
            report[name] = look()
        except Refusal as refusal:
            untold[name] = str(refusal)
        except (OSError, ValueError) as error:
            untold[name] = getattr(error, "strerror", None) or type(error).__name__
    return {**report, "untold": untold}


def mounts(args: dict[str, Any]) -> dict[str, Any]:
    """The three mounts: what the kernel says of them, and what it says to a write."""
    mount_info = Path(MOUNT_INFO).read_text(encoding="utf-8", errors="surrogateescape")
    return {side: _mount(args[side], mount_info) for side in ("home", "workspace", "public")}


def _mount(path: str, mount_info: str) -> dict[str, Any]:
    found: dict[str, Any] = {"path": path, "mode": mount_mode(mount_info, path)}
    try:
        status = Path(path).stat()
    except OSError as error:
        return {**found, "write": errno.errorcode.get(error.errno or 0, "")}
    told = {"uid": status.st_uid, "permissions": stat.S_IMODE(status.st_mode)}
    return {**found, **told, "write": try_write(path)}


def try_write(path: str) -> str:
    """``ok``, or the name of the error. The file has no name where the file system can do that."""
    try:
        directory = open_root(path)
    except (Refusal, OSError) as error:
        return errno.errorcode.get(getattr(error, "errno", None) or 0, "ENOENT")
    try:
        fd, name = _scratch(directory)
        try:
            os.write(fd, b"\0" * PROBE_BYTES)
            os.fsync(fd)  # a full disk may show only here
        finally:
            os.close(fd)
            if name:
                os.unlink(name, dir_fd=directory)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "EIO")
    finally:
        os.close(directory)
    return "ok"


def _scratch(directory: int) -> tuple[int, str]:
    """A file to write to, and its name, empty where it has none."""
    try:
        return os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o600, dir_fd=directory), ""
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            raise
    name = f"{PROBE}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=directory), name


def resources(home: str) -> dict[str, Any]:
    """Memory, the sandbox's own disk, and what the home stands on."""
    table = {}
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        name, _, rest = line.partition(":")
        table[name] = int(rest.split()[0]) * 1024
    figures = os.statvfs("/")
    return {
        "memory_free": table.get("MemAvailable"),
        "memory_total": table.get("MemTotal"),
        "disk_free": figures.f_bavail * figures.f_frsize,
        "file_system": file_system(home),
    }


def studio_names() -> list[str]:
    """The programs or scripts of Studio that run, without their arguments."""
    return [_short(argv) for _, argv in command_lines() if is_studio(argv)][:MAX_NAMES]


def _short(argv: list[str]) -> str:
    words = [Path(word).name for word in argv if word and not word.startswith("-")]
    return " ".join(words[:2])[:80]


def health(port: int) -> dict[str, Any]:
    """What Studio says of itself on loopback."""
    status, body = call(port, "GET", "/health")
    if not status:
        return {"word": "silent"}
    if not isinstance(body, dict):
        return {"word": "not-ready", "note": f"it answers {status} with a page instead of its health"}
    told = body.get("agent_bridge")
    bridge = told if isinstance(told, dict) else {}
    version = version_of(str(body.get("version") or ""))
    found = {"version": version, "lacks_wal_guard": lacks_wal_guard(version)}
    if bridge.get("ready") is not True:
        state = str(bridge.get("status") or "absent")[:40]
        return {**found, "word": "not-ready", "note": f"its agent bridge is {state!r}"}
    if not version:
        return {**found, "word": "not-ready", "note": "its agent does not tell its version"}
    return {**found, "word": "ready"}


def log_tail(web_home: str) -> list[str]:
    """The last lines of Studio's logs; what could be a secret is taken out by the bot."""
    lines = []
    for name in LOGS:
        try:
            fd = open_regular(f"{web_home}/{name}")
        except (OSError, Refusal):
            continue
        with os.fdopen(fd, "rb") as file:
            start = max(0, os.fstat(fd).st_size - LOG_BYTES)
            file.seek(start)
            text = file.read(LOG_BYTES).decode("utf-8", "replace")
        whole = text.splitlines()[1 if start else 0 :]
        lines += [f"{name}: {shown}" for shown in map(log_line, whole) if shown][-LOG_LINES:]
    return lines


def log_line(line: str) -> str:
    """A line without control characters and tokens, cut between words: half a secret is known to nobody."""
    text = re.sub(r"token=[^\s&]+|\b[0-9a-fA-F]{64}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]+", "(hidden)", line)
    text = "".join(c if c.isprintable() else " " for c in text).strip()
    if len(text) <= LINE_CHARACTERS:
        return text
    return text[:LINE_CHARACTERS].rpartition(" ")[0] + " (cut)"


def config_kind(path: str) -> str:
    """What the agent finds as its settings, through a link where there is one."""
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return "nothing" if Path(path).is_symlink() else "absent"
    return "file" if stat.S_ISREG(mode) else kind_of(mode)
