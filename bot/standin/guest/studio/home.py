"""A home as Hermes Agent 0.19.0 treats it: made on first use."""

from __future__ import annotations

import os
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place

STATE_DIRS = (
    "cron",
    "sessions",
    "logs",
    "logs/curator",
    "memories",
    "pairing",
    "hooks",
    "image_cache",
    "audio_cache",
    "skills",
)

SOUL = """# Who you are

You are Hermes, a careful assistant that works in a sandbox of its own.

- Say what you are about to do before you do it, in one sentence.
- Prefer small steps that can be undone. Keep project files in the workspace.
- When a command may lose data, stop and ask.
- Be brief. Give the result first, then how it was reached.
- When you do not know something, say so and name what would settle it.
"""


def ensure_home(home: Place) -> None:
    """Make the directories (0700) and SOUL.md that are missing; never config.yaml.

    Raises OSError (Errno 30) on a home that is mounted read-only, as every command then does.
    """
    home.make_dir()
    _close_to_others(home)
    for name in STATE_DIRS:
        directory = home / name
        directory.make_dir()
        _close_to_others(directory)
    if not os.access(home, os.W_OK):
        raise OSError(30, "Read-only file system", home / "cron")
    soul = home / "SOUL.md"
    if not soul.exists():
        soul.write_text(SOUL)
        os.chmod(soul, 0o600)


def _close_to_others(directory: Place) -> None:
    wanted = int(os.environ.get("HERMES_HOME_MODE", "700"), 8)
    if os.stat(directory).st_mode & 0o7777 != wanted:
        with suppress(PermissionError):
            os.chmod(directory, wanted)


def log_line(home: Place, name: str, text: str) -> None:
    """Append a dated line to ``logs/NAME.log``; a log that cannot be written stops nothing."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    with suppress(OSError):
        (home / "logs" / f"{name}.log").append_text(f"{stamp} {text}\n")


def note_update_check(home: Place) -> None:
    """What ``hermes --version`` leaves behind in an existing home."""
    with suppress(OSError):
        (home / ".update_check").write_text(f'{{"checked_at": {int(time.time())}}}')
