"""In the sandbox: begin the heartbeat beside Studio, and end it. The beating itself is ``heartbeat.sh``.

It stands outside the home, so that a sandbox never runs a script that another sandbox has left there, and is
known by its command line, so that no pid file can make us end somebody else.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from bot.adapters.programs.beneath import (
    BOT_DIRECTORY,
    OWNER_ONLY,
    Refusal,
    make_dir,
    open_dir,
    open_root,
    read_file,
    remove,
    replace_file,
)
from bot.adapters.programs.guest_processes import end

BEAT_ROOT = "/run"
BEAT_DIRECTORY = "hermes-bot"
BEAT_SCRIPT = "heartbeat.sh"
BEAT_PATH = f"{BEAT_ROOT}/{BEAT_DIRECTORY}/{BEAT_SCRIPT}"
BEAT_FILE = "heartbeat.json"
BEAT_SCRATCH = ".heartbeat.new"
BEAT_BYTES = 4096
BEAT_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BEAT_ENVIRONMENT = {"PATH": BEAT_SEARCH, "HOME": "/", "LC_ALL": "C"}
FIRST_BEAT_SECONDS = 10.0
BEAT_POLL_SECONDS = 0.02
SANDBOX_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def heartbeats() -> list[int]:
    """Processes that are our heartbeat, its short-lived children included."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                argv = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
            if Path(argv[0]).name == "bash" and argv[1:2] == [BEAT_PATH]:
                found.append(int(entry.name))
    return found


def begin_heartbeat(args: dict[str, Any], *, wait: bool) -> str:
    """Let it beat in place of an older one; with ``wait`` until its first beat. What went wrong, or nothing.

    Studio works without it, so nothing that goes wrong here is more than a note.
    """
    try:
        sandbox, every = str(args["sandbox"]), int(args["beat_seconds"])
        if not SANDBOX_ID.fullmatch(sandbox):
            return "the heartbeat was not started: this sandbox has no proper id"
        end_heartbeat(args["home"])
        directory, _ = make_dir(open_root(BEAT_ROOT), BEAT_DIRECTORY, OWNER_ONLY)
        replace_file(directory, BEAT_SCRIPT, args["beat_script"].encode("utf-8"), OWNER_ONLY)
        begun = subprocess.Popen(
            ["bash", BEAT_PATH, args["home"], sandbox, str(int(args["port"])), str(max(1, every))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=BEAT_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
        return _first_beat(args["home"], begun) if wait else ""
    except (OSError, Refusal) as problem:
        return f"the heartbeat was not started: {problem}"


def _first_beat(home: str, begun: subprocess.Popen[bytes]) -> str:
    own = open_dir(open_root(home), BOT_DIRECTORY)
    deadline = time.monotonic() + FIRST_BEAT_SECONDS
    while time.monotonic() < deadline:
        if _beat_of(own) == begun.pid:
            return ""
        if begun.poll() is not None:
            return f"the heartbeat ended at once with {begun.returncode}"
        time.sleep(BEAT_POLL_SECONDS)
    return f"the heartbeat has written nothing within {FIRST_BEAT_SECONDS:g} s"


def _beat_of(own: int) -> Any:
    """The process that says it has written the heartbeat which stands there."""
    try:
        told = json.loads((read_file(own, BEAT_FILE, BEAT_BYTES) or b"{}").decode("utf-8"))
    except (Refusal, ValueError, RecursionError):
        return None
    return told.get("pid") if isinstance(told, dict) else None


def end_heartbeat(home: str) -> None:
    """No heartbeat beats any more, and none that seems fresh is left behind."""
    end(heartbeats())
    try:
        own = open_dir(open_root(home), BOT_DIRECTORY)
        for name in (BEAT_FILE, BEAT_SCRATCH):
            remove(own, name)
        os.close(own)
    except (OSError, Refusal):
        return
