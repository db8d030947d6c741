"""Where the programs find things: the template's own files, the home, and Studio's own directory."""

from __future__ import annotations

import os
import sys

from .place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENT_VERSION = "v0.19.0 (2026.7.20)"
DEFAULT_PORT = 8648

# <root>/usr/local/lib/hermes-studio/hermes_studio/places.py, where root is / inside a sandbox and the
# rootfs directory when a test runs the programs on the host.
LIBRARY = Place(__file__).resolve().parent.parent
ROOT = LIBRARY.parent.parent.parent.parent


def say(text: str) -> None:
    """One line on standard output, at once, because a caller may be reading a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def switched_on(name: str) -> bool:
    """Whether an environment switch such as ``HERMES_WEB_UI_DISABLE_SKILL_INJECTION`` is on."""
    return os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def hermes_home() -> Place:
    """``HERMES_HOME``, else ``~/.hermes``."""
    return Place(os.environ.get("HERMES_HOME") or os.path.expanduser("~/.hermes"))


def web_home() -> Place:
    """``HERMES_WEB_UI_HOME``, else ``~/.hermes-web-ui``: outside the home, so lost with the sandbox."""
    return Place(os.environ.get("HERMES_WEB_UI_HOME") or os.path.expanduser("~/.hermes-web-ui"))


def generation() -> str:
    """``users`` (0.6 and later: accounts and JWT) or ``token`` (up to 0.5: the token is the key)."""
    return (ROOT / "etc/hermes-studio/generation").read_text().strip()


def studio_version() -> str:
    """The version of hermes-web-ui that the template's generation stands for."""
    return "0.6.23" if generation() == "users" else "0.5.35"


def standin_options() -> dict[str, Any]:
    """What the Cube stand-in wrote into this sandbox: ``{"studio": fault, "start_delay_s": number}``."""
    path = ROOT / "run/standin/faults.json"
    if not path.exists():
        return {}
    import json  # noqa: PLC0415 - not for `hermes --version`, which every /health asks

    options = json.loads(path.read_text())
    return options if isinstance(options, dict) else {}


def start_delay() -> float:
    """Seconds between the start of the agent bridge and the moment it is ready."""
    given = os.environ.get("HERMES_STANDIN_START_DELAY") or standin_options().get("start_delay_s", 0.3)
    return max(0.0, float(given))
