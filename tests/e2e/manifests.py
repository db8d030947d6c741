"""A directory tree written down, so that two moments of it can be compared."""

import hashlib
import os
import stat
from pathlib import Path

Manifest = dict[str, str]
"""Path below the root → kind, mode, owner and content of it."""


def manifest(root: Path) -> Manifest:
    """Everything below ``root``. Times count for files; a directory's own time changes with its entries."""
    found: Manifest = {}
    for folder, names, files in os.walk(root):
        for name in [*names, *files]:
            path = Path(folder, name)
            found[str(path.relative_to(root))] = _entry(path)
    return found


def _entry(path: Path) -> str:
    facts = path.lstat()
    owned = f"{facts.st_mode:o} {facts.st_uid}:{facts.st_gid}"
    if stat.S_ISLNK(facts.st_mode):
        return f"link {owned} {path.readlink()}"
    if stat.S_ISREG(facts.st_mode):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return f"file {owned} {facts.st_mtime_ns} {facts.st_size} {digest}"
    return f"{'directory' if stat.S_ISDIR(facts.st_mode) else 'special'} {owned}"


def changes(before: Manifest, after: Manifest) -> dict[str, tuple[str, str]]:
    """Path → what it was and what it is, for whatever is not as it was; absent things are empty."""
    return {
        path: (before.get(path, ""), after.get(path, ""))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    }
