"""In the sandbox: make Studio's sign-in ours before anybody else does, and store it in the home.

A crash at any point is made good by doing it again: a new password is written to the candidate file before
Studio is told of it, and the candidate becomes the stored sign-in once Studio has accepted it.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import time
from typing import Any

from bot.adapters.programs.beneath import Refusal, exists, read_file, remove, replace_file
from bot.adapters.programs.shapes import ACCESS_FILE, stored_access

CANDIDATE_FILE = "access.new.json"
FIRST_NAME = "admin"
FIRST_PASSWORD = "123456"  # noqa: S105 - what every Studio ships with; replacing it is the point
FIRST_USERS_VERSION = (0, 6)
HTTP_OK = 200
SERVER_ERROR = 500
LOCKED = (429, 503)
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


def secure_users(own: int, port: int, has_users: Any) -> bool:
    """Make sure that only the stored password opens Studio. True when this call has changed it."""
    if has_users is not False:
        for name in (ACCESS_FILE, CANDIDATE_FILE):
            access = _believed(own, name)
            if access and login(port, access["username"], access["password"]):
                if name == CANDIDATE_FILE:
                    _confirm(own)
                remove(own, CANDIDATE_FILE)
                return False
    bearer = login(port, FIRST_NAME, FIRST_PASSWORD)
    if not bearer:
        raise Refusal(
            "studio-login-failed", "neither the stored password nor the first-login one opens Studio"
        )
    password = secrets.token_urlsafe(18)
    access = {"generation": "users", "username": FIRST_NAME, "password": password}
    replace_file(own, CANDIDATE_FILE, json.dumps(access).encode("ascii"), 0o600)
    body = {"currentPassword": FIRST_PASSWORD, "newPassword": password}
    status, _ = call(port, "POST", "/api/auth/change-password", body, bearer)
    if not login(port, FIRST_NAME, password):
        raise Refusal("studio-login-failed", f"Studio did not take the new password (HTTP {status})")
    _confirm(own)
    return True


def _confirm(own: int) -> None:
    os.replace(CANDIDATE_FILE, ACCESS_FILE, src_dir_fd=own, dst_dir_fd=own)
    os.fsync(own)


def _believed(own: int, name: str) -> dict[str, str] | None:
    try:
        access = stored_access(own, name)
    except Refusal:
        return None
    return access if access and access["generation"] == "users" else None


def login(port: int, username: str, password: str) -> str:
    """The bearer, or an empty text when the password is wrong. Asks again while Studio cannot tell."""
    deadline = time.monotonic() + LOGIN_SECONDS
    while True:
        status, answer = call(port, "POST", "/api/auth/login", {"username": username, "password": password})
        if status == HTTP_OK and isinstance(answer, dict) and isinstance(answer.get("token"), str):
            return str(answer["token"])
        if status in LOCKED:
            sentence = f"Studio has locked sign-ins after too many failures (HTTP {status})"
            raise Refusal("studio-login-failed", sentence)
        if 0 < status < SERVER_ERROR or time.monotonic() > deadline:
            return ""
        time.sleep(AGAIN_SECONDS)


def token_there(web_home: int) -> bool:
    """Whether Studio has written its token file."""
    return exists(web_home, ".token")


def secure_token(own: int, web_home: int, env: dict[str, str], deadline: float) -> None:
    """Store the token of a Studio up to 0.5, which is its whole sign-in."""
    while True:
        data = read_file(web_home, ".token", 200)
        # With AUTH_TOKEN set, Studio uses that and writes no file.
        token = (data.decode("ascii", "replace") if data else env.get("AUTH_TOKEN", "")).strip()
        if re.fullmatch(r"[0-9a-f]{64}", token):
            break
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
