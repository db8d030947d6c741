"""In the sandbox: what the public directory and the home's ``skills/`` hold, and the links between them."""

from __future__ import annotations

import os
import re
import stat
from typing import Any

from bot.adapters.programs.beneath import Refusal, exists, open_dir, open_root, read_file
from bot.adapters.programs.guest_entries import home_dir

SKILLS = "skills"
SKILL_FILE = "SKILL.md"
MAX_SKILL_FILE = 4 * 1024 * 1024
MAX_LISTED = 5000
MAX_NESTED = 1000
PUBLIC_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def inventory(args: dict[str, Any]) -> dict[str, Any]:
    """Every entry of both directories, as ``lstat`` and ``readlink`` tell it."""
    public = open_root(args["public"])
    home = open_root(args["home"])
    try:
        skills = home_dir(home, SKILLS, f"{args['home']}/{SKILLS}", make=False)
    except FileNotFoundError:
        return {"public": _listing(public, args["public"]), "home": {}}
    return {
        "public": _listing(public, args["public"]),
        "home": _listing(skills, f"{args['home']}/{SKILLS}"),
    }


def _listing(directory: int, path: str) -> dict[str, Any]:
    names = sorted(os.listdir(directory))
    if len(names) > MAX_LISTED:
        sentence = f"{path} holds {len(names)} entries, and {MAX_LISTED} are looked at"
        raise Refusal("too-many-skills", sentence)
    return {name: describe(directory, name) for name in names}


def describe(directory: int, name: str) -> dict[str, Any]:
    """One entry. What vanishes or cannot be looked at meanwhile still holds its place."""
    try:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            return {
                "type": "link",
                "target": os.readlink(name, dir_fd=directory),
                "exists": _leads_somewhere(directory, name),
            }
        if stat.S_ISDIR(mode):
            inner = open_dir(directory, name)
            try:
                skill = _has_skill_file(inner)
                return {"type": "dir", "skill": skill, "nested": [] if skill else _nested(inner)}
            finally:
                os.close(inner)
        return {"type": "file" if stat.S_ISREG(mode) else "other"}
    except (OSError, Refusal):
        return {"type": "other"}


def _leads_somewhere(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory)
    except OSError:
        return False
    return True


def _has_skill_file(directory: int) -> bool:
    """Whether ``SKILL.md`` is a regular file in UTF-8, as the agent needs it."""
    try:
        data = read_file(directory, SKILL_FILE, MAX_SKILL_FILE)
        if data is None:
            return False
        data.decode("utf-8")
    except (OSError, Refusal, UnicodeDecodeError):
        return False
    return True


def _nested(directory: int) -> list[str]:
    return [name for name in sorted(os.listdir(directory))[:MAX_LISTED] if is_skill(directory, name)][
        :MAX_NESTED
    ]


def is_skill(directory: int, name: str) -> bool:
    """Whether a directory of this name is a Skill now. A link is none."""
    try:
        inner = open_dir(directory, name)
    except (OSError, Refusal):
        return False
    try:
        return _has_skill_file(inner)
    finally:
        os.close(inner)


def apply(args: dict[str, Any]) -> dict[str, Any]:
    """Make and remove the planned links. Says of each what is true afterwards.

    Answers: ``linked``, ``removed``, ``already`` (our link is right), ``private`` (something of the owner's
    stands there), ``gone`` (the public Skill is no longer one). Safe to repeat, and safe against an agent
    that makes a private Skill of the same name at the same instant.
    """
    public = open_root(args["public"])
    skills = home_dir(open_root(args["home"]), SKILLS, f"{args['home']}/{SKILLS}", make=True)
    fates = {name: _link(skills, public, name, args["public"]) for name in args["link"]}
    fates.update({name: _unlink(skills, public, name, args["public"]) for name in args["remove"]})
    return {"fates": fates}


def _link(skills: int, public: int, name: str, public_root: str) -> str:
    if not PUBLIC_NAME.fullmatch(name) or not is_skill(public, name):
        return "gone"
    try:
        # Fails on anything that stands there, in the same step: nothing of the owner's is replaced.
        os.symlink(f"{public_root}/{name}", name, dir_fd=skills)
    except FileExistsError:
        return "already" if _is_own_link(skills, name, public_root) else "private"
    return "linked"


def _unlink(skills: int, public: int, name: str, public_root: str) -> str:
    if not exists(skills, name):
        return "removed"
    if not _is_own_link(skills, name, public_root):
        return "private"
    if _leads_somewhere(skills, name) or exists(public, name):
        return "already"
    try:
        # A Skill is a directory, and this call never removes one: what an agent may put here after the
        # look above survives. Renaming first, to look again, would take it away for a moment.
        os.unlink(name, dir_fd=skills)
    except FileNotFoundError:
        return "removed"
    except IsADirectoryError:
        return "private"
    return "removed"


def _is_own_link(skills: int, name: str, public_root: str) -> bool:
    try:
        return os.readlink(name, dir_fd=skills) == f"{public_root}/{name}"
    except OSError:
        return False
