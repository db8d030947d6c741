"""On the node: markers that prove the mounts, the stored sign-in, and the entry point of the program."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from bot.adapters.programs.beneath import (
    BOT_DIRECTORY,
    Refusal,
    bot_dir,
    create_file,
    open_dir,
    read_file,
    remove,
)
from bot.adapters.programs.node_prepare import error_code, open_home, open_workspace
from bot.adapters.programs.shapes import (
    check_marker,
    marker_files,
    marker_text,
    stored_access,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ARGUMENTS = 1024 * 1024
STALE_SECONDS = 3600
MARKER_FILE = re.compile(r"(\.hermes-bot-)?marker-[0-9a-f]{16,64}\.(node|guest)")


def _sides(args: dict[str, Any]) -> list[tuple[str, int]]:
    return [("home", bot_dir(open_home(args))), ("workspace", open_workspace(args))]


def plant(args: dict[str, Any]) -> dict[str, Any]:
    """Write the node's markers; again when they are there already."""
    marker = check_marker(args["marker"])
    for side, directory in _sides(args):
        _sweep(directory)
        name, _ = marker_files(side, marker)
        remove(directory, name)
        create_file(directory, name, marker_text("node", marker), 0o600)
    return {}


def _sweep(directory: int) -> None:
    """Remove markers that nobody has collected within an hour, because the bot was killed in between."""
    for name in os.listdir(directory):
        if MARKER_FILE.fullmatch(name):
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if status.st_mtime < time.time() - STALE_SECONDS:
                remove(directory, name)


def collect(args: dict[str, Any]) -> dict[str, Any]:
    """Whether the sandbox has answered, and all four files removed."""
    marker = check_marker(args["marker"])
    found = {}
    for side, directory in _sides(args):
        planted, answer = marker_files(side, marker)
        try:
            found[side] = read_file(directory, answer, 200) == marker_text("guest", marker)
        except (Refusal, OSError):
            found[side] = False  # something else stands there: no answer of ours
        remove(directory, planted)
        remove(directory, answer)
    return found


def read_access(args: dict[str, Any]) -> dict[str, Any]:
    """The stored sign-in of a home."""
    try:
        own = open_dir(open_home(args), BOT_DIRECTORY)
    except FileNotFoundError:
        return {"access": None}
    return {"access": stored_access(own)}


def answer(verb: Callable[[dict[str, Any]], dict[str, Any]], args: dict[str, Any]) -> dict[str, Any]:
    """Perform a verb; a refusal is an answer too."""
    try:
        return {"ok": verb(args)}
    except Refusal as refusal:
        return {"error": {"code": refusal.code, "message": str(refusal)}}
    except OSError as error:
        named = f" ({error.filename})" if error.filename else ""
        sentence = f"{error.strerror or type(error).__name__}{named}"
        return {"error": {"code": error_code(error), "message": sentence}}


def main(verbs: dict[str, Callable[[dict[str, Any]], dict[str, Any]]]) -> None:
    """Arguments as JSON on standard input, so that none shows in a process list; the answer as JSON."""
    args = json.loads(sys.stdin.buffer.read(MAX_ARGUMENTS).decode("utf-8"))
    signal.alarm(int(args["seconds"]) + 1)
    print(json.dumps(answer(verbs[sys.argv[1]], args)))
