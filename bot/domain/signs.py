"""One sign of an illness: its code, and what was seen in one sentence."""

from dataclasses import dataclass

from bot.domain.evidence import Disk
from bot.domain.illnesses import Weight

FULL_BYTES = 16 * 1024 * 1024
"""Less than this free, and SQLite and the agent fail sooner or later."""

FULL_INODES = 64

UNSAFE_FOR_WAL = ("virtiofs", "9p", "v9fs", "fuse", "nfs", "cifs", "smb")
"""How the names begin of file systems on which SQLite's WAL is not safe: it needs memory and locks that all
who have the file open share."""

MIB = 1024.0**2
GIB = 1024.0**3
NAMES = 5


@dataclass(frozen=True, slots=True)
class Sign:
    """What was seen. ``weight`` is set where this case weighs less or more than the illness usually does."""

    code: str
    sentence: str
    weight: Weight | None = None


def unsafe_for_wal(file_system: str) -> bool:
    """Whether SQLite's WAL on it is known to corrupt databases."""
    return file_system.lower().startswith(UNSAFE_FOR_WAL)


def disk_signs(disk: Disk, where: str, *, floor: int = 0) -> list[Sign]:
    """What is wrong with a file system; ``floor`` is what the installation wants free."""
    signs = []
    if disk.read_only:
        signs.append(Sign("node-read-only", f"The file system of {where} is mounted read-only on the node."))
    if disk.free is not None and disk.free < FULL_BYTES:
        signs.append(Sign("disk-full", f"The node's disk is full: {size(disk.free)} are free for {where}."))
    elif disk.free is not None and disk.free < floor:
        wanted = f"{size(disk.free)} are free for {where}; {size(floor)} are wanted"
        signs.append(Sign("disk-low", f"The node's disk gets full: {wanted}."))
    if disk.total_inodes and disk.free_inodes is not None and disk.free_inodes < FULL_INODES:
        signs.append(
            Sign(
                "inodes-full", f"The node's disk can take no more files: {disk.free_inodes} inodes are free."
            )
        )
    return signs


def size(number: int) -> str:
    """Bytes for a person."""
    return f"{number / GIB:.1f} GiB" if number >= GIB else f"{number / MIB:.1f} MiB"


def span(seconds: float) -> str:
    """A length of time for a person."""
    whole = abs(round(seconds))
    if whole < 120:  # noqa: PLR2004 - below two minutes, seconds are the more natural word
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h"  # noqa: PLR2004 - the same for hours


def names(found: tuple[str, ...] | list[str]) -> str:
    """A few names, the rest counted."""
    shown = ", ".join(f"`{name}`" for name in sorted(found)[:NAMES])
    return shown if len(found) <= NAMES else f"{shown} and {len(found) - NAMES} more"
