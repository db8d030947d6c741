"""The keys on both ends of an SSH connection to a node, for whoever has to compare or replace one."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import asyncssh


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key: ``line`` is its type and base64 text, ``fingerprint`` begins with ``SHA256:``."""

    line: str
    fingerprint: str


def own_key(path: Path) -> PublicKey | None:
    """The public half of the private key in a file; None when that cannot be read as one."""
    try:
        return _public(asyncssh.read_private_key(str(path)))
    except (OSError, ValueError, asyncssh.KeyImportError):
        return None


async def shown_host_key(host: str, port: int, seconds: float) -> PublicKey | None:
    """The host key that a node shows now, believed by nobody yet; None when it shows none in time."""
    try:
        async with asyncio.timeout(seconds):
            key = await asyncssh.get_server_host_key(host, port, config=None)
    except (OSError, asyncssh.Error, TimeoutError):
        return None
    return _public(key) if key else None


def known_hosts_line(host: str, port: int, key: PublicKey, *, standard: int = 22) -> str:
    """The line of ``known_hosts`` that trusts this key, as ssh-keygen(1) writes it."""
    name = host if port == standard else f"[{host}]:{port}"
    return f"{name} {key.line}"


def _public(key: asyncssh.SSHKey) -> PublicKey:
    text = key.convert_to_public().export_public_key("openssh").decode("ascii")
    return PublicKey(" ".join(text.split()[:2]), key.get_fingerprint())
