"""In the sandbox: make Studio's sign-in ours before anybody else does, and store it in the home.

A crash at any point is made good by doing it again: a new password is written to the candidate file before
Studio is told of it, and the candidate becomes the stored sign-in once Studio has accepted it.
"""

from __future__ import annotations

import http.client
import json
import re
import secrets
import time
from typing import Any

from bot.adapters.programs.beneath import Refusal, exists, read_file, remove, replace_file
from bot.adapters.programs.shapes import ACCESS_FILE, CHANGED, stored_access

CANDIDATE_FILE = "access.new.json"
FIRST_NAME = "admin"
FIRST_PASSWORD = "123456"  # noqa: S105 - what every Studio ships with; replacing it is the point
FIRST_USERS_VERSION = (0, 6)
HTTP_OK = 200
SERVER_ERROR = 500
REFUSED = (401, 403)
LOCKED = (429, 503)
KNOWN = "known"
NOT_TOLD = "not-told"
MAX_ANSWER = 1024 * 1024
HTTP_SECONDS = 15.0
LOGIN_SECONDS = 15.0
AGAIN_SECONDS = 0.05


def call(
    port: int, method: str, path: str, body: dict[str, str] | None = None, bearer: str = ""
) -> tuple[int, Any]:
    """Status and JSON of an answer; (0, None) when there is none, and None for what is not JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HTTP_SECONDS)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if bearer:
        headers["Authorization"] = f"Bearer {bearer}"
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        data = response.read(MAX_ANSWER)
    except (OSError, http.client.HTTPException):
        return 0, None
    finally:
        connection.close()
    try:
        return response.status, json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return response.status, None


def generation_of(auth: str, webui_version: str, status: Any, *, token_there: bool) -> str:
    """``token``, ``users``, or an empty text when nothing tells.

    ``auth`` decides when it is not ``auto``; then the version (users came with 0.6); then whether the status
    call of the users generation is answered; then the token file, which both write but only one says more.
    """
    if auth in ("token", "users"):
        return auth
    numbers = re.match(r"v?([0-9]+)\.([0-9]+)", webui_version)
    if numbers:
        users = (int(numbers.group(1)), int(numbers.group(2))) >= FIRST_USERS_VERSION
        return "users" if users else "token"
    if isinstance(status, dict) and "hasUsers" in status:
        return "users"
    return "token" if token_there else ""


def secure_users(own: int, port: int, has_users: Any, *, window: bool) -> tuple[str, bool]:
    """See what opens Studio, replace the password that everybody knows, and say what is known of the sign-in.

    ``window``: nobody had an account before this start. Gives ``known``, ``changed-by-owner`` or
    ``not-told``, and whether this call has set the password. At most two sign-ins can fail, because Studio
    locks out who tries on.
    """
    ours = _newest(own)
    if has_users is not False and "password" in ours:
        opened, _ = login(port, ours["username"], ours["password"])
        if opened:
            _keep(own, ours)
            return KNOWN, False
        if opened is None:
            return _not_told(window=window), False
    # Studio's own reset gives an existing account the well-known password back, so that one is always tried.
    opened, bearer = login(port, FIRST_NAME, FIRST_PASSWORD)
    if opened:
        _replace_password(own, port, bearer)
        return KNOWN, True
    if opened is None:
        return _not_told(window=window or has_users is False), False
    if window or has_users is False:
        sentence = "an account of this Studio was made after its start, with a password that is not ours"
        raise Refusal("studio-login-failed", sentence)
    _keep(own, {"generation": "users", "username": ours.get("username", ""), "sign_in": CHANGED})
    return CHANGED, False


def _not_told(*, window: bool) -> str:
    """Accounts that stood here before are safe as they are; a first login that is open is not."""
    if window:
        raise Refusal("studio-login-failed", "Studio takes no sign-in now, and its first login may be open")
    return NOT_TOLD


def _replace_password(own: int, port: int, bearer: str) -> None:
    password = secrets.token_urlsafe(18)
    access = {"generation": "users", "username": FIRST_NAME, "password": password}
    replace_file(own, CANDIDATE_FILE, json.dumps(access).encode("ascii"), 0o600)
    body = {"currentPassword": FIRST_PASSWORD, "newPassword": password}
    status, _ = call(port, "POST", "/api/auth/change-password", body, bearer)
    if not login(port, FIRST_NAME, password)[0]:
        raise Refusal("studio-login-failed", f"Studio did not take the new password (HTTP {status})")
    _keep(own, access)


def _newest(own: int) -> dict[str, str]:
    """The candidate when there is one: it was written when the stored sign-in was known to be of no use."""
    for name in (CANDIDATE_FILE, ACCESS_FILE):
        try:
            access = stored_access(own, name)
        except Refusal:
            continue
        if access and access["generation"] == "users":
            return access
    return {}


def _keep(own: int, access: dict[str, str]) -> None:
    if _stored_as_is(own) != access:
        replace_file(own, ACCESS_FILE, json.dumps(access).encode("ascii"), 0o600)
    remove(own, CANDIDATE_FILE)


def login(port: int, username: str, password: str) -> tuple[bool | None, str]:
    """Whether this opens Studio, None when Studio cannot tell for the time being, and the bearer."""
    deadline = time.monotonic() + LOGIN_SECONDS
    while True:
        status, answer = call(port, "POST", "/api/auth/login", {"username": username, "password": password})
        if status == HTTP_OK and isinstance(answer, dict) and isinstance(answer.get("token"), str):
            return True, str(answer["token"])
        if status in REFUSED:
            return False, ""
        if status in LOCKED or time.monotonic() > deadline:
            return None, ""
        if 0 < status < SERVER_ERROR:
            raise Refusal("studio-login-failed", f"Studio answers a sign-in with HTTP {status}")
        time.sleep(AGAIN_SECONDS)


def token_there(web_home: int) -> bool:
    """Whether Studio has written its token file."""
    return exists(web_home, ".token")


def secure_token(own: int, web_home: int, env: dict[str, str], deadline: float) -> None:
    """Store the token of a Studio up to 0.5, which is its whole sign-in."""
    given = env.get("AUTH_TOKEN", "").strip()
    while True:
        # With AUTH_TOKEN set, Studio uses that, whatever an earlier start has left in the file.
        data = None if given else read_file(web_home, ".token", 200)
        token = given or (data or b"").decode("ascii", "replace").strip()
        if re.fullmatch(r"[0-9a-f]{64}", token):
            break
        if given:
            raise Refusal("studio-login-failed", "AUTH_TOKEN must be 64 hexadecimal digits in lower case")
        if time.monotonic() > deadline:
            raise Refusal("studio-login-failed", "Studio has written no usable token")
        time.sleep(AGAIN_SECONDS)
    access = {"generation": "token", "token": token}
    if _stored_as_is(own) != access:
        replace_file(own, ACCESS_FILE, json.dumps(access).encode("ascii"), 0o600)


def _stored_as_is(own: int) -> dict[str, str] | None:
    try:
        return stored_access(own)
    except Refusal:
        return None
