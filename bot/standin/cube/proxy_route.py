"""Which sandbox and port a request is for: by Host, or by path."""

import re
from dataclasses import dataclass

from bot.standin.cube.http_wire import Head

_HOST = re.compile(r"(\d+)-([^.:]+)")
_PATH = re.compile(r"/sandbox/([^/?]+)/(\d+)(?=[/?]|$)")
_ABSOLUTE = re.compile(r"https?://[^/]*")
_COOKIE_PATH = re.compile(r"(?i)(;\s*path=)(/[^;]*)")
_PORT_LIMIT = 65535


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes. ``prefix`` is empty for the Host form."""

    sandbox_id: str
    port: int
    prefix: str = ""

    def outgoing(self, head: Head, mask: str) -> None:
        """Change a request head into what the sandbox gets.

        ``mask`` is the authority that replaces Host, ``${PORT}`` in it being the port; empty keeps it.
        """
        if self.prefix:
            method, target, version = head.start
            head.start = (method, target[len(self.prefix) :] or "/", version)
            if head.start[1].startswith("?"):
                head.start = (method, f"/{head.start[1]}", version)
            head.put("X-Forwarded-Prefix", self.prefix)
        if mask:
            head.put("Host", mask.replace("${PORT}", str(self.port)))

    def incoming(self, head: Head, host: str) -> None:
        """Bring the paths in a response head back under the prefix."""
        if not self.prefix:
            return
        changed = []
        for name, value in head.headers:
            lowered = name.lower()
            told = value
            if lowered == "location":
                told = self._location(value, host)
            elif lowered == "set-cookie":
                told = _COOKIE_PATH.sub(lambda found: f"{found[1]}{self.prefix}{found[2]}", value)
            changed.append((name, told))
        head.headers = changed

    def _location(self, value: str, host: str) -> str:
        absolute = _ABSOLUTE.match(value)
        if absolute and absolute[0].partition("://")[2] == host:
            return f"{absolute[0]}{self.prefix}{value[absolute.end() :] or '/'}"
        return f"{self.prefix}{value}" if value.startswith("/") and not value.startswith("//") else value


def route_of(head: Head) -> Route | None:
    """The route of a request, or None when neither Host nor path names one."""
    by_host = _HOST.match(head.get("host"))
    if by_host:
        return _route(by_host[2], by_host[1], "")
    by_path = _PATH.match(head.start[1])
    return _route(by_path[1], by_path[2], by_path[0]) if by_path else None


def _route(sandbox_id: str, port: str, prefix: str) -> Route | None:
    number = int(port)
    return Route(sandbox_id, number, prefix) if 0 < number <= _PORT_LIMIT else None
