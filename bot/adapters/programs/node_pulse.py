"""On the node: the heartbeats of many homes at one look, and how the node itself is.

Each home is hostile ground: its sandbox may have put anything where the heartbeat should be. Whatever is not
a small regular file with JSON of the known keys and kinds counts as no heartbeat.
"""

from __future__ import annotations

import calendar
import hashlib
import json
import os
import re
import stat
import time
from typing import Any

from bot.adapters.programs.beneath import BOT_DIRECTORY, Refusal, open_dir, open_regular, open_root, read_file
from bot.adapters.programs.node_prepare import HOMES, PUBLIC_SKILLS, check_id, free_bytes

HEARTBEAT = "heartbeat.json"
HEARTBEAT_BYTES = 4096
MOST_NUMBER = 1e18
TEXTS = (("sandbox", 64), ("studio", 16), ("note", 100), ("version", 64))
FLAGS = ("envd", "gateway")
NUMBERS = ("load", "memory_free", "memory_total", "disk_free", "pid")
CLOCK = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|\+00:00)", re.ASCII)
SKILL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
SKILL_TEXT = "SKILL.md"
SKILL_BYTES = 1024 * 1024
MOST_SKILLS = 1000
REVISION_DIGITS = 8


def pulse(args: dict[str, Any]) -> dict[str, Any]:
    """``heartbeats`` holds one value for each of ``homes``, in their order; None where none is readable."""
    root = open_root(args["shared_root"])
    try:
        beats = _beats(root, args["homes"])
        free, revision = free_bytes(root), skills_revision(root)
    finally:
        os.close(root)
    return {"free_bytes": free, "skills_revision": revision, "heartbeats": beats}


def _beats(root: int, names: list[Any]) -> list[dict[str, Any] | None]:
    try:
        homes = open_dir(root, HOMES)
    except FileNotFoundError:
        return [None] * len(names)
    try:
        now = time.time()
        return [_beat(homes, name, now) for name in names]
    finally:
        os.close(homes)


def _beat(homes: int, name: Any, now: float) -> dict[str, Any] | None:
    """One home's heartbeat. A home's id is a label that anybody may have given, so a bad one is left out."""
    opened: list[int] = []
    try:
        opened.append(open_dir(homes, check_id(name)))
        opened.append(open_dir(opened[-1], BOT_DIRECTORY))
        opened.append(open_regular(HEARTBEAT, opened[-1]))
        data = _whole(opened[-1], HEARTBEAT_BYTES)
        written = os.fstat(opened[-1]).st_mtime
        told = json.loads(data.decode("utf-8"))
    except (OSError, Refusal, ValueError, RecursionError):
        return None
    finally:
        for fd in opened:
            os.close(fd)
    return believable(told, written, now) if isinstance(told, dict) else None


def _whole(fd: int, most: int) -> bytes:
    """A file from its start to its end. Raises ValueError when it is longer than ``most`` bytes."""
    data = b""
    while len(data) <= most:
        piece = os.read(fd, most + 1 - len(data))
        if not piece:
            return data
        data += piece
    raise ValueError("too long")


def believable(told: dict[str, Any], written: float, now: float) -> dict[str, Any]:
    """Known keys with values of their kind and size: some 300 bytes at most, whatever the file says."""
    kept: dict[str, Any] = {"age": round(now - written, 3)}
    for key, most in TEXTS:
        text = told.get(key)
        if isinstance(text, str) and text and text.isascii() and text.isprintable():
            kept[key] = text[:most]
    for key in FLAGS:
        if isinstance(told.get(key), bool):
            kept[key] = told[key]
    for key in NUMBERS:
        number = told.get(key)
        if isinstance(number, (int, float)) and not isinstance(number, bool) and abs(number) < MOST_NUMBER:
            kept[key] = number
    at = _seconds(told.get("at"))
    if at is not None:
        kept["skew"] = round(at - written, 3)
    return kept


def _seconds(text: Any) -> float | None:
    """A time in UTC as seconds since the epoch. Python 3.8 reads neither ``Z`` nor nine digits."""
    found = CLOCK.fullmatch(text) if isinstance(text, str) and len(text) < HEARTBEAT_BYTES else None
    if found is None:
        return None
    try:
        whole = calendar.timegm(time.strptime(found.group(1), "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
    return whole + float(found.group(2) or 0)


def skills_revision(root: int) -> str:
    """A short name of what the public Skills are: their names and ``SKILL.md``. Empty without any.

    Litter of desktop systems and half of what a copy may leave (``._x``, ``.DS_Store``) is no Skill; a link
    counts by its name, as nothing is followed.
    """
    try:
        public = open_dir(root, PUBLIC_SKILLS)
    except (OSError, Refusal):
        return ""
    try:
        parts = [(name, part) for name in _skill_names(public) for part in [_skill(public, name)] if part]
    finally:
        os.close(public)
    digest = hashlib.sha256()
    for name, part in parts:
        digest.update(f"{name}\0{part}\0".encode())
    return digest.hexdigest()[:REVISION_DIGITS] if parts else ""


def _skill_names(public: int) -> list[str]:
    return sorted(name for name in os.listdir(public) if SKILL_NAME.fullmatch(name))[:MOST_SKILLS]


def _skill(public: int, name: str) -> str:
    """What stands for one Skill in the revision; empty for what is no directory and no link."""
    try:
        mode = os.stat(name, dir_fd=public, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            return "link"
        if not stat.S_ISDIR(mode):
            return ""
        inside = open_dir(public, name)
    except (OSError, Refusal):
        return "unreadable"
    try:
        data = read_file(inside, SKILL_TEXT, SKILL_BYTES)
    except (OSError, Refusal):
        return "unreadable"
    finally:
        os.close(inside)
    return "no text" if data is None else hashlib.sha256(data).hexdigest()
