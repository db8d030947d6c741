"""On the node: how a home, its workspace and the public Skills stand, by looking only.

Nothing is opened through a link, nothing is written, no database is opened: its journal mode stands in the
header of the file. What cannot be looked at is told as such, and the rest is looked at all the same.
"""

from __future__ import annotations

import base64
import itertools
import os
import stat
import time
from typing import TYPE_CHECKING, Any

from bot.adapters.programs.beneath import BOT_DIRECTORY, Refusal, check_name, open_dir, open_root, read_file
from bot.adapters.programs.node_prepare import HOMES, PUBLIC_SKILLS, WORKSPACES, check_id
from bot.adapters.programs.shapes import ACCESS_FILE, ENV_FILE, stored_access, stored_env

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_CONFIG = 262_144
MAX_COUNTED = 5000
HEADER_BYTES = 100
MAGIC = b"SQLite format 3\0"
JOURNAL_MODES = {1: "rollback", 2: "wal"}
"""The write version at offset 18 of the header, and the read version behind it (SQLite file format)."""

MOUNT_FIELDS = 10


def examine(args: dict[str, Any]) -> dict[str, Any]:
    """All of it, each part by itself."""
    root = open_root(args["shared_root"])
    home, home_fd = _directory(root, args["shared_root"], HOMES, check_id(args["home_id"]))
    workspace, workspace_fd = _directory(
        root, args["shared_root"], WORKSPACES, check_id(args["workspace_id"])
    )
    public, public_fd = _directory(root, args["shared_root"], "", PUBLIC_SKILLS)
    report: dict[str, Any] = {
        "home": home,
        "workspace": workspace,
        "public_skills": public,
        "home_disk": disk(home_fd if home_fd >= 0 else root),
        "workspace_disk": disk(workspace_fd if workspace_fd >= 0 else root),
        "public_names": count(public_fd) if public_fd >= 0 else None,
    }
    if home_fd >= 0:
        report.update(_inside_home(home_fd, home["path"]))
    report["now"] = time.time()
    return report


def _directory(root: int, shared_root: str, parent: str, name: str) -> tuple[dict[str, Any], int]:
    """How a directory two levels below the root stands, and a descriptor of it, or -1."""
    path = "/".join(part for part in (shared_root, parent, name) if part)
    try:
        above = open_dir(root, parent) if parent else root
    except Refusal as refusal:
        return {"path": path, "kind": "unsafe", "note": str(refusal)}, -1
    except OSError as error:
        kind = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
        return {"path": path, "kind": kind, "note": error.strerror or ""}, -1
    place = describe(above, name, path)
    if place["kind"] != "dir":
        return place, -1
    try:
        return place, open_dir(above, name)
    except Refusal as refusal:  # swapped for a link in between
        return {"path": path, "kind": "unsafe", "note": str(refusal)}, -1
    except OSError as error:
        return {**place, "kind": "unreadable", "note": error.strerror or ""}, -1


def count(directory: int) -> int:
    """How many entries it has, as far as it is worth counting."""
    with os.scandir(directory) as entries:
        return sum(1 for _ in itertools.islice(entries, MAX_COUNTED))


def describe(parent: int, name: str, path: str) -> dict[str, Any]:
    """What stands at a name, itself and not what it leads to."""
    try:
        found = os.stat(check_name(name), dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return {"path": path, "kind": "missing"}
    except OSError as error:
        return {"path": path, "kind": "unreadable", "note": error.strerror or ""}
    kinds = ((stat.S_ISDIR, "dir"), (stat.S_ISREG, "file"), (stat.S_ISLNK, "link"))
    kind = next((word for is_it, word in kinds if is_it(found.st_mode)), "other")
    return {
        "path": path,
        "kind": kind,
        "uid": found.st_uid,
        "gid": found.st_gid,
        "mode": stat.S_IMODE(found.st_mode),
        "size": found.st_size,
    }


def disk(fd: int) -> dict[str, Any]:
    """The file system of a descriptor; what a user without privileges may still write counts as free."""
    figures = os.fstatvfs(fd)
    return {
        "kind": _file_system(os.fstat(fd).st_dev),
        "read_only": bool(figures.f_flag & os.ST_RDONLY),
        "free": figures.f_bavail * figures.f_frsize,
        "total": figures.f_blocks * figures.f_frsize,
        "free_inodes": figures.f_favail,
        "total_inodes": figures.f_files,
    }


def _file_system(device: int) -> str:
    """Its name, by the mount of the same device; empty where none has it, as with subvolumes of btrfs."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as table:  # noqa: PTH123 - as is
            rows = [line.split() for line in table]
    except OSError:
        return ""
    found = [row for row in rows if len(row) >= MOUNT_FIELDS and row[2] == wanted and "-" in row]
    return found[-1][found[-1].index("-") + 1] if found else ""


def _inside_home(home: int, path: str) -> dict[str, Any]:
    own = describe(home, BOT_DIRECTORY, f"{path}/{BOT_DIRECTORY}")
    launch = access = "absent"
    if own["kind"] == "dir":
        launch = _stored(home, stored_env, ENV_FILE)
        access = _stored(home, stored_access, ACCESS_FILE)
    return {
        "bot_directory": own,
        "launch_file": launch,
        "access_file": access,
        "config": _config(home),
        **_database(home, path),
    }


def _stored(home: int, read: Callable[[int], dict[str, str] | None], name: str) -> str:
    """Whether one of the bot's own files is what the bot writes. Nothing of its contents is told."""
    try:
        own = open_dir(home, BOT_DIRECTORY)
        try:
            return "absent" if read(own) is None else "ok"
        finally:
            os.close(own)
    except Refusal as refusal:
        return str(refusal)
    except OSError as error:
        return f"{name}: {error.strerror}"


def _config(home: int) -> dict[str, Any]:
    place = describe(home, "config.yaml", "")
    if place["kind"] in ("missing", "link"):
        return {"state": "absent" if place["kind"] == "missing" else "link"}
    if place["kind"] != "file":
        words = {"dir": "a directory", "other": "neither a file nor a directory"}
        state = "unreadable" if place["kind"] == "unreadable" else "not-a-file"
        return {"state": state, "problem": place.get("note") or words.get(place["kind"], "")}
    if place["size"] > MAX_CONFIG:
        return {"state": "too-large", "problem": f"it is longer than {MAX_CONFIG} bytes"}
    try:
        data = read_file(home, "config.yaml", MAX_CONFIG)
    except (Refusal, OSError) as error:  # changed under our eyes, or not to be read
        return {"state": "unreadable", "problem": str(error)}
    if data is None:
        return {"state": "absent"}
    return {"state": "read", "data": base64.b64encode(data).decode("ascii")}


def _database(home: int, path: str) -> dict[str, Any]:
    place = describe(home, "state.db", f"{path}/state.db")
    found: dict[str, Any] = {"database": place, "journal_mode": ""}
    if place["kind"] != "file":
        return found
    try:
        fd = os.open("state.db", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=home)
    except OSError:
        return found
    with os.fdopen(fd, "rb") as file:
        header = file.read(HEADER_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    if header.startswith(MAGIC) and len(header) == HEADER_BYTES:
        found["journal_mode"] = JOURNAL_MODES.get(header[18], "")
    return found
