# pathlib would cost every sandbox a seventh of its boot time.
# ruff: noqa: PTH104, PTH108, PTH110, PTH112, PTH114, PTH116, PTH118, PTH119, PTH120, PTH123, PTH208

"""``GET|POST /files`` and the Filesystem RPCs."""

import contextlib
import errno
import grp
import os
import pwd
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

from bot.standin.guest import accounts, multipart
from bot.standin.guest.wire import Answer, HttpError, Request, RpcError

_PIECE = 64 * 1024
_STATUS_OF = {
    errno.ENOENT: 404,
    errno.EACCES: 403,
    errno.EPERM: 403,
    errno.ENOSPC: 507,
    errno.EISDIR: 400,
    errno.ENOTDIR: 400,
}
_CODE_OF = {
    errno.ENOENT: "not_found",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.EEXIST: "already_exists",
    errno.ENOTDIR: "invalid_argument",
}


def _words(error: OSError) -> str:
    return os.strerror(error.errno or 0).lower()


def _account(request: Request) -> pwd.struct_passwd:
    name = request.query.get("username") or accounts.DEFAULT_USER
    try:
        return accounts.look_up(name)
    except RpcError:
        raise HttpError(401, f"error looking up user '{name}': user: unknown user {name}") from None


def download(request: Request, answer: Answer) -> None:
    """``GET /files?path=&username=``: the bytes, with status 200 and nothing else."""
    path = accounts.resolve(request.query.get("path", ""), _account(request))
    try:
        details = os.stat(path)
        if not stat.S_ISREG(details.st_mode):
            raise HttpError(400, f"path '{path}' is a directory or not a regular file")
        with open(path, "rb") as source:
            size = os.fstat(source.fileno()).st_size
            answer.head(200, {"Content-Type": "application/octet-stream", "Content-Length": str(size)})
            while size > 0 and (piece := source.read(min(_PIECE, size))):
                answer.raw(piece)
                size -= len(piece)
    except FileNotFoundError:
        raise HttpError(404, f"path '{path}' does not exist") from None
    except OSError as error:
        raise HttpError(
            _STATUS_OF.get(error.errno or 0, 500), f"error opening file: open {path}: {_words(error)}"
        ) from None


def upload(request: Request, answer: Answer) -> None:
    """``POST /files``: an octet stream to ``path``, or a multipart form with parts named ``file``."""
    account = _account(request)
    given = request.query.get("path", "")
    written: list[dict[str, str]] = []
    if request.content_type() == "multipart/form-data":
        for name, pieces in multipart.parts(request):
            path = accounts.resolve(given or name, account)
            _store(path, pieces, account)
            written.append({"name": os.path.basename(path), "path": path, "type": "file"})
    else:
        if not given:
            raise HttpError(400, "path is required for a raw body, e.g. /files?path=/workspace/notes.txt")
        path = accounts.resolve(given, account)
        _store(path, request.pieces, account)
        written.append({"name": os.path.basename(path), "path": path, "type": "file"})
    answer.json(200, written)


def _store(path: str, pieces: Iterator[bytes], account: pwd.struct_passwd) -> None:
    try:
        if os.path.isdir(path):
            raise HttpError(400, f"path '{path}' is a directory")
        accounts.make_parents(os.path.dirname(path), account)
        fresh = not os.path.exists(path)
        with open(path, "wb") as target:
            if fresh:
                os.fchown(target.fileno(), account.pw_uid, account.pw_gid)
            target.writelines(pieces)
    except OSError as error:
        raise HttpError(
            _STATUS_OF.get(error.errno or 0, 500), f"error opening file: open {path}: {_words(error)}"
        ) from None


def entry(path: str) -> dict[str, Any]:
    """What the Filesystem calls say of one file. Raises OSError."""
    details = os.lstat(path)
    told: dict[str, Any] = {"name": os.path.basename(path), "path": path}
    if stat.S_ISLNK(details.st_mode):
        told["symlinkTarget"] = os.path.realpath(path)
        with contextlib.suppress(OSError):
            details = os.stat(path)
    kind = "FILE_TYPE_DIRECTORY" if stat.S_ISDIR(details.st_mode) else "FILE_TYPE_FILE"
    return told | {
        "type": kind,
        # 64-bit numbers are strings in the JSON form of protocol buffers.
        "size": str(details.st_size),
        "mode": stat.S_IMODE(details.st_mode),
        "permissions": stat.filemode(details.st_mode),
        "owner": _name_of(details.st_uid, pwd.getpwuid, 0),
        "group": _name_of(details.st_gid, grp.getgrgid, 0),
        "modifiedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(details.st_mtime)),
    }


def _name_of(number: int, look_up: Callable[[int], Any], field: int) -> str:
    try:
        return str(look_up(number)[field])
    except KeyError:
        return str(number)


def list_directory(path: str, message: dict[str, Any], _account: pwd.struct_passwd) -> dict[str, Any]:
    """ListDir, down to ``depth`` levels (1 when not given)."""
    depth = int(message.get("depth", 0)) or 1
    if not os.path.isdir(path):
        os.stat(path)
        raise RpcError("invalid_argument", f"path is not a directory: {path}")
    entries: list[dict[str, Any]] = []
    _collect(path, depth, entries)
    return {"entries": entries}


def _collect(path: str, depth: int, entries: list[dict[str, Any]]) -> None:
    for name in sorted(os.listdir(path)):
        child = os.path.join(path, name)
        with contextlib.suppress(FileNotFoundError):  # gone since the listing
            entries.append(entry(child))
            if depth > 1 and os.path.isdir(child) and not os.path.islink(child):
                _collect(child, depth - 1, entries)


def state(path: str, _message: dict[str, Any], _account: pwd.struct_passwd) -> dict[str, Any]:
    """Stat."""
    return {"entry": entry(path)}


def make_directory(path: str, _message: dict[str, Any], account: pwd.struct_passwd) -> dict[str, Any]:
    """MakeDir, parents included."""
    if os.path.isdir(path):
        raise RpcError("already_exists", f"directory already exists: {path}")
    if os.path.lexists(path):
        raise RpcError("invalid_argument", f"path already exists but it is not a directory: {path}")
    accounts.make_parents(path, account)
    return {"entry": entry(path)}


def remove(path: str, _message: dict[str, Any], _account: pwd.struct_passwd) -> dict[str, Any]:
    """Remove a file or a whole directory; one that does not exist is no error."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    return {}


def move(path: str, message: dict[str, Any], account: pwd.struct_passwd) -> dict[str, Any]:
    """Move ``source`` to ``destination``, making the directories above it."""
    os.lstat(path)
    destination = accounts.resolve(str(message.get("destination", "")), account)
    accounts.make_parents(os.path.dirname(destination), account)
    os.rename(path, destination)
    return {"entry": entry(destination)}


_CALLS: dict[str, Callable[[str, dict[str, Any], pwd.struct_passwd], dict[str, Any]]] = {
    "ListDir": list_directory,
    "Stat": state,
    "MakeDir": make_directory,
    "Remove": remove,
    "Move": move,
}


def call(method: str, message: dict[str, Any], account: pwd.struct_passwd) -> dict[str, Any]:
    """Carry out one Filesystem call. Raises RpcError."""
    carry_out = _CALLS.get(method)
    if carry_out is None:
        raise RpcError("unimplemented", f"filesystem.Filesystem.{method} is not implemented")
    given = str(message.get("source" if method == "Move" else "path", ""))
    path = accounts.resolve(given, account)
    try:
        return carry_out(path, message, account)
    except OSError as error:
        code = _CODE_OF.get(error.errno or 0, "internal")
        raise RpcError(code, f"{method.lower()} {path}: {_words(error)}") from None
