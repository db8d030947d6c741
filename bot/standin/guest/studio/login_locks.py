"""Brakes on guessing a password: per address and for the whole installation, kept in a file."""

from __future__ import annotations

import json
import os
import threading
import time

from .place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WINDOW_S = 15 * 60
_PER_ADDRESS = 10
_ADDRESS_LOCK_S = 3600
_IN_ALL = 50
_GLOBAL_LOCK_S = 30 * 60


class LoginLocks:
    """Failures in ``.login-lock.json``.

    Ten per address in 15 minutes lock that address for an hour; 50 in all lock everybody for 30 minutes.
    """

    def __init__(self, path: Place) -> None:
        self._path = path
        self._lock = threading.Lock()

    def refusal(self, address: str) -> tuple[int, str] | None:
        """Status and text when a login may not even be tried now."""
        with self._lock:
            state = self._read()
        now = time.time()
        if state["locked_until"] > now:
            return 503, "Login is switched off for a while after too many failures"
        if state["addresses"].get(address, {}).get("locked_until", 0) > now:
            return 429, "Too many failed logins from this address; try again later"
        return None

    def failed(self, address: str) -> None:
        """Count one failure."""
        now = time.time()
        with self._lock:
            state = self._read()
            entry = state["addresses"].setdefault(address, {"failures": [], "locked_until": 0})
            entry["failures"] = [at for at in entry["failures"] if at > now - _WINDOW_S] + [now]
            state["failures"] = [at for at in state["failures"] if at > now - _WINDOW_S] + [now]
            if len(entry["failures"]) >= _PER_ADDRESS:
                entry["locked_until"] = now + _ADDRESS_LOCK_S
            if len(state["failures"]) >= _IN_ALL:
                state["locked_until"] = now + _GLOBAL_LOCK_S
            scratch = Place(f"{self._path}.new")
            scratch.write_text(json.dumps(state))
            os.chmod(scratch, 0o600)
            os.replace(scratch, self._path)

    def succeeded(self, address: str) -> None:
        """Forget the failures of an address that has logged in."""
        with self._lock:
            state = self._read()
            if state["addresses"].pop(address, None) is not None:
                self._path.write_text(json.dumps(state))

    def clear(self) -> bool:
        """Forget everything; whether there was anything."""
        existed = self._path.exists()
        self._path.remove()
        return existed

    def _read(self) -> dict[str, Any]:
        state: dict[str, Any] = {"addresses": {}, "failures": [], "locked_until": 0}
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return state
        return {**state, **found} if isinstance(found, dict) else state
