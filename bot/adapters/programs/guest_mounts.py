"""In the sandbox: are the three mounts there, and do they allow what they should and nothing else?"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from bot.adapters.programs.beneath import (
    BOT_DIRECTORY,
    Refusal,
    create_file,
    open_dir,
    open_root,
    read_file,
    remove,
)
from bot.adapters.programs.guest_file_system import file_system
from bot.adapters.programs.shapes import check_marker, marker_files, marker_text

MOUNT_INFO = "/proc/self/mountinfo"
MINIMAL_FIELDS = 10


def mount_mode(mount_info: str, path: str) -> str:
    """``rw``, ``ro``, or an empty text when nothing is mounted at the path. Of several, the last is on top.

    The fields are those of proc_pid_mountinfo(5): the mount point is the fifth, its options the sixth, and
    those of the file system the last.
    """
    mode = ""
    for line in mount_info.splitlines():
        fields = line.split(" ")
        if len(fields) >= MINIMAL_FIELDS and _unescaped(fields[4]) == path:
            options = fields[5].split(",") + fields[-1].split(",")
            mode = "ro" if "ro" in options else "rw"
    return mode


def _unescaped(field: str) -> str:
    for character in (" ", "\t", "\n", "\\"):
        field = field.replace(f"\\{ord(character):03o}", character)
    return field


def check_mounts(args: dict[str, Any]) -> dict[str, Any]:
    """Look at the three mounts, read the node's markers, answer them, and try to write the public Skills."""
    marker = check_marker(args["marker"])
    mount_info = Path(MOUNT_INFO).read_text(encoding="utf-8", errors="surrogateescape")
    problems: list[str] = []
    report: dict[str, Any] = {"problems": problems}
    for side in ("home", "workspace"):
        path = args[side]
        mode = mount_mode(mount_info, path)
        if mode != "rw":
            problems.append(f"{side} {path} is {'mounted read-only' if mode else 'not a mount'}")
        seen, written = _exchange(side, path, marker, problems)
        report[side] = {"read_write": mode == "rw" and written, "marker": seen}
    report["public_read_only"] = _public_refuses(args["public"], mount_info, marker, problems)
    report["file_system"] = file_system(args["home"])
    return report


def _exchange(side: str, path: str, marker: str, problems: list[str]) -> tuple[bool, bool]:
    """Whether the node's marker was read, and whether the answer was written."""
    planted, answer = marker_files(side, marker)
    try:
        directory = open_root(path)
        if side == "home":
            directory = open_dir(directory, BOT_DIRECTORY)
        seen = read_file(directory, planted, 200) == marker_text("node", marker)
    except (Refusal, OSError):
        seen, directory = False, -1
    if not seen:
        problems.append(f"{side} {path} does not show what the node has written there")
    if directory < 0:
        return False, False
    try:
        remove(directory, answer)
        create_file(directory, answer, marker_text("guest", marker), 0o600)
    except OSError as error:
        problems.append(f"{side} {path} cannot be written to: {error.strerror}")
        return seen, False
    return seen, True


def _public_refuses(path: str, mount_info: str, marker: str, problems: list[str]) -> bool:
    if not mount_mode(mount_info, path):
        problems.append(f"public Skills {path} is not a mount")
        return False
    probe = f".hermes-bot-probe-{marker}"
    directory = open_root(path)
    try:
        create_file(directory, probe, b"", 0o600)
    except OSError as error:
        if error.errno == errno.EROFS:
            return True
        problems.append(f"public Skills {path} refused a write with {error.strerror}, not as read-only")
        return False
    remove(directory, probe)
    problems.append(f"public Skills {path} accept writes")
    return False
