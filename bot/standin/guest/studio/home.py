"""A home as Hermes Agent 0.19.0 treats it: made on first use, config.yaml read leniently."""

import json
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import yaml_subset
from .places import complain

STATE_DIRS = (
    "cron",
    "sessions",
    "logs",
    "logs/curator",
    "memories",
    "pairing",
    "hooks",
    "image_cache",
    "audio_cache",
    "skills",
)

SOUL = """# Who you are

You are Hermes, a careful assistant that works in a sandbox of its own.

- Say what you are about to do before you do it, in one sentence.
- Prefer small steps that can be undone. Keep project files in the workspace.
- When a command may lose data, stop and ask.
- Be brief. Give the result first, then how it was reached.
- When you do not know something, say so and name what would settle it.
"""

DEFAULTS: dict[str, Any] = {
    "terminal": {
        "backend": "local",
        "cwd": ".",
        "timeout": 180,
        "env_passthrough": [],
        "home_mode": "auto",
        "docker_image": "nikolaik/python-nodejs:python3.11-nodejs20",
        "docker_volumes": [],
        "docker_network": True,
        "docker_extra_args": [],
        "container_persistent": True,
        "persistent_shell": True,
    },
    "approvals": {"mode": "smart", "timeout": 60, "cron_mode": "deny", "deny": []},
    "skills": {"external_dirs": [], "template_vars": True, "inline_shell": False, "write_approval": False},
    "security": {"allow_private_urls": False, "redact_secrets": True, "tirith_enabled": True},
}

_UNSET = object()


def ensure_home(home: Path) -> None:
    """Make the directories (0700) and SOUL.md that are missing; never config.yaml.

    Raises OSError (Errno 30) on a home that is mounted read-only, as every command then does.
    """
    home.mkdir(parents=True, exist_ok=True)
    _close_to_others(home)
    for name in STATE_DIRS:
        directory = home / name
        directory.mkdir(exist_ok=True)
        _close_to_others(directory)
    if not os.access(home, os.W_OK):
        raise OSError(30, "Read-only file system", str(home / "cron"))
    soul = home / "SOUL.md"
    if not soul.exists():
        soul.write_text(SOUL, encoding="utf-8")
        soul.chmod(0o600)


def _close_to_others(directory: Path) -> None:
    wanted = int(os.environ.get("HERMES_HOME_MODE", "700"), 8)
    if directory.stat().st_mode & 0o7777 != wanted:
        with suppress(PermissionError):
            directory.chmod(wanted)


def read_config(home: Path) -> dict[str, Any] | None:
    """The mapping in config.yaml; empty when there is no file; None when it does not parse."""
    path = home / "config.yaml"
    if not path.exists():
        return {}
    raw = path.read_bytes()
    try:
        value = yaml_subset.load(raw.decode("utf-8"))
    except (yaml_subset.YamlError, UnicodeDecodeError) as error:
        complain(f"Warning: {path} cannot be read ({error}); defaults are used")
        _keep_corrupt_copy(path, raw)
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _keep_corrupt_copy(path: Path, raw: bytes) -> None:
    kept = path.parent.glob("config.yaml.corrupt.*.bak")
    if not raw or path.is_symlink() or any(copy.stat().st_size == len(raw) for copy in kept):
        return
    with suppress(OSError):
        (path.parent / f"config.yaml.corrupt.{int(time.time())}.bak").write_bytes(raw)


def config_value(config: dict[str, Any] | None, key: str) -> Any:
    """The value of a dotted key, from the file else from the defaults. Raises KeyError."""
    found = [_look_up(source, key) for source in (config or {}, DEFAULTS)]
    if isinstance(found[0], dict) and isinstance(found[1], dict):
        return {**found[1], **found[0]}
    for value in found:
        if value is not _UNSET:
            return value
    raise KeyError(key)


def _look_up(source: Any, key: str) -> Any:
    value = source
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return _UNSET
        value = value[part]
    return value


def set_config_value(home: Path, key: str, text: str) -> None:
    """Write a dotted key; a ``terminal`` key also goes to ``.env``. A corrupt file loses its other keys."""
    config = read_config(home) or {}
    value = yaml_subset.load(text) if text.strip() else ""
    if isinstance(value, list | dict):
        value = text
    section = config
    *parents, last = key.split(".")
    for part in parents:
        if not isinstance(section.get(part), dict):
            section[part] = {}
        section = section[part]
    section[last] = value
    replace_file(home / "config.yaml", yaml_subset.dump(config), 0o600)
    if parents == ["terminal"] and last != "cwd":
        _set_env_line(home, "TERMINAL_ENV" if last == "backend" else f"TERMINAL_{last.upper()}", str(value))


def _set_env_line(home: Path, name: str, value: str) -> None:
    path = home / ".env"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if not line.removeprefix("export ").startswith(f"{name}=")]
    replace_file(path, "\n".join([*kept, f"{name}={value}"]) + "\n", 0o600)


def replace_file(path: Path, text: str, mode: int) -> None:
    """Write beside the file and rename over it, so that a full disk leaves the old text. Links are kept."""
    target = path.resolve()
    handle, scratch = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(scratch).chmod(mode)
        Path(scratch).replace(target)
    except OSError:
        Path(scratch).unlink(missing_ok=True)
        raise


def log_line(home: Path, name: str, text: str) -> None:
    """Append a dated line to ``logs/NAME.log``; a log that cannot be written stops nothing."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    with suppress(OSError), (home / "logs" / f"{name}.log").open("a", encoding="utf-8") as file:
        file.write(f"{stamp} {text}\n")


def note_update_check(home: Path) -> None:
    """What ``hermes --version`` leaves behind in an existing home."""
    with suppress(OSError):
        (home / ".update_check").write_text(json.dumps({"checked_at": int(time.time())}), encoding="utf-8")
