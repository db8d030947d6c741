"""``hermes backup --quick``: a consistent copy of what a conversation depends on."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import time
from contextlib import closing

from .home import ensure_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place

_DATABASES = (
    "state.db",
    "kanban.db",
    "projects.db",
    "response_store.db",
    "verification_evidence.db",
    "cron/executions.db",
)
_FILES = ("config.yaml", ".env", "auth.json", "SOUL.md", "cron/jobs.json")


def quick_backup(home: Place, label: str) -> Place:
    """Copy databases (through SQLite's backup call) and settings to ``state-snapshots/<time>[-label]``."""
    ensure_home(home)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")
    target = home / "state-snapshots" / (f"{stamp}-{clean}" if clean else stamp)
    os.makedirs(target, mode=0o700)
    copied: dict[str, int] = {}
    for name in _DATABASES:
        if (home / name).is_file():
            _copy_database(home / name, target / name)
            copied[name] = os.stat(target / name).st_size
    for name in _FILES:
        if (home / name).is_file():
            (target / name).parent.make_dir()
            shutil.copy2(home / name, target / name)
            copied[name] = os.stat(target / name).st_size
    manifest = {"id": target.name, "label": label, "created_at": stamp, "files": copied}
    (target / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return target


def _copy_database(source: Place, target: Place) -> None:
    target.parent.make_dir()
    with closing(sqlite3.connect(source, timeout=5.0)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
