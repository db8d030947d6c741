"""Which texts may name a home, a workspace or a sandbox.

An id becomes part of a path on a node and of a URL, so it is allow-listed character by character and never
repaired: a look-alike letter, an invisible character or a stray dot makes another id, not a corrected one.
"""

import re
from dataclasses import dataclass
from typing import NewType

HomeId = NewType("HomeId", str)
WorkspaceId = NewType("WorkspaceId", str)
SandboxId = NewType("SandboxId", str)

MAX_ID_LENGTH = 63
"""Characters. An id is also a host name label and a directory name; both allow at least this much."""

RESERVED = frozenset({"default", "common", "backups", "all", "mine"})
"""Directory names of our own below the shared root, and words that commands give a meaning to."""

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_SANDBOX = re.compile(r"[0-9a-f]{32}")
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


@dataclass(frozen=True, slots=True)
class Target:
    """What a person pointed at: a home or one sandbox. Exactly one of the two is set."""

    home: HomeId | None = None
    sandbox: SandboxId | None = None

    def __str__(self) -> str:
        return str(self.home or self.sandbox or "")


def id_problem(text: str) -> str | None:
    """Why `text` cannot be a home-id or workspace-id, as the end of a sentence about it; None when it can."""
    if text in RESERVED:
        return "is a word that the bot keeps for itself; please choose another name"
    if _SANDBOX.fullmatch(text):
        return "looks like the id of a sandbox; please choose another name"
    if len(text) > MAX_ID_LENGTH:
        return f"is longer than {MAX_ID_LENGTH} characters"
    if not _ID.fullmatch(text) or text.endswith("-"):
        return "cannot be a name: a name has small letters a-z, digits and dashes, and no dash at either end"
    return None


def home_id(text: str) -> HomeId | None:
    """`text` as a home-id, or None when it breaks a rule."""
    return None if id_problem(text) else HomeId(text)


def workspace_id(text: str) -> WorkspaceId | None:
    """`text` as a workspace-id, or None when it breaks a rule. Same rules as for homes."""
    return None if id_problem(text) else WorkspaceId(text)


def sandbox_id(text: str) -> SandboxId | None:
    """`text` as Cube's id of a sandbox (32 hex digits, small letters), or None."""
    return SandboxId(text) if _SANDBOX.fullmatch(text) else None


def target(text: str) -> Target | None:
    """`text` as a home-id or a sandbox-id, or None. The two shapes exclude each other."""
    sandbox = sandbox_id(text)
    if sandbox is not None:
        return Target(sandbox=sandbox)
    home = home_id(text)
    return None if home is None else Target(home=home)


def is_reference(text: str) -> bool:
    """Whether `text` may name a template, a node or an env profile.

    These names are looked up, never turned into a path of ours, but a template's goes into a URL; so dots
    and capitals are allowed (`node-3.internal`, `tpl-4f0c`), slashes and a leading dot are not.
    """
    return _REFERENCE.fullmatch(text) is not None and ".." not in text
