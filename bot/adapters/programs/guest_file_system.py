"""In the sandbox: the kind of file system that something stands on."""

from __future__ import annotations

import subprocess

STAT_SECONDS = 10


def file_system(path: str) -> str:
    """What ``stat -f`` calls the file system of a path; empty when it cannot say."""
    argv = ["stat", "-f", "-c", "%T", path]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=STAT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
