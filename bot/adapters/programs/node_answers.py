"""On the node: markers that prove the mounts, the stored sign-in, and the entry point of the program."""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import Any

from bot.adapters.programs.beneath import (
    BOT_DIRECTORY,
    Refusal,
    bot_dir,
    create_file,
    open_dir,
    read_file,
    remove,
)
from bot.adapters.programs.node_prepare import (
    error_code,
    has_home,
    launch_env,
    open_home,
    open_workspace,
    prepare,
)
from bot.adapters.programs.node_seed import seed

ACCESS_FILE = "access.json"
MAX_ACCESS = 4096
MAX_ARGUMENTS = 1024 * 1024


def check_marker(text: Any) -> str:
    """A marker, checked again here: a file name is made of it."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9a-f]{16,64}", text):
        raise Refusal("unsafe-path", f"{text!r:.80} is not a marker")
    return text


def marker_files(side: str, marker: str) -> tuple[str, str]:
    """Names of the node's and of the sandbox's file, in the bot's directory of a home or in a workspace."""
    stem = ("marker-%s" if side == "home" else ".hermes-bot-marker-%s") % marker
    return stem + ".node", stem + ".guest"


def marker_text(author: str, marker: str) -> bytes:
    """What ``node`` or ``guest`` writes."""
    return (f"{author} {marker}\n").encode("ascii")


def _sides(args: dict[str, Any]) -> list[tuple[str, int]]:
    return [("home", bot_dir(open_home(args))), ("workspace", open_workspace(args))]


def plant(args: dict[str, Any]) -> dict[str, Any]:
    """Write the node's markers; again when they are there already."""
    marker = check_marker(args["marker"])
    for side, directory in _sides(args):
        name, _ = marker_files(side, marker)
        remove(directory, name)
        create_file(directory, name, marker_text("node", marker), 0o600)
    return {}


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


def parse_access(data: bytes) -> dict[str, str]:
    """A stored sign-in, believed only in the shape that the bot writes."""
    try:
        parsed = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        texts = {name: parsed.get(name) for name in ("generation", "token", "username", "password")}
        shapes = {
            "token": {"token": r"[0-9a-f]{64}"},
            "users": {"username": r"[A-Za-z0-9._@-]{1,64}", "password": r"[!-~]{8,128}"},
        }.get(str(texts["generation"]), {})
        if shapes and all(re.fullmatch(shape, str(texts[name])) for name, shape in shapes.items()):
            return {name: str(texts[name]) for name in ("generation", *shapes)}
    raise Refusal("node-program-failed", f"{ACCESS_FILE} is not what the bot wrote")


def read_access(args: dict[str, Any]) -> dict[str, Any]:
    """The stored sign-in of a home."""
    try:
        own = open_dir(open_home(args), BOT_DIRECTORY)
    except FileNotFoundError:
        return {"access": None}
    data = read_file(own, ACCESS_FILE, MAX_ACCESS)
    return {"access": None if data is None else parse_access(data)}


def answer(verb: str, args: dict[str, Any]) -> dict[str, Any]:
    """Perform a verb; a refusal is an answer too."""
    verbs = {
        "prepare": prepare,
        "seed": seed,
        "has_home": has_home,
        "launch_env": launch_env,
        "plant": plant,
        "collect": collect,
        "read_access": read_access,
    }
    try:
        return {"ok": verbs[verb](args)}
    except Refusal as refusal:
        return {"error": {"code": refusal.code, "message": str(refusal)}}
    except OSError as error:
        named = f" ({error.filename})" if error.filename else ""
        sentence = f"{error.strerror or type(error).__name__}{named}"
        return {"error": {"code": error_code(error), "message": sentence}}


def main() -> None:
    """Arguments as JSON on standard input, so that none shows in a process list; the answer as JSON."""
    args = json.loads(sys.stdin.buffer.read(MAX_ARGUMENTS).decode("utf-8"))
    signal.alarm(int(args["seconds"]) + 1)
    print(json.dumps(answer(sys.argv[1], args)))
