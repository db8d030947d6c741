"""What node, sandbox and bot leave for each other in a home, and the only shapes in which it is believed."""

from __future__ import annotations

import json
import re
from typing import Any

from bot.adapters.programs.beneath import Refusal, read_file

ENV_FILE = "studio.env"
"""One JSON object of names and values. JSON, because a value may hold any quote, blank or ``=``."""

ACCESS_FILE = "access.json"
"""``{"generation": "users", "username", "password"}`` or ``{"generation": "token", "token"}``; or, when the
owner has set a password that we do not know, ``{"generation": "users", "username", "sign_in"}``."""

MAX_ENV = 262_144
MAX_ACCESS = 4096
MAX_VARIABLES = 1000
CHANGED = "changed-by-owner"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
DENIED = ("BASH_ENV", "ENV", "PATH", "PYTHONPATH", "NODE_PATH", "IFS")
ACCESS = {
    "token": {"token": r"[0-9a-f]{64}"},
    "users": {"username": r"[A-Za-z0-9._@-]{1,64}", "password": r"[!-~]{8,128}"},
}
CHANGED_ACCESS = {"username": r"[A-Za-z0-9._@-]{0,64}", "sign_in": CHANGED}


def variable_allowed(name: Any, value: Any) -> bool:
    """Whether Studio may be started with this: a POSIX name that does not decide which programs run."""
    return (
        isinstance(name, str)
        and isinstance(value, str)
        and VARIABLE.fullmatch(name) is not None
        and name not in DENIED
        and not name.startswith(("LD_", "DYLD_"))
        and "\0" not in value
    )


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def parse_env(data: bytes) -> dict[str, str]:
    """The variables of a stored launch environment. Anything that we would not have written is refused."""
    parsed = _parsed(data)
    if not isinstance(parsed, dict) or len(parsed) > MAX_VARIABLES:
        raise Refusal("program-failed", f"{ENV_FILE} is not what the bot wrote")
    if not all(variable_allowed(name, value) for name, value in parsed.items()):
        raise Refusal("program-failed", f"{ENV_FILE} sets a name that it may not set")
    return parsed


def stored_env(bot_directory: int) -> dict[str, str] | None:
    """The launch environment of a home; None when there is none."""
    data = read_file(bot_directory, ENV_FILE, MAX_ENV)
    return None if data is None else parse_env(data)


def parse_access(data: bytes) -> dict[str, str]:
    """A stored sign-in. Anything that we would not have written is refused."""
    parsed = _parsed(data)
    if isinstance(parsed, dict):
        shapes = ACCESS.get(str(parsed.get("generation")), {})
        if parsed.get("generation") == "users" and parsed.get("sign_in") is not None:
            shapes = CHANGED_ACCESS
        texts = {name: parsed.get(name) for name in shapes}
        if shapes and all(isinstance(t, str) and re.fullmatch(shapes[n], t) for n, t in texts.items()):
            return {"generation": str(parsed["generation"]), **{n: str(t) for n, t in texts.items()}}
    raise Refusal("program-failed", f"{ACCESS_FILE} is not what the bot wrote")


def stored_access(bot_directory: int, name: str = ACCESS_FILE) -> dict[str, str] | None:
    """The sign-in of a home; None when there is none."""
    data = read_file(bot_directory, name, MAX_ACCESS)
    return None if data is None else parse_access(data)


def check_marker(text: Any) -> str:
    """A marker, checked wherever a file name is made of it."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9a-f]{16,64}", text):
        raise Refusal("unsafe-path", f"{text!r:.80} is not a marker")
    return text


def marker_files(side: str, marker: str) -> tuple[str, str]:
    """Names of the node's and of the sandbox's file, in the bot's directory of a home or in a workspace."""
    stem = f"marker-{marker}" if side == "home" else f".hermes-bot-marker-{marker}"
    return stem + ".node", stem + ".guest"


def marker_text(author: str, marker: str) -> bytes:
    """What ``node`` or ``guest`` writes."""
    return f"{author} {marker}\n".encode("ascii")
