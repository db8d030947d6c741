# pathlib would cost every sandbox a seventh of its boot time.
# ruff: noqa: PTH102, PTH112, PTH115, PTH211

"""The process that holds a node's mount namespace: a private root in which ``/data/shared`` exists.

Started by :mod:`bot.standin.node_space` with one JSON object on standard input:
``{"shared": directory, "root": an empty directory to build on}``. It answers with one JSON line on
standard output, then holds the namespace until it is killed or its parent ends.
"""

import json
import os
import signal
import sys
from typing import Any

from bot.standin import kernel

_SHARED = "data/shared"


def main() -> None:
    """Build the root, say so, wait."""
    kernel.die_with_parent()
    # A Ctrl-C at the terminal is the server's business, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    config: dict[str, Any] = json.load(sys.stdin)
    try:
        _build(config["root"], config["shared"])
    except OSError as error:
        kernel.report(1, {"error": str(error)})
        sys.exit(1)
    kernel.report(1, {"ready": True})
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    while True:
        signal.pause()


def _build(root: str, shared: str) -> None:
    kernel.unshare(kernel.CLONE_NEWNS)
    # Slave: what the host mounts later is seen here, what is mounted here never reaches the host.
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_SLAVE)
    kernel.mount("node", root, "tmpfs", kernel.MS_NOSUID, "mode=0755")
    _mirror("/", root, skip=frozenset({"data"}))
    os.mkdir(f"{root}/data")
    if os.path.isdir("/data"):
        _mirror("/data", f"{root}/data", skip=frozenset({"shared"}))
    os.mkdir(f"{root}/{_SHARED}")
    kernel.mount(shared, f"{root}/{_SHARED}", None, kernel.MS_BIND)
    kernel.change_root(root)


def _mirror(source: str, target: str, skip: frozenset[str]) -> None:
    for entry in os.scandir(source):
        if entry.name in skip:
            continue
        here = f"{target}/{entry.name}"
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), here)
        elif entry.is_dir():
            os.mkdir(here)
            kernel.mount(entry.path, here, None, kernel.MS_BIND | kernel.MS_REC)
