"""The two processes beside Studio's web server: the agent bridge and the gateway."""

import os
import subprocess
from pathlib import Path

from .places import LIBRARY, switched_on

_BRIDGE_STOP_S = 5.0
_GATEWAY_STOP_S = 8.0


class Children:
    """Starts them with Studio, and ends them so that their databases are closed."""

    def __init__(self, home: Path, web_home: Path) -> None:
        self._home = home
        self._logs = web_home / "logs"
        self._bridge: subprocess.Popen[bytes] | None = None
        self._gateway: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start both, the gateway unless it is switched off. A gateway that fails is not noticed."""
        with (self._logs / "bridge.log").open("ab") as log:
            # The pipe is how the bridge notices that the web server has died.
            self._bridge = subprocess.Popen(
                [str(LIBRARY / "bridge")], stdin=subprocess.PIPE, stdout=log, stderr=log, cwd="/"
            )
        if switched_on("HERMES_WEB_UI_DISABLE_GATEWAY_AUTOSTART"):
            return
        with (self._logs / "gateway.log").open("ab") as log:
            try:
                self._gateway = subprocess.Popen(
                    ["hermes", "gateway", "run", "--replace"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env={**os.environ, "HERMES_HOME": str(self._home)},
                )
            except OSError as error:
                log.write(f"gateway: {error}\n".encode())

    def bridge_runs(self) -> bool:
        """Whether the bridge process is alive."""
        return self._bridge is not None and self._bridge.poll() is None

    def gateway_has_the_home(self) -> bool:
        """Whether the gateway, if one was started, has taken the home."""
        return self._gateway is None or (self._home / "gateway.pid").exists()

    def stop(self) -> None:
        """End both, the bridge first because it holds ``state.db``."""
        for child, patience in ((self._bridge, _BRIDGE_STOP_S), (self._gateway, _GATEWAY_STOP_S)):
            if child is None:
                continue
            if child.stdin:
                child.stdin.close()
            child.terminate()
            try:
                child.wait(patience)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
