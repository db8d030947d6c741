"""The agent behind a chat: it answers predictably and keeps the conversation in ``state.db``."""

from __future__ import annotations

import re

from .home import ensure_home, log_line
from .state_db import StateDb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .place import Place

_SESSION_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")
_TEXT_CHARS = 100_000


class BadRequestError(ValueError):
    """A chat request that cannot be answered; the text says what was expected."""


class Agent:
    """One home's agent; it keeps ``state.db`` open for as long as it lives."""

    def __init__(self, home: Place) -> None:
        ensure_home(home)
        self._home = home
        self._db = StateDb(home / "state.db")
        log_line(home, "agent", "agent ready")

    def chat(self, session: object, text: object) -> dict[str, Any]:
        """Answer one message. The same text at the same place of a conversation gets the same answer."""
        if not isinstance(session, str) or not _SESSION_ID.match(session):
            raise BadRequestError(
                'session must be letters, digits, dot, dash or underscore, as in "first-talk"'
            )
        if not isinstance(text, str) or not text.strip() or len(text) > _TEXT_CHARS:
            raise BadRequestError(f"text must hold 1 to {_TEXT_CHARS} characters")
        turn = self._db.message_count(session) // 2 + 1
        reply = f"Turn {turn} of {session}: you said “{text.strip()}”."
        count = self._db.add_turn(session, text, reply, source="webui")
        log_line(self._home, "agent", f"chat in {session}, {count} messages")
        return {"session": session, "reply": reply, "message_count": count}

    def sessions(self) -> list[dict[str, Any]]:
        """All conversations, newest first."""
        return self._db.sessions()

    def messages(self, session: str) -> list[dict[str, Any]] | None:
        """One conversation, oldest first; None when there is none of that name."""
        return self._db.messages(session)

    def close(self) -> None:
        """Close ``state.db``."""
        self._db.close()
