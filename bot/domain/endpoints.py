"""Endpoints a person asks to reach from a sandbox: `host`, `host:port` or an http(s) address."""

import ipaddress
import re

MAX_PORT = 65_535
MAX_HOST_LENGTH = 253
"""Characters of a host name without its trailing dot (RFC 1035)."""

_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
_WEB = re.compile(r"https?://([^/?#]*)(?:[/?#][!-~]*)?", re.IGNORECASE)


def is_endpoint(text: str) -> bool:
    """Whether `text` is one endpoint.

    An address with a user or a password in it is none: a command line is no place for a password, and the
    reachability of a host does not depend on it.
    """
    if not text.isascii():
        return False
    web = _WEB.fullmatch(text)
    return _is_authority(web[1]) if web else _is_ipv6(text) or _is_authority(text)


def address_of(text: str) -> tuple[str, int] | None:
    """Host and port of an endpoint, for a TCP connection; None for what is none.

    Without a port it is 80 for ``http://`` and 443 for everything else.
    """
    if not is_endpoint(text):
        return None
    web = _WEB.fullmatch(text)
    default = 80 if text.lower().startswith("http://") else 443
    if not web and _is_ipv6(text):
        return text, default
    parts = _AUTHORITY.fullmatch(web[1] if web else text)
    if not parts:
        return None
    host, port = parts.groups()
    return host.strip("[]"), int(port) if port else default


def _is_authority(text: str) -> bool:
    parts = _AUTHORITY.fullmatch(text)
    if not parts:
        return False
    host, port = parts.groups()
    if port is not None and not 1 <= int(port) <= MAX_PORT:
        return False
    return _is_ipv6(host[1:-1]) if host.startswith("[") else _is_host(host)


def _is_host(text: str) -> bool:
    name = text.removesuffix(".")
    labels = name.split(".")
    if len(name) > MAX_HOST_LENGTH or not all(_LABEL.fullmatch(label) for label in labels):
        return False
    # A name whose last label is a number is an IPv4 address or a mistake (such as a port typed alone).
    return not labels[-1].isdecimal() or _is_ipv4(text)


def _is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    if "%" in text:  # a zone names an interface of one machine
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
