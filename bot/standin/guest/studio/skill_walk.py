"""How Hermes Agent 0.19.0 finds Skills: a walk that follows links and knows nothing of cycles."""

from __future__ import annotations

import os

from . import yaml_subset
from .config import config_value, read_config
from .place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_TOOL_CACHES = {".tox", ".nox", ".pytest_cache", ".mypy_cache", ".ruff_cache", "__pycache__"}
_NEVER_ENTERED = frozenset(
    {".git", ".github", ".hub", ".archive", ".venv", "venv", "node_modules", "site-packages", *_TOOL_CACHES}
)
_PARTS_OF_A_SKILL = frozenset({"references", "templates", "assets", "scripts"})
_READ_CHARS = 4000
_NAME_CHARS = 64
_DESCRIPTION_CHARS = 1024
_DEPTH_WITH_CATEGORY = 2


def list_skills(home: Place) -> list[dict[str, Any]]:
    """Every Skill a listing shows: name, description, category, path, source. First of a name wins."""
    rows: list[dict[str, Any]] = []
    names: set[str] = set()
    files: set[Place] = set()
    roots = [(home / "skills", "local"), *((path, "external") for path in _external_dirs(home))]
    for root, source in roots:
        for skill_file in _skill_files(root):
            row = _describe(root, skill_file, source)
            real = skill_file.resolve()
            if row is None or row["name"] in names or real in files:
                continue
            names.add(row["name"])
            files.add(real)
            rows.append(row)
    return rows


def _external_dirs(home: Place) -> list[Place]:
    value = config_value(read_config(home), "skills.external_dirs")
    entries = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    expanded = (os.path.expanduser(os.path.expandvars(str(entry))) for entry in entries)
    return [path for entry in expanded if (path := home / entry).is_dir()]


def _skill_files(root: Place) -> Iterator[Place]:
    for directory, children, files in os.walk(root, followlinks=True):
        is_skill = "SKILL.md" in files
        skipped = _NEVER_ENTERED | _PARTS_OF_A_SKILL if is_skill else _NEVER_ENTERED
        children[:] = sorted(name for name in children if name not in skipped)
        if is_skill:
            yield Place(directory) / "SKILL.md"


def _describe(root: Place, skill_file: Place, source: str) -> dict[str, Any] | None:
    """One row, or None for a file that cannot be decoded or a name that is not a text."""
    try:
        text = skill_file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    front, body = _split(text[:_READ_CHARS])
    name = front.get("name", skill_file.parent.name)
    if not isinstance(name, str):
        return None
    first_line = next((line.strip("# ") for line in body.splitlines() if line.strip()), "")
    depth = os.path.relpath(skill_file.parent, root).split(os.sep)
    return {
        "name": name[:_NAME_CHARS],
        "description": str(front.get("description") or first_line)[:_DESCRIPTION_CHARS],
        "category": depth[0] if len(depth) >= _DEPTH_WITH_CATEGORY else None,
        "path": skill_file.parent,
        "source": source,
    }


def _split(text: str) -> tuple[dict[str, Any], str]:
    """Front matter and body; front matter that does not parse is read line by line."""
    if not text.startswith("---\n"):
        return {}, text
    head, fence, body = text[4:].partition("\n---")
    if not fence:
        return {}, text
    try:
        front = yaml_subset.load(head)
    except yaml_subset.YamlError:
        pairs = (line.partition(":") for line in head.splitlines() if ":" in line)
        front = {key.strip(): value.strip() for key, _, value in pairs}
    return (front if isinstance(front, dict) else {}), body
