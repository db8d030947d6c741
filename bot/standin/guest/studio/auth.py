"""Who may use Studio's API, in the two ways that its generations decide it."""

from __future__ import annotations

import os
import re
import time

from . import jwt
from .digests import same
from .login_locks import LoginLocks
from .places import switched_on
from .users_db import UsersDb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .place import Place
    from .users_db import User

    Answer = tuple[int, dict[str, Any]]

_DAY_S = 86_400
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": _DAY_S}
_PASSWORD_CHARS = 6
UNAUTHORIZED: Answer = (401, {"error": "Unauthorized"})


def secret_of(web_home: Place) -> str:
    """``AUTH_TOKEN``, else the 64 hex digits in ``.token`` (0600), made when missing."""
    given = os.environ.get("AUTH_TOKEN")
    if given:
        return given
    path = web_home / ".token"
    if not path.exists():
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(os.urandom(32).hex() + "\n")
    return path.read_text().strip()


class TokenAuth:
    """Up to 0.5: the token is the bearer, and ``/#/?token=`` logs a browser in."""

    def __init__(self, web_home: Place) -> None:
        self._token = secret_of(web_home)
        self._open = switched_on("AUTH_DISABLED")

    def allows(self, credential: str | None) -> bool:
        """The token itself, or anything when ``AUTH_DISABLED`` is on."""
        return self._open or same((credential or "").encode(), self._token.encode())

    def answer(
        self, method: str, path: str, body: Mapping[str, Any], credential: str | None, address: str
    ) -> Answer | None:
        """``GET /api/auth/me`` only; there are no accounts."""
        del body, address
        if not self.allows(credential):
            return UNAUTHORIZED
        if (method, path) == ("GET", "/api/auth/me"):
            return 200, {"authenticated": True, "authDisabled": self._open}
        return None

    def close(self) -> None:
        """Nothing is held open."""


class UsersAuth:
    """From 0.6: accounts and JSON Web Tokens; the token file only signs them."""

    def __init__(self, web_home: Place) -> None:
        self._secret = os.environ.get("AUTH_JWT_SECRET") or secret_of(web_home)
        self._users = UsersDb(web_home / "hermes-web-ui.db")
        self._locks = LoginLocks(web_home / ".login-lock.json")

    def allows(self, credential: str | None) -> bool:
        """A JWT of an account that still exists; the token file's text is not one."""
        return self._user(credential) is not None

    def answer(
        self, method: str, path: str, body: Mapping[str, Any], credential: str | None, address: str
    ) -> Answer | None:
        """Status, login, me and change-password."""
        if (method, path) == ("GET", "/api/auth/status"):
            return 200, {"hasUsers": self._users.has_users()}
        if (method, path) == ("POST", "/api/auth/login"):
            return self._login(body, address)
        user = self._user(credential)
        if user is None:
            return UNAUTHORIZED
        if (method, path) == ("GET", "/api/auth/me"):
            account = {"id": user.id, "username": user.username, "role": user.role}
            return 200, {"user": account, "requiresCredentialChange": user.must_change}
        if (method, path) == ("POST", "/api/auth/change-password"):
            return self._change_password(user, body)
        return None

    def close(self) -> None:
        """Close the accounts database."""
        self._users.close()

    def _login(self, body: Mapping[str, Any], address: str) -> Answer:
        refusal = self._locks.refusal(address)
        if refusal:
            return refusal[0], {"error": refusal[1]}
        name, password = body.get("username"), body.get("password")
        if not isinstance(name, str) or not isinstance(password, str):
            return 400, {"error": "username and password are required"}
        user = self._users.login(name, password)
        if user is None:
            self._locks.failed(address)
            return 401, {"error": "Invalid username or password"}
        self._locks.succeeded(address)
        now = int(time.time())
        claims = {"sub": str(user.id), "username": user.username, "role": user.role, "iat": now}
        return 200, {"token": jwt.sign({**claims, "exp": now + _lifetime()}, self._secret)}

    def _change_password(self, user: User, body: Mapping[str, Any]) -> Answer:
        current, new = body.get("currentPassword"), body.get("newPassword")
        if not isinstance(current, str) or not isinstance(new, str):
            return 400, {"error": "currentPassword and newPassword are required"}
        if len(new) < _PASSWORD_CHARS:
            return 400, {"error": f"newPassword must have at least {_PASSWORD_CHARS} characters"}
        if not self._users.change_password(user, current, new):
            return 400, {"error": "currentPassword is wrong"}
        return 200, {"success": True}

    def _user(self, credential: str | None) -> User | None:
        claims = jwt.verify(credential or "", self._secret, time.time())
        subject = str(claims.get("sub", "")) if claims else ""
        return self._users.find(int(subject)) if subject.isdecimal() else None


def _lifetime() -> int:
    """Seconds a JWT is good for: ``HERMES_WEB_UI_AUTH_JWT_EXPIRES_IN`` such as ``12h``, else 30 days."""
    found = re.fullmatch(r"(\d+)([smhd]?)", os.environ.get("HERMES_WEB_UI_AUTH_JWT_EXPIRES_IN", ""))
    return int(found[1]) * _UNITS[found[2] or "s"] if found else 30 * _DAY_S
