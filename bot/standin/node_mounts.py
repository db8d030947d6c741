"""A node's file systems gone wrong, as real mounts: a full disk, a missing program, a read-only root."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

# A full disk, for one command only: its own mount namespace, where /data/shared is an overlay whose
# upper layer is a tiny tmpfs with neither a block nor an inode left. What was there can be read, statfs
# says that nothing is free, and everything that would need space gets ENOSPC from the kernel. Unlike on
# a real full disk nothing can be deleted either, because the overlay would have to write that down.
FULL_DISK = (
    "unshare",
    "--mount",
    "--propagation",
    "private",
    "/bin/sh",
    "-c",
    """set -e
mount -t tmpfs -o size=64k,nr_inodes=16 full /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay -o lowerdir=/data/shared,upperdir=/mnt/upper,workdir=/mnt/work full /data/shared
cat /dev/zero >/mnt/filler 2>/dev/null || true
n=0
while true 2>/dev/null >"/mnt/none-$n"; do n=$((n + 1)); done
umount -l /mnt
exec "$@"
""",
    "sh",
)

# No rsync, for one command only: over each directory that holds one, an overlay whose upper layer has
# nothing but a whiteout of that name. The shell then says what it says of any program that is not installed.
NO_RSYNC = (
    "unshare",
    "--mount",
    "--propagation",
    "private",
    "/bin/sh",
    "-c",
    """set -e
mount -t tmpfs -o size=64k none /mnt
for place in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin; do
  [ -e "$place/rsync" ] || continue
  mkdir -p "/mnt$place/upper" "/mnt$place/work"
  mknod "/mnt$place/upper/rsync" c 0 0
  mount -t overlay -o "lowerdir=$place,upperdir=/mnt$place/upper,workdir=/mnt$place/work" none "$place"
done
umount -l /mnt
exec "$@"
""",
    "sh",
)


_KEPT = {
    os.ST_NOSUID: "nosuid",
    os.ST_NODEV: "nodev",
    os.ST_NOEXEC: "noexec",
    os.ST_NOATIME: "noatime",
    os.ST_RELATIME: "relatime",
}
"""Flags that root of a user namespace may not take from a mount, so that they are asked for again."""


def remount(enter: Sequence[str], shared: Path, *, read_only: bool) -> None:
    """Make ``/data/shared`` read-only in the namespace that ``enter`` leads to, or writable again.

    It is a bind of ``shared``, whose other flags it keeps. What is bound from it afterwards, such as the home
    of a new sandbox, inherits that; what was bound before does not, unlike when a kernel remounts a whole
    file system after an error. Blocks for a few milliseconds.

    Raises:
        CalledProcessError: The kernel refuses.
    """
    has = os.statvfs(shared).f_flag
    flags = ["ro" if read_only else "rw", *(name for flag, name in _KEPT.items() if has & flag)]
    argv = [*enter, "mount", "-o", ",".join(["remount", "bind", *flags]), "/data/shared"]
    subprocess.run(argv, check=True, capture_output=True, timeout=10)
