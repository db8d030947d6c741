"""The two ways to be told no: by Slack's API, and by the limits of what a person can do in Slack."""

from collections.abc import Mapping
from typing import Any


class SlackError(Exception):
    """An answer with ``ok: false``. ``extra`` are the other keys of its body."""

    def __init__(
        self,
        error: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.status = status
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})

    def body(self) -> dict[str, Any]:
        """The JSON body that the caller gets."""
        return {"ok": False, "error": self.error, **self.extra}


def invalid_arguments(*messages: str) -> SlackError:
    """``invalid_arguments`` with its explanations, as the real API words them."""
    return SlackError(
        "invalid_arguments",
        extra={"response_metadata": {"messages": [f"[ERROR] {message}" for message in messages]}},
    )


class ImpossibleActionError(Exception):
    """A person in Slack could not do this, for example press a button that is not there.

    The text is one sentence for whoever drives the stand-in; ``status`` is the HTTP status of the
    control API.
    """

    def __init__(self, reason: str, *, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status
