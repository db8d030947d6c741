"""A home's ``config.yaml`` as Hermes Agent 0.19.0 treats it: read leniently, over built-in defaults."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from . import yaml_subset
from .places import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .place import Place

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


def read_config(home: Place) -> dict[str, Any] | None:
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


def _keep_corrupt_copy(path: Place, raw: bytes) -> None:
    kept = (beside for beside in path.parent.children() if beside.name.startswith("config.yaml.corrupt."))
    if not raw or os.path.islink(path) or any(os.stat(copy).st_size == len(raw) for copy in kept):
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


def set_config_value(home: Place, key: str, text: str) -> None:
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


def _set_env_line(home: Place, name: str, value: str) -> None:
    path = home / ".env"
    lines = path.read_text().splitlines() if path.exists() else []
    kept = [line for line in lines if not line.removeprefix("export ").startswith(f"{name}=")]
    replace_file(path, "\n".join([*kept, f"{name}={value}"]) + "\n", 0o600)


def replace_file(path: Place, text: str, mode: int) -> None:
    """Write beside the file and rename over it, so that a full disk leaves the old text. Links are kept."""
    target = path.resolve()
    scratch = target.parent / f".{target.name}.{os.urandom(6).hex()}"
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        os.chmod(scratch, mode)
        os.replace(scratch, target)
    except OSError:
        scratch.remove()
        raise
