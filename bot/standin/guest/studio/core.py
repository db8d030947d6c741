"""One running Studio: what it holds open, what it says of its health, what its API does."""

from __future__ import annotations

import re
import time
from contextlib import suppress

from . import bridge
from .auth import TokenAuth, UsersAuth
from .child import output_of
from .children import Children
from .http_connection import unquoted
from .places import generation, hermes_home, studio_version, switched_on, web_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .auth import Answer

_LOAD_S = 15.0
_VERSION_S = 10.0
_NO_INJECTION = ("HERMES_WEB_UI_DISABLE_MCP_AUTOINJECT", "HERMES_WEB_UI_DISABLE_SKILL_INJECTION")
_MESSAGES = re.compile(r"^/api/sessions/([^/]+)/messages$")


class Studio:
    """Everything one running Studio holds open."""

    def __init__(self, port: int) -> None:
        self.home = hermes_home()
        self.web_home = web_home()
        self.auth = TokenAuth(self.web_home) if generation() == "token" else UsersAuth(self.web_home)
        self._children = Children(self.home, self.web_home)
        self._asked_before = False
        if not all(map(switched_on, _NO_INJECTION)):
            from .injection import inject  # noqa: PLC0415 - a Studio that must not is spared what it takes

            for note in inject(self.home, self.web_home, port):
                self.log(note)
        self._children.start()

    def health(self) -> dict[str, Any]:
        """The health answer. ``status`` and ``gateway`` are constants; the truth is in ``agent_bridge``."""
        return {
            "status": "ok",
            "platform": "hermes-agent",
            "version": _agent_version(),
            "gateway": "running",
            "webui_version": studio_version(),
            "webui_latest": "",
            "webui_update_available": False,
            "node_version": "24.22.3",
            "agent_bridge": self._bridge_health(),
        }

    def _bridge_health(self) -> dict[str, Any]:
        running = self._children.bridge_runs()
        if not self._asked_before:
            # The very first request is answered before the bridge has been looked at.
            self._asked_before = True
            return {"status": "unknown", "reachable": False, "ready": False, "running": running}
        try:
            ready = bool(bridge.ask("ping").get("ready"))
        except (OSError, ValueError) as error:
            return {
                "status": "error",
                "reachable": False,
                "ready": False,
                "running": running,
                "error": str(error),
            }
        state = "ready" if ready else "starting"
        return {"status": state, "reachable": True, "ready": ready, "running": running}

    def api(self, method: str, path: str, body: dict[str, Any]) -> Answer:
        """An authenticated call."""
        found = _MESSAGES.match(path)
        try:
            if (method, path) == ("POST", "/api/chat"):
                return _relayed(bridge.ask("chat", session=body.get("session"), text=body.get("text")))
            if (method, path) == ("GET", "/api/sessions"):
                return _relayed(bridge.ask("sessions"))
            if method == "GET" and found:
                return _relayed(bridge.ask("messages", session=unquoted(found[1])))
        except (OSError, ValueError) as error:
            return 502, {"error": f"the agent bridge does not answer: {error}"}
        if (method, path) == ("GET", "/api/skills"):
            from .skill_walk import list_skills  # noqa: PLC0415 - seldom asked, and a reader of YAML with it

            return 200, {"skills": list_skills(self.home)}
        return 404, {"error": "Not found"}

    def log(self, text: str) -> None:
        """A line in ``logs/server.log``."""
        with suppress(OSError):
            (self.web_home / "logs/server.log").append_text(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    def wait_until_loaded(self) -> None:
        """Wait until the agent has opened its files and the gateway runs; at most 15 s."""
        deadline = time.monotonic() + _LOAD_S
        while time.monotonic() < deadline:
            with suppress(OSError, ValueError):
                if bridge.ask("ping").get("ready") and self._children.gateway_has_the_home():
                    return
            time.sleep(0.02)
        self.log("not everything has loaded")

    def close(self) -> None:
        """Stop the bridge and the gateway, then close the databases."""
        self._children.stop()
        self.auth.close()


def _relayed(answer: dict[str, Any]) -> Answer:
    return int(answer.pop("status", 500)), answer


def _agent_version() -> str:
    """What ``hermes --version`` says, asked anew each time; empty when there is no working ``hermes``."""
    try:
        said = output_of(["hermes", "--version"], _VERSION_S)
    except OSError:
        return ""
    found = re.match(r"Hermes Agent (.+)", said or "")
    return found[1].strip() if found else ""
