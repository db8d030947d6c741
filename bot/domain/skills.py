"""The overlay: which public Skills become links in a home's `skills/`, and what is left alone.

The home belongs to its owner. Everything found there is private unless it is a link whose text is exactly the
one that we write, and only such a link is ever removed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

PUBLIC_ROOT = "/opt/hermes-common-skills"
"""Where the node's public Skills are mounted inside every sandbox, read-only."""

MAX_NESTED = 1_000
"""Skills inside one category that are believed; a home is hostile ground and may list without end."""

# The rule that Hermes's own writer applies to a Skill's name.
_PUBLIC_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class EntryType(StrEnum):
    """What `lstat` says of an entry. OTHER is a socket, a device, or an entry that could not be looked at."""

    DIR = "dir"
    FILE = "file"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entry:
    """One name directly below the public root or below a home's `skills/`, as seen inside the sandbox.

    Attributes:
        type: from `lstat`, so a link is a link whatever it points at.
        skill: a directory whose own `SKILL.md` was read and is UTF-8. Not looked at for links.
        nested: names of the sub-directories that are skills, when the directory itself is none (a category).
        target: the text of a link exactly as `readlink` gives it, never resolved.
        exists: for a link, whether following it ends at something.
    """

    type: EntryType
    skill: bool = False
    nested: tuple[str, ...] = ()
    target: str = ""
    exists: bool = True

    @property
    def is_skill(self) -> bool:
        """A directory that Hermes would load as one skill."""
        return self.type is EntryType.DIR and self.skill

    @property
    def is_category(self) -> bool:
        """A directory that only holds skills."""
        return self.type is EntryType.DIR and not self.skill and bool(self.nested)


@dataclass(frozen=True, slots=True)
class OverlayPlan:
    """What a refresh does and what it leaves, each entry named in exactly one list; all lists sorted.

    Attributes:
        link: public Skills to link, as nothing stands in their place.
        keep_private: entries of the home that stay, whether or not they hide a public Skill.
        already: our own links that are right.
        remove_dangling: our own links whose Skill was withdrawn; the only entries that are removed.
        conflict: public Skills that cannot be linked because of their name.
        ignored: litter, hidden entries, and what is no skill; `category/skill` for public categories.
    """

    link: tuple[str, ...]
    keep_private: tuple[str, ...]
    already: tuple[str, ...]
    remove_dangling: tuple[str, ...]
    conflict: tuple[str, ...]
    ignored: tuple[str, ...]

    @property
    def changes_nothing(self) -> bool:
        """Whether performing the plan would touch no file."""
        return not self.link and not self.remove_dangling


class _Fate(StrEnum):
    LINK = "link"
    KEEP_PRIVATE = "keep_private"
    ALREADY = "already"
    REMOVE_DANGLING = "remove_dangling"
    CONFLICT = "conflict"
    IGNORED = "ignored"


def own_link_target(name: str) -> str:
    """The text that we write into the link for the public Skill `name`, and the only one we take for ours."""
    return f"{PUBLIC_ROOT}/{name}"


def plan_overlay(public: Mapping[str, Entry], home: Mapping[str, Entry]) -> OverlayPlan:
    """Decide what a refresh does, from one look at both directories.

    Args:
        public: entries of PUBLIC_ROOT. Pass what was really read: with a missing mount this is empty, and
            every link of ours then counts as withdrawn.
        home: entries of the home's `skills/`.
    """
    fates: dict[_Fate, list[str]] = {fate: [] for fate in _Fate}
    for name in public.keys() | home.keys():
        ours, theirs = public.get(name), home.get(name)
        category = ours is not None and ours.is_category and not name.startswith(".")
        if ours is not None and category:
            fates[_Fate.IGNORED] += [f"{name}/{skill}" for skill in ours.nested]
            if theirs is None:
                continue
        fates[_fate(name, ours, theirs)].append(name)
    return OverlayPlan(**{fate.value: tuple(sorted(names)) for fate, names in fates.items()})


def _fate(name: str, public: Entry | None, home: Entry | None) -> _Fate:
    if name.startswith("."):
        return _Fate.IGNORED
    if public is not None and public.is_skill:
        return _fate_of_public_skill(name, home)
    if home is None:
        return _Fate.IGNORED
    if _is_own_link(name, home):
        # A file or directory in its place proves that the target is there, whatever the link's look said.
        gone = not home.exists and (public is None or public.type is EntryType.LINK)
        return _Fate.REMOVE_DANGLING if gone else _Fate.IGNORED
    stays = home.type is EntryType.LINK or home.is_skill or home.is_category or public is not None
    return _Fate.KEEP_PRIVATE if stays else _Fate.IGNORED


def _fate_of_public_skill(name: str, home: Entry | None) -> _Fate:
    if not _PUBLIC_NAME.fullmatch(name):
        return _Fate.CONFLICT
    if home is None:
        return _Fate.LINK
    return _Fate.ALREADY if _is_own_link(name, home) else _Fate.KEEP_PRIVATE


def _is_own_link(name: str, entry: Entry) -> bool:
    return entry.type is EntryType.LINK and entry.target == own_link_target(name)


def entries_from_json(raw: object) -> dict[str, Entry]:
    """Read a listing made inside a sandbox: `{name: {type, skill, nested, target, exists}}`.

    Nothing in it is believed that could make us act on a private entry: an entry that cannot be understood
    still holds its place as OTHER, and a name that is no plain file name is dropped.
    """
    if not isinstance(raw, dict):
        return {}
    return {name: _entry(value) for name, value in raw.items() if _is_file_name(name)}


def _entry(raw: object) -> Entry:
    if not isinstance(raw, dict) or raw.get("type") not in list(EntryType):
        return Entry(EntryType.OTHER)
    nested, target = raw.get("nested"), raw.get("target")
    return Entry(
        type=EntryType(raw["type"]),
        skill=raw.get("skill") is True,
        nested=tuple(dict.fromkeys(n for n in nested[:MAX_NESTED] if _is_file_name(n)))
        if isinstance(nested, list)
        else (),
        target=target if isinstance(target, str) else "",
        exists=raw.get("exists") is not False,
    )


def _is_file_name(name: object) -> bool:
    return isinstance(name, str) and name not in {"", ".", ".."} and "/" not in name and "\0" not in name
