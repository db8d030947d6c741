"""The sub-commands of ``hermes`` that end at once."""

from __future__ import annotations

import argparse
import json
import sqlite3

from . import gateway, yaml_subset
from .backup import quick_backup
from .config import DEFAULTS, config_value, read_config, replace_file, set_config_value
from .home import ensure_home, log_line
from .places import AGENT_VERSION, complain, hermes_home, say
from .skill_walk import list_skills

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .place import Place


def run(words: list[str]) -> int:
    """Run one command; the exit code is the real command's, odd as it may be. Raises OSError."""
    options = _parser().parse_args(words)
    if options.command == "gateway" and options.action == "run":
        # The gateway prepares the home itself, once its signals are in hand.
        return gateway.run(replace=options.replace)
    home = hermes_home()
    ensure_home(home)
    commands: dict[str, Callable[[], int]] = {
        "config": lambda: _config(home, options),
        "skills": lambda: _skills_list(home, as_json=options.json),
        "doctor": lambda: _doctor(home, fix=options.fix),
        "gateway": lambda: _gateway_status(home),
        "backup": lambda: _backup(home, options),
        "status": lambda: _status(home),
    }
    return commands[options.command]()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hermes", description="Hermes Agent (stand-in)")
    commands = parser.add_subparsers(dest="command", required=True)
    config = commands.add_parser("config").add_subparsers(dest="action", required=True)
    get = config.add_parser("get")
    get.add_argument("key")
    get.add_argument("--json", action="store_true")
    put = config.add_parser("set")
    put.add_argument("key")
    put.add_argument("value")
    config.add_parser("check")
    config.add_parser("path")
    skills = commands.add_parser("skills").add_subparsers(dest="action", required=True)
    skills.add_parser("list").add_argument("--json", action="store_true")
    commands.add_parser("doctor").add_argument("--fix", action="store_true")
    commands.add_parser("status")
    gateway = commands.add_parser("gateway").add_subparsers(dest="action", required=True)
    gateway.add_parser("status")
    gateway.add_parser("run").add_argument("--replace", action="store_true")
    backup = commands.add_parser("backup")
    backup.add_argument("--quick", action="store_true")
    backup.add_argument("--label", default="")
    return parser


def _gateway_status(home: Place) -> int:
    """Print whether one runs; 0 either way."""
    gateway.status(home)
    return 0


def _config(home: Place, options: argparse.Namespace) -> int:
    if options.action == "path":
        say(home / "config.yaml")
    elif options.action == "check":
        config = read_config(home)
        say(f"config.yaml: {'absent or empty' if config == {} else 'present'}")
    elif options.action == "set":
        if (home / ".managed").exists():
            complain("This home is managed; its configuration cannot be set here")
            return 1
        set_config_value(home, options.key, options.value)
        log_line(home, "agent", f"config set {options.key}")
        say(f"Set {options.key} in {home / 'config.yaml'}")
    else:
        return _config_get(home, options.key, as_json=options.json)
    return 0


def _config_get(home: Place, key: str, *, as_json: bool) -> int:
    try:
        value = config_value(read_config(home), key)
    except KeyError:
        complain(f"{key} is not set")
        return 1
    if as_json:
        say(json.dumps(value))
    elif isinstance(value, dict | list):
        say(yaml_subset.dump(value).rstrip("\n") if isinstance(value, dict) else json.dumps(value))
    else:
        say(str(value))
    return 0


def _skills_list(home: Place, *, as_json: bool) -> int:
    rows = list_skills(home)
    if as_json:
        say(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        say(f"{row['name']:<32} {row['category'] or '-':<16} {row['source']:<10} {row['description']}")
    say(f"{len(rows)} skills (0 builtin)")
    return 0


def _doctor(home: Place, *, fix: bool) -> int:
    """Print findings; always 0, even when something is wrong."""
    config_file = home / "config.yaml"
    if fix and not config_file.exists():
        replace_file(config_file, yaml_subset.dump({**DEFAULTS, "_config_version": 33}), 0o600)
        say(f"Created {config_file}")
    if fix and not (home / ".env").exists():
        replace_file(home / ".env", "", 0o600)
    config = read_config(home)
    findings: list[tuple[bool, str]] = [
        (config_file.exists(), "config.yaml exists"),
        (config is not None, "config.yaml can be read"),
        ((home / "SOUL.md").exists(), "SOUL.md exists"),
        (_database_is_sound(home / "state.db"), "state.db is sound"),
    ]
    for good, text in findings:
        say(f"{'ok  ' if good else 'FAIL'} {text}")
    say(f"terminal backend: {config_value(config, 'terminal.backend')}")
    return 0


def _database_is_sound(path: Place) -> bool:
    if not path.exists():
        return True
    try:
        db = sqlite3.connect(path, timeout=1.0)
        try:
            answer: Any = db.execute("PRAGMA quick_check").fetchone()
        finally:
            db.close()
    except sqlite3.DatabaseError:
        return False
    return bool(answer and answer[0] == "ok")


def _status(home: Place) -> int:
    say(f"Hermes Agent {AGENT_VERSION}")
    say(f"Home: {home}")
    say(f"Terminal backend: {config_value(read_config(home), 'terminal.backend')}")
    return _gateway_status(home)


def _backup(home: Place, options: argparse.Namespace) -> int:
    if not options.quick:
        complain("Only --quick is available here: hermes backup --quick --label before-rebuild")
        return 1
    try:
        target = quick_backup(home, options.label)
    except sqlite3.DatabaseError as error:
        complain(f"Backup failed: {error}")
        return 1
    say(f"Snapshot created: {target.name}")
    say(f"Location: {target}")
    return 0
