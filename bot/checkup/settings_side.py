"""The settings themselves: what is missing or malformed is a finding, and hides nothing of the rest."""

import socket
from collections.abc import Mapping
from contextlib import closing

from bot.adapters.doors import knock
from bot.checkup.finding import Finding, Findings, bad, good
from bot.settings import Settings, SettingsError, config_path, load

_KNOCK_SECONDS = 3.0
_STAND_INS: Mapping[str, str] = {
    "SLACK_BOT_TOKEN": "missing",
    "CUBE_PROXY_PORT_HTTP": "80",
    "HERMES_BOT_LOG": "console",
}
"""What to go on with when one of these is wrong."""


def read(environ: Mapping[str, str]) -> tuple[Settings | None, list[Finding], bool]:
    """(the settings as far as they can be read, what is wrong with them, whether Slack can be asked)."""
    given, wrong = dict(environ), list[Finding]()
    without_toml = False
    while True:
        try:
            settings = load(given, without_toml=without_toml)
        except SettingsError as error:
            path = config_path(environ)
            cure = error.cure or f"Correct {path} there; the message shows what may stand in it."
            wrong.append(bad("Settings", str(error), cure))
            if error.name in _STAND_INS and given.get(error.name) != _STAND_INS[error.name]:
                given[error.name] = _STAND_INS[error.name]
            elif not without_toml:
                without_toml = True
            else:
                return None, wrong, False
            continue
        if not wrong:
            wrong.append(good("Settings", f"{settings.config_path} and the environment can be read"))
        return settings, wrong, given.get("SLACK_BOT_TOKEN") == environ.get("SLACK_BOT_TOKEN")


async def look_at_health_address(settings: Settings) -> Findings:
    """``HERMES_BOT_HTTP``: free, or the bot's own."""
    subject, bind = "Health address", settings.http
    if not bind:
        yield good(subject, "off")
        return
    host, _, port = bind.rpartition(":")
    cure = "Set HERMES_BOT_HTTP to an address of this machine and a free port, such as 127.0.0.1:8080."
    if not port.isdecimal():
        yield bad(subject, f"{bind} is no host:port", cure)
        return
    try:
        family = socket.getaddrinfo(host or "127.0.0.1", int(port), type=socket.SOCK_STREAM)[0]
        with closing(socket.socket(family[0], socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(family[4])
    except (OSError, OverflowError) as error:
        if await _is_ours(host or "127.0.0.1", int(port)):
            yield good(subject, f"the bot answers at {bind}")
        else:
            yield bad(subject, f"{bind} cannot be used: {getattr(error, 'strerror', None) or error}", cure)
        return
    yield good(subject, f"{bind} is free")


async def _is_ours(host: str, port: int) -> bool:
    answer = await knock(host, port, "/healthz", _KNOCK_SECONDS)
    return answer.kind == "application/json" and '"status"' in answer.body
