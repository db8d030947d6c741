"""A loopback HTTP server that comes back on the port it had."""

from pathlib import Path

from aiohttp import web

_STOP_S = 2.0


class Listener:
    """Serves an aiohttp application on ``127.0.0.1``.

    The port is written to ``kept_port`` and asked for again at the next start; when somebody else has
    it by then, any free one is taken.
    """

    def __init__(self, application: web.Application, *, kept_port: Path) -> None:
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=_STOP_S)
        self._kept_port = kept_port
        self.port = 0

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen."""
        await self._runner.setup()
        try:
            await self._listen(self._wanted_port())
        except OSError:
            await self._listen(0)
        self._kept_port.write_text(f"{self.port}\n")

    async def stop(self) -> None:
        """Stop listening and drop what is open."""
        await self._runner.cleanup()

    async def _listen(self, port: int) -> None:
        site = web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    def _wanted_port(self) -> int:
        try:
            return int(self._kept_port.read_text())
        except (OSError, ValueError):
            return 0
