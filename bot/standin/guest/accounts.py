# pathlib would cost every sandbox a seventh of its boot time.
# ruff: noqa: PTH102, PTH112, PTH118, PTH120

"""Whose name a request is carried out in."""

import base64
import binascii
import os
import pwd

from bot.standin.guest.wire import Request, RpcError

DEFAULT_USER = "root"


def named_in(request: Request) -> str:
    """The user of ``Authorization: Basic base64(user:)``; root where none is given."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return DEFAULT_USER
    try:
        name = base64.b64decode(credentials, validate=True).decode().partition(":")[0]
    except (binascii.Error, ValueError):
        raise RpcError("unauthenticated", "invalid basic credentials") from None
    return name or DEFAULT_USER


def look_up(name: str) -> pwd.struct_passwd:
    """The account. Raises RpcError in envd's words when the sandbox has no such user."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise RpcError("unauthenticated", f"invalid username: '{name}'") from None


def resolve(path: str, account: pwd.struct_passwd) -> str:
    """An absolute path; a relative one, or one with ``~``, starts at the account's home."""
    if path in {"", "~"}:
        return account.pw_dir
    return os.path.normpath(os.path.join(account.pw_dir, path.removeprefix("~/")))


def make_parents(path: str, account: pwd.struct_passwd) -> None:
    """Make a directory and those above it, owned by the account; existing ones stay as they are."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for made in reversed(missing):
        os.mkdir(made, 0o755)
        os.chown(made, account.pw_uid, account.pw_gid)
