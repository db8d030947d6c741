"""The two processes beside Studio's web server: the agent bridge and the gateway."""

from __future__ import annotations

import os

from .child import Child
from .places import LIBRARY, switched_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place

_BRIDGE_STOP_S = 5.0
_GATEWAY_STOP_S = 8.0


class Children:
    """Starts them with Studio, and ends them so that their databases are closed."""

    def __init__(self, home: Place, web_home: Place) -> None:
        self._home = home
        self._logs = web_home / "logs"
        self._bridge: Child | None = None
        self._bridge_input = -1
        self._gateway: Child | None = None

    def start(self) -> None:
        """Start both, the gateway unless it is switched off. A gateway that fails is not noticed."""
        # The pipe is how the bridge notices that the web server has died.
        reading, self._bridge_input = os.pipe()
        try:
            self._bridge = Child([LIBRARY / "bridge"], stdin=reading, output=self._logs / "bridge.log")
        finally:
            os.close(reading)
        if switched_on("HERMES_WEB_UI_DISABLE_GATEWAY_AUTOSTART"):
            return
        log = self._logs / "gateway.log"
        try:
            self._gateway = Child(
                ["hermes", "gateway", "run", "--replace"],
                output=log,
                env={**os.environ, "HERMES_HOME": self._home},
            )
        except OSError as error:
            log.append_text(f"gateway: {error}\n")

    def bridge_runs(self) -> bool:
        """Whether the bridge process is alive."""
        return self._bridge is not None and self._bridge.poll() is None

    def gateway_has_the_home(self) -> bool:
        """Whether the gateway, if one was started, has taken the home."""
        return self._gateway is None or (self._home / "gateway.pid").exists()

    def stop(self) -> None:
        """End both, the bridge first because it holds ``state.db``."""
        if self._bridge:
            os.close(self._bridge_input)
            self._bridge.stop(_BRIDGE_STOP_S)
        if self._gateway:
            self._gateway.stop(_GATEWAY_STOP_S)
