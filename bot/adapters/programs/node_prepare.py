"""On the node: make and check the directories of a home and a workspace, and keep its launch environment."""

from __future__ import annotations

import errno
import json
import os
import re
from typing import Any

from bot.adapters.programs.beneath import (
    BOT_DIRECTORY,
    Refusal,
    bot_dir,
    create_file,
    exists,
    make_dir,
    open_dir,
    open_root,
    remove,
    replace_file,
)
from bot.adapters.programs.shapes import ENV_FILE, parse_env, stored_env

HOMES = "hermes-homes"
WORKSPACES = "hermes-workspaces"
PUBLIC_SKILLS = "hermes-common-skills"
ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def check_id(text: Any) -> str:
    """A home-id or workspace-id, checked again here: a path is made of it."""
    reserved = ("default", "common", "backups", "all", "mine")
    if not isinstance(text, str) or not ID.fullmatch(text) or text.endswith("-") or text in reserved:
        raise Refusal("unsafe-path", f"{text!r:.80} is not an id")
    if re.fullmatch(r"[0-9a-f]{32}", text):
        raise Refusal("unsafe-path", f"{text!r} has the shape of a sandbox id")
    return text


def open_home(args: dict[str, Any]) -> int:
    """The home's directory. Raises FileNotFoundError."""
    return open_dir(open_dir(open_root(args["shared_root"]), HOMES), check_id(args["home_id"]))


def open_workspace(args: dict[str, Any]) -> int:
    """The workspace's directory. Raises FileNotFoundError."""
    return open_dir(open_dir(open_root(args["shared_root"]), WORKSPACES), check_id(args["workspace_id"]))


def free_bytes(fd: int) -> int:
    """What a user without privileges may still write on the file system of this descriptor."""
    figures = os.fstatvfs(fd)
    return figures.f_bavail * figures.f_frsize


def check_floor(free: int, floor: int) -> None:
    """Refuse when less is free than is required."""
    if free < floor:
        gib = 1024.0**3
        sentence = f"{free / gib:.1f} GiB are free on the node and {floor / gib:.1f} GiB are required"
        raise Refusal("disk-low", sentence)


def prepare(args: dict[str, Any]) -> dict[str, Any]:
    """All checks that can refuse without a trace come first; then what is missing is made."""
    home_id, workspace_id = check_id(args["home_id"]), check_id(args["workspace_id"])
    wanted = parse_env(json.dumps(args["env"]).encode("utf-8"))
    root = open_root(args["shared_root"])
    try:
        open_dir(root, PUBLIC_SKILLS)
    except FileNotFoundError:
        sentence = "{}/{} does not exist on the node".format(args["shared_root"], PUBLIC_SKILLS)
        raise Refusal("public-skills-missing", sentence) from None
    check_floor(free_bytes(root), args["min_free_bytes"])
    home, home_created = make_dir(make_dir(root, HOMES, 0o755)[0], home_id, 0o700)
    workspace, workspace_created = make_dir(make_dir(root, WORKSPACES, 0o755)[0], workspace_id, 0o755)
    free = min(free_bytes(home), free_bytes(workspace))
    check_floor(free, args["min_free_bytes"])
    for fd, name in ((home, home_id), (workspace, workspace_id)):
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=fd, effective_ids=True):
            read_only = os.fstatvfs(fd).f_flag & os.ST_RDONLY
            why = "is on a file system that is read-only" if read_only else "cannot be written to"
            raise Refusal("not-writable", f"the directory of {name} {why}")
    own = bot_dir(home)
    probe = f"probe.{os.getpid()}"
    create_file(own, probe, b"probe", 0o600)
    remove(own, probe)
    _store_env(own, wanted)
    return {
        "home_created": home_created,
        "workspace_created": workspace_created,
        "home_initialised": exists(home, "config.yaml"),
        "free_bytes": free,
    }


def _store_env(own: int, wanted: dict[str, str]) -> None:
    try:
        current = stored_env(own)
    except Refusal:
        current = None
    if current != wanted:
        text = json.dumps(wanted, sort_keys=True, ensure_ascii=False, indent=1)
        replace_file(own, ENV_FILE, text.encode("utf-8"), 0o600)


def has_home(args: dict[str, Any]) -> dict[str, Any]:
    """Whether the home's directory is there."""
    try:
        open_home(args)
    except FileNotFoundError:
        return {"there": False}
    return {"there": True}


def launch_env(args: dict[str, Any]) -> dict[str, Any]:
    """The stored launch environment."""
    try:
        own = open_dir(open_home(args), BOT_DIRECTORY)
    except FileNotFoundError:
        return {"env": None}
    return {"env": stored_env(own)}


def error_code(error: OSError) -> str:
    """Our word for an error of the node's file system."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk-full"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "not-writable"
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
        return "unsafe-path"
    return "program-failed"
