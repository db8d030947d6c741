"""In the sandbox: start Studio on the mounted home, secure it, and see that it really works."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from bot.adapters.programs.beneath import (
    BOT_DIRECTORY,
    Refusal,
    bot_dir,
    open_dir,
    open_regular,
    open_root,
)
from bot.adapters.programs.guest_accounts import OPEN_FILE, close_window, open_window
from bot.adapters.programs.guest_entries import SIDE_FILES, file_or_nothing, home_dir
from bot.adapters.programs.guest_facts import database_facts, lacks_wal_guard, version_of
from bot.adapters.programs.guest_file_system import file_system
from bot.adapters.programs.guest_heartbeat import begin_heartbeat, end_heartbeat
from bot.adapters.programs.guest_login import (
    CANDIDATE_FILE,
    KNOWN,
    call,
    generation_of,
    secure_token,
    secure_users,
    token_there,
)
from bot.adapters.programs.guest_processes import stop_studio
from bot.adapters.programs.shapes import ACCESS_FILE, stored_env

WEB_HOME = "web-ui"
TICK_SECONDS = 0.05
TAIL_BYTES = 4000
TAIL_LINES = 4
AGENT_FILES = ("config.yaml", ".env", "state.db", *(f"state.db{ending}" for ending in SIDE_FILES))
"""What the agent opens when it starts. A pipe among them would keep it, and us, waiting for ever."""
SWITCHES = (
    "HERMES_WEB_UI_DISABLE_UPDATE_CHECK",
    "HERMES_WEB_UI_DISABLE_SKILL_INJECTION",
    "HERMES_WEB_UI_DISABLE_MCP_AUTOINJECT",
    "HERMES_ALLOW_ROOT_GATEWAY",
)


def studio_env(base: dict[str, str], stored: dict[str, str], home: str, workspace: str) -> dict[str, str]:
    """What Studio is started with: the sandbox's own, then what was asked for, then what must be so."""
    fixed = {
        "HERMES_HOME": home,
        "HERMES_WEB_UI_HOME": f"{home}/{BOT_DIRECTORY}/{WEB_HOME}",
        "WORKSPACE_BASE": workspace,
        "HERMES_LAN_DISCOVERY_ENABLED": "0",
        **dict.fromkeys(SWITCHES, "1"),
    }
    return {**base, **stored, **fixed}


def judge(health: Any) -> str:
    """An empty text when Studio works, else what is missing. ``status`` and ``gateway`` are constants."""
    if not isinstance(health, dict):
        return "/health has not answered with JSON"
    bridge = health.get("agent_bridge")
    if not isinstance(bridge, dict) or bridge.get("ready") is not True:
        state = bridge.get("status") if isinstance(bridge, dict) else "absent"
        return f"the agent bridge is not ready ({state!r:.40})"
    return "" if health.get("version") else "the agent does not tell its version"


def start(args: dict[str, Any]) -> dict[str, Any]:
    """Stop what runs, start, secure, wait until ready, look at the databases; and let the heartbeat beat.

    It beats also where Studio does not start: that is what it tells then.
    """
    end_heartbeat(args["home"])
    try:
        started = _start(args)
    except Refusal:
        begin_heartbeat(args, wait=False)
        raise
    return {**started, "heartbeat_note": begin_heartbeat(args, wait=True)}


def _start(args: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + float(args["seconds"])
    home, port = args["home"], int(args["port"])
    own, web_home = _own_directories(home)
    env = studio_env(dict(os.environ), stored_env(own) or {}, home, args["workspace"])
    replaced = stop_studio(env, port)
    window = open_window(own, web_home, f"{home}/{BOT_DIRECTORY}/{WEB_HOME}")
    with tempfile.TemporaryFile() as output:
        starter = _launch(env, port, args["workspace"], output)
        generation, (sign_in, changed) = _secure(
            args["auth"], own, web_home, env, _Watch(starter, output, port, deadline, home), window=window
        )
        close_window(own)
        health = _until_ready(_Watch(starter, output, port, deadline, home))
        _let_end(starter)
    version = version_of(str(health.get("version")))
    return {
        "generation": generation,
        "replaced_running": replaced,
        "first_login_replaced": changed,
        "sign_in": sign_in,
        "version": version,
        "lacks_wal_guard": lacks_wal_guard(version),
        "file_system": file_system(home),
        **{f"database_{name}": value for name, value in database_facts(home).items()},
    }


def _own_directories(home: str) -> tuple[int, int]:
    """The bot's directory and Studio's in it, after a look at what the agent and we are going to open."""
    for name in AGENT_FILES:
        file_or_nothing(f"{home}/{name}", follow=True)
    path = f"{home}/{BOT_DIRECTORY}"
    root = open_root(home)
    os.close(home_dir(root, BOT_DIRECTORY, path, make=True))
    own = bot_dir(root)
    for name in (ACCESS_FILE, CANDIDATE_FILE, OPEN_FILE):
        # Anything else is replaced when one of these is written.
        if Path(path, name).is_dir() and not Path(path, name).is_symlink():
            file_or_nothing(f"{path}/{name}")
    return own, home_dir(own, WEB_HOME, f"{path}/{WEB_HOME}", make=True)


def _launch(env: dict[str, str], port: int, workspace: str, output: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            ["hermes-web-ui", "start", "--port", str(port), "--no-open"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=env,
            cwd=workspace,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise Refusal("studio-did-not-start", "the template has no hermes-web-ui on its PATH") from None


class _Watch:
    """A Studio that is starting: how long it may take, and what it has said."""

    def __init__(
        self, starter: subprocess.Popen[bytes], output: IO[bytes], port: int, deadline: float, home: str
    ) -> None:
        self.starter = starter
        self.output = output
        self.port = port
        self.deadline = deadline
        self.home = home

    def tick(self, missing: str) -> None:
        """Wait a moment, or give up and say why."""
        code = self.starter.poll()
        if code:
            raise Refusal("studio-did-not-start", f"hermes-web-ui start ended with {code}{self._said()}")
        if time.monotonic() > self.deadline:
            raise Refusal("studio-did-not-start", f"{missing}{self._said()}")
        time.sleep(TICK_SECONDS)

    def _said(self) -> str:
        self.output.seek(0)
        lines = printable_tail(self.output.read(TAIL_BYTES))
        for log in ("server.log", "logs/server.log", "logs/bridge.log"):
            lines = lines or _tail_of(f"{self.home}/{BOT_DIRECTORY}/{WEB_HOME}/{log}")
        return f"; it said: {' | '.join(lines)}" if lines else ""


def _tail_of(path: str) -> list[str]:
    try:
        fd = open_regular(path)
    except (OSError, Refusal):
        return []
    with os.fdopen(fd, "rb") as file:
        size = os.fstat(fd).st_size
        file.seek(max(0, size - TAIL_BYTES))
        return printable_tail(file.read(TAIL_BYTES))


def printable_tail(data: bytes) -> list[str]:
    """The last lines, short, without control characters and without what could be a token."""
    text = data.decode("utf-8", "replace")
    text = re.sub(r"token=[^\s&]+|\b[0-9a-fA-F]{64}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]+", "(hidden)", text)
    lines = ["".join(c for c in line if c.isprintable())[:200].strip() for line in text.splitlines()]
    return [line for line in lines if line][-TAIL_LINES:]


def _secure(
    auth: str, own: int, web_home: int, env: dict[str, str], watch: _Watch, *, window: bool
) -> tuple[str, tuple[str, bool]]:
    """Take the sign-in as soon as anything answers: until then, whoever comes first could."""
    while True:
        code, status = call(watch.port, "GET", "/api/auth/status")
        if code:
            break
        watch.tick("nothing has answered on the port")
    has_users = status.get("hasUsers") if isinstance(status, dict) else None
    generation = auth
    if auth == "auto":
        version = "" if has_users is not None else _webui_version(watch)
        generation = generation_of(auth, version, status, token_there=token_there(web_home))
    if generation == "users":
        return generation, secure_users(own, watch.port, has_users, window=window)
    if generation == "token":
        secure_token(own, web_home, env, watch.deadline)
        return generation, (KNOWN, False)
    sentence = "this Studio tells neither its version nor how one signs in; set studio.auth to token or users"
    raise Refusal("studio-unknown-generation", sentence)


def _webui_version(watch: _Watch) -> str:
    while True:
        _, health = call(watch.port, "GET", "/health")
        if isinstance(health, dict):
            return str(health.get("webui_version") or "")
        watch.tick("/health has not answered with JSON")


def _until_ready(watch: _Watch) -> dict[str, Any]:
    while True:
        _, health = call(watch.port, "GET", "/health")
        missing = judge(health)
        if not missing:
            return dict(health)
        watch.tick(missing)


def _let_end(starter: subprocess.Popen[bytes]) -> None:
    """The launcher ends by itself once Studio is healthy; its child stays."""
    try:
        starter.wait(10)
    except subprocess.TimeoutExpired:
        return


def stop(args: dict[str, Any]) -> dict[str, Any]:
    """End Studio so that its databases are closed, and the heartbeat."""
    home = args["home"]
    end_heartbeat(home)
    try:
        stored = stored_env(open_dir(open_root(home), BOT_DIRECTORY)) or {}
    except (FileNotFoundError, Refusal):
        stored = {}
    return {
        "stopped": stop_studio(
            studio_env(dict(os.environ), stored, home, args["workspace"]), int(args["port"])
        )
    }
